"""What the features of a fitted table do to probabilities, averaged over the rows of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from spectralmirror.effects import average_effects
from spectralmirror.effects.results import AverageEffects
from spectralmirror.mixture.choice_analysis import MarketElasticities
from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.messages import did_you_mean, listed
from spectralmirror.tables.features import Category, as_text
from spectralmirror.tables.known_rows import NO_ROWS, known_rows
from spectralmirror.tables.table_model import FittedTable

__all__ = ["choice_effects", "features_of", "table_effects"]


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """The features of files, in blocks, as a source of rows without labels."""

    model: FittedTable
    readers: Sequence[Reader]
    missing: str | None
    listen: Callable[[int], None]

    is_remote: ClassVar[bool] = False

    def grouped_rows(self) -> tuple[Self, list[str]]:
        """Return the rows, and the names of the features."""
        return self, self.model.recipe.names

    @property
    def rows(self) -> Self:
        """The rows one by one."""
        return self

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.model.recipe.names)

    def blocks(self, factor: int = 1) -> Iterator[Rows]:
        """Yield the rows in the blocks in which they are read."""
        n_rows = 0
        batches = known_rows(self.model, self.readers, missing=self.missing, listen=self.listen)
        for known in batches:
            n_rows += len(known.X)
            if len(known.X):
                yield Rows(known.X, np.zeros(len(known.X)))
        if not n_rows:
            raise ValueError(NO_ROWS)


def table_effects(
    model: FittedTable,
    readers: Sequence[Reader],
    *,
    features: Sequence[str] = (),
    label: str | None = None,
    level: float = 0.95,
    missing: str | None = None,
    listen: Callable[[int], None] = lambda _: None,
) -> AverageEffects:
    """Return the average effects of features on the probability of a label.

    A level of a category is compared with the level of reference. Files are read in blocks, twice.

    Parameters
    ----------
    model : FittedTable
        The fitted table, of labels.
    readers : list of Reader
        The files; they need no labels.
    features : list of str, default=()
        Columns or features; none means all.
    label : str or None, default=None
        The label whose probability changes, as text; None means the second of two.
    level : float, default=0.95
        Confidence level of the intervals.
    missing : {"error", "impute", "drop"} or None, default=None
        What to do about missing values; None for what was done when the mixture was fitted.
    listen : callable
        Called with the number of rows of every batch.
    """
    recipe, known_labels = model.recipe, model.labels.tolist()
    place = known_label(known_labels, label)
    found = average_effects(
        model.mixture,
        FeatureRows(model, readers, missing, listen),
        features=[recipe.names.index(name) for name in features_of(model, features)],
        exclusive=_exclusive(model),
        label=None if place is None else model.mixture.classes_.tolist()[place],
        level=level,
    )
    shown = known_labels[1 if place is None else place]
    return replace(found, label=shown, _outcome=model.label)


def choice_effects(
    model: FittedTable,
    readers: Sequence[Reader],
    *,
    features: Sequence[str] = (),
    level: float = 0.95,
    missing: str | None = None,
    listen: Callable[[int], None] = lambda _: None,
) -> tuple[dict[str, MarketElasticities], AverageEffects]:
    """Return what features do to choices: elasticities of market shares, and average own effects.

    The parameters are those of :func:`table_effects`; files must fit into memory. Levels of
    categories have no elasticities: they cannot grow by one per cent.
    """
    recipe = model.recipe
    asked = features_of(model, features)
    levels = {name for term in recipe.terms if isinstance(term, Category) for name in term.names}
    X, given = _choices_in_memory(model, readers, missing, listen)
    found = average_effects(
        model.mixture, X, choices=given["choices"], level=level,
        features=[recipe.names.index(name) for name in asked], exclusive=_exclusive(model),
    )  # fmt: skip
    return {
        name: model.mixture.elasticities(X, name, **given) for name in asked if name not in levels
    }, replace(found, _outcome=model.label)


def _exclusive(model: FittedTable) -> list[list[int]]:
    """Return the features of each category, of which one is 1 at most."""
    recipe = model.recipe
    return [
        [recipe.names.index(name) for name in term.names]
        for term in recipe.terms
        if isinstance(term, Category) and term.names
    ]


def _choices_in_memory(
    model: FittedTable,
    readers: Sequence[Reader],
    missing: str | None,
    listen: Callable[[int], None],
) -> tuple[Any, dict[str, Any]]:
    """Return the features of all rows, and their choice sets, alternatives and covariates."""
    assert model.choices is not None
    column = model.choices.alternative
    X, sets, names, Z = [], [], [], []
    keep = [] if column is None else [column]
    for known in known_rows(model, readers, keep=keep, missing=missing, listen=listen):
        X.append(known.X)
        sets.append(known.choices)
        if column is not None:
            text = as_text(known.table.column(column)).filter(known.complete)
            names.append(np.array(text.fill_null("(missing)").to_pylist(), dtype=object))
        Z += [] if known.membership is None else [known.membership]
    if not sum(map(len, X)):
        raise ValueError(NO_ROWS)
    given: dict[str, Any] = {"choices": np.concatenate([s for s in sets if s is not None])}
    given |= {"alternatives": np.concatenate(names).astype(str)} if names else {}
    given |= {"membership": np.concatenate(Z)} if Z else {}
    return model.named(np.concatenate(X)), given


def features_of(model: FittedTable, asked: Sequence[str]) -> list[str]:
    """Return the features that are named, or belong to a column that is; all if none is asked."""
    recipe, found = model.recipe, list[str]()
    of_columns = {term.column: term.names for term in recipe.terms}
    for name in asked:
        if name not in recipe.names and name not in of_columns:
            hint = did_you_mean(name, list(dict.fromkeys([*of_columns, *recipe.names])))
            hint = f": features are {listed(recipe.names)}." if hint == "." else hint
            raise ValueError(f"There is no feature {name!r}{hint}")
        found += [name] if name in recipe.names else of_columns[name]
    return list(dict.fromkeys(found)) if asked else recipe.names


def known_label(known: list[Any], asked: str | None) -> int | None:
    """Return which of the labels is asked for; None if that is the second of two."""
    if asked is None and len(known) == 2:
        return None
    words = [str(value) for value in known]
    if asked is None or asked not in words:
        what = "is missing: name" if asked is None else f"{asked!r} is none of the labels: name"
        raise ValueError(f"--label {what} one of {listed(words)}.")
    return words.index(asked)

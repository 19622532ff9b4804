"""A mixture, and how the columns of a table become its features: what the command line fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from spectralmirror.mixture.bootstrap import Bootstrap
from spectralmirror.mixture.summary import (
    WITHIN,
    WITHIN_NAME,
    Choices,
    Line,
    constrained,
    letters,
    membership_lines,
    table,
)
from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.types import AnyArray, Matrix
from spectralmirror.tables.features import Recipe
from spectralmirror.tables.known_rows import KnownRows, known_rows
from spectralmirror.tables.labelled_rows import LabelledRows
from spectralmirror.tables.set_columns import ChoiceColumns

__all__ = ["FittedTable", "described_bootstrap", "named_features"]


def named_features(X: NDArray[Any], names: Sequence[str]) -> Any:
    """Return a data frame of features; it shares its memory with X if that is stored by columns."""
    import polars as pl

    return pl.DataFrame({name: X[:, j] for j, name in enumerate(names)})


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A mixture that was fitted to columns of a table.

    Attributes
    ----------
    mixture : LinearClassifierMixture or ChoiceMixture
        The hidden classifiers.
    recipe : Recipe
        How columns become features.
    label : str
        The column of labels, or of winners.
    group : str or None
        The column of groups.
    missing : {"error", "impute", "drop"}
        What was done about missing values.
    about : dict
        Where the rows came from, how many there were, and notes for the user.
    choices : ChoiceColumns or None
        For choices among several alternatives: the columns that describe them.
    membership : Recipe or None
        How columns become covariates of groups, on which the weights of the classes depend.

    Examples
    --------
    >>> import polars as pl
    >>> from spectralmirror import LinearClassifierMixture
    >>> from spectralmirror.rows.files.readers import readers_of
    >>> from spectralmirror.tables.column_roles import ColumnRoles
    >>> from spectralmirror.tables.fit_table import fit_table
    >>> frame = pl.DataFrame(
    ...     {
    ...         "price": [3, 5, 2, 8, 6, 1, 9, 4],
    ...         "colour": ["red", "red", "blue", "red", "blue", "blue", "red", "red"],
    ...         "liked": ["yes", "no", "yes", "no", "no", "yes", "yes", "no"],
    ...     }
    ... )
    >>> model = fit_table(
    ...     readers_of(frame.to_arrow()),
    ...     ColumnRoles(label="liked"),
    ...     LinearClassifierMixture(1, l2=1),
    ...     source="a frame",
    ... )  # or: model = spectralmirror.load("model.skops")
    >>> model.recipe.names
    ['price', 'colour=blue']
    >>> X = model.recipe.encode(frame[:2].to_arrow())
    >>> model.mixture.predict_proba(model.named(X)).shape
    (2, 2)
    """

    mixture: Any
    recipe: Recipe
    label: str
    group: str | None
    missing: str
    about: dict[str, Any]
    choices: ChoiceColumns | None = None
    membership: Recipe | None = None

    def of_groups(self, rows: Any) -> dict[str, Any]:
        """Return the covariates of known rows as an argument of the mixture; {} without any."""
        return {} if rows.membership is None else {"membership": rows.membership}

    @property
    def labels(self) -> NDArray[Any]:
        """The labels that stand for -1 and +1; for comparisons, what the winners are called."""
        if self.recipe.winner is not None:
            return np.array(self.recipe.winner[::-1])
        outcomes = self.recipe.outcomes
        return np.asarray(self.mixture.classes_ if outcomes is None else outcomes)

    def known(
        self,
        readers: Sequence[Reader],
        *,
        labelled: bool = False,
        grouped: bool = False,
        keep: Sequence[str] = (),
        missing: str | None = None,
    ) -> Iterator[KnownRows]:
        """Yield the rows of files in batches, as the mixture takes them.

        Parameters
        ----------
        readers : list of Reader
            The files.
        labelled, grouped : bool, default=False
            Whether labels and groups are needed.
        keep : list of str, default=()
            Columns to read besides those that the model needs.
        missing : {"error", "impute", "drop"} or None, default=None
            What to do about missing values; None for what was done when the mixture was fitted.

        Yields
        ------
        KnownRows
            Features, labels and groups of the rows that are complete.
        """
        return known_rows(
            self, readers, labelled=labelled, grouped=grouped, keep=keep, missing=missing
        )

    def group_weights(
        self, readers: Sequence[Reader], missing: str | None, listen: Callable[[int], None]
    ) -> dict[Any, tuple[Matrix, int]]:
        """Return the posterior of the classifiers for each group, and its number of rows.

        At each draw of the parameters, its logarithm is log p_l + sum_i log f(y_i t_il) up to a
        constant, a sum over the rows of the group wherever they are in the files. If people of one
        class differ, it is an integral over their spread, for which the rows are kept in memory.
        """
        if self.mixture._has_spread or self.choices is not None:
            return LabelledRows.read(self, readers, missing, listen).posteriors(self)
        draws = self.mixture._draws()
        sums: dict[Any, tuple[AnyArray, int]] = {}
        for known in known_rows(
            self, readers, labelled=True, grouped=True, missing=missing, listen=listen
        ):
            if known.groups is None or not len(known.X):
                continue
            values, numbers = known.group_values(str(self.group))
            total = self.mixture._group_sums(draws, self.named(known.X), known.y, numbers)
            log_p = self.mixture._log_weights_of_draws(draws, known.membership, numbers)
            counts = np.bincount(numbers)
            lines = zip(values, total, log_p, counts.tolist(), strict=True)
            for value, line, prior, count in lines:
                before, n = sums.get(value, (prior, 0))
                sums[value] = before + line, n + count
        return {value: (softmax(logsumexp(line, axis=0)), n) for value, (line, n) in sums.items()}

    def described(self) -> dict[str, Any]:
        """Return the classifiers, their columns and the quality of the fit as plain data."""
        mixture, names = self.mixture, self.recipe.names
        choices, lines = Choices.of(mixture), table(mixture, 0.95)
        shared, signs = constrained(mixture)
        return {
            "label": self.label,
            "classes": self.labels.tolist(),
            "group": self.group,
            **self._described_choices(),
            "n_components": mixture.n_components_,
            "response": mixture.response,
            "l2": choices.l2,
            "l2_from_data": choices.l2_from_data,
            "criterion": choices.criterion,
            "log_likelihood": mixture.log_likelihood_,
            "log_evidence": _known(choices.log_evidence),
            "evidence_path": {str(k): _known(v) for k, v in choices.evidence_path.items()},
            "bic": mixture.bic_,
            "bic_path": {str(k): value for k, value in mixture.bic_path_.items()},
            "doubt": _known(choices.doubt),
            "converged": mixture.converged_,
            "status": mixture.status_,
            "expected_accuracy": float(mixture.expected_accuracy_),
            "spread": {
                "kind": choices.spread,
                "from_data": choices.spread_from_data,
                "evidence": {kind: _known(v) for kind, v in choices.spread_evidence.items()},
                "standard_deviations": _terms(lines, WITHIN),
            },
            "features": names,
            "references": self.recipe.references,
            "shared": shared,
            "signs": signs,
            "membership": self._described_membership(),
            "bootstrap": described_bootstrap(Bootstrap.kept(mixture)),
            "missing": self.missing,
            "about": self.about,
            "classifiers": [
                {
                    "name": name,
                    "weight": float(mixture.weights_[c]),
                    "terms": _terms(lines, c),
                }
                for c, name in enumerate(letters(mixture.n_components_))
            ],
        }

    def _described_choices(self) -> dict[str, Any]:
        if self.choices is None:
            return {}
        return {
            "choice_set": list(self.choices.sets),
            "alternative": self.choices.alternative,
            "n_choices": int(self.mixture.n_choices_),
        }

    def _described_membership(self) -> dict[str, Any] | None:
        """Return the log-odds of each classifier against the first, by covariates of groups."""
        if self.membership is None:
            return None
        lines, names = membership_lines(self.mixture, 0.95), letters(self.mixture.n_components_)
        return {
            "covariates": self.membership.names,
            "references": self.membership.references,
            "against": names[0],
            "classifiers": [
                {"name": name, "terms": _terms(lines, c)} for c, name in enumerate(names) if c
            ],
        }

    def named(self, X: NDArray[Any]) -> Any:
        """Return features as a data frame with their names, as the mixture expects them."""
        return named_features(X, self.recipe.names)


def described_bootstrap(kept: Bootstrap | None, level: float = 0.95) -> dict[str, Any] | None:
    """Return resamples of a mixture as plain data; None without any."""
    if kept is None:
        return None
    names = {**dict(enumerate(letters(kept.coef.shape[1]))), WITHIN: WITHIN_NAME}
    of_lines: dict[str, list[dict[str, Any]]] = {name: [] for name in names.values()}
    for line, error, lower, upper in kept.lines(level):
        one = {} if line.label is None else {"label": line.label}
        own = {"standard_error": error, "lower": lower, "upper": upper}
        of_lines[names[line.component]].append(
            {"term": line.term, **one, "estimate": _known(line.estimate)}
            | {name: _known(value) for name, value in own.items()}
            | {"curvature_lower": _known(line.lower), "curvature_upper": _known(line.upper)}
        )
    within = of_lines.pop(WITHIN_NAME)
    return {
        "n": len(kept),
        "units": kept.units,
        "n_not_converged": int((~kept.converged).sum()),
        "level": level,
        "classifiers": [{"name": name, "terms": terms} for name, terms in of_lines.items()],
        "standard_deviations": within,
    }


def _terms(lines: Sequence[Line], component: int) -> list[dict[str, Any]]:
    """Return the estimates of a component, and their intervals, as plain data."""
    own = [line._asdict() for line in lines if line.component == component]
    return [
        {name: v if name in ("label", "term") else _known(v) for name, v in one.items()
         if name != "component" and not (name == "label" and v is None)}
        for one in own
    ]  # fmt: skip


def _known(value: float) -> float | None:
    """Return a number as JSON can hold it: None if it is not finite."""
    return float(value) if np.isfinite(value) else None

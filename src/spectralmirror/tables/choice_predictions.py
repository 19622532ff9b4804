"""Predicted choices and classes of persons for the rows of files, and shares of alternatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.mixture.summary import letters
from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.files.writers import check_kind, writing
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.tables.choice_readers import choice_readers
from spectralmirror.tables.features import as_text
from spectralmirror.tables.known_rows import KnownRows, known_rows
from spectralmirror.tables.labelled_rows import LabelledRows
from spectralmirror.tables.output_rows import OutputRows
from spectralmirror.tables.table_model import FittedTable

__all__ = ["write_choice_clusters", "write_choices"]

Listen = Callable[[int], None]


def write_choices(
    model: FittedTable,
    readers: Sequence[Reader],
    output: Path,
    *,
    history: Sequence[Reader] | None = None,
    keep: Sequence[str] = (),
    missing: str | None = None,
    listen: Listen,
) -> dict[str, Any]:
    """Write the probability that each row is chosen from its set, and whether it is most likely.

    With a history, earlier choices of the same persons say what is known about their classes.
    Shares of the alternatives, by class and overall, are returned: those of strangers.
    """
    check_kind(output)
    assert model.choices is not None
    readers = choice_readers(readers, model.choices, model.group)
    past = _history(model, readers, history, missing, listen)
    kept = _identifying(model, readers, keep)
    columns = OutputRows(readers, output, kept, ["prediction", "probability"])
    shares, met = Shares(model), _Met()
    with writing(output) as append:
        for known in known_rows(
            model, readers, grouped=past is not None, keep=kept, missing=missing, listen=listen
        ):
            P, best = np.empty(0), np.empty(0, dtype=bool)
            if len(known.X):
                P = _probabilities(model, known, past, met)
                best = _first_most_likely(P, known.choices)
                shares.add(known)
            append(columns.table(known, [model.labels[best.astype(np.intp)], P]))
        if past is not None:
            met.check(str(model.group), past)
        found = columns.summary()
        found.pop("counts")  # one row of each set, which says nothing
        return found | {"n_choices": shares.n_sets} | shares.described() | met.described(past)


@dataclass
class _Met:
    """How many rows belong to persons who have a history."""

    n_rows: int = 0
    n_met: int = 0

    def check(self, group: str, past: LabelledRows) -> None:
        """Raise if nobody has a history."""
        if not past.groups:
            raise ValueError("The history has no complete choices.")
        if self.n_met == 0:
            raise ValueError(
                f"No value of {group!r} occurs in the history, which has values such as "
                f"{next(iter(past.groups))!r}."
            )

    def described(self, past: LabelledRows | None) -> dict[str, int]:
        """Return the number of rows without a history, if there is any history."""
        return {} if past is None else {"n_without_history": self.n_rows - self.n_met}


@dataclass
class Shares:
    """Shares of the alternatives: sums over sets of the probability that they are chosen.

    Attributes
    ----------
    model : FittedTable
        The model.
    n_sets : int
        Number of sets so far.
    sums : dict
        For each alternative, its sum overall and in each class.
    """

    model: FittedTable
    n_sets: int = 0
    sums: dict[str, Vector] = field(default_factory=dict)

    def add(self, known: KnownRows) -> None:
        """Add the sets of a batch."""
        sets = known.choices
        assert sets is not None
        assert self.model.choices is not None
        column, names = self.model.choices.alternative, None
        if column is not None and column in known.table.column_names:
            text = as_text(known.table.column(column)).filter(known.complete)
            names = np.array(text.fill_null("(missing)").to_pylist())
        found = self.model.mixture.shares(
            self.model.named(known.X), choices=sets, alternatives=names,
            **self.model.of_groups(known),
        )  # fmt: skip
        n = len(np.unique(sets))
        self.n_sets += n
        labels = found.alternatives + 1 if names is None else found.alternatives
        lines = np.vstack([found.overall, found.by_class]).T * n
        for name, line in zip(labels.tolist(), lines, strict=True):
            self.sums[str(name)] = self.sums.get(str(name), 0.0) + line

    def described(self) -> dict[str, Any]:
        """Return the shares as plain data."""
        k = self.model.mixture.n_components_
        names = ["overall", *(letters(k) if k > 1 else [])]
        return {
            "shares": {
                alternative: dict(zip(names, (line / self.n_sets).tolist(), strict=False))
                for alternative, line in self.sums.items()
            }
        }


def _identifying(model: FittedTable, readers: Sequence[Reader], keep: Sequence[str]) -> list[str]:
    """Return the columns to keep: those that say whose choice and which alternative it is."""
    assert model.choices is not None
    own = (model.group, *model.choices.sets, model.choices.alternative)
    known = [name for name in own if name is not None and all(name in r.types for r in readers)]
    return list(dict.fromkeys([*known, *keep]))


def _history(
    model: FittedTable,
    readers: Sequence[Reader],
    history: Sequence[Reader] | None,
    missing: str | None,
    listen: Listen,
) -> LabelledRows | None:
    if history is None:
        return None
    if model.group is None:
        raise ValueError("--history needs a model that was fitted with --group.")
    if not all(model.group in reader.types for reader in readers):
        raise ValueError(f"--history needs the persons of the rows: column {model.group!r}.")
    return LabelledRows.read(model, history, missing, listen)


def _probabilities(
    model: FittedTable, known: KnownRows, past: LabelledRows | None, met: _Met
) -> Vector:
    """Return the probability that each row is chosen."""
    X, sets, of_groups = model.named(known.X), known.choices, model.of_groups(known)
    if past is None:
        return np.asarray(model.mixture.predict_proba(X, choices=sets, **of_groups))
    values, places = known.group_values(str(model.group))
    strangers = -1 - np.arange(len(values))  # no numbers of persons
    numbers = [past.groups.get(v, s) for v, s in zip(values, strangers.tolist(), strict=True)]
    own = np.array(numbers)[places]
    met.n_rows, met.n_met = met.n_rows + len(own), met.n_met + int((own >= 0).sum())
    of = past.of(np.unique(own[own >= 0]))
    history = None if not len(of.y) else (model.named(of.X), of.y, of.choices, of.numbers)
    P = model.mixture.predict_proba(X, choices=sets, groups=own, history=history, **of_groups)
    return np.asarray(P)


def _first_most_likely(P: Vector, sets: Any) -> NDArray[np.bool_]:
    """Return, for one row of each set, that it is the most likely one."""
    by_set = np.lexsort((-P, sets))
    first = np.append(True, np.diff(sets[by_set]) != 0)
    found = np.zeros(len(P), dtype=bool)
    found[by_set[first]] = True
    return found


def write_choice_clusters(
    model: FittedTable,
    readers: Sequence[Reader],
    output: Path,
    *,
    keep: Sequence[str] = (),
    missing: str | None = None,
    listen: Listen,
) -> dict[str, Any]:
    """Write the class of the person of every row, from all of their choices in the files."""
    check_kind(output)
    assert model.choices is not None
    readers = choice_readers(readers, model.choices, model.group)
    k, grouped = model.mixture.n_components_, model.group is not None
    called = np.array(letters(k))
    of_persons = model.group_weights(readers, missing, listen) if grouped else {}
    kept = _identifying(model, readers, keep)
    names = ["class", *(f"probability_{name}" for name in called)]
    columns = OutputRows(readers, output, kept, names)
    with writing(output) as append:
        for known, R in _classes(model, readers, of_persons, kept, missing, listen):
            append(columns.table(known, [called[R.argmax(axis=1)], *R.T]))
        return columns.summary()


def _classes(
    model: FittedTable,
    readers: Sequence[Reader],
    of_persons: dict[Any, tuple[Matrix, int]],
    kept: Sequence[str],
    missing: str | None,
    listen: Listen,
) -> Iterator[tuple[KnownRows, Matrix]]:
    """Yield rows, and the probabilities of the classes of their persons."""
    k, grouped = model.mixture.n_components_, model.group is not None
    for known in known_rows(
        model, readers, labelled=True, grouped=grouped, keep=kept, missing=missing, listen=listen
    ):
        R = np.empty((0, k))
        if len(known.X) and grouped:
            values, numbers = known.group_values(str(model.group))
            R = np.array([of_persons[value][0] for value in values]).reshape(-1, k)[numbers]
        elif len(known.X):
            X = model.named(known.X)
            of_groups = model.of_groups(known)
            R = model.mixture.component_proba(X, known.y, choices=known.choices, **of_groups)
        yield known, R

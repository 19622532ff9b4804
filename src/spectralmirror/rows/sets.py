"""Choice sets: which rows are the alternatives of one choice, and which of them was chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.messages import first_missing, refuse_masked
from spectralmirror.rows.types import Features, Vector

__all__ = [
    "SAME_IN_SETS",
    "ChoiceSets",
    "centred",
    "changes_inside",
    "check_chosen",
    "check_same_in_sets",
    "check_sets",
    "of_whole_sets",
]

SAME_IN_SETS = (
    "X is the same for all alternatives of each set in {columns}: no choice depends on it. Leave "
    "it out, or multiply it with an indicator of an alternative."
)


@dataclass(frozen=True, eq=False)
class ChoiceSets:
    """Which rows belong to which set.

    Attributes
    ----------
    names : ndarray of shape (n_sets,)
        The sets, in the order of their first rows.
    order : ndarray of shape (n,)
        The rows, set by set; within a set in the order in which they came.
    starts : ndarray of shape (n_sets,)
        Where in `order` each set begins.
    column : str
        What errors call the column of sets.
    where : callable or None
        Names the place of a row in errors; None if that is clear.
    """

    names: NDArray[Any]
    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    column: str = "choices"
    where: Callable[[int], str] | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of alternatives of each set."""
        return np.diff(self.starts, append=len(self.order))

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The number of the set of each ordered row."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def called(self, number: int) -> str:
        """Name a set within a sentence."""
        name = self.names[[number]].tolist()[0]
        place = ""
        if self.where is not None:
            place = f" (row {self.where(int(self.order[self.starts[number]]))})"
        return f"set {name!r} of {self.column}{place}"

    def check_sizes(self) -> None:
        """Raise unless every set has two alternatives or more."""
        alone = np.flatnonzero(self.sizes < 2)
        if len(alone):
            raise ValueError(
                f"S{self.called(int(alone[0]))[1:]} has a single alternative, so that nothing was "
                "chosen: leave such sets out."
            )


def check_sets(choices: Any, n: int) -> ChoiceSets:
    """Return the sets of n rows; every set needs two alternatives or more."""
    if choices is None:
        raise ValueError("choices is missing: pass the choice set of each row of X.")
    refuse_masked(choices, "choices")
    values = np.asarray(choices)
    if values.shape != (n,):
        raise ValueError(
            f"choices must name the set of each of {n} rows, got shape {values.shape}."
        )
    missing = first_missing(values)
    if missing is not None:
        raise ValueError(f"choices is missing in row {missing}: every row belongs to a set.")
    try:
        names, first, numbers = np.unique(values, return_index=True, return_inverse=True)
    except TypeError:
        raise ValueError("choices mixes values that cannot be compared: use one kind.") from None
    ranking = np.argsort(first, kind="stable")
    rank = np.empty_like(ranking)
    rank[ranking] = np.arange(len(names))
    order = np.argsort(rank[numbers], kind="stable")
    sizes = np.bincount(rank[numbers])
    sets = ChoiceSets(names[ranking], order, np.cumsum(sizes) - sizes)
    sets.check_sizes()
    return sets


def check_chosen(chosen: Any, sets: ChoiceSets, name: str = "chosen") -> Vector:
    """Return +1 for the chosen row of each set and -1 for others, in the order of the sets."""
    if chosen is None:
        raise ValueError(f"{name} is missing: say for each row of X whether it was {name}.")
    refuse_masked(chosen, name)
    values = np.asarray(chosen)
    n = len(sets.order)
    if values.shape != (n,):
        raise ValueError(
            f"{name} must say for each of {n} rows whether it was {name}, got shape {values.shape}."
        )
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.full(n, np.nan)
    if not np.isin(numbers, (0.0, 1.0)).all():
        raise ValueError(f"{name} must hold True or False (1 or 0) for each row.")
    count = np.add.reduceat(numbers[sets.order], sets.starts)
    if (count != 1).any():
        bad = int(np.flatnonzero(count != 1)[0])
        found = f"no {name} row" if count[bad] == 0 else f"{count[bad]:.0f} {name} rows"
        again = "" if count[bad] == 0 else (
            "; if its number stands for several sets, give each a number of its own"
        )  # fmt: skip
        raise ValueError(
            f"S{sets.called(bad)[1:]} has {found}: exactly one alternative of each set is {name}"
            f"{again}."
        )
    return np.where(numbers[sets.order] > 0, 1.0, -1.0)


def check_same_in_sets(values: NDArray[Any], sets: ChoiceSets, name: str) -> None:
    """Raise if ordered values change inside a set."""
    apart = values != np.repeat(values[sets.starts], sets.sizes)
    if apart.any():
        bad = int(sets.numbers[np.flatnonzero(apart)[0]])
        raise changes_inside(name, sets.called(bad))


def changes_inside(name: str, called: str) -> ValueError:
    """Return the error about a column that changes inside a set."""
    return ValueError(
        f"{name} changes inside {called}: a set belongs to one person, and its number must not "
        "stand for a set of anybody else."
    )


def centred(X: Features, sets: ChoiceSets) -> Features:
    """Return ordered rows less the mean of their set, which no choice depends on.

    Sparse rows stay as they are.
    """
    if sparse.issparse(X):
        return X
    means = np.add.reduceat(X, sets.starts, axis=0) / sets.sizes[:, None].astype(X.dtype)
    return np.asarray(X - np.repeat(means, sets.sizes, axis=0), dtype=X.dtype)


def of_whole_sets(rows: NDArray[np.bool_], numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows belong to a set all of whose rows are selected; sets are contiguous."""
    if not len(rows):
        return rows
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    whole = np.logical_and.reduceat(rows, starts)
    return np.asarray(np.repeat(whole, np.diff(starts, append=len(rows))))

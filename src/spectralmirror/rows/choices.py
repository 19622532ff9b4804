"""Choices in long form: one row for each alternative of each set, one of which is chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.checks import check_group_keys
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.messages import first_missing, refuse_masked
from spectralmirror.rows.traits import traits_of_rows
from spectralmirror.rows.types import Features, Vector
from spectralmirror.rows.weights import check_weights

__all__ = ["ChoiceSets", "accept_choices", "centred", "check_chosen", "check_sets"]


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
    """

    names: NDArray[Any]
    order: NDArray[np.intp]
    starts: NDArray[np.intp]

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

    def name(self, number: int) -> str:
        """Name a set in a sentence."""
        return repr(self.names[[number]].tolist()[0])


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
    if (sizes < 2).any():
        alone = sets.name(int(np.flatnonzero(sizes < 2)[0]))
        raise ValueError(
            f"Set {alone} of choices has a single alternative, so that nothing was chosen: leave "
            "such sets out."
        )
    return sets


def check_chosen(chosen: Any, sets: ChoiceSets) -> Vector:
    """Return +1 for the chosen row of each set and -1 for others, in the order of the sets."""
    refuse_masked(chosen, "chosen")
    values = np.asarray(chosen)
    n = len(sets.order)
    if values.shape != (n,):
        raise ValueError(f"chosen must say for each of {n} rows whether it was chosen, got shape "
                         f"{values.shape}.")  # fmt: skip
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.full(n, np.nan)
    if not np.isin(numbers, (0.0, 1.0)).all():
        raise ValueError("chosen must hold True or False (1 or 0) for each row.")
    count = np.add.reduceat(numbers[sets.order], sets.starts)
    if (count != 1).any():
        bad = int(np.flatnonzero(count != 1)[0])
        found = "no chosen row" if count[bad] == 0 else f"{count[bad]:.0f} chosen rows"
        again = "" if count[bad] == 0 else (
            "; if its number stands for several sets, give each a number of its own"
        )  # fmt: skip
        raise ValueError(
            f"Set {sets.name(bad)} of choices has {found}: exactly one alternative of each set is "
            f"chosen{again}."
        )
    return np.where(numbers[sets.order] > 0, 1.0, -1.0)


def check_same_in_sets(values: NDArray[Any], sets: ChoiceSets, name: str) -> None:
    """Raise if ordered values change inside a set."""
    apart = values != np.repeat(values[sets.starts], sets.sizes)
    if apart.any():
        bad = int(sets.numbers[np.flatnonzero(apart)[0]])
        raise ValueError(
            f"{name} changes inside set {sets.name(bad)} of choices: a set belongs to one person, "
            "and its number must not stand for a set of anybody else."
        )


def accept_choices(
    X: Features,
    chosen: Any,
    choices: Any,
    groups: Any,
    sample_weight: Any,
    membership: Any,
    known: Any,
) -> InMemoryGroups:
    """Return rows of checked features in whole sets and groups; without groups, sets are groups.

    Sets that all have two alternatives become rows of their own: the difference between the first
    and the second, with a binary label.
    """
    n = int(X.shape[0])
    sets = check_sets(choices, n)
    y = check_chosen(chosen, sets)
    keys = check_group_keys(choices if groups is None else groups, n)
    assert keys is not None
    keys = keys[sets.order]
    check_same_in_sets(keys, sets, "groups")
    weight = None
    if sample_weight is not None:
        weight = check_weights(sample_weight, n, X.dtype)[sets.order]
        check_same_in_sets(weight, sets, "sample_weight")
    persons = choices if groups is None else groups
    traits, columns = traits_of_rows(membership, known, n, persons)
    traits = None if traits is None else traits[sets.order]
    X = X[sets.order]
    rows = Rows(X, y.astype(X.dtype), weight, keys=keys, traits=traits, sets=sets.numbers)
    if (sets.sizes == 2).all():
        difference = X[sets.starts] - X[sets.starts + 1]
        rows = replace(rows[sets.starts], X=difference, sets=None)
    else:
        rows = replace(rows, X=centred(X, sets))
    return replace(InMemoryGroups.of(rows), trait_columns=columns)


def centred(X: Features, sets: ChoiceSets) -> Features:
    """Return ordered rows less the mean of their set, which no choice depends on.

    Sparse rows stay as they are.
    """
    if sparse.issparse(X):
        return X
    means = np.add.reduceat(X, sets.starts, axis=0) / sets.sizes[:, None].astype(X.dtype)
    return np.asarray(X - np.repeat(means, sets.sizes, axis=0), dtype=X.dtype)

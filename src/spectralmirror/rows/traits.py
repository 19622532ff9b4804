"""What is known about the group of each row: membership covariates, and its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.checks import check_groups
from spectralmirror.rows.feature_table import find_column_without_numbers
from spectralmirror.rows.grouped import Block, GroupedRows
from spectralmirror.rows.messages import refuse_masked
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.types import Matrix, Vector

__all__ = [
    "TraitColumns",
    "TraitSums",
    "check_agreement",
    "check_known",
    "check_membership",
    "check_traits",
    "traits_of_rows",
]


@dataclass(frozen=True)
class TraitColumns:
    """The columns of traits: names of the covariates, and whether the class of a group follows."""

    names: tuple[str, ...]
    has_known: bool

    def __len__(self) -> int:
        return len(self.names) + self.has_known


@dataclass(frozen=True, eq=False)
class TraitSums:
    """Sums over groups that describe their traits; those of two parts can be added.

    Attributes
    ----------
    weight : float
        Sum of the weights of the groups.
    mean, scatter : ndarray of shape (m,)
        Mean, and sum of squared deviations from it.
    least, most : ndarray of shape (m,)
        Smallest and largest value.
    n_varying : int
        Number of groups whose rows do not agree.
    n_unclear : int
        Number of known classes that are not whole numbers.
    """

    weight: float
    mean: Vector
    scatter: Vector
    least: Vector
    most: Vector
    n_varying: int
    n_unclear: int

    @classmethod
    def of(cls, block: Block) -> TraitSums:
        """Sum over the groups of a block."""
        traits, w = block.group_traits, block.shares[0]
        w = np.ones(len(traits)) if w is None else w
        mean = w @ traits / w.sum()
        apart = np.square(traits - mean)
        assert block.traits is not None
        varying = block.sums((block.traits != block.of_rows(traits.T).T).any(axis=1)[None] * 1)
        unclear = int((traits[:, -1] % 1 != 0).sum())
        least, most = traits.min(axis=0), traits.max(axis=0)
        return cls(float(w.sum()), mean, w @ apart, least, most, int((varying > 0).sum()), unclear)

    def __add__(self, other: TraitSums) -> TraitSums:
        total = self.weight + other.weight
        apart = other.mean - self.mean
        return TraitSums(
            total,
            self.mean + apart * (other.weight / total),
            self.scatter + other.scatter + apart**2 * (self.weight * other.weight / total),
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
            self.n_varying + other.n_varying,
            self.n_unclear + other.n_unclear,
        )

    @property
    def scale(self) -> Vector:
        """Standard deviation of each trait over the groups."""
        return np.asarray(np.sqrt(self.scatter / self.weight))


def check_traits(grouped: GroupedRows, columns: TraitColumns) -> TraitSums:
    """Return sums over the traits of all groups; raise if they cannot be used."""
    sums = reduce(grouped, TraitSums.of)
    q = len(columns.names)
    _check_finite(sums.mean + sums.scatter, (*columns.names, "known"))
    if sums.n_varying:
        raise ValueError(
            f"membership and known must be the same in all rows of a group, but they change inside "
            f"{sums.n_varying:,} groups: use one value for each group."
        )
    constant = np.flatnonzero(sums.least[:q] == sums.most[:q])
    if len(constant):
        raise ValueError(
            f"membership: {columns.names[constant[0]]!r} is the same for all groups, so that it "
            "says nothing about their classes: leave it out."
        )
    if columns.has_known and (sums.n_unclear or sums.least[-1] < -1):
        raise ValueError(
            "known must hold a whole number for each row: the class of its group, counted from 0, "
            "or -1 if it is not known."
        )
    return sums


def _check_finite(sums: Vector, names: tuple[str, ...]) -> None:
    bad = np.flatnonzero(~np.isfinite(sums))
    if len(bad):
        raise ValueError(
            f"membership: {names[bad[0]]!r} has values that are missing or not finite: leave such "
            "rows out, or fill them in."
        )


def traits_of_rows(
    membership: Any, known: Any, n: int, groups: Any
) -> tuple[Matrix | None, TraitColumns | None]:
    """Return the traits of n rows in memory, and what their columns are; None if there are none."""
    if membership is None and known is None:
        return None, None
    found, names = np.empty((n, 0)), tuple[str, ...]()
    if membership is not None:
        found, names = check_membership(membership, n, groups)
    if known is not None:
        found = np.column_stack([found, check_known(known, n)])
    check_agreement(found, groups, check_groups(groups, n))
    return found, TraitColumns(names, known is not None)


def check_membership(membership: Any, n: int, groups: Any) -> tuple[Matrix, tuple[str, ...]]:
    """Return the covariates of each row, shape (n, q), and their names.

    There is a line for each row; or one for each group, in a DataFrame whose index names the
    groups.
    """
    refuse_masked(membership, "membership")
    table = membership
    if _is_indexed_by_group(membership, n, groups):
        table = _of_groups(membership, groups)
    named = hasattr(membership, "columns")
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        found = find_column_without_numbers(table) if named else None
        where = "" if found is None else f" ({found})"
        raise ValueError(
            f"membership must hold numbers: encode categories as 0 and 1 first{where}."
        ) from None
    values = values.reshape(-1, 1) if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != n or not values.shape[1]:
        raise ValueError(
            f"membership must have a line for each of {n} rows, or for each group as a DataFrame "
            f"whose index names the groups; got shape {np.shape(membership)}."
        )
    if named:
        names = tuple(map(str, membership.columns))
    elif getattr(membership, "name", None) is not None:
        names = (str(membership.name),)
    else:
        names = tuple(f"z{j}" for j in range(values.shape[1]))
    _check_finite(values.sum(axis=0), names)
    return values, names


def _is_indexed_by_group(membership: Any, n: int, groups: Any) -> bool:
    """Return whether a DataFrame, or Series, has a line for each group rather than for each row."""
    index = getattr(membership, "index", None)
    if groups is None or index is None or not hasattr(index, "get_indexer"):
        return False
    return len(index) != n or (index.is_unique and bool(np.isin(np.asarray(groups), index).all()))


def _of_groups(membership: Any, groups: Any) -> Any:
    """Return the line of each row's group."""
    index, values = membership.index, np.asarray(groups)
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        raise ValueError(f"membership has two lines for group {twice!r}: keep one.")
    place = index.get_indexer(values)
    if (place < 0).any():
        missing = values[place < 0].tolist()[0]
        raise ValueError(
            f"membership has no line for group {missing!r}: its index must name every group, or it "
            "must have a line for each row."
        )
    return membership.iloc[place]


def check_known(known: Any, n: int) -> Vector:
    """Return the class of each row's group, -1 if it is not known."""
    refuse_masked(known, "known")
    try:
        values = np.asarray(known, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(n, np.nan)
    whole = values.shape == (n,) and bool((np.isfinite(values) & (values % 1 == 0)).all())
    if not whole or (values < -1).any():
        raise ValueError(
            f"known must hold a whole number for each of {n} rows: the class of its group, counted "
            "from 0, or -1 if it is not known."
        )
    return values


def check_agreement(traits: Matrix, groups: Any, numbers: NDArray[np.int64] | None) -> None:
    """Raise if rows of one group disagree, and name such a group."""
    if numbers is None:
        return
    _, first = np.unique(numbers, return_index=True)
    apart = np.flatnonzero((traits != traits[first[numbers]]).any(axis=1))
    if len(apart):
        group = np.asarray(groups)[[apart[0]]].tolist()[0]
        raise ValueError(
            "membership and known must be the same in all rows of a group, but they change inside "
            f"group {group!r}: use one value for each group."
        )

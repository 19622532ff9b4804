"""What is known about the group of each row: membership covariates, and its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.checks import check_groups
from spectralmirror.rows.feature_table import find_column_without_numbers
from spectralmirror.rows.grouped import Block, GroupedRows
from spectralmirror.rows.messages import listed, refuse_masked
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = [
    "CLASSES",
    "ENCODE",
    "TraitColumns",
    "TraitSums",
    "check_agreement",
    "check_known",
    "check_membership",
    "check_traits",
    "is_table_of_groups",
    "stacked",
    "table_of_groups",
    "trait_columns",
    "traits_of_rows",
]

#: What to do about columns that are no numbers.
ENCODE = "encode categories as 0 and 1 first"
CLASSES = (
    "known must hold a whole number for each row: the class of its group, counted from 0, or -1 if "
    "it is not known"
)


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
    mean : ndarray of shape (m,)
        The mean.
    scatter : ndarray of shape (m, m)
        Sum of products of deviations from it.
    least, most : ndarray of shape (m,)
        Smallest and largest value.
    n_varying : int
        Number of groups whose rows do not agree.
    n_unclear : int
        Number of known classes that are not whole numbers.
    """

    weight: float
    mean: Vector
    scatter: Matrix
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
        apart = traits - mean
        assert block.traits is not None
        varying = block.sums((block.traits != block.of_rows(traits.T).T).any(axis=1)[None] * 1)
        unclear = int((traits[:, -1] % 1 != 0).sum())
        least, most = traits.min(axis=0), traits.max(axis=0)
        scatter = (apart.T * w) @ apart
        return cls(float(w.sum()), mean, scatter, least, most, int((varying > 0).sum()), unclear)

    def __add__(self, other: TraitSums) -> TraitSums:
        total = self.weight + other.weight
        apart = other.mean - self.mean
        return TraitSums(
            total,
            self.mean + apart * (other.weight / total),
            self.scatter
            + other.scatter
            + np.outer(apart, apart) * (self.weight * other.weight / total),
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
            self.n_varying + other.n_varying,
            self.n_unclear + other.n_unclear,
        )

    @property
    def scale(self) -> Vector:
        """Standard deviation of each trait over the groups."""
        return np.asarray(np.sqrt(np.diagonal(self.scatter) / self.weight))

    def correlation(self, q: int) -> Matrix:
        """Return the correlations of the first q traits, which must vary."""
        scale = self.scale[:q]
        return np.asarray(self.scatter[:q, :q] / self.weight / scale / scale[:, None])


def check_traits(grouped: GroupedRows, columns: TraitColumns) -> TraitSums:
    """Return sums over the traits of all groups; raise if they cannot be used."""
    sums = reduce(grouped, TraitSums.of)
    q = len(columns.names)
    _check_finite(sums.mean + np.diagonal(sums.scatter), (*columns.names, "known"))
    if sums.n_varying:
        raise _change_inside(grouped.varying_group(), columns)
    constant = np.flatnonzero(sums.least[:q] == sums.most[:q])
    if len(constant):
        raise ValueError(
            f"membership: {columns.names[constant[0]]!r} is the same for all groups, so that it "
            "says nothing about their classes: leave it out."
        )
    if columns.has_known and (sums.n_unclear or sums.least[-1] < -1):
        raise ValueError(f"{CLASSES}.")
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
    columns = TraitColumns(names, known is not None)
    check_agreement(found, columns, groups, check_groups(groups, n))
    return found, columns


def check_membership(membership: Any, n: int, groups: Any) -> tuple[Matrix, tuple[str, ...]]:
    """Return the covariates of each row, shape (n, q), and their names.

    There is a line for each row; or one for each group, in a DataFrame whose index names the
    groups.
    """
    refuse_masked(membership, "membership")
    table = membership
    if is_table_of_groups(membership, n, groups):
        table = table_of_groups(membership, groups)
    named = hasattr(membership, "columns")
    try:
        values = _floats(table)
    except (TypeError, ValueError):
        found = find_column_without_numbers(table) if named else None
        where = "" if found is None else f" ({found})"
        raise ValueError(f"membership must hold numbers: {ENCODE}{where}.") from None
    values = values.reshape(-1, 1) if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != n or not values.shape[1]:
        raise ValueError(
            f"membership must have a line for each of {n} rows, or for each group as a DataFrame "
            f"whose index names the groups; got shape {np.shape(membership)}."
        )
    names = _names_of(membership)
    _check_finite(values.sum(axis=0), names)
    return values, names


def is_table_of_groups(membership: Any, n: int, groups: Any) -> bool:
    """Return whether a DataFrame, or Series, has a line for each group rather than for each row.

    As many lines as rows are taken for lines of the rows, unless every row has a group of its own
    and the index names just these groups.
    """
    index = getattr(membership, "index", None)
    if groups is None or index is None or not hasattr(index, "get_indexer"):
        return False
    if len(index) != n:
        return True
    return bool(index.is_unique and index.isin(groups).all() and len(np.unique(groups)) == n)


def table_of_groups(membership: Any, groups: Any) -> Any:
    """Return the line of each row's group."""
    index, values = membership.index, np.asarray(groups)
    if not index.is_unique:
        twice = index[index.duplicated()].tolist()[0]
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
    values = _classes(known)
    if values.shape != (n,) or (values < -1).any() or (values % 1 != 0).any():
        raise ValueError(f"{CLASSES}; got shape {values.shape} for {n} rows.")
    return values


def stacked(membership: Any, known: Any, n: int, place: str) -> Matrix | None:
    """Return the traits of n rows of a source; None if there are none.

    `membership` has a line for each row, or is a tuple of columns; `place` says where the rows come
    from.
    """
    if membership is None and known is None:
        return None
    given = membership if isinstance(membership, tuple) else (membership,)
    try:
        found = [_floats(one) for one in given if one is not None]
    except (TypeError, ValueError):
        raise ValueError(f"membership must hold numbers: {ENCODE} ({place}).") from None
    if known is not None:
        found.append(_classes(known))
    for values in found:
        if values.shape[:1] != (n,) or values.ndim > 2:
            raise ValueError(
                f"membership and known must have a line for each of {n} rows, got shape "
                f"{values.shape} ({place})."
            )
    return np.column_stack(found)


def trait_columns(membership: Any, known: Any) -> TraitColumns | None:
    """Return what the columns of arrays or frames are; None if there are none."""
    if membership is None and known is None:
        return None
    names = () if membership is None else _names_of(membership)
    return TraitColumns(names, known is not None)


def _names_of(membership: Any) -> tuple[str, ...]:
    """Return the names of covariates; z0, z1, ... if they have none."""
    if hasattr(membership, "columns"):
        return tuple(map(str, membership.columns))
    if hasattr(membership, "to_frame") and membership.name is not None:
        return (str(membership.name),)
    q = 1 if np.ndim(membership) == 1 else np.shape(membership)[1]
    return tuple(f"z{j}" for j in range(q))


def _classes(known: Any) -> Vector:
    """Return known classes as numbers, -1 for those that are missing."""
    try:
        values = _floats(known)
    except (TypeError, ValueError):
        raise ValueError(f"{CLASSES}.") from None
    return np.where(np.isnan(values), -1.0, values)


def _floats(values: Any) -> AnyArray:
    """Return numbers as floats, NaN for missing ones of any kind."""
    if hasattr(values, "isna"):
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(values, dtype=np.float64)


def check_agreement(
    traits: Matrix, columns: TraitColumns, groups: Any, numbers: NDArray[np.int64] | None
) -> None:
    """Raise if rows of one group disagree, and name such a group."""
    if numbers is None:
        return
    _, first = np.unique(numbers, return_index=True)
    expected = traits[first[numbers]]
    missing = np.isnan(traits) & np.isnan(expected)  # which is said later
    apart = np.flatnonzero(((traits != expected) & ~missing).any(axis=1))
    if len(apart):
        raise _change_inside(np.asarray(groups)[[apart[0]]].tolist()[0], columns)


def _change_inside(group: Any, columns: TraitColumns) -> ValueError:
    membership = [f"membership ({listed(columns.names)})"] if columns.names else []
    return ValueError(
        f"{' and '.join([*membership, *['known'] * columns.has_known])} must be the same in all "
        f"rows of a group, but they change inside group {group!r}: use one value for each group."
    )

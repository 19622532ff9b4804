"""Choices from rows that are not in memory: parts of whole sets, as :func:`accept_choices` does.

The rows of a set become rows of a mixture: less their mean, which no choice depends on; or, if all
sets have two alternatives, the difference between the first and the second, with a binary label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.contiguity import SetOrder
from spectralmirror.rows.hashing import group_keys
from spectralmirror.rows.memory import BLOCK_BYTES, block_rows
from spectralmirror.rows.messages import first_missing
from spectralmirror.rows.part import Part
from spectralmirror.rows.reduce import Sums
from spectralmirror.rows.sets import (
    ChoiceSets,
    centred,
    check_chosen,
    check_same_in_sets,
    check_sets,
)
from spectralmirror.rows.types import Vector

__all__ = [
    "ChoiceParts",
    "PairRange",
    "SetCounts",
    "as_rows",
    "no_rows",
    "set_keys",
    "sets_of_part",
    "whole_sets",
]


@dataclass(frozen=True, eq=False)
class SetCounts(Sums):
    """Numbers of choice sets, and of those with two alternatives; those of two parts are added."""

    n_sets: int
    n_pairs: int

    @classmethod
    def of(cls, sets: ChoiceSets) -> SetCounts:
        """Count the sets of a part."""
        return cls(len(sets), int((sets.sizes == 2).sum()))

    @property
    def in_pairs(self) -> bool:
        """Whether all sets have two alternatives."""
        return self.n_sets == self.n_pairs


@dataclass(frozen=True, eq=False)
class PairRange:
    """Least and largest difference within sets of two, by column; those of two parts are merged.

    A difference that is always the same, such as that of a constant of an alternative that comes
    first in all sets, cannot be a column of its own: sets stay sets.
    """

    least: Vector
    most: Vector

    @classmethod
    def of(cls, part: Part, sets: ChoiceSets) -> PairRange:
        """Return the range of a part."""
        X = as_rows(replace(part, weight=None), sets, in_pairs=True).X
        ends = X.min(axis=0), X.max(axis=0)
        least, most = (one.toarray().ravel() if sparse.issparse(one) else one for one in ends)
        return cls(least, most)

    @property
    def varies(self) -> bool:
        """Whether the differences vary in all columns."""
        return not bool((self.least == self.most).any())

    def __add__(self, other: PairRange) -> PairRange:
        least, most = np.minimum(self.least, other.least), np.maximum(self.most, other.most)
        return PairRange(least, most)


def set_keys(part: Part, column: str) -> NDArray[np.uint64]:
    """Return the key of each row's choice set."""
    values = np.asarray(part.choices)
    row = first_missing(values)
    if row is not None:
        raise ValueError(
            f"{column} is missing in row {part.where(row)}: every row belongs to a choice set."
        )
    try:
        found, numbers = np.unique(values, return_inverse=True)
    except TypeError:
        raise ValueError(f"{column} mixes values that cannot be compared: use one kind.") from None
    return group_keys(found)[numbers]


def whole_sets(parts: Iterator[Part], column: str) -> Iterator[Part]:
    """Yield parts of whole sets, whose rows follow each other."""
    held: Part | None = None
    for part in parts:
        joined = part if held is None else Part.joined([held, part])
        cut = int(_begins(joined, column)[-1]) if len(joined) else 0
        if cut:
            yield joined[:cut]
        held = joined[cut:]
    if held is not None and len(held):
        yield held


def _begins(part: Part, column: str) -> NDArray[np.intp]:
    keys = set_keys(part, column)
    return np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))


def sets_of_part(part: Part, column: str = "choices", *, contiguous: bool = True) -> ChoiceSets:
    """Return the sets of a part that holds whole sets, after checking them."""
    if contiguous:
        starts, values = _begins(part, column), np.asarray(part.choices)
        where = part.where if part.places else None
        sets = ChoiceSets(values[starts], np.arange(len(part)), starts, column, where)
        sets.check_sizes()
    else:
        sets = check_sets(part.choices, len(part))
    if part.groups is not None:
        part.check_groups()
        check_same_in_sets(np.asarray(part.groups)[sets.order], sets, "groups")
    if part.weight is not None:
        check_same_in_sets(np.asarray(part.weight)[sets.order], sets, "sample_weight")
    return sets


def as_rows(part: Part, sets: ChoiceSets, *, in_pairs: bool) -> Part:
    """Return the rows of a mixture: labels are truth values, and sets are named by their keys.

    Without groups, each set is a group of its own.
    """
    order = sets.order
    y = check_chosen(part.y, sets) > 0
    keys = set_keys(part, sets.column)[order].view(np.int64)
    groups = np.asarray(part.choices if part.groups is None else part.groups)[order]
    weight = None if part.weight is None else np.asarray(part.weight)[order]
    traits = None if part.traits is None else part.traits[order]
    X = part.X[order] if not _is_sorted(order) else part.X
    if not in_pairs:
        X = centred(X, sets) if X.shape[1] else X
        return replace(part, X=X, y=y, groups=groups, weight=weight, traits=traits, choices=keys)
    first, second = sets.starts, sets.starts + 1
    return Part(
        X[first] - X[second] if not sparse.issparse(X) else (X[first] - X[second]).tocsr(),
        y[first],
        None if weight is None else weight[first],
        groups[first],
        part.places,
        traits=None if traits is None else traits[first],
    )


def no_rows(part: Part, *, in_pairs: bool) -> Part:
    """Return an empty part as one of rows of a mixture."""
    keys = None if in_pairs else np.empty(0, dtype=np.int64)
    return replace(part, y=np.empty(0, dtype=bool), choices=keys)


def _is_sorted(order: NDArray[np.intp]) -> bool:
    return bool((np.diff(order) == 1).all())


@dataclass(frozen=True, eq=False)
class ChoiceParts:
    """Parts of a source of choices, as the rows of a mixture.

    Attributes
    ----------
    parts : object
        The source, whose parts name the choice set of each row.
    column : str
        What errors call the column of choice sets.
    n_sets : int
        How many sets there are.
    in_pairs : bool
        Whether their differences, of two alternatives each, are the rows.
    """

    parts: Any
    column: str
    n_sets: int
    in_pairs: bool

    @classmethod
    def of(cls, parts: Any) -> ChoiceParts:
        """Check all sets: one pass over labels, groups and sets.

        Of sets of two, features are read as well, until a difference has varied in each column.
        """
        column = parts.set_column
        counts, order = SetCounts(0, 0), SetOrder()
        for part in whole_sets(parts.survey(), column):
            sets = sets_of_part(part, column)
            check_chosen(part.y, sets)
            counts = counts + SetCounts.of(sets)
            order.add(set_keys(part, column)[sets.starts])
        key = order.twice()
        if key is not None:
            raise _comes_again(parts, column, key)
        in_pairs = counts.in_pairs and _differences_vary(parts, column)
        return cls(parts, column, counts.n_sets, in_pairs)

    @property
    def names(self) -> Any:
        """The names of the features."""
        return self.parts.names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.parts.n_features)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the features."""
        dtype: np.dtype[Any] = self.parts.dtype
        return dtype

    @property
    def has_groups(self) -> bool:
        """Whether some rows belong together."""
        return bool(self.parts.has_groups or not self.in_pairs)

    @property
    def trait_columns(self) -> Any:
        """What is known about the group of each row."""
        return getattr(self.parts, "trait_columns", None)

    def survey(self) -> Iterator[Part]:
        """Yield everything but the features."""
        yield from self._rows(self.parts.survey())

    def read(self, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield parts of about `n_rows` rows."""
        yield from self._rows(self.parts.read(n_rows, dtype, keep))

    def _rows(self, parts: Iterator[Part]) -> Iterator[Part]:
        for part in whole_sets(parts, self.column):
            sets = sets_of_part(part, self.column)
            yield as_rows(part, sets, in_pairs=self.in_pairs)


def _differences_vary(parts: Any, column: str) -> bool:
    """Return whether differences of sets of two vary in all columns."""
    found: PairRange | None = None
    n_rows = block_rows(BLOCK_BYTES, int(parts.n_features), parts.dtype)
    for part in whole_sets(parts.read(n_rows, parts.dtype), column):
        here = PairRange.of(part, sets_of_part(part, column))
        found = here if found is None else found + here
        if found.varies:
            return True
    return found is None


def _comes_again(parts: Any, column: str, key: np.uint64) -> ValueError:
    """Return an error that names a set that begins twice, and both places."""
    places: list[str] = []
    name: Any = None
    for part in whole_sets(parts.survey(), column):
        starts = _begins(part, column)
        for start in starts[set_keys(part, column)[starts] == key].tolist():
            name = np.asarray(part.choices)[[start]].tolist()[0]
            places.append(part.where(start))
    return ValueError(
        f"Set {name!r} of {column} begins in row {places[0]} and comes again in row {places[1]}: "
        "the rows of a set must follow each other. Sort them, or give each set a number of its own."
    )

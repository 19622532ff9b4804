"""Rows in parts that are not in memory together: batches of a file, partitions of a cluster.

A part is what a reader hands over, labels of any kind and all. Before the first sum a survey learns
what all parts have in common: the two classes, the number of rows, the sums of their weights. After
it every part can be turned into rows by itself, wherever it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.checks import (
    check_classes,
    signs,
    unique_labels,
)
from spectralmirror.rows.grouped import Rowset
from spectralmirror.rows.hashing import group_keys
from spectralmirror.rows.memory import BLOCK_BYTES, Rows, block_rows
from spectralmirror.rows.messages import is_missing
from spectralmirror.rows.reduce import reduce, sum_of
from spectralmirror.rows.types import AnyArray, Features
from spectralmirror.rows.weights import WeightSums

__all__ = [
    "Encoding",
    "Keyed",
    "Part",
    "Parted",
    "Remote",
    "Streamed",
    "Survey",
    "keys_of",
]

T = TypeVar("T")
#: More different labels than these are not remembered: two are allowed.
MOST_LABELS = 1_000
#: Rows of which labels and groups are surveyed at a time.
SURVEYED = 65_536


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows, as they were read.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Features.
    y : ndarray of shape (n,)
        Labels of any kind.
    weight, groups : ndarray of shape (n,) or None
        Weights, and the values of groups.
    places : tuple
        Where the rows come from, for errors: names, and the numbers of first and last row there.
    """

    X: Features
    y: NDArray[Any]
    weight: AnyArray | None = None
    groups: NDArray[Any] | None = None
    places: tuple[tuple[str, int, int], ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    @property
    def place(self) -> str:
        """Where the rows come from."""
        if not self.places:
            return ""
        (first, start, _), (last, _, end) = self.places[0], self.places[-1]
        if first != last:
            return f"from row {start:,} of {first} to row {end:,} of {last}"
        return f"{first}, rows {start:,} to {end:,}"

    def where(self, i: int) -> str:
        """Name one of the rows."""
        for name, start, end in self.places:
            if i <= end - start:
                return f"{start + i:,} of {name}"
            i -= end - start + 1
        return f"{i:,}"


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of all parts together.

    Attributes
    ----------
    classes : ndarray
        The different labels of rows whose weight is not 0.
    weights : WeightSums
        Sums of the weights, all of them 1 where there are none.
    lengths : tuple of int
        Number of rows that are present in each part.
    """

    classes: NDArray[Any]
    weights: WeightSums
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, part: Part) -> Survey:
        """Look at labels and weights of one part."""
        y = np.asarray(part.y)
        missing = np.flatnonzero([v is None for v in y] if y.dtype == object else y != y)
        if len(missing):
            raise ValueError(
                f"Input y contains NaN (a missing label) in row {part.where(int(missing[0]))}: "
                "drop such rows first."
            )
        n = len(y)
        if part.weight is None:
            weights = WeightSums.ones(n)
        else:
            weight = np.asarray(part.weight, dtype=np.float64)
            weights = WeightSums.of(weight, part.where)
            y = y[weight > 0]
        if part.groups is not None:
            _check_groups(part)
        return cls(unique_labels(y)[:MOST_LABELS], weights, (weights.n_present,))

    def __add__(self, other: Survey) -> Survey:
        # an empty part may have labels of any dtype
        known = [one.classes for one in (self, other) if len(one.classes)]
        classes = unique_labels(np.concatenate(known)) if known else self.classes
        return Survey(
            classes[:MOST_LABELS], self.weights + other.weights, self.lengths + other.lengths
        )

    def as_one_part(self) -> Survey:
        """Return the survey of a part that came in pieces."""
        return replace(self, lengths=(sum(self.lengths),))

    def check(self) -> None:
        """Raise where there is nothing to fit."""
        if not sum(self.lengths):
            raise ValueError("There are no rows (0 samples), or all of them have a weight of 0.")
        check_classes(self.classes)


@dataclass(frozen=True, eq=False)
class Encoding:
    """How a part becomes rows with labels of -1 and +1.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        The labels.
    weights : WeightSums
        Of all rows.
    dtype : dtype
        Precision of the features.
    block_bytes : int
        Size of the blocks in which they are summed.
    """

    classes: NDArray[Any]
    weights: WeightSums
    dtype: np.dtype[Any]
    block_bytes: int = BLOCK_BYTES

    def rows(self, part: Part, start: int) -> Rows:
        """Return the rows that are present; `start` is the number of the first one."""
        weight = None
        if part.weight is not None:
            weight = self.weights.scaled(np.asarray(part.weight, np.float64), self.dtype)
        rows = Rows(
            part.X.astype(self.dtype, copy=False),
            signs(part.y, self.classes, self.dtype),
            weight,
            self.block_bytes,
            place=part.place,
        )
        return replace(rows.present(), start=start)


def _check_groups(part: Part) -> NDArray[Any]:
    """Return the values of groups, none of them missing."""
    values = np.asarray(part.groups)
    missing = (
        [is_missing(value) for value in values] if values.dtype == object else values != values
    )
    if np.any(missing):
        raise ValueError(
            f"groups has missing values, as in row {part.where(int(np.flatnonzero(missing)[0]))}: "
            "give such rows a group of their own."
        )
    return values


def keys_of(part: Part) -> NDArray[np.uint64]:
    """Return the key of the group of every row that is present."""
    values = _check_groups(part)
    try:
        found, numbers = np.unique(values, return_inverse=True)
    except TypeError:
        raise ValueError(
            f"groups holds values that cannot be compared ({part.place}): use numbers or text."
        ) from None
    keys = group_keys(found)[numbers]
    return keys if part.weight is None else keys[np.asarray(part.weight) > 0]


@dataclass(frozen=True, eq=False)
class Keyed:
    """Rows, and the key of the group of each."""

    rows: Rows
    keys: NDArray[np.uint64]

    def __getitem__(self, index: Any) -> Keyed:
        return Keyed(self.rows[index], self.keys[index])

    @classmethod
    def joined(cls, parts: list[Keyed]) -> Keyed:
        """Put parts together, in the order in which they are given."""
        rows = Rows.joined([part.rows for part in parts], in_order=False)
        return cls(rows, np.concatenate([part.keys for part in parts]))

    @property
    def rowset(self) -> Rowset:
        """The rows in the order of their groups."""
        return Rowset.of(self.rows, self.keys)


@dataclass(frozen=True, eq=False)
class Parted:
    """A source that is not in memory.

    Attributes
    ----------
    parts : object
        The rows as they are read. In this process, ``read(n_rows, dtype)`` yields parts of at most
        so many rows. Elsewhere, ``map_reduce(function)`` returns the sum of a function of a part's
        number, of how many of its rows were handed over before (it may come in pieces), and of
        the part; values of None do not count.
    n_features : int
        Number of features.
    survey : Survey
        What all parts have in common.
    encoding : Encoding
        How a part becomes rows.
    window : tuple of int
        The numbers of the rows that are meant.
    passes : Counter
        How often the rows were read.
    """

    parts: Any
    n_features: int
    survey: Survey
    encoding: Encoding
    window: tuple[int, int]
    passes: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(
        cls,
        parts: Any,
        n_features: int,
        dtype: np.dtype[Any],
        survey: Survey,
        block_bytes: int = BLOCK_BYTES,
    ) -> Any:
        """Return the rows of the parts, once they were surveyed."""
        survey.check()
        encoding = Encoding(survey.classes, survey.weights, dtype, block_bytes)
        window = 0, sum(survey.lengths)
        return cls(parts, n_features, survey, encoding, window, Counter(survey=1))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the features."""
        return self.encoding.dtype

    @property
    def n_present(self) -> int:
        """Number of rows that count."""
        return self.window[1] - self.window[0]

    @property
    def has_fractions(self) -> bool:
        """Whether there are weights that are no counts."""
        return self.survey.weights.has_fractions

    @property
    def total_weight(self) -> float:
        """The sum of the weights."""
        return self._weights.total_scaled

    @property
    def effective_rows(self) -> float:
        """The number of equally weighted rows that these are worth."""
        return self._weights.effective

    @cached_property
    def _weights(self) -> WeightSums:
        known = self.survey.weights
        if self.n_present == known.n_present:
            return known
        if known.least == known.unit == 1:
            return WeightSums.ones(self.n_present)
        return replace(reduce(self, _weights_of), fractions=False)  # they are scaled already

    def between(self, first: int, last: int) -> Any:
        """Return the rows of these numbers, those of weight 0 not being counted."""
        a = self.window[0]
        return replace(self, window=(a + first, a + last))


def _weights_of(block: Rows) -> WeightSums:
    weight = np.ones(len(block)) if block.weight is None else block.weight.astype(np.float64)
    return WeightSums.of(weight)


def clipped(rows: Rows, window: tuple[int, int]) -> Rows:
    """Return those of the rows whose numbers lie in the window."""
    first, last = (min(max(end - rows.start, 0), len(rows)) for end in window)
    if (first, last) == (0, len(rows)):
        return rows
    return replace(rows[first:last], start=rows.start + first)


class Streamed(Parted):
    """Rows that are read one part after the other, in this process."""

    def blocks(self, factor: int = 1) -> Iterator[Rows]:
        """Yield the rows in blocks of the size that they would have in memory."""
        for rows, _ in self._read(factor):
            yield from rows.blocks(factor)

    def keyed_blocks(self) -> Iterator[Keyed]:
        """Yield the same together with the keys of their groups."""
        return (Keyed(rows, keys_of(part)) for rows, part in self._read(1))

    def _read(self, factor: int) -> Iterator[tuple[Rows, Part]]:
        self.passes["rows"] += 1
        size = block_rows(self.encoding.block_bytes, self.n_features, self.dtype, factor)
        start, found, total = 0, 0, sum(self.survey.lengths)
        for part in self.parts.read(size, self.dtype):
            rows = self.encoding.rows(part, start)
            start += len(rows)
            rows = clipped(rows, self.window)
            if len(rows):
                found += len(rows)
                yield rows, part
            if start >= self.window[1] < total:
                break  # the rest is not meant; after all rows there must be no more
        if found != self.n_present or start > total:
            raise ValueError(
                f"The files had {total:,} rows when they were first read, and have {start:,} now: "
                "do not change them while they are being used."
            )


class Remote(Parted):
    """Rows that are summed where they are, by other processes."""

    is_remote = True

    def reduce(self, statistic: Callable[[Any], T], factor: int = 1) -> T:
        """Return the sum of a statistic over the blocks of all parts."""
        self.passes["rows"] += 1
        ends = np.cumsum(self.survey.lengths)
        starts = tuple((ends - self.survey.lengths).tolist())
        found: T | None = self.parts.map_reduce(
            partial(
                _sum_part,
                encoding=self.encoding,
                starts=starts,
                window=self.window,
                statistic=statistic,
                factor=factor,
            )
        )
        assert found is not None  # some part has rows
        return found


def _sum_part(
    number: int,
    before: int,
    part: Part,
    encoding: Encoding,
    starts: tuple[int, ...],
    window: tuple[int, int],
    statistic: Callable[[Rows], T],
    factor: int,
) -> T | None:
    rows = clipped(encoding.rows(part, starts[number] + before), window)
    return sum_of(rows.blocks(factor), statistic) if len(rows) else None

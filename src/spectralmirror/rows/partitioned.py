"""Rows in parts that are not in memory together: batches of a file, partitions of a cluster.

A survey of all parts comes first. Each part can then be turned into rows independently, wherever it
is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from spectralmirror.rows.memory import BLOCK_BYTES, Rows, block_rows
from spectralmirror.rows.part import Part
from spectralmirror.rows.reduce import reduce, sum_of
from spectralmirror.rows.survey import Encoding, Survey
from spectralmirror.rows.weights import WeightSums

__all__ = ["PartitionedRows", "RemoteRows", "StreamedRows"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PartitionedRows:
    """Rows that are not in memory.

    Attributes
    ----------
    parts : object
        The rows as they are read. In this process, ``read(n_rows, dtype)`` yields parts of at most
        `n_rows` rows. Elsewhere, ``map_reduce(function)`` returns the sum of
        ``function(number, n_before, part)`` over the parts, where a part may come in pieces and
        `n_before` counts its rows in earlier pieces; None adds nothing.
    n_features : int
        Number of features.
    survey : Survey
        What all parts together hold.
    encoding : Encoding
        How a part is turned into rows.
    window : tuple of int
        First row, and last row + 1, of the selected rows.
    passes : Counter
        How often the rows were read.
    has_sets : bool
        Whether rows belong to choice sets.
    """

    parts: Any
    n_features: int
    survey: Survey
    encoding: Encoding
    window: tuple[int, int]
    passes: Counter[str] = field(default_factory=Counter)
    has_sets: bool = False

    in_memory: ClassVar[bool] = False
    is_remote: ClassVar[bool] = False

    @classmethod
    def of(
        cls,
        parts: Any,
        n_features: int,
        dtype: np.dtype[Any],
        survey: Survey,
        block_bytes: int = BLOCK_BYTES,
    ) -> Self:
        """Return the rows of parts that have been surveyed."""
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
        """Number of rows with a positive weight."""
        return self.window[1] - self.window[0]

    @property
    def has_fractions(self) -> bool:
        """Whether some weights are not integers."""
        return self.survey.weights.has_fractions

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return self._weights.total_scaled

    @property
    def effective_rows(self) -> float:
        """Kish's effective sample size."""
        return self._weights.effective

    @cached_property
    def _weights(self) -> WeightSums:
        known = self.survey.weights
        if self.n_present == known.n_present:
            return known
        if known.least == known.unit == 1:
            return WeightSums.ones(self.n_present)
        return replace(reduce(self, _weights_of), fractions=False)  # they are scaled already

    def between(self, first: int, last: int) -> Self:
        """Return rows `first` to `last - 1`, not counting rows of weight 0."""
        a = self.window[0]
        return replace(self, window=(a + first, a + last))


def _weights_of(block: Rows) -> WeightSums:
    weight = np.ones(len(block)) if block.weight is None else block.weight.astype(np.float64)
    return WeightSums.of(weight)


def _clipped(rows: Rows, window: tuple[int, int]) -> Rows:
    """Return the rows whose numbers lie in the window."""
    first, last = (min(max(end - rows.start, 0), len(rows)) for end in window)
    if (first, last) == (0, len(rows)):
        return rows
    return replace(rows[first:last], start=rows.start + first)


class StreamedRows(PartitionedRows):
    """Rows that are read in this process, one part after the other."""

    def blocks(self, factor: int = 1) -> Iterator[Rows]:
        """Yield the rows in blocks of the same size as in memory."""
        for rows in self._read(factor):
            yield from rows.blocks(factor)

    def keyed_blocks(self) -> Iterator[Rows]:
        """Yield the rows with the keys of their groups."""
        return self._read(keyed=True)

    def keys_only(self) -> Iterator[Rows]:
        """Yield the rows with the keys of their groups and without features."""
        self.passes["survey"] += 1
        for part in self.parts.survey():
            rows = self.encoding.rows(replace(part, X=np.empty((len(part), 0))), keyed=True)
            if len(rows):
                yield rows

    def _read(self, factor: int = 1, *, keyed: bool = False) -> Iterator[Rows]:
        self.passes["rows"] += 1
        size = block_rows(self.encoding.block_bytes, self.n_features, self.dtype, factor)
        start, found, total = 0, 0, sum(self.survey.lengths)
        for part in self.parts.read(size, self.dtype):
            rows = self.encoding.rows(part, start, keyed=keyed)
            start += len(rows)
            rows = _clipped(rows, self.window)
            if len(rows):
                found += len(rows)
                yield rows
            if start >= self.window[1] < total:
                break  # later rows are not selected; if all are, none may follow
        if found != self.n_present or start > total:
            raise ValueError(
                f"The files had {total:,} rows when they were first read, and have {start:,} now: "
                "do not change them while they are being used."
            )


class RemoteRows(PartitionedRows):
    """Rows that other processes hold and sum."""

    is_remote: ClassVar[bool] = True

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
    rows = _clipped(encoding.rows(part, starts[number] + before), window)
    return sum_of(rows.blocks(factor), statistic) if len(rows) else None

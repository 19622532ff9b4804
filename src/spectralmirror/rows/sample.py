"""A sum over all rows together with a sample of them, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.hashing import chosen
from spectralmirror.rows.memory import Rows, block_rows
from spectralmirror.rows.reduce import Sums, reduce
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import AnyArray

__all__ = ["SAMPLE_BYTES", "Sample", "SampledRows", "reduce_and_sample", "sample", "select"]

T = TypeVar("T")
#: Largest sample, whatever the number of features.
SAMPLE_BYTES = 200_000_000


class Sample(Protocol):
    """Some of the rows: their labels and weights, and a way to read their features."""

    @property
    def y(self) -> AnyArray: ...  # noqa: D102
    @property
    def weight(self) -> AnyArray | None: ...  # noqa: D102
    def __len__(self) -> int: ...
    def __getitem__(self, which: NDArray[np.int64]) -> Rows: ...
    def blocks(self, factor: int = 1) -> Iterator[Rows]:
        """Yield the rows in order, one block at a time."""


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Some of the rows in memory, whose features are copied block by block when they are read.

    Attributes
    ----------
    rows : Rows
        All rows.
    index : ndarray or None
        Positions of those in the sample; None means every row, all of which are present.
    """

    rows: Rows
    index: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.rows if self.index is None else self.index)

    @cached_property
    def y(self) -> AnyArray:
        """The labels of the sample."""
        return self.rows.y if self.index is None else self.rows.y[self.index]

    @cached_property
    def weight(self) -> AnyArray | None:
        """The weights of the sample; None means 1."""
        weight = self.rows.weight
        return weight if weight is None or self.index is None else weight[self.index]

    def __getitem__(self, which: NDArray[np.int64]) -> Rows:
        return self.rows[which if self.index is None else self.index[which]]

    def blocks(self, factor: int = 1) -> Iterator[Rows]:
        """Yield the sample in order, one block at a time."""
        if self.index is None:
            yield from self.rows.blocks(factor)
            return
        rows = self.rows
        size = block_rows(rows.block_bytes, rows.n_features, rows.dtype, factor)
        for start in range(0, max(len(self), 1), size):
            yield rows[self.index[start : start + size]]


@dataclass(frozen=True, eq=False)
class _SumAndSample(Sums):
    total: Any
    parts: list[Rows]

    @classmethod
    def of(
        cls, block: Rows, statistic: Callable[[Rows], Any], share: float, seed: int
    ) -> _SumAndSample:
        return cls(statistic(block), [block.sampled(share, seed)])


def reduce_and_sample(
    source: Source, statistic: Callable[[Rows], T], n_rows: int, seed: int, *, factor: int = 1
) -> tuple[T, SampledRows]:
    """Return the sum of a statistic over all rows, and a random sample of the rows.

    Rows in memory are not copied for it.

    Parameters
    ----------
    source : Source
        The rows.
    statistic : callable
        Block -> a value that can be added.
    n_rows : int
        Approximate size of the sample: smaller if rows are very long, and every row if `n_rows`
        is at least half of them.
    seed : int
        The same seed gives the same sample, however the rows are stored.
    factor : int
        Size of the blocks, relative to the usual one.
    """
    if source.in_memory:
        rows = cast(Rows, source)
        return reduce(rows, statistic, factor=factor), select(rows, n_rows, seed)
    share = _share(source, n_rows)
    of = partial(_SumAndSample.of, statistic=statistic, share=share, seed=seed)
    found = reduce(source, of, factor=factor)
    return found.total, SampledRows(Rows.joined(found.parts))


def sample(source: Source, n_rows: int, seed: int) -> Rows:
    """Return about `n_rows` random rows, or every row if that is at least half of them."""
    if source.in_memory:
        found = select(cast(Rows, source), n_rows, seed)
        return found.rows if found.index is None else found.rows[found.index]
    return reduce_and_sample(source, _nothing, n_rows, seed)[1].rows


def select(rows: Rows, n_rows: int, seed: int) -> SampledRows:
    """Return the same sample of rows in memory without a copy of their features."""
    share, present = _share(rows, n_rows), rows.present_index()
    if share == 1:
        return SampledRows(rows, None if len(present) == len(rows) else present)
    numbers = np.arange(rows.start, rows.start + len(present))
    return SampledRows(rows, present[chosen(numbers, share, seed)])


def _share(source: Source, n_rows: int) -> float:
    n_present = max(source.n_present, 1)
    most = SAMPLE_BYTES // (source.n_features * source.dtype.itemsize)
    share = n_rows / n_present
    if share >= 0.5 and n_present <= most:
        share = 1.0
    return min(share, most / n_present)


def _nothing(_: Rows) -> int:
    return 0

"""A sum over all rows together with a sample of them, in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from spectralmirror.rows.hashing import chosen
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import Sums, reduce
from spectralmirror.rows.source import Source

__all__ = ["SAMPLE_BYTES", "reduce_and_sample", "sample"]

T = TypeVar("T")
#: Largest sample, whatever the number of features.
SAMPLE_BYTES = 200_000_000


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
) -> tuple[T, Rows]:
    """Return the sum of a statistic over all rows, and a random sample of the rows.

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
    share = _share(source, n_rows)
    if source.in_memory:
        rows = cast(Rows, source)
        return reduce(rows, statistic, factor=factor), _chosen_rows(rows, share, seed)
    of = partial(_SumAndSample.of, statistic=statistic, share=share, seed=seed)
    found = reduce(source, of, factor=factor)
    return found.total, Rows.joined(found.parts)


def sample(source: Source, n_rows: int, seed: int) -> Rows:
    """Return about `n_rows` random rows, or every row if that is at least half of them."""
    if source.in_memory:
        return _chosen_rows(cast(Rows, source), _share(source, n_rows), seed)
    return reduce_and_sample(source, _nothing, n_rows, seed)[1]


def _share(source: Source, n_rows: int) -> float:
    n_present = max(source.n_present, 1)
    most = SAMPLE_BYTES // (source.n_features * source.dtype.itemsize)
    share = n_rows / n_present
    if share >= 0.5 and n_present <= most:
        share = 1.0
    return min(share, most / n_present)


def _chosen_rows(rows: Rows, share: float, seed: int) -> Rows:
    """Copy the sample only once, unlike a concatenation of blocks."""
    if share == 1:
        return rows.present()
    present = rows.present_index()
    numbers = np.arange(rows.start, rows.start + len(present))
    return rows[present[chosen(numbers, share, seed)]]


def _nothing(_: Rows) -> int:
    return 0

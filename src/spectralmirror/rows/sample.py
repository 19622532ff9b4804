"""A sum over all rows, and some of the rows themselves, in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from spectralmirror.rows.hashing import chosen
from spectralmirror.rows.memory import Rows, Source
from spectralmirror.rows.reduce import reduce

__all__ = ["look", "sample"]

T = TypeVar("T")
#: A sample takes at most so much memory, whatever the number of features.
SAMPLE_BYTES = 200_000_000


@dataclass(frozen=True, eq=False)
class _Look:
    sums: Any
    parts: list[Rows]

    def __add__(self, other: _Look) -> _Look:
        return _Look(self.sums + other.sums, self.parts + other.parts)

    @classmethod
    def of(cls, block: Rows, statistic: Callable[[Rows], Any], share: float, seed: int) -> _Look:
        return cls(statistic(block), [block.sampled(share, seed)])


def look(
    source: Source,
    statistic: Callable[[Rows], T],
    n_rows: int,
    seed: int,
    *,
    factor: int = 1,
) -> tuple[T, Rows]:
    """Return the sum of a statistic over all rows, and about so many of the rows.

    All rows, where that is half of them.

    Parameters
    ----------
    source : Source
        The rows.
    statistic : callable
        Block -> something that can be added.
    n_rows : int
        Size of the sample, about; less where rows are very long.
    seed : int
        The same seed, the same sample.
    factor : int
        Size of the blocks, in units of the usual one.
    """
    most = SAMPLE_BYTES // (source.n_features * source.dtype.itemsize)
    share = n_rows / max(source.n_present, 1)
    if share >= 0.5 and source.n_present <= most:
        share = 1.0
    share = min(share, most / max(source.n_present, 1))
    if isinstance(source, Rows) and share == 1:
        return reduce(source, statistic, factor=factor), source.present()
    if isinstance(source, Rows):  # the same rows, copied only once
        present = np.arange(len(source)) if source.weight is None else np.flatnonzero(source.weight)
        numbers = np.arange(source.start, source.start + len(present))
        some = source[present[chosen(numbers, share, seed)]]
        return reduce(source, statistic, factor=factor), some
    of = partial(_Look.of, statistic=statistic, share=share, seed=seed)
    found = reduce(source, of, factor=factor)
    return found.sums, Rows.joined(found.parts)


def sample(source: Source, n_rows: int, seed: int) -> Rows:
    """Return about so many of the rows, all of them where that is half."""
    return look(source, _nothing, n_rows, seed)[1]


def _nothing(_: Rows) -> int:
    return 0

"""Labelled rows, and their division into blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectralmirror.arrays import AnyArray, Features

__all__ = ["Rows"]


#: Size of the blocks that are summed one by one, and of the pieces of them that stay in cache
#: between two passes.
BLOCK_BYTES = 4_000_000
PIECE_BYTES = 2_000_000
#: Longer sums would be less exact in single precision, and could not be shared among threads.
MOST_ROWS = 16_384


@dataclass(frozen=True)
class Rows:
    """Rows in memory: features (an array or a CSR matrix), labels and weights.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        float64 or float32.
    y : ndarray of shape (n,) or (n, m)
        One number a row, mostly a label of -1 or +1; or several.
    weight : ndarray of shape (n,) or None
        None means that every row counts once.
    block_bytes : int
        Size of a block.
    """

    X: Features
    y: AnyArray
    weight: AnyArray | None = None
    block_bytes: int = BLOCK_BYTES

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_present(self) -> int:
        """Number of rows that count: those whose weight is not 0."""
        return len(self) if self.weight is None else int(np.count_nonzero(self.weight))

    @property
    def total_weight(self) -> float:
        """The sum of the weights."""
        return float(len(self) if self.weight is None else self.weight.sum(dtype=np.float64))

    @property
    def effective_rows(self) -> float:
        """The number of equally weighted rows that these are worth (Kish)."""
        if self.weight is None:
            return float(len(self))
        weight = self.weight.astype(np.float64)
        return float(weight.sum() ** 2 / (weight @ weight))

    def spread(self, values: AnyArray) -> AnyArray:
        """Give every row its value, from one value for each row that is present."""
        if self.weight is None or len(values) == len(self):
            return values
        everywhere = np.zeros((len(self), *values.shape[1:]), dtype=values.dtype)
        everywhere[np.flatnonzero(self.weight)] = values
        return everywhere

    def weighted(self, values: AnyArray) -> AnyArray:
        """One number a row times its weight, in the precision of the features."""
        values = values.astype(self.X.dtype, copy=False)
        return values if self.weight is None else values * self.weight

    def __getitem__(self, index: slice | NDArray[np.int64]) -> Rows:
        weight = None if self.weight is None else self.weight[index]
        return Rows(self.X[index], self.y[index], weight, self.block_bytes)

    def blocks(self) -> Iterator[Rows]:
        """Yield the rows in order, a block at a time; one block where there are none.

        Blocks are views, but rows of weight 0 are absent from them. A block is made from at least
        d rows, so that adding up d x d sums never costs more than they do.
        """
        for part in self._parts(self.block_bytes, at_least=self.X.shape[1]):
            yield part.present()

    def present(self) -> Rows:
        """Return the rows that count."""
        if self.weight is None or self.weight.all():
            return self
        kept = np.flatnonzero(self.weight)
        return Rows(self.X[kept], self.y[kept], self.weight[kept], self.block_bytes)

    def pieces(self) -> Iterator[Rows]:
        """Yield the rows in smaller parts, for kernels that pass over them twice."""
        return self._parts(PIECE_BYTES, at_least=1)

    def _parts(self, n_bytes: int, at_least: int) -> Iterator[Rows]:
        row_bytes = self.X.shape[1] * self.X.dtype.itemsize
        size = max(min(n_bytes // row_bytes, MOST_ROWS), at_least)
        for start in range(0, max(len(self), 1), size):
            yield self[start : start + size]

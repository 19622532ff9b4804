"""Labelled rows, and their division into blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.hashing import chosen
from spectralmirror.rows.types import AnyArray, Features

__all__ = ["Rows", "Source", "block_rows"]


#: Size of the blocks that are summed one by one, and of the pieces of them that stay in cache
#: between two passes.
BLOCK_BYTES = 4_000_000
PIECE_BYTES = 2_000_000
#: Longer sums would be less exact in single precision, and could not be shared among threads.
MOST_ROWS = 16_384


class Source(Protocol):
    """Rows, wherever they are: in memory, in files, on a cluster.

    Attributes
    ----------
    n_features : int
        Number of features.
    dtype : dtype
        Their precision, float64 or float32.
    n_present : int
        Number of rows that count: those whose weight is not 0.
    total_weight : float
        The sum of the weights.
    effective_rows : float
        The number of equally weighted rows that these are worth (Kish).
    has_fractions : bool
        Whether there are weights that are no counts.
    """

    @property
    def n_features(self) -> int: ...  # noqa: D102
    @property
    def dtype(self) -> np.dtype[Any]: ...  # noqa: D102
    @property
    def n_present(self) -> int: ...  # noqa: D102
    @property
    def total_weight(self) -> float: ...  # noqa: D102
    @property
    def effective_rows(self) -> float: ...  # noqa: D102

    @property
    def has_fractions(self) -> bool: ...  # noqa: D102

    def blocks(self, factor: int = 1) -> Iterable[Rows]:
        """Yield the rows in order, in blocks of so many times the usual size."""

    def between(self, first: int, last: int) -> Source:
        """Return the rows of these numbers, those of weight 0 not being counted."""


def block_rows(block_bytes: int, d: int, dtype: np.dtype[Any], factor: int = 1) -> int:
    """Return how many rows make a block of so many times the usual size.

    At least 2 d of them, for each time, so that adding up d x d sums never costs more than they do.
    """
    return max(min(factor * block_bytes // (d * dtype.itemsize), MOST_ROWS), 2 * factor * d)


def _without_gaps(X: Features) -> Features:
    gaps = isinstance(X, np.ndarray) and X.strides[1] == X.itemsize
    return np.ascontiguousarray(X) if gaps else X


@dataclass(frozen=True)
class Rows:
    """Rows in memory: features (an array or a CSR matrix), labels and weights.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        float64 or float32.
    y : ndarray of shape (n,)
        A number a row, mostly a label of -1 or +1.
    weight : ndarray of shape (n,) or None
        None means that every row counts once.
    block_bytes : int
        Size of a block.
    start : int
        The number of the first row, among all that the source has.
    place : str
        Where the rows come from, for errors; empty where that is clear.
    """

    X: Features
    y: AnyArray
    weight: AnyArray | None = None
    block_bytes: int = BLOCK_BYTES
    start: int = 0
    place: str = ""

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the features."""
        dtype: np.dtype[Any] = self.X.dtype
        return dtype

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

    @property
    def has_fractions(self) -> bool:
        """Whether there are weights that are no counts."""
        return self.weight is not None and bool((self.weight % 1).any())

    def weighted(self, values: AnyArray) -> AnyArray:
        """One number a row times its weight, in the precision of the features."""
        values = values.astype(self.X.dtype, copy=False)
        return values if self.weight is None else values * self.weight

    def __getitem__(self, index: slice | NDArray[np.int64]) -> Rows:
        weight = None if self.weight is None else self.weight[index]
        return replace(self, X=self.X[index], y=self.y[index], weight=weight)

    def blocks(self, factor: int = 1) -> Iterator[Rows]:
        """Yield the rows in order, a block at a time; one block where there are none.

        Blocks are views, but rows of weight 0 are absent from them, and not numbered. Rows with
        gaps between them, as in ``A[:, 1:]``, are copied: BLAS would take several times as long.
        """
        start = self.start
        size = block_rows(self.block_bytes, self.n_features, self.dtype, factor)
        for part in self._parts(size):
            present = part.present()
            yield replace(present, X=_without_gaps(present.X), start=start)
            start += len(present)

    def between(self, first: int, last: int) -> Rows:
        """Return the rows of these numbers, those of weight 0 not being counted."""
        if self.weight is None:
            return replace(self[first:last], start=first)
        present = np.append(np.flatnonzero(self.weight), len(self))
        return replace(self[int(present[first]) : int(present[last])], start=first)

    def present(self) -> Rows:
        """Return the rows that count."""
        if self.weight is None or self.weight.all():
            return self
        return self[np.flatnonzero(self.weight)]

    def sampled(self, share: float, seed: int) -> Rows:
        """Return about this share of the rows, all of which are present."""
        numbers = np.arange(self.start, self.start + len(self))
        return self if share >= 1 else self[np.flatnonzero(chosen(numbers, share, seed))]

    def pieces(self) -> Iterator[Rows]:
        """Yield the rows in smaller parts, for kernels that pass over them twice."""
        row_bytes = self.n_features * self.dtype.itemsize
        return self._parts(max(min(PIECE_BYTES // row_bytes, MOST_ROWS), 1))

    def _parts(self, size: int) -> Iterator[Rows]:
        for start in range(0, max(len(self), 1), size):
            yield self[start : start + size]

    @staticmethod
    def joined(parts: Iterable[Rows], *, in_order: bool = True) -> Rows:
        """Return the rows of several parts, in the order of their numbers, or as they come."""
        parts = sorted(parts, key=lambda part: part.start) if in_order else list(parts)
        if len(parts) == 1:
            return parts[0]
        weights = [part.weight for part in parts]
        X = [part.X for part in parts]
        return Rows(
            sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X),
            np.concatenate([part.y for part in parts]),
            None if weights[0] is None else np.concatenate([w for w in weights if w is not None]),
            parts[0].block_bytes,
        )

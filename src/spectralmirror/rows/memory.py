"""Labelled rows in memory, and their division into blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.hashing import chosen
from spectralmirror.rows.types import AnyArray, Features, Matrix

__all__ = ["BLOCK_BYTES", "Rows", "block_rows"]

#: Size of the blocks that are summed one by one, and of the pieces of a block that stay in the
#: cache between two passes.
BLOCK_BYTES = 4_000_000
PIECE_BYTES = 2_000_000
#: Longer sums would lose precision in float32 and leave too few blocks to share among threads.
MOST_ROWS = 16_384


def block_rows(block_bytes: int, d: int, dtype: np.dtype[Any], factor: int = 1) -> int:
    """Return the number of rows in a block of `factor` times the usual size.

    It is at least ``2 * d * factor``, so that merging two d x d sums costs no more than computing
    one.
    """
    return max(min(factor * block_bytes // (d * dtype.itemsize), MOST_ROWS), 2 * factor * d)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in memory: features, labels, and optionally weights, groups and traits of groups.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Features, float64 or float32.
    y : ndarray of shape (n,)
        One number per row, usually a label of -1 or +1.
    weight : ndarray of shape (n,) or None
        None means a weight of 1 for every row.
    block_bytes : int
        Size of a block.
    start : int
        Number of the first row within the whole source.
    place : str
        Where the rows come from, for error messages; empty if that is clear.
    keys : ndarray of shape (n,) or None
        Key of each row's group (:func:`spectralmirror.rows.hashing.group_keys`).
    traits : ndarray of shape (n, m) or None
        What is known about each row's group: membership covariates, and the class if it is known.
        They are the same in all rows of a group.
    sets : ndarray of shape (n,) or None
        The number of each row's choice set, if labels say which alternative of a set was chosen.
        Rows of a set follow each other, and belong to the same group.
    """

    X: Features
    y: AnyArray
    weight: AnyArray | None = None
    block_bytes: int = BLOCK_BYTES
    start: int = 0
    place: str = ""
    keys: NDArray[np.uint64] | None = None
    traits: Matrix | None = None
    sets: NDArray[np.int64] | None = None

    in_memory: ClassVar[bool] = True
    is_remote: ClassVar[bool] = False

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
        """Number of rows with a positive weight."""
        return len(self) if self.weight is None else int(np.count_nonzero(self.weight))

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(len(self) if self.weight is None else self.weight.sum(dtype=np.float64))

    @property
    def effective_rows(self) -> float:
        """Kish's effective sample size, (sum w)^2 / sum w^2."""
        if self.weight is None:
            return float(len(self))
        weight = self.weight.astype(np.float64)
        return float(weight.sum() ** 2 / (weight @ weight))

    @property
    def has_fractions(self) -> bool:
        """Whether some weights are not integers."""
        return self.weight is not None and bool((self.weight % 1).any())

    def weighted(self, values: AnyArray) -> AnyArray:
        """Multiply one number per row by its weight, in the precision of the features."""
        values = values.astype(self.X.dtype, copy=False)
        return values if self.weight is None else values * self.weight

    def __getitem__(self, index: slice | NDArray[np.int64]) -> Rows:
        columns: dict[str, Any] = {
            name: getattr(self, name)[index]
            for name in ("X", "y", "weight", "keys", "traits", "sets")
            if getattr(self, name) is not None
        }
        return replace(self, **columns)

    def blocks(self, factor: int = 1) -> Iterator[Rows]:
        """Yield the rows in order, one block at a time; a single empty block if there are none.

        Blocks are views, but rows of weight 0 are left out and not numbered. Rows with gaps
        between them, as in ``A[:, 1:]``, are copied: BLAS would take several times as long.
        """
        start = self.start
        size = block_rows(self.block_bytes, self.n_features, self.dtype, factor)
        for part in self._parts(size):
            present = part.present()
            yield replace(present, X=_without_gaps(present.X), start=start)
            start += len(present)

    def between(self, first: int, last: int) -> Rows:
        """Return rows `first` to `last - 1`, not counting rows of weight 0."""
        if self.weight is None:
            return replace(self[first:last], start=first)
        present = np.append(np.flatnonzero(self.weight), len(self))
        return replace(self[int(present[first]) : int(present[last])], start=first)

    def present(self) -> Rows:
        """Return the rows with a positive weight."""
        if self.weight is None or self.weight.all():
            return self
        return self[np.flatnonzero(self.weight)]

    def present_index(self) -> NDArray[np.int64]:
        """Return the positions of the rows with a positive weight."""
        return np.arange(len(self)) if self.weight is None else np.flatnonzero(self.weight)

    def sampled(self, share: float, seed: int) -> Rows:
        """Return about this share of the rows, which must all be present."""
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
        """Concatenate parts, sorted by the number of their first row unless `in_order` is False."""
        parts = sorted(parts, key=lambda part: part.start) if in_order else list(parts)
        if len(parts) == 1:
            return parts[0]
        X = [part.X for part in parts]
        return Rows(
            sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X),
            np.concatenate([part.y for part in parts]),
            _concatenated([part.weight for part in parts]),
            parts[0].block_bytes,
            keys=_concatenated([part.keys for part in parts]),
            traits=_concatenated([part.traits for part in parts]),
            sets=_concatenated([part.sets for part in parts]),
        )


def _concatenated(columns: list[Any]) -> Any:
    return None if columns[0] is None else np.concatenate(columns)


def _without_gaps(X: Features) -> Features:
    gaps = isinstance(X, np.ndarray) and X.strides[1] == X.itemsize
    return np.ascontiguousarray(X) if gaps else X

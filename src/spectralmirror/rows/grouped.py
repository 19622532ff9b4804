"""Rows in blocks of whole groups: what one classifier made stays together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.hashing import chosen
from spectralmirror.rows.kernels import shifted
from spectralmirror.rows.memory import Rows, Source, block_rows
from spectralmirror.rows.sample import SAMPLE_BYTES, sample
from spectralmirror.rows.types import AnyArray, Features, Matrix, Vector

__all__ = ["Block", "Rowset", "share_to_draw"]


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of whole groups.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Features.
    y : ndarray of shape (n,)
        Labels of -1 and +1.
    weight : ndarray of shape (n,) or None
        Weights of the rows, None for 1.
    starts : ndarray of shape (n_groups,) or None
        Where each group begins; None where every row is a group.
    """

    X: Features
    y: AnyArray
    weight: Vector | None
    starts: NDArray[np.int64] | None

    @classmethod
    def of(cls, rows: Rows) -> Block:
        """Return rows each of which is a group."""
        return cls(rows.X, rows.y, _double(rows.weight), None)

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each group."""
        starts = np.arange(len(self.y)) if self.starts is None else self.starts
        return np.diff(starts, append=len(self.y))

    def sums(self, values: Matrix) -> Matrix:
        """Sum over the rows of each group, along the last axis."""
        return values if self.starts is None else np.add.reduceat(values, self.starts, axis=-1)

    def of_rows(self, values: Matrix) -> Matrix:
        """Give every row the value of its group, along the last axis."""
        return values if self.starts is None else np.repeat(values, self.sizes, axis=-1)

    def with_ones(self, origin: AnyArray | None) -> AnyArray:
        """Return [x - o, 1] of every row, dense."""
        X = shifted(self.X, origin)
        X = X.toarray() if sparse.issparse(X) else X
        return np.column_stack([X, np.ones(len(X), dtype=X.dtype)])

    @cached_property
    def shares(self) -> tuple[Vector | None, Vector | None]:
        """w_G, the mean weight of each group, and w_i / w_G of each row; None for 1."""
        if self.weight is None or self.starts is None:
            return self.weight, None
        of_groups = self.sums(self.weight) / self.sizes
        return of_groups, self.weight / self.of_rows(of_groups)


@dataclass(frozen=True, eq=False)
class Rowset:
    """Rows, in the order of their groups where they have some.

    Attributes
    ----------
    rows : Rows
        Features, labels of -1 and +1, weights.
    order : ndarray or None
        Numbers of the rows that are present, group by group; None without groups.
    starts : ndarray or None
        Where in `order` each group begins.
    keys : ndarray or None
        A number for each group that does not depend on which other groups there are.
    """

    rows: Rows
    order: NDArray[np.int64] | None = None
    starts: NDArray[np.int64] | None = None
    keys: NDArray[np.uint64] | None = None

    @classmethod
    def of(cls, rows: Rows, keys: NDArray[Any] | None, *, by_key: bool = False) -> Rowset:
        """Bring the rows that are present into the order of their groups, which have keys.

        Groups come in the order of their first rows, so that those which lie together stay where
        they are; or in the order of their keys, which is the same wherever rows come from. Where
        every row is a group of its own there are no groups.
        """
        if keys is None:
            return cls(rows)
        present = np.arange(len(rows)) if rows.weight is None else np.flatnonzero(rows.weight)
        found, first, numbers = np.unique(
            keys[present].astype(np.uint64), return_index=True, return_inverse=True
        )
        if len(found) == len(present):
            return cls(rows)
        if not by_key:
            ranking = np.argsort(first)
            rank = np.empty_like(ranking)
            rank[ranking] = np.arange(len(found))
            found, numbers = found[ranking], rank[numbers]
        order = present[np.argsort(numbers, kind="stable")]
        sizes = np.bincount(numbers, minlength=len(found))
        return cls(rows, order, np.cumsum(sizes) - sizes, found)

    @property
    def is_grouped(self) -> bool:
        """Whether rows come in groups."""
        return self.starts is not None

    @property
    def n_present(self) -> int:
        """Number of rows that count."""
        return self.rows.n_present if self.order is None else len(self.order)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each group."""
        starts = np.arange(self.n_present) if self.starts is None else self.starts
        return np.diff(starts, append=self.n_present)

    @cached_property
    def total_weight(self) -> float:
        """sum_G w_G, the number of groups where there are no weights."""
        if self.order is None or self.starts is None:
            return self.rows.total_weight
        if self.rows.weight is None:
            return float(len(self.starts))
        weight = self.rows.weight[self.order].astype(np.float64)
        return float((np.add.reduceat(weight, self.starts) / self.sizes).sum())

    @property
    def share_in_company(self) -> float:
        """The share of rows whose group has other rows too."""
        alone = int((self.sizes == 1).sum()) if self.starts is not None else self.n_present
        return 1 - alone / max(self.n_present, 1)

    def present(self) -> NDArray[np.int64]:
        """Return the numbers of the rows that count, in the order in which they are read."""
        if self.order is not None:
            return self.order
        weight = self.rows.weight
        return np.arange(len(self.rows)) if weight is None else np.flatnonzero(weight)

    def sample(self, n_rows: int, n_groups: int, seed: int) -> Rowset:
        """Return about so many rows, and whole groups, drawn at random; all where half would do.

        At least so many groups, about, where there are groups.
        """
        share = n_rows / max(self.n_present, 1)
        if self.order is None or self.starts is None or self.keys is None:
            return self if share >= 0.5 else Rowset(sample(self.rows, n_rows, seed))
        if max(share, n_groups / len(self.starts)) >= 0.5:
            return self
        return self.drawn(n_rows, n_groups, seed)

    def drawn(self, n_rows: int, n_groups: int, seed: int) -> Rowset:
        """Return the sample in memory, within its bounds, and in the order of the keys."""
        if self.starts is None:
            return self.sample(n_rows, n_groups, seed)
        share = share_to_draw(self.rows, n_rows, n_groups, len(self.starts))
        while True:
            rows, keys = self.chosen(share, seed)
            if len(keys):
                return Rowset.of(rows, keys, by_key=True)
            share *= 2  # few groups, of many rows each

    def chosen(self, share: float, seed: int) -> tuple[Rows, NDArray[np.uint64]]:
        """Return the rows of about this share of the groups, and the key of each row's group."""
        assert self.order is not None
        assert self.keys is not None
        kept = chosen(self.keys, share, seed)
        index = self.order[np.repeat(kept, self.sizes)]
        return self.rows[index], np.repeat(self.keys[kept], self.sizes[kept])

    def with_features(self, X: Matrix) -> Rowset:
        """Return the same rows with other features, given in the order in which they are read."""
        index = self.present()
        weight = None if self.rows.weight is None else self.rows.weight[index]
        rows = Rows(X, self.rows.y[index], weight)
        order = None if self.starts is None else np.arange(len(index))
        return Rowset(rows, order, self.starts, self.keys)

    def blocks(self, factor: int = 1) -> Iterator[Block]:
        """Yield whole groups, about as many rows at a time as other sources do."""
        if self.order is None or self.starts is None:
            yield from map(Block.of, self.rows.blocks(factor))
            return
        rows = self.rows
        size = block_rows(rows.block_bytes, rows.n_features, rows.dtype, factor)
        ends = np.append(self.starts[1:], len(self.order))
        first = 0
        while first < len(self.starts):
            last = int(np.searchsorted(ends, self.starts[first] + size, side="right"))
            last = max(last, first + 1)
            begin, end = self.starts[first], ends[last - 1]
            part = self.rows[_as_slice(self.order[begin:end])]
            yield Block(part.X, part.y, _double(part.weight), self.starts[first:last] - begin)
            first = last


def share_to_draw(rows: Source, n_rows: int, n_groups: int, n_groups_in_all: int) -> float:
    """Return which share of the groups holds about so many rows, and groups; 1 for half of them.

    Not more than fits into a bounded sample, however large the groups are.
    """
    share = max(n_rows / rows.n_present, n_groups / n_groups_in_all)
    most = SAMPLE_BYTES / (rows.n_present * rows.n_features * rows.dtype.itemsize)
    return most if most < 1 and share >= most else 1.0 if share >= 0.5 else share


def _double(weight: AnyArray | None) -> Vector | None:
    return None if weight is None else weight.astype(np.float64)


def _as_slice(index: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """Rows that follow each other need not be copied."""
    return slice(int(index[0]), int(index[-1]) + 1) if (np.diff(index) == 1).all() else index

"""A block of rows: what statistics of whole groups are computed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.kernels import shifted
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.set_layout import SetLayout
from spectralmirror.rows.types import AnyArray, Features, Matrix, Vector

__all__ = ["Block"]

#: Bytes of the temporaries of a piece of a block.
PIECE_BYTES = 1_000_000


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
        Weights of the rows; None means 1.
    starts : ndarray of shape (n_groups,) or None
        First row of each group; None if every row is its own group.
    traits : ndarray of shape (n, m) or None
        What is known about the group of each row.
    sets : ndarray of shape (n,) or None
        The number of each row's choice set; None if labels are binary.
    nodes : object or None
        Over what a likelihood integrates for each group; None if that is the same for all.
    keys : ndarray of shape (n,) or None
        The key of each row's group; None if rows are known by their numbers.
    first : int
        Number of the first row within the whole source.
    counts : ndarray of shape (n_groups,) or None
        How often a resample has drawn each group; None means once.
    """

    X: Features
    y: AnyArray
    weight: Vector | None
    starts: NDArray[np.int64] | None
    traits: Matrix | None = None
    sets: NDArray[np.int64] | None = None
    nodes: Any = None
    keys: NDArray[np.uint64] | None = None
    first: int = 0
    counts: Vector | None = None

    @classmethod
    def of(cls, rows: Rows, starts: NDArray[np.int64] | None = None) -> Block:
        """Return a block of whole groups; by default, every row is its own group."""
        return cls(
            rows.X, rows.y, _double(rows.weight), starts, rows.traits, rows.sets, None, rows.keys,
            rows.start,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.y)

    def pieces(self, width: int) -> Iterator[Block]:
        """Yield whole groups, so that temporaries of `width` numbers a row take `PIECE_BYTES`."""
        n_rows = max(PIECE_BYTES // (8 * width), 1)
        if len(self) <= n_rows:
            yield self
            return
        starts = self.first_rows
        firsts = np.searchsorted(starts, np.arange(0, len(self), n_rows))
        for first, last in pairwise(np.unique(np.append(firsts, len(starts)))):
            yield self.part(slice(first, last))

    def part(self, groups: slice) -> Block:
        """Return consecutive groups."""
        starts = self.first_rows
        begin = starts[groups.start]
        end = starts[groups.stop] if groups.stop < len(starts) else len(self)
        here = slice(begin, end)
        return Block(
            self.X[here],
            self.y[here],
            None if self.weight is None else self.weight[here],
            None if self.starts is None else self.starts[groups] - begin,
            None if self.traits is None else self.traits[here],
            None if self.sets is None else self.sets[here],
            None,
            None if self.keys is None else self.keys[here],
            self.first + begin,
            None if self.counts is None else self.counts[groups],
        )

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each group."""
        return np.diff(self.first_rows, append=len(self.y))

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """First row of each group; every row if every row is its own group."""
        return np.arange(len(self)) if self.starts is None else self.starts

    @cached_property
    def set_starts(self) -> NDArray[np.int64] | None:
        """First row of each choice set; None if labels are binary."""
        if self.sets is None:
            return None
        return np.flatnonzero(np.append(True, self.sets[1:] != self.sets[:-1]))

    @cached_property
    def layout(self) -> SetLayout:
        """Where choice sets begin."""
        assert self.set_starts is not None
        return SetLayout(self.set_starts, len(self))

    @cached_property
    def chosen(self) -> NDArray[np.int64]:
        """The chosen row of each choice set."""
        return np.flatnonzero(self.y > 0)

    @cached_property
    def first_sets(self) -> NDArray[np.int64]:
        """First choice set of each group."""
        assert self.set_starts is not None
        return np.searchsorted(self.set_starts, [] if self.starts is None else self.starts)

    @cached_property
    def group_traits(self) -> Matrix:
        """What is known about each group, shape (n_groups, m)."""
        traits = np.empty((len(self), 0)) if self.traits is None else self.traits
        return traits if self.starts is None else traits[self.starts]

    @cached_property
    def largest(self) -> int:
        """Number of rows of the largest group."""
        return int(self.sizes.max(initial=1))

    def sums(self, values: Matrix) -> Matrix:
        """Sum over the rows of each group, along the last axis."""
        return values if self.starts is None else np.add.reduceat(values, self.starts, axis=-1)

    def sums_of_rows(self, Z: AnyArray, a: AnyArray) -> AnyArray:
        """Return sum_i a_i z_i over the rows of each group, shape (n_groups, p).

        The product with a sparse matrix takes a third of the time of adding up rows a_i z_i.
        """
        ends = np.cumsum(np.append(0, self.sizes))
        of_groups = sparse.csr_array(
            (a.astype(Z.dtype, copy=False), np.arange(len(self)), ends),
            shape=(len(self.sizes), len(self)),
        )
        return np.asarray(of_groups @ Z)

    def of_rows(self, values: Matrix) -> Matrix:
        """Repeat the value of each group for all of its rows, along the last axis."""
        return values if self.starts is None else np.repeat(values, self.sizes, axis=-1)

    def with_ones(self, origin: AnyArray | None) -> AnyArray:
        """Return [x - o, 1] for every row, dense."""
        X = shifted(self.X, origin)
        X = X.toarray() if sparse.issparse(X) else X
        return np.column_stack([X, np.ones(len(X), dtype=X.dtype)])

    @cached_property
    def group_keys(self) -> NDArray[Any]:
        """What identifies each group in every pass: its key, or the number of its only row."""
        if self.keys is None:
            assert self.starts is None
            return np.arange(self.first, self.first + len(self))
        return self.keys if self.starts is None else self.keys[self.starts]

    @cached_property
    def shares(self) -> tuple[Vector | None, Vector | None]:
        """w_G, the mean weight of each group, and w_i / w_G for each row; None means 1.

        In a resample, w_G is multiplied by the number of times that the group was drawn.
        """
        of_groups, of_rows = self.weight, None
        if self.weight is not None and self.starts is not None:
            of_groups = self.sums(self.weight) / self.sizes
            of_rows = self.weight / self.of_rows(of_groups)
        if self.counts is not None:
            of_groups = self.counts if of_groups is None else of_groups * self.counts
        return of_groups, of_rows


def _double(weight: AnyArray | None) -> Vector | None:
    return None if weight is None else weight.astype(np.float64)

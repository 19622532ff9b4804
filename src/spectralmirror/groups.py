"""Pairs of rows in a group, which share their hidden classifier.

For two rows of one group E[(y W)(y' W')'] = sum_l p_l a_l^2 u_l u_l' in whitened coordinates: of
rank k, positive, and without any mirror.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.arrays import AnyArray, Features, Matrix, Vector
from spectralmirror.blocks import BLOCK_BYTES
from spectralmirror.scores import Frame

__all__ = ["GroupedRows", "PairMoments", "share_in_company"]


def share_in_company(groups: NDArray[np.int64]) -> float:
    """Return the share of rows whose group has other rows too."""
    return float(np.mean(np.bincount(groups)[groups] > 1))


@dataclass(frozen=True, eq=False)
class GroupBlock:
    """Rows of whole groups, one group after the other.

    Attributes
    ----------
    X : ndarray or CSR matrix
        Features.
    labels : ndarray of shape (n,)
        Label times scale.
    weight : ndarray of shape (n,)
        How often each row counts.
    starts : ndarray of shape (n_groups,)
        Where each group begins.
    """

    X: Features
    labels: Vector
    weight: Vector
    starts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows in the order of their groups, read in blocks of whole groups."""

    frame: Frame
    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, frame: Frame, groups: NDArray[np.int64]) -> GroupedRows:
        """Sort the rows that are present by group."""
        weight = frame.rows.weight
        order = np.argsort(groups, kind="stable")
        order = order if weight is None else order[weight[order] > 0]
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        return cls(frame, order, starts)

    def blocks(self) -> Iterator[GroupBlock]:
        """Yield whole groups, about as many rows at a time as other sources do."""
        rows, d = self.frame.rows, self.frame.rows.X.shape[1]
        size = max(BLOCK_BYTES // (d * rows.X.dtype.itemsize), d)
        ends = np.append(self.starts[1:], len(self.order))
        first = 0
        while first < len(self.starts):
            last = int(np.searchsorted(ends, self.starts[first] + size, side="right"))
            last = max(last, first + 1)
            a, b = self.starts[first], ends[last - 1]
            index = self.order[a:b]
            weight = np.ones(len(index)) if rows.weight is None else rows.weight[index]
            labels = (rows.y * self.frame.scale)[index]
            yield GroupBlock(rows.X[index], labels, weight, self.starts[first:last] - a)
            first = last


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Sums over ordered pairs of different rows in a group.

    A row is no second witness of itself: weights only say how much each pair counts.

    Attributes
    ----------
    variance : float
        sum over pairs of w_i^2 w_j^2, the variance of an entry of the products.
    products : ndarray of shape (d, d)
        sum over groups of a a' - sum_i w_i^2 D_i D_i', with D = y (x - mu) and a = sum_i w_i D_i.
    """

    variance: float
    products: Matrix

    @classmethod
    def of(cls, block: GroupBlock, origin: AnyArray | None, step: Vector) -> PairMoments:
        """Sum the pairs of one block."""
        X = block.X.toarray() if sparse.issparse(block.X) else block.X
        D = X if origin is None else X - origin
        signed = (block.labels * block.weight)[:, None].astype(X.dtype)
        D = (D - step.astype(X.dtype)) * signed
        sums = np.add.reduceat(D, block.starts, axis=0)
        products = (sums.T @ sums).astype(np.float64) - D.T @ D
        squares = block.weight.astype(np.float64) ** 2
        by_group = np.add.reduceat(squares, block.starts)
        return cls(float((by_group**2).sum() - (squares**2).sum()), products)

    def __add__(self, other: PairMoments) -> PairMoments:
        return PairMoments(self.variance + other.variance, self.products + other.products)

    def cross(self) -> Matrix:
        """Return the sum of the products, scaled so that its entries have noise of unit size."""
        return np.asarray(self.products / np.sqrt(max(self.variance, 1e-300)))

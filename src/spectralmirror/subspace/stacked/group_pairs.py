"""Pairs of rows in a group, which share their hidden classifier.

For two rows of one group E[(y W)(y' W')'] = sum_l p_l a_l^2 u_l u_l' in whitened coordinates, a
positive semidefinite matrix of rank k. No mirror is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import Sums
from spectralmirror.rows.types import Matrix
from spectralmirror.subspace.stacked.scores import Frame, times

__all__ = ["PairMoments"]


@dataclass(frozen=True, eq=False)
class PairMoments(Sums):
    """Sums over ordered pairs of different rows in a group.

    No row is paired with itself, whatever its weight: weights only say how much each pair counts.

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
    def of(cls, block: Block, frame: Frame) -> PairMoments:
        """Sum the pairs of one block."""
        weight = np.ones(len(block.y)) if block.weight is None else block.weight
        X = block.X.toarray() if sparse.issparse(block.X) else block.X
        D = X - (np.zeros(1, X.dtype) if frame.origin is None else frame.origin)
        D -= frame.step().astype(X.dtype)
        D *= times(block.y * weight, frame.scale(X))[:, None].astype(X.dtype)
        sums = block.sums(D.T).T
        products = (sums.T @ sums).astype(np.float64) - D.T @ D
        squares = weight**2
        by_group = block.sums(squares)
        return cls(float((by_group**2).sum() - (squares**2).sum()), products)

    def cross(self) -> Matrix:
        """Return the sum of the products, scaled so that an entry of noise has variance 1."""
        return np.asarray(self.products / np.sqrt(max(self.variance, 1e-300)))

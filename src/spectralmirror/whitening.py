"""Whitened coordinates: Sigma = D L L' D, with D the standard deviations.

W = L^-1 D^-1 (x - mu) has covariance I. Going through the correlation matrix L L' makes every
decision (is this matrix singular?) independent of the units of the columns. Algorithm 1 whitens
with Sigma^(-1/2) instead; the two differ by a rotation of W, which changes neither eigenvalues nor
the span in the units of x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpstrf

from spectralmirror.arrays import Matrix, Vector
from spectralmirror.validation import ColumnError

#: A column is collinear when the others leave over no more than so many units of rounding.
COLLINEAR = 100

__all__ = ["Whitening"]


@dataclass(frozen=True)
class Whitening:
    """Mean and factored covariance of the features.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        mu.
    scale : ndarray of shape (d,)
        The diagonal of D.
    cholesky : ndarray of shape (d, d) or None
        L, lower triangular; None where it is the identity.
    """

    mean: Vector
    scale: Vector
    cholesky: Matrix | None

    @classmethod
    def of(cls, mean: Vector, covariance: Matrix, precision: float) -> Whitening:
        """Factor a covariance that was estimated from rows of the given precision."""
        variance = np.diagonal(covariance)
        # A constant column has no variance but what rounding its mean leaves behind.
        constant = variance <= (8 * precision * np.abs(mean)) ** 2
        if constant.any():
            raise ColumnError(
                "X is constant in {columns}: remove what does not vary, it cannot tell the "
                "classifiers apart.",
                np.flatnonzero(constant),
            )
        scale = np.sqrt(variance)
        correlation = _correlation(covariance, scale)
        cholesky, info = dpotrf(correlation, lower=1, clean=1)
        # L_jj^2 is the share of the variance of column j that the columns before leave over.
        if info or np.diagonal(cholesky).min() ** 2 < COLLINEAR * precision:
            _, order, rank, _ = dpstrf(correlation, tol=COLLINEAR * precision, lower=1)
            raise ColumnError(
                "X is collinear, and its covariance has no inverse: {columns} can be computed "
                "from the others. Remove them, or reduce X first, for example with PCA.",
                np.sort(order[min(rank, len(order) - 1) :] - 1),
            )
        return cls(mean, scale, cholesky)

    @classmethod
    def known(cls, mean: Vector, covariance: Matrix) -> Whitening:
        """Factor a covariance that was given."""
        scale = np.sqrt(np.diagonal(covariance))
        if np.count_nonzero(covariance) == len(scale):
            return cls(mean, scale, None)
        correlation = _correlation(covariance, scale)
        cholesky, info = dpotrf(correlation, lower=1, clean=1, overwrite_a=1)
        if info:
            raise ValueError(
                "covariance must be positive definite, but its eigenvalues are not all above 0: "
                "remove collinear columns, or add a small multiple of the identity."
            )
        return cls(mean, scale, cholesky)

    def direction(self, whitened: Vector) -> Vector:
        """Sigma^(-1/2) w in the units of x: D^-1 L^-T w, for the columns of `whitened`."""
        return (self._solve(whitened, trans="T").T / self.scale).T

    def whiten_sum(self, vector: Vector) -> Vector:
        """L^-1 D^-1 v: a sum of centred rows becomes the sum of their whitened values."""
        return self._solve(vector / self.scale)

    def whiten_matrix(self, M: Matrix) -> Matrix:
        """L^-1 D^-1 M D^-1 L^-T: the same on both sides of a quadratic sum."""
        return self._solve(self._solve(_correlation(M, self.scale)).T)

    def solve(self, vector: Vector) -> Vector:
        """Sigma^-1 v."""
        return self.direction(self.whiten_sum(vector))

    def _solve(self, b: Vector, trans: str = "N") -> Vector:
        if self.cholesky is None:
            return b
        return np.asarray(
            solve_triangular(self.cholesky, b, lower=True, trans=trans, check_finite=False)
        )


def _correlation(M: Matrix, scale: Vector) -> Matrix:
    """D^-1 M D^-1 of a symmetric M, in the order of memory that LAPACK works on without a copy."""
    scaled = M / scale
    scaled /= scale[:, None]
    return scaled.T

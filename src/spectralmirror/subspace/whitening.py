"""Whitened coordinates: Sigma = D L L' D, with D the standard deviations.

W = L^-1 D^-1 (x - mu) has covariance I. Going through the correlation matrix L L' makes every
decision (is this matrix singular?) independent of the units of the columns. Algorithm 1 whitens
with Sigma^(-1/2) instead; the two differ by a rotation of W, which changes neither eigenvalues nor
the span in the units of x.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpocon, dpotrf, dpstrf

from spectralmirror.rows.kernels import far_origin
from spectralmirror.rows.messages import CollinearError, ColumnError
from spectralmirror.rows.types import AnyArray, Matrix, Vector

#: A column is collinear if the others leave no more of its variance than this many units of
#: rounding.
COLLINEAR = 1000
#: Squares of a column are safe from underflow if their mean is this many times the smallest normal
#: number: rounding of subnormal squares is then far below that of the largest ones.
LEAST_SQUARE = 1e6

__all__ = ["Whitening"]


class _SingularError(Exception):
    def __init__(self, columns: NDArray[np.intp]):
        self.columns = columns


@dataclass(frozen=True, eq=False)
class Whitening:
    """Mean and factored covariance of the features.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        mu.
    scale : ndarray of shape (d,)
        The diagonal of D.
    cholesky : ndarray of shape (d, d) or None
        L, lower triangular; None if it is the identity.
    """

    mean: Vector
    scale: Vector
    cholesky: Matrix | None

    @classmethod
    def of(cls, mean: Vector, covariance: Matrix, dtype: Any, where: str = "") -> Whitening:
        """Factor a covariance that was estimated from rows of the given precision.

        `where` says in error messages which rows these were.
        """
        variance, precision = np.diagonal(covariance), float(np.finfo(dtype).eps)
        _refuse_tiny(mean, variance, dtype, where)
        constant = _is_constant(mean, variance, precision)
        if constant.any():
            raise ColumnError(
                f"X is constant in {{columns}}{where}: remove what does not vary, or subtract the "
                f"mean if it is so large that {np.dtype(dtype)} has no digits left for the rest.",
                np.flatnonzero(constant),
            )
        try:
            return cls._factored(mean, covariance, precision)
        except _SingularError as error:
            digits = ", as far as float32 can tell" if precision > 1e-10 else ""
            raise CollinearError(
                f"X is collinear{where}, and its covariance has no inverse: {{columns}} can be "
                f"computed from the others{digits}. Remove them, or reduce X first, for example "
                "with PCA.",
                error.columns,
            ) from None

    @classmethod
    def of_columns(cls, mean: Vector, variance: Vector, dtype: Any) -> Whitening:
        """Scale columns by their standard deviations; constant ones, which say nothing, by 1."""
        _refuse_tiny(mean, variance, dtype, "")
        constant = _is_constant(mean, variance, float(np.finfo(dtype).eps))
        return cls(mean, np.where(constant, 1.0, np.sqrt(variance)), None)

    @classmethod
    def known(cls, mean: Vector, covariance: Matrix) -> Whitening:
        """Factor a covariance that was given."""
        if np.count_nonzero(covariance) == len(covariance):
            return cls(mean, np.sqrt(np.diagonal(covariance)), None)
        try:
            return cls._factored(mean, covariance, float(np.finfo(np.float64).eps))
        except _SingularError:
            raise ValueError(
                "covariance must be positive definite, but its eigenvalues are not all above 0: "
                "remove collinear columns, or add a small multiple of the identity."
            ) from None

    @classmethod
    def _factored(cls, mean: Vector, covariance: Matrix, precision: float) -> Whitening:
        scale = np.sqrt(np.diagonal(covariance))
        correlation = _correlation(covariance, scale)
        # A pivoted Cholesky factorisation reveals the rank: its next pivot is the column with the
        # largest residual variance. Without pivots a singular matrix can pass unnoticed.
        _, order, rank, _ = dpstrf(correlation, tol=COLLINEAR * precision, lower=1)
        if rank < len(scale):
            raise _SingularError(np.sort(order[rank:] - 1))
        return cls(mean, scale, dpotrf(correlation, lower=1, clean=1, overwrite_a=1)[0])

    @cached_property
    def reciprocal_condition(self) -> float:
        """An estimate of 1 / condition of the correlation matrix, in the 1-norm."""
        L = self.cholesky
        if L is None:
            return 1.0
        return float(dpocon(L, np.abs(L @ L.T).sum(axis=0).max(), uplo="L")[0])

    def origin(self, dtype: np.dtype[Any]) -> AnyArray | None:
        """Return the point to subtract from rows of this dtype before summing, None for 0."""
        return far_origin(self.mean, self.scale, dtype)

    def mean_from(self, origin: AnyArray | None) -> Vector:
        """Return the mean as seen from the origin."""
        return self.mean if origin is None else self.mean - origin.astype(np.float64)

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


def _refuse_tiny(mean: Vector, variance: Vector, dtype: Any, where: str) -> None:
    """Raise if the squares of a column underflow, even all of them while its values are not 0."""
    least = LEAST_SQUARE * float(np.finfo(dtype).tiny)
    tiny = (variance < least) & (np.abs(mean) < np.sqrt(least)) & ((variance > 0) | (mean != 0))
    if tiny.any():
        raise ColumnError(
            f"X is so small in {{columns}}{where} that its squares underflow: rescale it, for "
            "example with sklearn.preprocessing.StandardScaler.",
            np.flatnonzero(tiny),
        )


def _is_constant(mean: Vector, variance: Vector, precision: float) -> NDArray[np.bool_]:
    """All the variance that a constant column can have comes from rounding its mean."""
    return np.asarray(variance <= (2 * precision * np.abs(mean)) ** 2)


def _correlation(M: Matrix, scale: Vector) -> Matrix:
    """D^-1 M D^-1 of a symmetric M, in the memory order that saves LAPACK a copy."""
    scaled = M / scale
    scaled /= scale[:, None]
    return scaled.T

"""Working coordinates z = M [x - o, 1], in which the features are uncorrelated.

With Sigma = D L L' D, z holds L^-1 D^-1 (x - mu), and 1 for the intercept. Without intercepts it is
L^-1 D^-1 x, where D L L' D = Sigma + mu mu' is the second moment. A profile u in the units of x is
v = L' D u here, and its squared norm per standard deviation (with divisor n) is |D u|^2 = v' P v,
P = (L' L)^-1.

Of many features, columns are scaled, not whitened: L = I. All matrices are then diagonal, but for
the last column of M, and stored as sparse ones, so that nothing of size d x d is formed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from spectralmirror.mixture.principal import Principal
from spectralmirror.rows.types import AnyArray, Matrix, Vector
from spectralmirror.subspace.base import orthonormal_rows
from spectralmirror.subspace.whitening import Whitening

__all__ = ["Coordinates"]


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The coordinates in which the likelihood is maximised.

    Attributes
    ----------
    matrix : ndarray or sparse array of shape (p, d + 1)
        M.
    origin : ndarray of shape (d,) or None
        o; None means 0.
    precision : ndarray of shape (p, p)
        P, with zeros for the intercept.
    back : ndarray of shape (p, d)
        L' D, which turns profiles in the units of x into v, without the intercept.
    from_standard : ndarray of shape (p, q)
        L', which turns coefficients per standard deviation of the features, and the intercept at
        their mean, into v.
    intercept : bool
        Whether the last coordinate belongs to the intercept.
    projected : bool
        Whether the rows hold z already, without the 1 for the intercept.
    principal : Principal or None
        Principal directions of the rows, if columns are only scaled.
    """

    matrix: Any
    origin: AnyArray | None
    precision: Matrix
    back: Matrix
    from_standard: Matrix
    intercept: bool
    projected: bool = False
    principal: Principal | None = None

    @cached_property
    def of_rows(self) -> Matrix:
        """The matrix that takes [x - o, 1] to z, for x as stored in the rows."""
        if not self.projected:
            found: Matrix = self.matrix
            return found
        p = self.size
        return np.eye(p) if self.intercept else np.eye(p, p + 1)

    @property
    def size(self) -> int:
        """The number p of coordinates."""
        return int(self.matrix.shape[0])

    @property
    def is_scaled(self) -> bool:
        """Whether columns are only scaled, and matrices are sparse."""
        return bool(sparse.issparse(self.matrix))

    @property
    def shift(self) -> AnyArray | None:
        """The origin o of x as stored in the rows."""
        return None if self.projected else self.origin

    @classmethod
    def whitened(
        cls, whitening: Whitening, origin: AnyArray | None, *, intercept: bool
    ) -> Coordinates:
        """Return coordinates of the whole space."""
        d = len(whitening.mean)
        factor = inverse = np.eye(d)
        if whitening.cholesky is not None or not intercept:
            factor = _factor(whitening, intercept=intercept)
            inverse = solve_triangular(factor, inverse, lower=True, check_finite=False)
        o = np.zeros(d) if origin is None else origin.astype(np.float64)
        linear, precision = inverse / whitening.scale, inverse @ inverse.T
        offset = linear @ (o - whitening.mean if intercept else o)
        matrix, standard = np.column_stack([linear, offset]), factor.T
        if intercept:
            matrix = np.vstack([matrix, np.eye(d + 1)[-1]])
            precision, standard = np.pad(precision, (0, 1)), np.pad(standard, (0, 1))
            standard[-1, -1] = 1
        back = factor.T * whitening.scale
        return cls(matrix, origin, precision, back, standard, intercept)

    @classmethod
    def scaled(
        cls, mean: Vector, scale: Vector, origin: AnyArray | None, *, intercept: bool
    ) -> Coordinates:
        """Return coordinates of the whole space in which columns are only scaled: L = I."""
        d = len(mean)
        o = np.zeros(d) if origin is None else origin.astype(np.float64)
        offset = (o - mean if intercept else o) / scale
        matrix = sparse.hstack([sparse.diags_array(1 / scale), offset[:, None]])
        precision, standard = np.ones(d), np.ones(d)
        if intercept:
            last = sparse.csr_array(([1.0], ([0], [d])), shape=(1, d + 1))
            matrix = sparse.vstack([matrix, last])
            precision, standard = np.append(precision, 0.0), np.append(standard, 1.0)
        return cls(
            matrix.tocsr(),
            origin,
            _diagonal(precision),
            _diagonal(scale),
            _diagonal(standard),
            intercept,
        )

    def inside(self, basis: Matrix) -> Coordinates:
        """Return coordinates within the span of vectors in the units of x."""
        v = basis @ self.back.T
        directions = orthonormal_rows(v / np.linalg.norm(v, axis=1, keepdims=True))
        back = directions @ self.back
        if self.intercept:
            directions = np.pad(directions, ((0, 1), (0, 1)))
            directions[-1, -1] = 1
        return replace(
            self,
            matrix=directions @ self.matrix,
            precision=directions @ self.precision @ directions.T,
            back=back,
            from_standard=directions @ self.from_standard,
            principal=None,
        )

    def lift(self, profiles: Matrix, whole: Coordinates) -> Matrix:
        """Return profiles from these coordinates in those of the whole space."""
        return whole.from_units(*self.in_units(profiles))

    def in_units(self, profiles: Matrix) -> tuple[Matrix, Vector]:
        """Return profiles and intercepts in the units of x: t = <u, x> + b."""
        A = profiles @ self.matrix
        coef, intercept = A[:, :-1], A[:, -1].copy()
        if not self.intercept:
            return coef, np.zeros(len(coef))
        if self.origin is not None:
            intercept -= coef @ self.origin.astype(np.float64)
        return coef, intercept

    def from_units(self, coef: Matrix, intercept: Vector) -> Matrix:
        """Return v for profiles and intercepts in the units of x; a subspace projects them."""
        v = coef @ self.back.T
        if not self.intercept:
            return v
        o = 0.0 if self.origin is None else coef @ self.origin.astype(np.float64)
        offset = self.matrix[:-1, [-1]].toarray()[:, 0] if self.is_scaled else self.matrix[:-1, -1]
        return np.column_stack([v, intercept + o - v @ offset])


def _diagonal(values: Vector) -> Any:
    """Return a sparse diagonal matrix that stores its zeros, too."""
    index = np.arange(len(values))
    return sparse.csr_array((values, (index, index)))


def _factor(whitening: Whitening, *, intercept: bool) -> Matrix:
    """Return L."""
    L = np.eye(len(whitening.mean)) if whitening.cholesky is None else whitening.cholesky
    if intercept:
        return L
    mean = whitening.mean / whitening.scale
    return np.asarray(np.linalg.cholesky(L @ L.T + np.outer(mean, mean)))

"""The principal directions of wide rows, as a preconditioner of climbs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["Principal"]


@dataclass(frozen=True, eq=False)
class Principal:
    """The principal directions of the rows in working coordinates: C = U diag(s) U' + t (I - UU').

    Attributes
    ----------
    directions : ndarray of shape (p, r)
        U, with orthonormal columns; 0 for the intercept.
    variances : ndarray of shape (r,)
        s.
    rest : float
        t, the mean variance of the other directions.
    total : float
        tr C, without the intercept.
    """

    directions: Matrix
    variances: Vector
    rest: float
    total: float

    def inverse_roots(self, V: AnyArray, sizes: Vector, l2: float, *, intercept: bool) -> AnyArray:
        """Return (j C + l2 I)^(-1/2) v for vectors v, shape (..., k, p), and k sizes j.

        The variance of the intercept is 1, and it has no penalty.
        """
        outside = 1 / np.sqrt(sizes * self.rest + l2)[:, None]
        inside = 1 / np.sqrt(sizes[:, None] * self.variances + l2)
        found = V * outside
        if len(self.variances):
            found += ((V @ self.directions) * (inside - outside)) @ self.directions.T
        if intercept:
            found[..., -1] = V[..., -1] / np.sqrt(sizes)
        return np.asarray(found)

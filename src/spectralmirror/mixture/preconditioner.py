"""A preconditioner for wide rows: a simple matrix M close to minus the second derivatives of L.

    M = J (x) C + l2 I for profiles, n p_l for logits,

where J says how much each pair of components learns from a row (:func:`coupling`), and C has a few
principal directions (:class:`Principal`). M is never formed: with J = sum_a j_a w_a w_a',

    R = sum_a w_a e_a' (x) (j_a C + l2 I)^(-1/2),   R R' = M^-1,

costs k r products of p numbers for r directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from spectralmirror.mixture.curvature import coupling
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.principal import Principal
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["Preconditioner"]

#: Lower bounds of the eigenvalues of J, relative to the largest one and absolute per row.
FLATTEST, FLATTEST_ROW = 1e-4, 1e-12


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """R, for lines of theta: the profiles, and what the weights depend on.

    Attributes
    ----------
    principal : Principal
        C.
    sizes : ndarray of shape (k,)
        j_a.
    vectors : ndarray of shape (k, k)
        w_a, in columns.
    of_weights : ndarray
        R for the entries after the profiles.
    l2 : float
        The penalty.
    intercept : bool
        Whether profiles end with an intercept.
    """

    principal: Principal
    sizes: Vector
    vectors: Matrix
    of_weights: Vector
    l2: float
    intercept: bool

    @classmethod
    def of(cls, likelihood: Likelihood, parameters: Parameters) -> Preconditioner:
        """Return the preconditioner at theta: one pass over the rows."""
        coordinates, n = likelihood.coordinates, likelihood.rows.total_weight
        assert coordinates.principal is not None
        sizes, vectors = eigh(coupling(likelihood, parameters))
        sizes = np.abs(sizes)
        sizes = np.maximum(sizes, max(FLATTEST * float(sizes.max()), FLATTEST_ROW * n))
        of_weights = 1 / np.sqrt(np.maximum(n * parameters.weights, 1))
        return cls(
            coordinates.principal,
            sizes,
            vectors,
            np.repeat(of_weights, parameters.n_fixed),
            likelihood.l2,
            coordinates.intercept,
        )

    def times(self, lines: Matrix, *, transposed: bool = False) -> Matrix:
        """Return R x, or R' x, for each line x."""
        k, end = len(self.sizes), lines.shape[1] - len(self.of_weights)
        V = lines[:, :end].reshape(len(lines), k, -1)
        if transposed:
            V = np.tensordot(V, self.vectors, axes=(1, 0)).transpose(0, 2, 1)
        V = self.principal.inverse_roots(V, self.sizes, self.l2, intercept=self.intercept)
        if not transposed:
            V = np.tensordot(V, self.vectors, axes=(1, 1)).transpose(0, 2, 1)
        return np.hstack([V.reshape(len(lines), -1), self.of_weights * lines[:, end:]])

    def log_det(self, n_features: int) -> float:
        """Return log det M of the profiles, with their intercepts."""
        s, t = self.principal.variances, self.principal.rest
        found = np.log(self.sizes[:, None] * s + self.l2).sum()
        found += (n_features - len(s)) * np.log(self.sizes * t + self.l2).sum()
        return float(found + (np.log(self.sizes).sum() if self.intercept else 0.0))

    def determined(self, l2: float, n_features: int) -> float:
        """Return tr (J (x) C) (J (x) C + l2 I)^-1: gamma, if M were exact."""
        s, t = self.principal.variances, self.principal.rest
        inside, outside = self.sizes[:, None] * s, self.sizes * t
        found = (inside / (inside + l2)).sum()
        return float(found + (n_features - len(s)) * (outside / (outside + l2)).sum())

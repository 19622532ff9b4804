"""Coefficients that all classes share, and coefficients of a given sign.

With s_l = F^-1 v_l, the coefficients of class l per standard deviation of the features, a shared
coefficient j satisfies s_1j = ... = s_kj, and a coefficient of sign +1 satisfies s_lj >= 0 in every
class. The former are linear equations in theta. Of the latter, those that hold with equality at the
maximum are equations, too, and the others do not matter: which these are is found by trial (an
active set). All equations together are N theta = 0, and the likelihood is maximised in their null
space.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["ZERO", "Constraints", "null_space", "orthonormal", "without"]

#: A coefficient per standard deviation of its feature is 0 below this.
ZERO = 1e-9


@dataclass(frozen=True, eq=False)
class Constraints:
    """Equations and signs of some coefficients.

    Attributes
    ----------
    shared : ndarray of shape (m,)
        Whether all classes share the coefficient.
    signs : ndarray of shape (m,)
        -1 or +1 if it has that sign, otherwise 0.
    functionals : ndarray of shape (m, p)
        Lines of F^-1: coefficients of v.
    steps : ndarray of shape (m, p)
        Columns of F: changes of v that change one coefficient and no other.
    """

    shared: NDArray[np.bool_]
    signs: Vector
    functionals: Matrix
    steps: Matrix

    @classmethod
    def of(
        cls, shared: NDArray[np.bool_], signs: Vector, coordinates: Coordinates
    ) -> Constraints | None:
        """Return the constraints of features; None if there are none."""
        which = np.flatnonzero(shared | (signs != 0))
        if not len(which):
            return None
        F = coordinates.from_standard
        inverse = np.asarray(np.linalg.inv(F), dtype=np.float64)
        return cls(shared[which], signs[which], inverse[which], F.T[which])

    def of_contrasts(self, m: int) -> Constraints:
        """Return the same for profiles of m contrasts each (:mod:`label_contrasts`).

        Classes that share a coefficient share it for every label.
        """
        functionals = np.asarray(np.kron(np.eye(m), self.functionals), dtype=np.float64)
        steps = np.asarray(np.kron(np.eye(m), self.steps), dtype=np.float64)
        return Constraints(np.tile(self.shared, m), np.tile(self.signs, m), functionals, steps)

    @property
    def has_signs(self) -> bool:
        """Whether some coefficients have a given sign."""
        return bool(self.signs.any())

    def admitted(self, profiles: Matrix) -> Matrix:
        """Return profiles that satisfy the constraints: shared ones averaged, wrong signs 0."""
        s = profiles @ self.functionals.T
        target = np.where(self.shared, s.mean(axis=0), s)
        target = np.where(self.signs * target < 0, 0.0, target)
        return np.asarray(profiles + (target - s) @ self.steps)

    def violated(self, profiles: Matrix) -> NDArray[np.bool_]:
        """Return which coefficients have the wrong sign, shape (k, m)."""
        return np.asarray(self.signs * (profiles @ self.functionals.T) < -ZERO)

    def at_zero(self, profiles: Matrix) -> NDArray[np.bool_]:
        """Return which coefficients of a given sign are 0, shape (k, m)."""
        return np.asarray((self.signs != 0) & (np.abs(profiles @ self.functionals.T) <= ZERO))

    def pushed_out(self, slopes: Matrix) -> NDArray[np.bool_]:
        """Return which coefficients the gradient of profiles pushes to the wrong side of 0."""
        return np.asarray(self.signs * (slopes @ self.steps.T) < 0)

    def equations(self, k: int, active: NDArray[np.bool_]) -> Matrix:
        """Return N for the k profiles; `active`, of shape (k, m), are coefficients fixed at 0."""
        found = []
        for j, f in enumerate(self.functionals):
            fixed = np.flatnonzero(active[:, j])[: 1 if self.shared[j] else None]
            lines = np.eye(k)[fixed]
            if self.shared[j]:
                lines = np.vstack([lines, np.eye(k)[1:] - np.eye(k)[:-1]])
            found.append(np.kron(lines, f))
        return np.vstack(found)

    def released(
        self, profiles: Matrix, slopes: Matrix, active: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which active coefficients should leave 0 at a maximum under the equations.

        There the gradient is N' mu, and L rises to the right side of 0 if mu has the sign of the
        coefficient.
        """
        N = self.equations(len(profiles), active)
        if not active.any():
            return active
        mu = np.linalg.lstsq(N.T, slopes.ravel(), rcond=None)[0]
        found, first, k = np.zeros_like(active), 0, len(profiles)
        for j, sign in enumerate(self.signs):
            fixed = np.flatnonzero(active[:, j])
            n_lines = min(len(fixed), 1) if self.shared[j] else len(fixed)
            inward = sign * mu[first : first + n_lines] > ZERO
            found[fixed, j] = inward if n_lines == len(fixed) else np.repeat(inward, len(fixed))
            first += n_lines + (k - 1 if self.shared[j] else 0)
        return found

    def free_directions(self, S: Matrix) -> Matrix:
        """Return S, restricted to directions in which classes may differ."""
        N = self.functionals[self.shared]
        if not len(N):
            return S
        Q = null_space(N, S.shape[0])
        return np.asarray(Q @ (Q.T @ S @ Q) @ Q.T)


def orthonormal(N: Matrix) -> Matrix:
    """Return orthonormal lines that span those of N."""
    if not len(N):
        return N
    Q, R, _ = qr(N.T, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(R))
    return np.asarray(Q[:, size > 1e-10 * size[0]].T)


def without(W: Matrix, vector: Vector) -> Vector:
    """Return a vector less its part in the span of the orthonormal lines of W."""
    found = vector.copy()
    n = W.shape[1]
    found[:n] -= W.T @ (W @ vector[:n])
    return found


def null_space(N: Matrix, size: int) -> Matrix:
    """Return an orthonormal basis, in columns, of vectors of `size` numbers with N x = 0.

    N may have fewer columns: it is continued by zeros.
    """
    W = orthonormal(N)
    padded = np.zeros((size, len(W)))
    padded[: N.shape[1]] = W.T
    return np.asarray(qr(padded, mode="full")[0][:, len(W) :])

"""Which eigenvalues stand out of the bulk (Algorithm 1, lines 6 and 7), and how many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from spectralmirror.arrays import Matrix, Vector
from spectralmirror.engines import one_blas_thread

__all__ = ["Spectrum", "dense_spectrum", "lanczos_spectrum", "null_deviation"]

#: Spectra of pure noise that are drawn to learn how far its eigenvalues stray.
N_NULL_SPECTRA = 199
#: Larger matrices of noise are imitated by matrices of this size with as many rows a feature.
NULL_SIZE = 64


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and eigenvectors of Q, furthest from the bulk first.

    Attributes
    ----------
    eigenvalues : ndarray of shape (m,)
        All d of them from a dense solver, the leading ones from Lanczos.
    vectors : ndarray of shape (d, m)
        Whitened eigenvectors, one a column.
    bulk : float
        The centre from which distances are taken.
    """

    eigenvalues: Vector
    vectors: Matrix
    bulk: float

    @property
    def deviations(self) -> Vector:
        """Distances from the bulk, largest first."""
        return np.abs(self.eigenvalues - self.bulk)

    @classmethod
    def sorted(cls, eigenvalues: Vector, vectors: Matrix, bulk: float) -> Spectrum:
        """Put the eigenvalues furthest from the bulk first."""
        order = np.argsort(-np.abs(eigenvalues - bulk), kind="stable")
        return cls(eigenvalues[order], vectors[:, order], bulk)


def dense_spectrum(Q: Matrix, bulk: float | None = None) -> Spectrum:
    """Return all eigenpairs of Q; the bulk is the median of the eigenvalues unless it is given."""
    eigenvalues, vectors = eigh(Q)
    centre = float(np.median(eigenvalues)) if bulk is None else bulk
    return Spectrum.sorted(eigenvalues, vectors, centre)


def lanczos_spectrum(
    centred: Callable[[Vector], Vector], start: Vector, k: int, bulk: float, tolerance: float
) -> Spectrum:
    """Return the k eigenpairs of Q that lie furthest from the bulk, by Lanczos.

    Parameters
    ----------
    centred : callable
        v -> (Q - bulk I) v.
    start : ndarray of shape (d,)
        First Lanczos vector.
    k : int
        Number of eigenpairs, less than d.
    bulk : float
        Centre of the other eigenvalues.
    tolerance : float
        Norm of a perturbation of Q that may account for the pairs not being exact.
    """
    d = len(start)
    operator = LinearOperator((d, d), matvec=centred, dtype=np.float64)
    # ARPACK looks at its residuals only when it has as many Lanczos vectors as it may keep, and
    # calls a pair found when its residual is below tol |eigenvalue|.
    n_vectors = min(d, max(20, 2 * k + 8))
    with one_blas_thread():
        eigenvalues, vectors = eigsh(
            operator, k, which="LM", v0=start, tol=tolerance, ncv=n_vectors
        )
    return Spectrum.sorted(eigenvalues + bulk, vectors, bulk)


def null_deviation(
    d: int,
    effective_rows: Vector,
    masses: Vector,
    covariance_rows: float,
    rate: float,
    rng: np.random.RandomState,
) -> float:
    """Return how far from the median the d eigenvalues of pure noise stray.

    Where mirrored labels know nothing of d Gaussian features, Q is the difference of two
    independent Wishart matrices, seen through a third one where the covariance is estimated too.
    Such spectra are drawn, at a cost that does not depend on the number of rows. The value
    returned is exceeded by the largest distance from the median with probability `rate`
    (a Monte Carlo test, exact for Gaussian features; for d > 64 at most that).

    Parameters
    ----------
    d : int
        Number of eigenvalues.
    effective_rows : ndarray of shape (2,)
        Rows with positive and with negative mirrored labels.
    masses : ndarray of shape (2,)
        Their shares of the total weight.
    covariance_rows : float
        Rows that estimated the covariance, infinite where it is known.
    rate : float
        The false-positive rate.
    rng : RandomState
        Source of the draws.
    """
    size = min(d, NULL_SIZE)
    shrink = size / d
    Q = np.zeros((N_NULL_SPECTRA, size, size))
    for sign, n, mass in zip((1, -1), effective_rows * shrink, masses, strict=True):
        if n > 0:
            root = _wishart_roots(n, size, rng)
            Q += sign * mass / n * (root @ root.mT)
    if np.isfinite(covariance_rows):
        n = covariance_rows * shrink
        root = _wishart_roots(n, size, rng) / np.sqrt(n)
        Q = np.linalg.solve(root, np.linalg.solve(root, Q).mT)
    eigenvalues = np.linalg.eigvalsh(Q)
    strays = np.abs(eigenvalues - np.median(eigenvalues, axis=1, keepdims=True)).max(axis=1)
    exceeded = max(int(rate * (N_NULL_SPECTRA + 1)), 1)
    return float(np.sort(strays)[-exceeded])


def _wishart_roots(n: float, d: int, rng: np.random.RandomState) -> Matrix:
    """Return matrices A with A A' ~ Wishart_d(n): Bartlett's triangles, or rows where n < d."""
    if n < d:
        return rng.standard_normal((N_NULL_SPECTRA, d, max(round(n), 1)))
    A = np.tril(rng.standard_normal((N_NULL_SPECTRA, d, d)), -1)
    diagonal = np.arange(d)
    A[:, diagonal, diagonal] = np.sqrt(rng.chisquare(n - diagonal, (N_NULL_SPECTRA, d)))
    return A

"""Eigenvalues sorted by distance from the bulk (lines 6, 7), and the null distribution of these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from spectralmirror.rows.types import Matrix, Vector

__all__ = ["NullModel", "Spectrum", "dense_spectrum", "null_deviation"]

#: Minimum number of simulated spectra of pure noise.
N_NULL_SPECTRA = 199
#: Larger matrices of noise are replaced by ones of this size, with as many rows per feature.
NULL_SIZE = 64


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and eigenvectors of Q, furthest from the bulk first.

    Attributes
    ----------
    eigenvalues : ndarray of shape (m,)
        All d of them from a dense solver, the leading ones from Lanczos.
    vectors : ndarray of shape (d, m)
        Whitened eigenvectors, one per column.
    bulk : float
        The centre from which distances are measured.
    """

    eigenvalues: Vector
    vectors: Matrix
    bulk: float

    @property
    def deviations(self) -> Vector:
        """Distances from the bulk, largest first."""
        return np.abs(self.eigenvalues - self.bulk)

    def separation(self, n_kept: int) -> float:
        """Return the smallest distance of those kept, divided by the largest of those left out."""
        if not 0 < n_kept < len(self.eigenvalues) or self.deviations[n_kept] == 0:
            return np.nan
        return float(self.deviations[n_kept - 1] / self.deviations[n_kept])

    @classmethod
    def sorted(cls, eigenvalues: Vector, vectors: Matrix, bulk: float) -> Spectrum:
        """Put the eigenvalues furthest from the bulk first."""
        order = np.argsort(-np.abs(eigenvalues - bulk), kind="stable")
        return cls(eigenvalues[order], vectors[:, order], bulk)


def dense_spectrum(Q: Matrix, bulk: float | None = None) -> Spectrum:
    """Return all eigenpairs of Q, furthest from the bulk first.

    The bulk is the median of the eigenvalues (line 7) unless another one is given.
    """
    eigenvalues, vectors = eigh(Q)
    centre = float(np.median(eigenvalues)) if bulk is None else bulk
    return Spectrum.sorted(eigenvalues, vectors, centre)


@dataclass(frozen=True)
class NullModel:
    """Distribution of Q for mirrored labels that are independent of d Gaussian features.

    Attributes
    ----------
    d : int
        Number of features.
    rows : ndarray of shape (2,)
        Numbers of rows with positive and with negative mirrored labels.
    masses : ndarray of shape (2,)
        Their shares of the total weight.
    mean_rows, covariance_rows : float
        Numbers of other rows that mean and covariance were estimated from, infinite if known.
    """

    d: int
    rows: Vector
    masses: Vector
    mean_rows: float
    covariance_rows: float

    def shrunk(self, size: int) -> NullModel:
        """Return the model of fewer features with as many rows per feature."""
        shrink = size / self.d
        return NullModel(
            size,
            self.rows * shrink,
            self.masses,
            self.mean_rows * shrink,
            self.covariance_rows * shrink,
        )

    def draw(self, n_draws: int, rng: np.random.RandomState) -> Matrix:
        """Draw `n_draws` matrices Q, at a cost that does not depend on the number of rows.

        The sum of w w' about mu-hat over n rows is a Wishart matrix with n - 1 degrees of freedom,
        plus n (m - delta)(m - delta)', where m is the mean of the rows and delta the error of
        mu-hat. An estimated covariance L L', another Wishart matrix, turns Q into L^-1 Q L^-T.
        """
        Q = np.zeros((n_draws, self.d, self.d))
        delta = rng.standard_normal((n_draws, self.d, 1)) / np.sqrt(self.mean_rows)
        for sign, n, mass in zip((1, -1), self.rows, self.masses, strict=True):
            if n < 1:
                continue
            root = _wishart_roots(max(n - 1, 1), self.d, n_draws, rng)
            m = rng.standard_normal((n_draws, self.d, 1)) / np.sqrt(n) - delta
            Q += sign * mass * (root @ root.mT / n + m @ m.mT)
        if np.isfinite(self.covariance_rows):
            root = _wishart_roots(self.covariance_rows, self.d, n_draws, rng)
            root /= np.sqrt(self.covariance_rows)
            Q = np.linalg.solve(root, np.linalg.solve(root, Q).mT)
        return Q


def null_deviation(model: NullModel, rate: float, rng: np.random.RandomState) -> float:
    """Return the distance from their median that eigenvalues of pure noise exceed at this rate.

    This is a Monte Carlo test with at least 199 simulated spectra: the largest distance from the
    median exceeds the value returned with probability `rate`, for Gaussian features and equal
    weights. For more than 64 features, where a smaller matrix is simulated, it does so less often.
    """
    n_draws = max(N_NULL_SPECTRA, int(np.ceil(1 / rate)) - 1)
    eigenvalues = np.linalg.eigvalsh(model.shrunk(min(model.d, NULL_SIZE)).draw(n_draws, rng))
    strays = np.abs(eigenvalues - np.median(eigenvalues, axis=1, keepdims=True)).max(axis=1)
    return float(np.sort(strays)[-max(int(rate * (n_draws + 1)), 1)])


def _wishart_roots(n: float, d: int, n_draws: int, rng: np.random.RandomState) -> Matrix:
    """Return matrices A with A A' ~ Wishart_d(n): Bartlett's triangles, or n rows if n < d."""
    if n < d:
        return rng.standard_normal((n_draws, d, max(round(n), 1)))
    A = np.tril(rng.standard_normal((n_draws, d, d)), -1)
    diagonal = np.arange(d)
    A[:, diagonal, diagonal] = np.sqrt(rng.chisquare(n - diagonal, (n_draws, d)))
    return A

"""Which eigenvalues stand out of the bulk (Algorithm 1, lines 6 and 7), and how many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from spectralmirror.rows.types import Matrix, Vector

__all__ = ["NullModel", "Spectrum", "dense_spectrum", "null_deviation"]

#: At least so many spectra of pure noise are drawn to learn how far its eigenvalues stray.
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

    def separation(self, n_kept: int) -> float:
        """Return the distance of the weakest eigenvalue kept, over that of the strongest left."""
        if not 0 < n_kept < len(self.eigenvalues) or self.deviations[n_kept] == 0:
            return np.nan
        return float(self.deviations[n_kept - 1] / self.deviations[n_kept])

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


@dataclass(frozen=True)
class NullModel:
    """What Q is made of where mirrored labels know nothing of d Gaussian features.

    Attributes
    ----------
    d : int
        Number of features.
    rows : ndarray of shape (2,)
        Rows with positive and with negative mirrored labels.
    masses : ndarray of shape (2,)
        Their shares of the total weight.
    mean_rows, covariance_rows : float
        Other rows that estimated the mean and the covariance, infinite where these are known.
    """

    d: int
    rows: Vector
    masses: Vector
    mean_rows: float
    covariance_rows: float

    def shrunk(self, size: int) -> NullModel:
        """Return the model of fewer features with as many rows a feature."""
        shrink = size / self.d
        return NullModel(
            size,
            self.rows * shrink,
            self.masses,
            self.mean_rows * shrink,
            self.covariance_rows * shrink,
        )

    def draw(self, n_draws: int, rng: np.random.RandomState) -> Matrix:
        """Draw so many matrices Q, at a cost that does not depend on the number of rows.

        sum of w w' about mu-hat, over n rows, is a Wishart matrix of n - 1 degrees of freedom and
        n (m - delta)(m - delta)', with m the mean of the rows and delta the error of mu-hat. Seen
        through an estimated covariance, another Wishart matrix, it becomes L^-1 Q L^-T.
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
    """Return how far from their median the eigenvalues of pure noise stray.

    Spectra of noise are drawn. The largest distance from the median exceeds the value returned
    with probability `rate`, as near as Gaussian features, equal weights and a Monte Carlo test of
    at least 199 draws make it; for more than 64 features, where a smaller matrix stands in, with
    a lower one.
    """
    n_draws = max(N_NULL_SPECTRA, int(np.ceil(1 / rate)) - 1)
    eigenvalues = np.linalg.eigvalsh(model.shrunk(min(model.d, NULL_SIZE)).draw(n_draws, rng))
    strays = np.abs(eigenvalues - np.median(eigenvalues, axis=1, keepdims=True)).max(axis=1)
    return float(np.sort(strays)[-max(int(rate * (n_draws + 1)), 1)])


def _wishart_roots(n: float, d: int, n_draws: int, rng: np.random.RandomState) -> Matrix:
    """Return matrices A with A A' ~ Wishart_d(n): Bartlett's triangles, or rows where n < d."""
    if n < d:
        return rng.standard_normal((n_draws, d, max(round(n), 1)))
    A = np.tril(rng.standard_normal((n_draws, d, d)), -1)
    diagonal = np.arange(d)
    A[:, diagonal, diagonal] = np.sqrt(rng.chisquare(n - diagonal, (n_draws, d)))
    return A

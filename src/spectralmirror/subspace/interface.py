"""The input that both methods share (what is known about the features), and their result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.moments import FeatureMoments
from spectralmirror.subspace.spectrum import Spectrum
from spectralmirror.subspace.whitening import Whitening

__all__ = ["KnownFeatures", "Outcome"]


@dataclass(frozen=True)
class KnownFeatures:
    """What is known about the features beforehand.

    Attributes
    ----------
    mean, covariance : ndarray or None
        None if it is to be estimated.
    whitening : Whitening or None
        Both together; nothing is then estimated.
    n_rows : float
        Number of other rows that `whitening` was estimated from, infinite if it is exact.
    """

    mean: Vector | None = None
    covariance: Matrix | None = None
    whitening: Whitening | None = None
    n_rows: float = np.inf

    @property
    def nothing(self) -> bool:
        """Whether nothing is known."""
        return self.mean is None and self.covariance is None and self.whitening is None

    def completed(self, moments: FeatureMoments, ratio: float = 1.0, where: str = "") -> Whitening:
        """Estimate what is not known from the moments; the covariance is divided by `ratio`.

        `where` says in error messages which rows the moments were computed from.
        """
        mean = moments.mean if self.mean is None else self.mean
        if self.covariance is not None:
            return Whitening.known(mean, self.covariance)
        step = moments.mean - mean
        covariance = (moments.covariance + np.outer(step, step)) / ratio
        return Whitening.of(mean, covariance, moments.dtype, where)

    def rows_behind(self, n: float) -> tuple[float, float]:
        """Return the degrees of freedom of mean and covariance, if estimated from n rows."""
        if self.whitening is not None:
            return self.n_rows, self.n_rows
        return (
            n if self.mean is None else np.inf,
            n - (self.mean is None) if self.covariance is None else np.inf,
        )


@dataclass(frozen=True)
class Outcome:
    """A subspace and how it was found.

    Attributes
    ----------
    basis : ndarray of shape (k, d)
        Vectors that span U-hat, in the units of x.
    direction : ndarray of shape (d,)
        r-hat.
    spectrum : Spectrum
        Eigenvalues, inside the complement of r-hat if r-hat was taken first.
    n_outliers : int
        Number of eigenvectors in the basis.
    mean : ndarray of shape (d,)
        mu-hat.
    status : str or None
        A warning for the user, with a remedy; None if all is well.
    separation : float
        Distance of the weakest eigenvalue kept from the bulk, relative to that of the edge of the
        noise (or of the strongest eigenvalue left out); NaN if there is none.
    error : float
        Estimated error of the subspace, |sin Theta|_F; NaN if there is no estimate.
    whitening : Whitening or None
        Mean and covariance, if they are those of all rows.
    """

    basis: Matrix
    direction: Vector
    spectrum: Spectrum
    n_outliers: int
    mean: Vector
    status: str | None
    separation: float
    error: float
    whitening: Whitening | None = None

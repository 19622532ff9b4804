"""What a method is given, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.moments import FeatureMoments
from spectralmirror.subspace.spectrum import Spectrum
from spectralmirror.subspace.whitening import Whitening

__all__ = ["KnownFeatures", "Outcome", "Request"]


@dataclass(frozen=True)
class KnownFeatures:
    """What is known of the features beforehand.

    Attributes
    ----------
    mean, covariance : ndarray or None
        None is to be estimated from the first half of the rows.
    whitening : Whitening or None
        Both together; lines 1 and 2 are then skipped.
    n_rows : float
        From how many other rows the two were estimated; infinite where they are exact.
    """

    mean: Vector | None = None
    covariance: Matrix | None = None
    whitening: Whitening | None = None
    n_rows: float = np.inf

    def completed(self, moments: FeatureMoments, ratio: float = 1.0, where: str = "") -> Whitening:
        """Estimate what is not known; the covariance is divided by the ratio."""
        mean = moments.mean if self.mean is None else self.mean
        if self.covariance is not None:
            return Whitening.known(mean, self.covariance)
        step = moments.mean - mean
        covariance = (moments.covariance + np.outer(step, step)) / ratio
        return Whitening.of(mean, covariance, moments.dtype, where)


@dataclass(frozen=True)
class Request:
    """What is asked of the spectrum.

    Attributes
    ----------
    n_components : int or None
        Dimension k of the subspace; None is r-hat and whatever stands out beside it.
    include_mirror_direction : bool
        Let r-hat be one of the k directions.
    false_positive_rate : float
        Of what stands out.
    lanczos : bool
        Multiply with Q instead of forming it.
    tol : float
        Accuracy of Lanczos, as a share of the sampling error of Q.
    elliptical : bool
        Bring all rows to one length (the default method only).
    rng : RandomState
        Source of randomness.
    """

    n_components: int | None
    include_mirror_direction: bool
    false_positive_rate: float
    lanczos: bool
    tol: float
    elliptical: bool
    rng: np.random.RandomState


@dataclass(frozen=True)
class Outcome:
    """The subspace and how it was found.

    Attributes
    ----------
    basis : ndarray of shape (k, d)
        Vectors that span U-hat, in the units of x.
    direction : ndarray of shape (d,)
        r-hat.
    spectrum : Spectrum
        Eigenvalues of Q, inside the complement of r-hat where r-hat was taken first.
    n_outliers : int
        How many of the eigenvectors are in the basis.
    mean : ndarray of shape (d,)
        mu-hat.
    status : str or None
        What the user should know of the outcome and do about it, None where all is well.
    separation : float
        Distance of the weakest eigenvalue that was kept from the bulk, in units of the edge of
        the bulk.
    error : float
        Estimate of the error of the subspace, |sin Theta|_F; NaN where there is none.
    whitening : Whitening or None
        Mean and covariance, where all rows had a part in them.
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

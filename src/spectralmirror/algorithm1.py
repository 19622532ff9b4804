"""SpectralMirror as the paper prints it: Algorithm 1, lines 1 to 8."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.sparse.linalg import ArpackNoConvergence
from scipy.stats import chi2

from spectralmirror.arrays import Matrix, Vector
from spectralmirror.blocks import Rows
from spectralmirror.engines import reduce
from spectralmirror.mirror import MirroredOperator, label_cross, mirrored_moments
from spectralmirror.moments import LabelledMoments, SignedMoments
from spectralmirror.spectrum import Spectrum, dense_spectrum, lanczos_spectrum, null_deviation
from spectralmirror.validation import check_finite
from spectralmirror.whitening import Whitening

__all__ = ["KnownFeatures", "Outcome", "Request", "algorithm1"]


@dataclass(frozen=True)
class KnownFeatures:
    """What is known of the features beforehand; None is to be estimated."""

    mean: Vector | None = None
    covariance: Matrix | None = None


@dataclass(frozen=True)
class Request:
    """What is asked of the spectrum.

    Attributes
    ----------
    n_components : int or None
        Dimension k of the subspace, None to count the outlying eigenvalues.
    include_mirror_direction : bool
        Let r-hat be one of the k directions.
    false_positive_rate : float
        Of the count.
    lanczos : bool
        Multiply with Q instead of forming it.
    tol : float
        Accuracy of Lanczos, as a share of the sampling error of Q.
    rng : RandomState
        Source of randomness.
    """

    n_components: int | None
    include_mirror_direction: bool
    false_positive_rate: float
    lanczos: bool
    tol: float
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
    mean : ndarray of shape (d,)
        mu-hat.
    status : str or None
        What the user should know of the outcome and do about it, None where all is well.
    """

    basis: Matrix
    direction: Vector
    spectrum: Spectrum
    mean: Vector
    status: str | None


def algorithm1(rows: Rows, known: KnownFeatures | Whitening, request: Request) -> Outcome:
    """Run Algorithm 1.

    With mean and covariance known (a :class:`Whitening`) lines 1 and 2 are skipped, and every
    row serves both for r and for Q.
    """
    # Lines 1 and 2: mean and covariance, from the first half of the rows
    if isinstance(known, Whitening):
        first, second, whitening, covariance_rows = rows, rows, known, np.inf
        cross = label_cross(rows, whitening)
        check_finite(rows, cross)
    else:
        first, second = halves(rows)
        labelled = reduce(first, LabelledMoments.of)
        check_finite(first, labelled.features.mean, np.diagonal(labelled.features.scatter))
        whitening = estimate_whitening(labelled, known, second.n_present / first.n_present)
        covariance_rows = first.n_present - 1 if known.covariance is None else np.inf
        cross = labelled.cross_about(whitening.mean) / labelled.features.weight

    # Line 3: the mirror direction, and its whitened image
    direction, axis = whitening.solve(cross), whitening.whiten_sum(cross)

    # Lines 4 to 7: mirrored labels, Q, and its eigenvalues in the order of their distance
    beside = axis if request.include_mirror_direction and axis.any() else None
    spectrum, k = None, request.n_components
    if request.lanczos and k is not None:
        spectrum = lanczos_outliers(second, direction, whitening, beside, request)
    if spectrum is None:
        mirrored = mirrored_moments(second, direction, whitening)
        check_finite(second, mirrored.masses, mirrored.first, np.diagonal(mirrored.second))
        Q = whitening.whiten_matrix(mirrored.about(whitening.mean))
        spectrum = dense_spectrum(Q) if beside is None else spectrum_beside(beside, Q)
        if k is None:
            k = count_outliers(spectrum, mirrored, covariance_rows, request)
            k += beside is not None
    assert k is not None

    # Line 8: the span, in the units of x. Where no eigenvalue stands out, r-hat is left.
    vectors = spectrum.vectors[:, :k]
    if beside is not None or (k == 0 and axis.any()):
        vectors = np.column_stack([axis, vectors[:, : max(k - 1, 0)]])
    elif k == 0:
        vectors = spectrum.vectors[:, :1]
    basis = whitening.direction(vectors).T
    n_outliers = None if request.n_components else k - (beside is not None)
    status = describe(axis, n_outliers, first.n_present, request.false_positive_rate)
    return Outcome(basis, direction, spectrum, whitening.mean, status)


def halves(rows: Rows) -> tuple[Rows, Rows]:
    """Return the first floor(n/2) rows and the other ceil(n/2); rows of weight 0 do not count."""
    middle = rows.n_present // 2
    if rows.weight is not None:
        middle = int(np.flatnonzero(rows.weight)[middle])
    return rows[:middle], rows[middle:]


def estimate_whitening(
    labelled: LabelledMoments, known: KnownFeatures, second_to_first: float
) -> Whitening:
    """Return mu-hat and the factors of Sigma-hat (lines 1 and 2), as far as they are not known.

    Line 2 divides a sum over floor(n/2) rows by ceil(n/2), hence the ratio of the two.
    """
    moments = labelled.features
    mean = moments.mean if known.mean is None else known.mean
    if known.covariance is not None:
        return Whitening.known(mean, known.covariance)
    step = moments.mean - mean
    covariance = (moments.covariance + np.outer(step, step)) / second_to_first
    return Whitening.of(mean, covariance, moments.precision)


def spectrum_beside(axis: Vector, Q: Matrix) -> Spectrum:
    """Return the spectrum of Q inside the orthogonal complement of the axis."""
    complement = qr(axis[:, None])[0][:, 1:]
    inside = dense_spectrum(complement.T @ Q @ complement)
    return Spectrum(inside.eigenvalues, complement @ inside.vectors, inside.bulk)


def lanczos_outliers(
    rows: Rows, direction: Vector, whitening: Whitening, axis: Vector | None, request: Request
) -> Spectrum | None:
    """Return the outlying eigenpairs without forming Q, None where Lanczos cannot find them."""
    d = len(direction)
    k = (request.n_components or 1) - (axis is not None)
    if not 0 < k < d - 1:
        return None
    mirrored = MirroredOperator(rows, direction, whitening)
    check_finite(rows, np.array([mirrored.mean_weight]))
    bulk = mirrored.mean_weight
    unit = np.zeros(d) if axis is None else axis / np.linalg.norm(axis)

    def centred(v: Vector) -> Vector:
        v = v - (unit @ v) * unit
        image = mirrored(v) - bulk * v
        return image - (unit @ image) * unit

    start = request.rng.standard_normal(d)
    tolerance = request.tol * 2 * np.sqrt(d / rows.n_present)
    try:
        return lanczos_spectrum(centred, start - (unit @ start) * unit, k, bulk, tolerance)
    except ArpackNoConvergence:
        return None


def count_outliers(
    spectrum: Spectrum, mirrored: SignedMoments, covariance_rows: float, request: Request
) -> int:
    """Return how many eigenvalues lie further from the median than those of pure noise."""
    edge = null_deviation(
        len(spectrum.eigenvalues),
        mirrored.effective_rows,
        mirrored.masses / mirrored.weight,
        covariance_rows,
        request.false_positive_rate,
        request.rng,
    )
    return int((spectrum.deviations > edge).sum())


def describe(axis: Vector, n_outliers: int | None, n_rows: int, rate: float) -> str | None:
    """Return what is wrong with a mirror direction, given as a whitened vector, if anything is.

    Without any dependence of y on x, n |axis|^2 is at most chi-squared with d degrees of freedom,
    for labels of any balance.
    """
    if not axis.any():
        return (
            "The labels do not vary in the first half of the rows, so there is no mirror: "
            "method='paper' divides the rows in their order, shuffle rows that are sorted."
        )
    if n_outliers == 0 and n_rows * (axis @ axis) < chi2.isf(rate, len(axis)):
        return (
            "No eigenvalue stands out and the mirror direction is no longer than noise: the "
            "labels do not depend on X, or not so that this many rows could show it."
        )
    return None

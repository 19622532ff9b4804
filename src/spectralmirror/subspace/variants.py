"""Algorithm 1 and its variants, as `SpectralMirror(method="paper")` runs them.

The paper mentions these variants, but prints none: mean and covariance that are known (section 6),
r-hat as one of the directions (after Theorem 1), an estimated number of components (section 3), and
eigenpairs of Q without forming it (section 6, see `lanczos`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.stats import chi2

from spectralmirror.rows.checks import check_finite
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.algorithm1 import algorithm1
from spectralmirror.subspace.halves import FIRST_HALF, describe_halves, in_halves
from spectralmirror.subspace.interface import KnownFeatures, Outcome
from spectralmirror.subspace.lanczos import lanczos_outliers
from spectralmirror.subspace.mirror import MirroredRows, label_sums, mirrored_rows
from spectralmirror.subspace.moments import LabelledMoments, SignedMoments, labelled_moments
from spectralmirror.subspace.spectrum import NullModel, Spectrum, dense_spectrum, null_deviation
from spectralmirror.subspace.whitening import Whitening

__all__ = ["Mirror", "Request", "count_outliers", "paper_method", "spectrum_beside"]


@dataclass(frozen=True)
class Request:
    """The options of Algorithm 1.

    Attributes
    ----------
    n_components : int or None
        Dimension k of the subspace; None keeps r-hat and every eigenvalue that stands out.
    include_mirror_direction : bool
        Let r-hat be one of the k directions.
    false_positive_rate : float
        Probability that an eigenvalue of pure noise is counted.
    lanczos : bool
        Multiply with Q instead of forming it. This needs rows in memory, known mean and
        covariance, and a number of components.
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


def paper_method(rows: Source, known: KnownFeatures, request: Request) -> Outcome:
    """Run Algorithm 1 to the letter, or the requested variant."""
    k = request.n_components
    if k is None or request.include_mirror_direction or not known.nothing:
        return _variant(rows, known, request)
    found = algorithm1(rows, k)
    status = describe_halves(rows, known, found.whitening, found.first, found.second)
    return _outcome(found.whitening, found.direction, found.basis, found.spectrum, k, status)


def _variant(rows: Source, known: KnownFeatures, request: Request) -> Outcome:
    """Run the lines of Algorithm 1 as far as they apply."""
    # Lines 1 to 3: what is not known of mu and Sigma, and r
    mirror = Mirror.of(rows, known)
    whitening, axis, k = mirror.whitening, mirror.axis, request.n_components
    beside = axis if axis.any() and (request.include_mirror_direction or k is None) else None
    n_outliers = None if k is None else k - (beside is not None)
    second: MirroredRows | None = None
    if request.lanczos:
        # Lines 4 to 7, without Q
        assert n_outliers is not None
        spectrum = lanczos_outliers(
            mirror.second, mirror.direction, whitening, beside, n_outliers, request.tol, request.rng
        )
    else:
        # Lines 4 to 6, inside the complement of r if r is taken first
        second = mirrored_rows(mirror.second, mirror.direction, whitening)
        Q = whitening.whiten_matrix(second.moments.about(whitening.mean))
        spectrum = dense_spectrum(Q) if beside is None else spectrum_beside(beside, Q)
        # Line 7; an estimated k is the number of eigenvalues that stand out of the noise
        if n_outliers is None:
            n_outliers = count_outliers(spectrum, mirror, second.moments, request)
    # Line 8: the span, in the units of x
    vectors = spectrum.vectors[:, :n_outliers]
    if beside is not None:
        vectors = np.column_stack([beside, vectors])
    status = describe_halves(rows, known, whitening, mirror.moments, second)
    if status is None and k is None and n_outliers == 0:
        status = mirror.describe_noise(request.false_positive_rate)
    basis = whitening.direction(vectors).T
    return _outcome(whitening, mirror.direction, basis, spectrum, n_outliers, status)


def _outcome(
    whitening: Whitening,
    direction: Vector,
    basis: Matrix,
    spectrum: Spectrum,
    n_outliers: int,
    status: str | None,
) -> Outcome:
    if not direction.any():
        status = (
            "The labels do not vary in the first half of the rows, so there is no mirror: "
            "method='paper' divides the rows in their order, shuffle rows that are sorted."
        )
    return Outcome(
        basis,
        direction,
        spectrum,
        n_outliers,
        whitening.mean,
        status,
        separation=spectrum.separation(n_outliers),
        error=np.nan,
    )


@dataclass(frozen=True, eq=False)
class Mirror:
    """The results of lines 1 to 3, in which mean and covariance may be known.

    Attributes
    ----------
    whitening : Whitening
        mu and Sigma.
    cross : ndarray of shape (d,)
        The mean of y (x - mu), whose Sigma^-1 multiple is r-hat.
    first, second : Source
        The rows from which r-hat is computed, and those from which Q is computed.
    moments : LabelledMoments or None
        Sums over the first half; None without halves.
    mean_rows, covariance_rows : float
        Number of rows that mu and Sigma were estimated from, infinite if they are known.
    """

    whitening: Whitening
    cross: Vector
    first: Source
    second: Source
    moments: LabelledMoments | None
    mean_rows: float
    covariance_rows: float

    @classmethod
    def of(cls, rows: Source, known: KnownFeatures) -> Mirror:
        """Estimate what is not known from the first half; if all is known there are no halves."""
        if known.whitening is not None:
            sums, step = label_sums(rows, known.whitening)
            cross = sums.about(step) / rows.total_weight
            check_finite(rows, cross)
            return cls(known.whitening, cross, rows, rows, None, known.n_rows, known.n_rows)
        first, second = in_halves(rows)
        moments = labelled_moments(first)
        ratio = second.n_present / first.n_present  # line 2 divides by ceil(n/2)
        whitening = known.completed(moments.features, ratio, where=FIRST_HALF)
        cross = moments.mean_cross
        if known.mean is not None:
            cross = moments.cross_about(known.mean) / moments.features.weight
        return cls(
            whitening, cross, first, second, moments, *known.rows_behind(first.effective_rows)
        )

    @property
    def direction(self) -> Vector:
        """r-hat, in the units of x."""
        return self.whitening.solve(self.cross)

    @property
    def axis(self) -> Vector:
        """r-hat in whitened coordinates."""
        return self.whitening.whiten_sum(self.cross)

    def describe_noise(self, rate: float) -> str | None:
        """Return a warning if r-hat, too, is no longer than noise.

        If y does not depend on x, n |axis|^2 is at most chi-squared with d degrees of freedom,
        for labels of any balance.
        """
        axis = self.axis
        if self.first.effective_rows * (axis @ axis) >= chi2.isf(rate, len(axis)):
            return None
        return (
            "No eigenvalue stands out and the mirror direction is no longer than noise: the labels "
            "do not depend on X, or too weakly for this many rows to show it."
        )


def spectrum_beside(axis: Vector, Q: Matrix) -> Spectrum:
    """Return the spectrum of Q inside the orthogonal complement of the axis."""
    if len(axis) == 1:
        return Spectrum(np.empty(0), np.empty((1, 0)), float(Q[0, 0]))
    complement = qr(axis[:, None])[0][:, 1:]
    inside = dense_spectrum(complement.T @ Q @ complement)
    return Spectrum(inside.eigenvalues, complement @ inside.vectors, inside.bulk)


def count_outliers(
    spectrum: Spectrum, mirror: Mirror, mirrored: SignedMoments, request: Request
) -> int:
    """Return how many eigenvalues lie further from the median than those of pure noise do."""
    d = len(spectrum.eigenvalues)
    if d == 0:
        return 0
    model = NullModel(
        d,
        mirrored.effective_rows,
        mirrored.masses / mirrored.weight,
        mirror.mean_rows,
        max(mirror.covariance_rows, d),
    )
    edge = null_deviation(model, request.false_positive_rate, request.rng)
    return int((spectrum.deviations > edge).sum())

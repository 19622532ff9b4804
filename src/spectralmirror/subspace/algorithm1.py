"""SpectralMirror as the paper prints it: Algorithm 1, lines 1 to 8."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.stats import chi2, f

from spectralmirror.rows.checks import check_finite
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.interface import KnownFeatures, Outcome, Request
from spectralmirror.subspace.mirror import MirroredOperator, MirroredRows, label_sums, mirrored_rows
from spectralmirror.subspace.moments import LabelledMoments, SignedMoments
from spectralmirror.subspace.spectrum import (
    NullModel,
    Spectrum,
    dense_spectrum,
    lanczos_spectrum,
    null_deviation,
)
from spectralmirror.subspace.whitening import Whitening

__all__ = ["algorithm1"]

#: How rarely rows in random order differ so much between the halves that they seem sorted.
SORTED = 1e-9


@dataclass(frozen=True)
class Mirror:
    """The mirror (lines 1 to 3), and the rows that it is applied to.

    Attributes
    ----------
    whitening : Whitening
        mu-hat and Sigma-hat.
    cross : ndarray of shape (d,)
        The mean of y (x - mu).
    first, second : Source
        The rows that serve for r, and those that serve for Q.
    first_mean : ndarray of shape (d,) or None
        The mean of the features in the first half; None where there are no halves.
    first_label_mean : float
        The mean of its labels.
    mean_rows, covariance_rows : float
        How many rows mu-hat and Sigma-hat were estimated from, infinite where they are known.
    """

    whitening: Whitening
    cross: Vector
    first: Source
    second: Source
    first_mean: Vector | None
    first_label_mean: float
    mean_rows: float
    covariance_rows: float

    @property
    def direction(self) -> Vector:
        """r-hat, in the units of x."""
        return self.whitening.solve(self.cross)

    @property
    def axis(self) -> Vector:
        """The whitened image of r-hat."""
        return self.whitening.whiten_sum(self.cross)


def algorithm1(rows: Source, known: KnownFeatures, request: Request) -> Outcome:
    """Run Algorithm 1; with r-hat as one of the directions where that is asked for."""
    # Lines 1 to 3: mean, covariance and the mirror direction
    mirror = prepare(rows, known)
    axis, k = mirror.axis, request.n_components
    beside = axis if axis.any() and (request.include_mirror_direction or k is None) else None
    # Lines 4 to 7: mirrored labels, Q, and its eigenvalues in the order of their distance
    n_outliers, second = None if k is None else k - (beside is not None), None
    if request.lanczos and n_outliers is not None:
        spectrum = lanczos_outliers(mirror, beside, n_outliers, request)
    else:
        second = mirrored_rows(mirror.second, mirror.direction, mirror.whitening)
        mirrored = second.moments
        check_finite(mirror.second, mirrored.masses, mirrored.first, np.diagonal(mirrored.second))
        Q = mirror.whitening.whiten_matrix(mirrored.about(mirror.whitening.mean))
        spectrum = dense_spectrum(Q) if beside is None else spectrum_beside(beside, Q)
        if n_outliers is None:
            n_outliers = count_outliers(spectrum, mirror, mirrored, request)
    # Line 8: the span, in the units of x
    vectors = spectrum.vectors[:, :n_outliers]
    if beside is not None:
        vectors = np.column_stack([beside, vectors])
    basis = mirror.whitening.direction(vectors).T
    found = None if k is not None else n_outliers
    status = describe(mirror, second, found, request.false_positive_rate)
    return Outcome(
        basis,
        mirror.direction,
        spectrum,
        n_outliers,
        mirror.whitening.mean,
        status,
        separation=spectrum.separation(n_outliers),
        error=np.nan,
    )


def prepare(rows: Source, known: KnownFeatures) -> Mirror:
    """Estimate what is not known of mu, Sigma and r (lines 1 to 3).

    With mean and covariance known, every row serves both for r and for Q.
    """
    if known.whitening is not None:
        sums, step = label_sums(rows, known.whitening)
        cross, mean = sums.about(step) / rows.total_weight, sums.label_sum / rows.total_weight
        check_finite(rows, cross)
        n = known.n_rows
        return Mirror(known.whitening, cross, rows, rows, None, mean, n, n)
    middle = rows.n_present // 2
    first, second = rows.between(0, middle), rows.between(middle, rows.n_present)
    labelled = reduce(first, LabelledMoments.of)
    moments = labelled.features
    check_finite(first, moments.mean, np.diagonal(moments.scatter))
    # line 2 divides a sum over floor(n/2) rows by ceil(n/2)
    ratio = second.n_present / first.n_present
    whitening = known.completed(moments, ratio, where=" in the first half of the rows")
    cross = labelled.cross_about(whitening.mean) / moments.weight
    if known.mean is None and abs(labelled.label_sum) == moments.weight:
        cross = np.zeros_like(cross)  # labels that do not vary: what is left is rounding
    return Mirror(
        whitening,
        cross,
        first,
        second,
        moments.mean,
        labelled.label_sum / moments.weight,
        first.effective_rows if known.mean is None else np.inf,
        first.effective_rows - (known.mean is None) if known.covariance is None else np.inf,
    )


def spectrum_beside(axis: Vector, Q: Matrix) -> Spectrum:
    """Return the spectrum of Q inside the orthogonal complement of the axis."""
    if len(axis) == 1:
        return Spectrum(np.empty(0), np.empty((1, 0)), float(Q[0, 0]))
    complement = qr(axis[:, None])[0][:, 1:]
    inside = dense_spectrum(complement.T @ Q @ complement)
    return Spectrum(inside.eigenvalues, complement @ inside.vectors, inside.bulk)


def lanczos_outliers(
    mirror: Mirror, beside: Vector | None, n_outliers: int, request: Request
) -> Spectrum:
    """Return the outlying eigenpairs without forming Q."""
    assert isinstance(mirror.second, Rows)
    Q = MirroredOperator(mirror.second, mirror.direction, mirror.whitening)
    check_finite(mirror.second, np.array([Q.bulk]))
    d = len(mirror.cross)
    unit = np.zeros(d) if beside is None else beside / np.linalg.norm(beside)

    def centred(v: Vector) -> Vector:
        v = v - (unit @ v) * unit
        image = Q(v) - Q.bulk * v
        return image - (unit @ image) * unit

    start = request.rng.standard_normal(d)
    tolerance = request.tol * min(2 * np.sqrt(d / mirror.second.effective_rows), 1.0)
    return lanczos_spectrum(centred, start - (unit @ start) * unit, n_outliers, Q.bulk, tolerance)


def count_outliers(
    spectrum: Spectrum, mirror: Mirror, mirrored: SignedMoments, request: Request
) -> int:
    """Return how many eigenvalues lie further from the median than those of pure noise."""
    d = len(spectrum.eigenvalues)
    if d == 0:
        return 0
    edge = null_deviation(
        NullModel(
            d,
            mirrored.effective_rows,
            mirrored.masses / mirrored.weight,
            mirror.mean_rows,
            max(mirror.covariance_rows, d),
        ),
        request.false_positive_rate,
        request.rng,
    )
    return int((spectrum.deviations > edge).sum())


def _largest_step(d: int, covariance_rows: float) -> float:
    """Return what Hotelling's T^2 between the halves exceeds as rarely as SORTED says."""
    left = covariance_rows - d
    if not 0 < left < np.inf:
        return float(chi2.isf(SORTED, d)) if left > 0 else np.inf
    return float(d * covariance_rows / left * f.isf(SORTED, d, left))


def describe(
    mirror: Mirror, second: MirroredRows | None, n_outliers: int | None, rate: float
) -> str | None:
    """Return what is wrong with a mirror, if anything is.

    Rows whose labels, or features, differ between the halves by six standard errors were sorted.
    Where y does not depend on x, n |axis|^2 is at most chi-squared with d degrees of freedom, for
    labels of any balance.
    """
    if not mirror.axis.any():
        return (
            "The labels do not vary in the first half of the rows, so there is no mirror: "
            "method='paper' divides the rows in their order, shuffle rows that are sorted."
        )
    if second is not None and mirror.first_mean is not None:
        variance = 1 / mirror.first.effective_rows + 1 / mirror.second.effective_rows
        means = np.array([mirror.first_label_mean, second.label_mean])
        labels = np.ptp(means) ** 2 > 36 * variance * (1 - means.mean() ** 2)
        step = mirror.whitening.whiten_sum(second.mean - mirror.first_mean)
        features = step @ step > variance * _largest_step(len(step), mirror.covariance_rows)
        if labels or features:
            return (
                f"The two halves of the rows have very different {'labels' if labels else 'means'}"
                ": method='paper' divides the rows in their order, shuffle rows that are sorted."
            )
    n_rows = mirror.first.effective_rows
    if n_outliers == 0 and n_rows * (mirror.axis @ mirror.axis) < chi2.isf(rate, len(mirror.axis)):
        return (
            "No eigenvalue stands out and the mirror direction is no longer than noise: the "
            "labels do not depend on X, or not so that this many rows could show it."
        )
    return None

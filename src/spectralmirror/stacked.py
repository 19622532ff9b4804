"""The default method: every row, several mirrors, and a step that sharpens what they show.

1. mean, covariance and r-hat = mean(y W) from all rows; leave-one-out scores s along r-hat;
2. residuals e = y - m(s), and S_b = sum of e W W', v_b = sum of e W in slices of s;
3. r-hat is one direction; the others are the leading left singular vectors, beside it, of
   A = [sum_b T_1(b) S_b | sum_b T_2(b) S_b | sum_b T_3(b) S_b | v_1 ... v_B], noise of unit size;
4. one Gauss-Newton step on all directions but r-hat.

With groups, whose rows share a classifier, the mean of (y W)(y' W')' over pairs of rows in a group
takes the place of 2 and 3: it is sum_l p_l a_l^2 u_l u_l', and needs no mirror.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.stats import chi2

from spectralmirror.arrays import Matrix, Vector
from spectralmirror.blocks import BLOCK_BYTES, Rows
from spectralmirror.engines import reduce
from spectralmirror.groups import PairMoments, grouped, share_in_company
from spectralmirror.mirror import label_cross
from spectralmirror.moments import LabelledMoments
from spectralmirror.noise import flipped_pairs, flipped_slices, noise_edge
from spectralmirror.problem import KnownFeatures, Outcome, Request
from spectralmirror.scores import (
    Frame,
    leave_one_out,
    lengths_and_scores,
    residuals,
    squared_lengths,
)
from spectralmirror.sharpening import Model, alone, in_groups, sharpen
from spectralmirror.slices import N_SLICES, SlicedMoments, Slices, mirrors
from spectralmirror.spectrum import Spectrum
from spectralmirror.validation import check_finite
from spectralmirror.whitening import Whitening

__all__ = ["stacked_mirror"]

#: Reweighted means and covariances that make a robust scatter (Tyler's, to within a per cent).
N_REWEIGHTS = 4
#: Groups serve where at least this share of the rows has company in its group.
LEAST_COMPANY = 0.5
#: Rows shorter than this share of the mean squared length, at the very centre, stay short.
SHORTEST = 0.01
#: From so many rows a feature on, a row's own part in its score is below 0.2 %, and the mean of
#: |W|^2, which is d, serves for every row.
ALIKE_FROM = 500


@dataclass(frozen=True, eq=False)
class Direction:
    """The rows in whitened coordinates, and the mirror direction.

    Attributes
    ----------
    frame : Frame
        The rows.
    cross : ndarray of shape (d,)
        mean of y scale (x - mu), whose Sigma^-1 multiple is r-hat.
    lengths, scores : ndarray of shape (n,)
        |W_i|^2 and <r, W_i> of the rows that are present.
    estimated : bool
        Whether mean and covariance come from the rows themselves.
    """

    frame: Frame
    cross: Vector
    lengths: Vector
    scores: Vector
    estimated: bool

    @property
    def unit(self) -> Vector:
        """r-hat in whitened coordinates, of length 1."""
        axis = self.frame.whitening.whiten_sum(self.cross)
        length = np.linalg.norm(axis)
        return np.asarray(axis / length) if length > 0 else np.eye(len(axis))[0]


def stacked_mirror(
    rows: Rows, known: KnownFeatures, request: Request, groups: NDArray[np.int64] | None
) -> Outcome:
    """Find the subspace; `groups` numbers the group of every row."""
    mirror = prepare(rows, known, elliptical=request.elliptical)
    frame = mirror.frame
    if groups is not None and share_in_company(groups[frame.present()]) < LEAST_COMPANY:
        groups = None
    if groups is None:
        basis, spectrum, edge = beside_mirror(mirror, request)
    else:
        basis, spectrum, edge = from_pairs(frame, groups, request)
    n_fixed = 1 if groups is None else 0
    n_outliers = len(basis) - n_fixed
    improved, error = sharpened(frame, basis, groups, n_fixed)
    weakest = spectrum.eigenvalues[n_outliers - 1] if n_outliers else np.nan
    whitening = frame.whitening
    direction = whitening.direction(basis[0]) if n_fixed else whitening.solve(mirror.cross)
    return Outcome(
        whitening.direction(improved.T).T,
        direction,
        spectrum,
        n_outliers,
        whitening.mean,
        describe(mirror, spectrum, n_outliers, edge, request),
        separation=float(weakest / edge) if n_outliers else np.nan,
        error=error,
        whitening=whitening,
    )


def sharpened(
    frame: Frame, basis: Matrix, groups: NDArray[np.int64] | None, n_fixed: int
) -> tuple[Matrix, float]:
    """Return the sharpened basis and an estimate of its error; the basis itself where k = d."""
    k, d = basis.shape
    if k == d:
        return basis, 0.0
    model = alone(frame, basis) if groups is None else in_groups(frame, basis, groups)
    return (basis, np.nan) if model is None else sharpen(frame, basis, model, n_fixed)


def prepare(rows: Rows, known: KnownFeatures, *, elliptical: bool) -> Direction:
    """Estimate what is not known of mean, covariance and r-hat, from all rows."""
    if known.whitening is not None:
        whitening, estimated = known.whitening, False
        cross = label_cross(rows, whitening)
        check_finite(rows, cross)
    else:
        labelled = reduce(replace(rows, block_bytes=4 * BLOCK_BYTES), LabelledMoments.of)
        moments, estimated = labelled.features, True
        check_finite(rows, moments.mean, np.diagonal(moments.scatter))
        whitening = known.completed(moments)
        cross = labelled.cross_about(whitening.mean) / moments.weight
        if elliptical:
            whitening = robust_whitening(rows, known, whitening)
    scale = np.ones(len(rows))
    if elliptical:
        lengths = squared_lengths(rows, whitening)
        scale = rows.spread(np.sqrt(1 / np.maximum(lengths / len(cross), SHORTEST)))
        centred = rows.y - rows.weighted(rows.y).sum() / rows.total_weight
        scaled = Rows(rows.X, (centred * scale).astype(rows.X.dtype), rows.weight)
        cross = label_cross(scaled, whitening)
    frame, axis, d = Frame(rows, whitening, scale), whitening.whiten_sum(cross), len(cross)
    if rows.total_weight >= ALIKE_FROM * d or elliptical:
        scores = frame.coordinates(axis[None, :])[:, 0]
        lengths = np.full(len(scores), float(d))
    else:
        lengths, scores = lengths_and_scores(rows, whitening, axis).T
    check_finite(rows, scores)
    return Direction(frame, cross, lengths, scores, estimated)


def robust_whitening(rows: Rows, known: KnownFeatures, start: Whitening) -> Whitening:
    """Return location and scatter with every row weighted by d / |W|^2 (Tyler 1987)."""
    whitening, d = start, rows.X.shape[1]
    for _ in range(N_REWEIGHTS):
        lengths = np.maximum(squared_lengths(rows, whitening), SHORTEST * d)
        weight = rows.spread(d / lengths) * (1 if rows.weight is None else rows.weight)
        reweighted = Rows(rows.X, rows.y, weight.astype(rows.X.dtype))
        whitening = known.completed(reduce(reweighted, LabelledMoments.of).features)
    return whitening


@dataclass(frozen=True, eq=False)
class Scored:
    """The direction of the mirror, as a whitened unit vector, and the rows along it.

    Attributes
    ----------
    unit : ndarray of shape (d,)
        The direction.
    s, residuals, slopes : ndarray of shape (n,)
        Standardised scores of the rows that are present, y - m(s), and m'(s).
    """

    unit: Vector
    s: Vector
    residuals: Vector
    slopes: Vector

    def slices(self, weight: Vector | None) -> Slices:
        """Divide the rows into slices of their score."""
        return Slices.of(self.s, self.residuals, self.slopes, weight)


def least_squares(mirror: Direction) -> Scored:
    """Return the rows along r-hat, each scored by a direction that it had no part in."""
    frame = mirror.frame
    weight, y = frame.weights(), frame.labels()
    fitted = mirror.scores + (np.average(y, weights=weight) if mirror.estimated else 0.0)
    n = frame.rows.total_weight
    scores = leave_one_out(fitted, y, mirror.lengths, n, estimated=mirror.estimated)
    return Scored(mirror.unit, *residuals(scores, y, weight))


def turned(mirror: Direction, scored: Scored) -> Scored:
    """Turn the mirror by one Gauss-Newton step towards the direction that predicts y best.

    Least squares is not efficient, and what it misses by would be counted as a second direction.
    Row i moves its own score by e_i m'(s_i) |W_i|^2 / (n J), which is taken out again.
    """
    frame = mirror.frame
    weight, scale = frame.weights(), frame.scale[frame.present()]
    slopes = scored.slopes
    carried = frame.rows.spread(np.column_stack([scored.residuals, slopes * scale]))
    model = Model(replace(frame.rows, y=carried), lambda block: (block.y[:, 0], block.y[:, 1:]))
    basis, _ = sharpen(frame, scored.unit[None, :], model, n_fixed=0)
    nJ = frame.rows.total_weight * max(float(np.average(slopes**2, weights=weight)), 1e-12)
    own = scored.residuals * slopes * mirror.lengths / nJ
    scores = scored.s + frame.coordinates(basis - scored.unit)[:, 0] - own
    unit = basis[0] / np.linalg.norm(basis)
    return Scored(unit, *residuals(scores, frame.labels(), weight))


def beside_mirror(mirror: Direction, request: Request) -> tuple[Matrix, Spectrum, float]:
    """Return the mirror direction and what stands out beside it: basis, spectrum, noise edge."""
    frame, rows = mirror.frame, mirror.frame.rows
    if len(mirror.cross) == 1:
        return np.ones((1, 1)), Spectrum(np.empty(0), np.empty((1, 0)), 1.0), 1.0
    scored = least_squares(mirror)
    if request.n_components is None:
        scored = turned(mirror, scored)
    slices, unit = scored.slices(frame.weights()), scored.unit
    del scored  # as long as the rows, several times over
    scale = frame.scale[frame.present()]
    carried = rows.spread(np.column_stack([slices.index, slices.residuals, scale]))
    sums = reduce(
        Rows(rows.X, carried, rows.weight, block_bytes=N_SLICES // 2 * BLOCK_BYTES),
        partial(SlicedMoments.of, origin=frame.origin),
    )
    matrices, vectors = sums.about(frame.step())
    products = np.tensordot(mirrors(slices) / slices.noise, matrices, axes=(1, 0))
    M = [frame.whitening.whiten_matrix(product) for product in products]
    v = np.array([frame.whitening.whiten_sum(vector) for vector in vectors])
    spectrum = stacked_spectrum(M, slices.beside_turn(v.T / slices.noise), unit)
    draw = flipped_slices(frame, slices, unit, request.rng)
    edge, n_beside = count(spectrum, draw, request, n_first=1)
    return np.vstack([unit, spectrum.vectors[:, :n_beside].T]), spectrum, edge


def stacked_spectrum(M: list[Matrix], v: Matrix, unit: Vector) -> Spectrum:
    """Return the left singular vectors of A beside the unit vector, and squared singular values.

    These are divided by their mean for pure noise, 3 d / 2 + B - 1, so that the bulk lies about 1.
    """
    d = len(unit)

    def beside(matrix: Matrix) -> Matrix:
        return matrix - np.outer(unit, unit @ matrix)

    blocks = [beside(beside(matrix).T) / np.sqrt(2) for matrix in M] + [beside(v)]
    gram = sum(block @ block.T for block in blocks) / (len(M) * d / 2 + v.shape[1] - 1)
    # the unit vector itself, an eigenvector of eigenvalue 0, is made the last one beyond doubt
    eigenvalues, vectors = eigh(gram - np.outer(unit, unit))
    return Spectrum(eigenvalues[:0:-1], vectors[:, :0:-1], 1.0)


def from_pairs(
    frame: Frame, groups: NDArray[np.int64], request: Request
) -> tuple[Matrix, Spectrum, float]:
    """Return the leading eigenvectors of the cross moment within groups, in noise of unit size."""
    pairs = reduce(
        grouped(frame, groups),
        partial(PairMoments.of, origin=frame.origin, step=frame.step()),
    )
    C = frame.whitening.whiten_matrix(pairs.cross()) / np.sqrt(len(frame.whitening.mean))
    eigenvalues, vectors = eigh(C)
    spectrum = Spectrum(eigenvalues[::-1], vectors[:, ::-1], 0.0)
    edge, n = count(spectrum, flipped_pairs(frame, groups, request.rng), request, n_first=0)
    return spectrum.vectors[:, : max(n, 1)].T, spectrum, edge


def count(
    spectrum: Spectrum, draw: Callable[[], float], request: Request, n_first: int
) -> tuple[float, int]:
    """Return the edge of noise, and how many directions to take besides the first."""
    auto = request.n_components is None
    edge = noise_edge(draw, request.false_positive_rate if auto else None)
    if request.n_components is not None:
        return edge, request.n_components - n_first
    return edge, int((spectrum.eigenvalues > edge).sum())


def describe(
    mirror: Direction, spectrum: Spectrum, n_outliers: int, edge: float, request: Request
) -> str | None:
    """Return what the user should know: whether some of the directions are no more than noise."""
    axis = mirror.frame.whitening.whiten_sum(mirror.cross)
    n = mirror.frame.rows.effective_rows
    seen = int((spectrum.eigenvalues[:n_outliers] > edge).sum())
    hidden = n * (axis @ axis) < chi2.isf(request.false_positive_rate, len(axis))
    if seen == n_outliers and not (hidden and n_outliers == 0):
        return None
    what = "The mirror direction is no longer than noise"
    if n_outliers == 1:
        what = "The eigenvalue beside the mirror direction does not stand out of the noise"
    elif n_outliers > 1:
        what = f"{n_outliers - seen} of {n_outliers} eigenvalues do not stand out of the noise"
    return (
        f"{what}, with {n / len(axis):.0f} rows a feature: those directions mean little. More rows "
        "would help, or groups of rows known to share their classifier, or fewer components."
    )

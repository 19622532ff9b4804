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

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import eigh
from scipy.stats import chi2

from spectralmirror.rows.checks import check_finite
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.sample import reduce_and_sample
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import AnyArray, Matrix, Vector
from spectralmirror.subspace.interface import KnownFeatures, Outcome, Request
from spectralmirror.subspace.mirror import LabelSums
from spectralmirror.subspace.moments import LabelledMoments
from spectralmirror.subspace.spectrum import Spectrum
from spectralmirror.subspace.stacked.gauss_newton import alone, in_groups, sharpen
from spectralmirror.subspace.stacked.group_pairs import PairMoments
from spectralmirror.subspace.stacked.polynomial import FIT_ROWS
from spectralmirror.subspace.stacked.scores import Frame, LeastSquares, Scored, times
from spectralmirror.subspace.stacked.sign_flips import (
    Draws,
    flipped_pairs,
    flipped_slices,
    noise_edge,
)
from spectralmirror.subspace.stacked.slices import (
    N_SLICES,
    SlicedMoments,
    Slices,
    SliceSums,
    mirrors,
    slice_edges,
)
from spectralmirror.subspace.whitening import Whitening

__all__ = ["stacked_mirror"]

#: Reweighted means and covariances that make a robust scatter (Tyler's, to within a per cent).
N_REWEIGHTS = 4
#: Groups serve where at least this share of the rows has company in its group.
LEAST_COMPANY = 0.5
#: From so many rows a feature on, a row's own part in its score is below 1 %, and stays in it.
MANY = 100
#: Scores are tied where fewer than this share of them are different.
LEAST_DIFFERENT = 0.9


@dataclass(frozen=True, eq=False)
class Direction:
    """The rows in whitened coordinates, and the mirror direction.

    Attributes
    ----------
    rows : Source
        The rows.
    some : Rows
        Some of them, to which functions of few variables are fitted.
    frame : Frame
        How they are seen in whitened coordinates.
    cross : ndarray of shape (d,)
        mean of y scale (x - mu), whose Sigma^-1 multiple is r-hat.
    score : LeastSquares
        The scores of the rows along r-hat.
    """

    rows: Source
    some: Rows
    frame: Frame
    cross: Vector
    score: LeastSquares

    @property
    def unit(self) -> Vector:
        """r-hat in whitened coordinates, of length 1."""
        axis = self.score.axis
        length = np.linalg.norm(axis)
        return np.asarray(axis / length) if length > 0 else np.eye(len(axis))[0]


def stacked_mirror(grouped: GroupedRows, known: KnownFeatures, request: Request) -> Outcome:
    """Find the subspace."""
    mirror = prepare(grouped.rows, known, elliptical=request.elliptical)
    frame = mirror.frame
    in_pairs = grouped.share_in_company >= LEAST_COMPANY
    if in_pairs:
        basis, spectrum, edge = from_pairs(grouped, frame, request)
    else:
        basis, spectrum, edge = beside_mirror(mirror, request)
    n_fixed = 0 if in_pairs else 1
    n_outliers = len(basis) - n_fixed
    improved, error = sharpened(mirror, basis, grouped if in_pairs else None, n_fixed)
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
    mirror: Direction, basis: Matrix, grouped: GroupedRows | None, n_fixed: int
) -> tuple[Matrix, float]:
    """Return the sharpened basis and an estimate of its error; the basis itself where k = d."""
    (k, d), rows, frame = basis.shape, mirror.rows, mirror.frame
    if k == d:
        return basis, 0.0
    if grouped is not None:
        model = in_groups(grouped, frame, basis)
        return sharpen(rows, grouped, frame, basis, model, n_fixed)
    by_row = alone(rows, mirror.some, frame, basis)
    if by_row is None:
        return basis, np.nan
    return sharpen(rows, rows, frame, basis, by_row, n_fixed)


def prepare(rows: Source, known: KnownFeatures, *, elliptical: bool) -> Direction:
    """Estimate what is not known of mean, covariance and r-hat, from all rows."""
    n, d = rows.total_weight, rows.n_features
    if known.whitening is not None:
        whitening, estimated = known.whitening, False
        frame = Frame(rows.dtype, whitening)
        sums, some = reduce_and_sample(
            rows, partial(LabelSums.of, origin=frame.origin), FIT_ROWS, seed=0
        )
        cross, label_mean = sums.about(frame.step()) / n, sums.label_sum / n
        check_finite(rows, cross)
    else:
        labelled, some = reduce_and_sample(rows, LabelledMoments.of, FIT_ROWS, seed=0, factor=4)
        moments, estimated = labelled.features, True
        check_finite(rows, moments.mean, np.diagonal(moments.scatter))
        whitening = known.completed(moments)
        cross, label_mean = labelled.cross_about(whitening.mean) / n, labelled.label_sum / n
        if elliptical:
            whitening = robust_whitening(rows, known, whitening)
    frame = Frame(rows.dtype, whitening, elliptical)
    if elliptical:
        of = partial(_scaled_labels, frame=frame, label_mean=label_mean)
        cross = reduce(rows, of).about(frame.step()) / n
    score = LeastSquares(frame, whitening.whiten_sum(cross), label_mean, n, estimated, False)
    if n < MANY * d and not _are_tied(score(some)[0], some.weight):
        score = replace(score, left_out=True)
    return Direction(rows, some, frame, cross, score)


def _are_tied(scores: Vector, weight: AnyArray | None) -> bool:
    """Return whether many rows share their score with others, as where all features are counts.

    Among equal rows, those of label +1 lose more by being left out than those of label -1: the
    scores would tell the labels, and slices would divide the rows by them.
    """
    size = float(np.abs(scores).max(initial=0.0)) or 1.0
    total = len(scores) if weight is None else float(weight.sum(dtype=np.float64))
    return len(np.unique(np.round(scores / size, 9))) < LEAST_DIFFERENT * total


def _scaled_labels(block: Rows, frame: Frame, label_mean: float) -> LabelSums:
    labels = times(block.y - label_mean, frame.scale(block.X)).astype(block.dtype)
    return LabelSums.of(replace(block, y=labels), frame.origin)


def robust_whitening(rows: Source, known: KnownFeatures, start: Whitening) -> Whitening:
    """Return location and scatter with every row weighted by d / |W|^2 (Tyler 1987)."""
    whitening = start
    for _ in range(N_REWEIGHTS):
        of = partial(_reweighted, frame=Frame(rows.dtype, whitening, elliptical=True))
        whitening = known.completed(reduce(rows, of).features)
    return whitening


def _reweighted(block: Rows, frame: Frame) -> LabelledMoments:
    scale = frame.scale(block.X)
    assert scale is not None
    weight = block.weighted(scale**2)
    return LabelledMoments.of(replace(block, weight=weight))


@dataclass(frozen=True, eq=False)
class Turned:
    """Scores along a direction that was turned by one step.

    Row i moves its own score by e_i m'(s_i) |W_i|^2 / (n J), which is taken out again.
    """

    before: Scored
    frame: Frame
    turn: Vector
    n_curvature: float

    def __call__(self, block: Rows) -> tuple[Vector, Vector | float]:
        """Return the scores, and |W_i|^2, of the rows of a block."""
        s, e, slopes, lengths = self.before(block)
        project = self.frame.projection(self.turn[None, :])
        moved = times(project(block.X)[:, 0], self.frame.scale(block.X))
        return s + moved - e * slopes * lengths / self.n_curvature, lengths


def turned(mirror: Direction, scored: Scored) -> Scored:
    """Turn the mirror by one Gauss-Newton step towards the direction that predicts y best.

    Least squares is not efficient, and what it misses by would be counted as a second direction.
    """
    frame, rows, some = mirror.frame, mirror.rows, mirror.some

    def model(block: Rows) -> tuple[Vector, Matrix]:
        _, e, slopes, _ = scored(block)
        return e, times(slopes, frame.scale(block.X))[:, None]

    basis, _ = sharpen(rows, rows, frame, scored.unit[None, :], model, n_fixed=0)
    J = float(np.average(scored(some)[2] ** 2, weights=some.weight))
    score = Turned(scored, frame, basis[0] - scored.unit, rows.total_weight * max(J, 1e-12))
    return Scored.fit(basis[0] / np.linalg.norm(basis), score, some, rows.n_present)


def beside_mirror(mirror: Direction, request: Request) -> tuple[Matrix, Spectrum, float]:
    """Return the mirror direction and what stands out beside it: basis, spectrum, noise edge."""
    frame, rows, some = mirror.frame, mirror.rows, mirror.some
    if len(mirror.cross) == 1:
        return np.ones((1, 1)), Spectrum(np.empty(0), np.empty((1, 0)), 1.0), 1.0
    scored = Scored.fit(mirror.unit, mirror.score, some, rows.n_present)
    if request.n_components is None:
        scored = turned(mirror, scored)
    unit, edges = scored.unit, slice_edges(scored(some)[0], some.weight)
    slices = Slices.of(edges, reduce(rows, partial(SliceSums.of, scored=scored, edges=edges)))
    sums = reduce(
        rows,
        partial(SlicedMoments.of, scored=scored, slices=slices, frame=frame),
        factor=N_SLICES // 2,
    )
    matrices, vectors = sums.about(frame.step())
    products = np.tensordot(mirrors(slices) / slices.noise, matrices, axes=(1, 0))
    M = [frame.whitening.whiten_matrix(product) for product in products]
    v = np.array([frame.whitening.whiten_sum(vector) for vector in vectors])
    spectrum = stacked_spectrum(M, slices.beside_turn(v.T / slices.noise), unit)
    draws = flipped_slices(rows, some, frame, scored, slices, request.rng)
    edge, n_beside = count(spectrum, draws, request, n_first=1)
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
    grouped: GroupedRows, frame: Frame, request: Request
) -> tuple[Matrix, Spectrum, float]:
    """Return the leading eigenvectors of the cross moment within groups, in noise of unit size."""
    pairs = reduce(grouped, partial(PairMoments.of, frame=frame))
    C = frame.whitening.whiten_matrix(pairs.cross()) / np.sqrt(len(frame.whitening.mean))
    eigenvalues, vectors = eigh(C)
    spectrum = Spectrum(eigenvalues[::-1], vectors[:, ::-1], 0.0)
    edge, n = count(spectrum, flipped_pairs(frame, grouped, request.rng), request, n_first=0)
    return spectrum.vectors[:, : max(n, 1)].T, spectrum, edge


def count(spectrum: Spectrum, draws: Draws, request: Request, n_first: int) -> tuple[float, int]:
    """Return the edge of noise, and how many directions to take besides the first."""
    auto = request.n_components is None
    edge = noise_edge(draws, request.false_positive_rate if auto else None)
    if request.n_components is not None:
        return edge, request.n_components - n_first
    return edge, int((spectrum.eigenvalues > edge).sum())


def describe(
    mirror: Direction, spectrum: Spectrum, n_outliers: int, edge: float, request: Request
) -> str | None:
    """Return what the user should know: whether some of the directions are no more than noise."""
    axis = mirror.score.axis
    n = mirror.rows.effective_rows
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

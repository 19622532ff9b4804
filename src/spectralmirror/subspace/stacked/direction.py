"""The mirror direction r-hat of the default method, estimated from all rows.

r-hat = mean(y W) is the direction of least squares. Every row takes part in it, so each row is
scored by the direction that the other rows give (:func:`scores.leave_one_out`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from spectralmirror.rows.checks import check_finite
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.messages import ColumnError
from spectralmirror.rows.reduce import collect, reduce
from spectralmirror.rows.sample import Sample, SampledRows, reduce_and_sample, select
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import AnyArray, Matrix, Vector
from spectralmirror.subspace.interface import KnownFeatures
from spectralmirror.subspace.mirror import LabelSums
from spectralmirror.subspace.moments import LabelledMoments
from spectralmirror.subspace.stacked.gauss_newton import sharpen
from spectralmirror.subspace.stacked.polynomial import FIT_ROWS
from spectralmirror.subspace.stacked.scores import Frame, LeastSquares, Scored, times
from spectralmirror.subspace.whitening import Whitening

__all__ = ["Direction", "Turned", "is_single", "robust_whitening", "turned"]

#: Iterations of Tyler's scatter, which leave it within one per cent of its limit.
N_REWEIGHTS = 4
#: From this many rows per feature on, a row contributes less than 1 % to its own score.
MANY = 100
#: From this many rows on products of features are computed in float32, and used if the correlation
#: matrix is no nearer to a singular one than this: it multiplies the rounding (6e-8).
SINGLE_FROM = 100_000
LEAST_CONDITION = 1e-4
#: Products of columns whose standard deviations are larger than this, or smaller than its inverse,
#: would over- or underflow.
LARGEST_SCALE = 1e8
#: Scores count as tied if fewer than this share of them are distinct.
LEAST_DISTINCT = 0.9


@dataclass(frozen=True, eq=False)
class Direction:
    """The rows in whitened coordinates, and the mirror direction.

    Attributes
    ----------
    rows : Source
        The rows.
    some : Sample
        A sample of them, to which functions of few variables are fitted.
    frame : Frame
        Their whitened coordinates.
    cross : ndarray of shape (d,)
        mean of y scale (x - mu), whose Sigma^-1 multiple is r-hat.
    score : LeastSquares
        The scores of the rows along r-hat.
    """

    rows: Source
    some: Sample
    frame: Frame
    cross: Vector
    score: LeastSquares

    @classmethod
    def of(cls, rows: Source, known: KnownFeatures, *, elliptical: bool) -> Direction:
        """Estimate r-hat, and mean and covariance unless they are known, from all rows."""
        n = rows.total_weight
        if known.whitening is not None:
            whitening = known.whitening
            frame = Frame(rows.dtype, whitening)
            of = partial(LabelSums.of, origin=frame.origin)
            sums, some = reduce_and_sample(rows, of, FIT_ROWS, seed=0)
            cross, label_mean = sums.about(frame.step()) / n, sums.label_sum / n
            check_finite(rows, cross)
        else:
            labelled, whitening, some = _whitened(rows, known)
            cross, label_mean = labelled.cross_about(whitening.mean) / n, labelled.label_sum / n
            if elliptical:
                whitening = robust_whitening(rows, known, whitening)
        frame = Frame(rows.dtype, whitening, elliptical)
        if elliptical:
            scaled = partial(_scaled_labels, frame=frame, label_mean=label_mean)
            cross = reduce(rows, scaled).about(frame.step()) / n
        score = LeastSquares(
            frame,
            whitening.whiten_sum(cross),
            label_mean,
            n,
            estimated=known.whitening is None,
            left_out=False,
        )
        if n < MANY * rows.n_features:
            scores = collect(some, lambda block: score(block)[0])
            score = replace(score, left_out=not _are_tied(scores, some.weight))
        return cls(rows, some, frame, cross, score)

    @property
    def unit(self) -> Vector:
        """r-hat in whitened coordinates, of length 1."""
        axis = self.score.axis
        length = np.linalg.norm(axis)
        return np.asarray(axis / length) if length > 0 else np.eye(len(axis))[0]

    def scored(self) -> Scored:
        """Fit E[y | s] along r-hat."""
        return Scored.fit(self.unit, self.score, self.some, self.rows.n_present)


def _whitened(rows: Source, known: KnownFeatures) -> tuple[LabelledMoments, Whitening, SampledRows]:
    """Return sums of the rows, mean and covariance, and a sample of the rows.

    Products of many rows in memory are computed in float32 where the result can be trusted;
    otherwise, which is rare, they are computed again.
    """
    if rows.in_memory and rows.n_present >= SINGLE_FROM:
        labelled = reduce(rows, partial(LabelledMoments.of, single=True), factor=4)
        features = labelled.features
        if np.isfinite(features.scatter).all():
            with suppress(ColumnError):
                whitening = known.completed(features)
                if is_single(rows, whitening):
                    return labelled, whitening, select(cast(Rows, rows), FIT_ROWS, seed=0)
    labelled, some = reduce_and_sample(rows, LabelledMoments.of, FIT_ROWS, seed=0, factor=4)
    features = labelled.features
    check_finite(rows, features.mean, np.diagonal(features.scatter))
    return labelled, known.completed(features), some


def is_single(rows: Source, whitening: Whitening) -> bool:
    """Return whether products of features are computed in float32, in half the time.

    Their rounding is then far below the sampling error.
    """
    scale = whitening.scale
    safe = scale.min() > 1 / LARGEST_SCALE and scale.max() < LARGEST_SCALE
    many = rows.n_present >= SINGLE_FROM
    return bool(many and safe and whitening.reciprocal_condition > LEAST_CONDITION)


def _are_tied(scores: Vector, weight: AnyArray | None) -> bool:
    """Return whether many rows share their score, as they do if all features are counts.

    Leaving a row out moves equal rows apart by their labels: those of label +1 lose more than
    those of label -1. Their scores would reveal the labels, and slices would sort rows by label.
    """
    size = float(np.abs(scores).max(initial=0.0)) or 1.0
    total = len(scores) if weight is None else float(weight.sum(dtype=np.float64))
    return len(np.unique(np.round(scores / size, 9))) < LEAST_DISTINCT * total


def _scaled_labels(block: Rows, frame: Frame, label_mean: float) -> LabelSums:
    """Sum scale_i (y_i - mean(y)) (x_i - origin) over a block."""
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
    """Scores along a direction that was turned by one Gauss-Newton step.

    Row i moves its own score by e_i m'(s_i) |W_i|^2 / (n J), which is subtracted again.

    Attributes
    ----------
    before : Scored
        Scores along the direction before the step.
    frame : Frame
        Whitened coordinates.
    turn : ndarray of shape (d,)
        The step.
    n_curvature : float
        n J, with J the mean of m'(s)^2.
    """

    before: Scored
    frame: Frame
    turn: Vector
    n_curvature: float

    def __call__(self, block: Rows) -> tuple[Vector, Vector | float]:
        """Return the scores of the rows of a block, and |W_i|^2."""
        s, e, slopes, lengths = self.before(block)
        project = self.frame.projection(self.turn[None, :])
        moved = times(project(block.X)[:, 0], self.frame.scale(block.X))
        return s + moved - e * slopes * lengths / self.n_curvature, lengths


def turned(direction: Direction, scored: Scored) -> Scored:
    """Turn the mirror by one Gauss-Newton step towards the single direction that predicts y best.

    Least squares is not efficient: its error would be counted as a second direction.
    """
    frame, rows, some = direction.frame, direction.rows, direction.some

    def model(block: Rows) -> tuple[Vector, Matrix]:
        _, e, slopes, _ = scored(block)
        return e, times(slopes, frame.scale(block.X))[:, None]

    basis, _ = sharpen(rows, rows, frame, scored.unit[None, :], model, n_fixed=0)
    slopes = collect(some, lambda block: scored(block)[2])
    J = float(np.average(slopes**2, weights=some.weight))
    score = Turned(scored, frame, basis[0] - scored.unit, rows.total_weight * max(J, 1e-12))
    return Scored.fit(basis[0] / np.linalg.norm(basis), score, some, rows.n_present)

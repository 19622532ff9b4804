"""Rows in whitened coordinates, their leave-one-out scores, and the residuals of the labels.

Nothing is stored per row: scores are functions of a block, computed again in every pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.blas import strsm

from spectralmirror.rows.kernels import shifted
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.sample import Sample
from spectralmirror.rows.types import AnyArray, Features, Matrix, Vector
from spectralmirror.subspace.stacked.polynomial import Polynomial
from spectralmirror.subspace.whitening import Whitening

__all__ = [
    "N_SLICES",
    "Frame",
    "LeastSquares",
    "Scored",
    "leave_one_out",
    "slice_edges",
    "times",
]

#: Degree of the polynomial that predicts the labels from the scores.
DEGREE = 7
#: Up to this number of directions, one product with a vector each is faster than one with a matrix.
FEW = 8
#: Number B of slices of the scores.
N_SLICES = 6
#: Rows whose squared length is below this share of the mean are not scaled up any further.
SHORTEST = 0.01


@dataclass(frozen=True, eq=False)
class Frame:
    """Whitened coordinates of the rows, W_i = scale_i Sigma^(-1/2) (x_i - mu).

    Attributes
    ----------
    dtype : dtype
        Precision of the rows.
    whitening : Whitening
        mu and Sigma.
    elliptical : bool
        Whether rows are scaled to the same length, scale_i = sqrt(d) / |W_i|; otherwise it is 1.
    """

    dtype: np.dtype[Any]
    whitening: Whitening
    elliptical: bool = False

    @cached_property
    def origin(self) -> AnyArray | None:
        """The point to subtract from the rows before summing, None for 0."""
        return self.whitening.origin(self.dtype)

    def step(self) -> Vector:
        """Return the mean as seen from the origin."""
        return self.whitening.mean_from(self.origin)

    def scale(self, X: Features) -> Vector | None:
        """Return the scale of each row, None for 1."""
        if not self.elliptical:
            return None
        d = X.shape[1]
        return np.asarray(np.sqrt(d / np.maximum(self.squared_lengths(X), SHORTEST * d)))

    def squared_lengths(self, X: Features) -> Vector:
        """Return |W_i|^2 before scaling, in single precision, which is enough for leverages."""
        inverse_scale = 1 / self.whitening.scale
        part = shifted(X, self.origin)
        part = part.toarray() if sparse.issparse(part) else part
        W = np.empty(part.shape, dtype=np.float32)
        np.multiply(part, inverse_scale, out=W, casting="same_kind")
        W -= (self.step() * inverse_scale).astype(np.float32)
        if self._factor is not None:
            W = strsm(1.0, self._factor, W.T, lower=1, overwrite_b=1).T
        return np.asarray(np.einsum("ij,ij->i", W, W), dtype=np.float64)

    @cached_property
    def _factor(self) -> AnyArray | None:
        L = self.whitening.cholesky
        return None if L is None else np.asfortranarray(L, dtype=np.float32)

    def projection(self, basis: Matrix) -> Callable[[Features], Matrix]:
        """Return the function X -> <b_j, W_i> before scaling, of shape (n, k)."""
        directions = self.whitening.direction(basis.T)
        offset = (self.step() @ directions)[:, None]

        def project(X: Features) -> Matrix:
            part, rows = shifted(X, self.origin), directions.T.astype(X.dtype)
            if len(rows) > FEW:
                coordinates = (part @ rows.T).T.astype(np.float64)
            else:
                coordinates = np.array([part.dot(row) for row in rows], dtype=np.float64)
            coordinates -= offset
            return np.asarray(coordinates.T)

        return project


def times(values: AnyArray, scale: Vector | None) -> AnyArray:
    """Multiply one number, or several, per row by the scale of the row."""
    if scale is None:
        return values
    return np.asarray(values * (scale if values.ndim == 1 else scale[:, None]))


def leave_one_out(
    fitted: Vector, y: AnyArray, lengths: Vector | float, weight: float, *, estimated: bool
) -> Vector:
    """Return the score of each row along the direction that the other rows give.

    If mean and covariance come from the same rows, r-hat = mean(y W) is least squares and row i has
    the leverage h_i = (1 + |W_i|^2) / n, so s_i = (fitted_i - h_i y_i) / (1 - h_i). If they are
    known, r-hat is a plain mean and s_i = (n fitted_i - |W_i|^2 y_i) / (n - 1). A row of weight 2
    stands for two rows, one of which is left out.

    Parameters
    ----------
    fitted : ndarray of shape (n,)
        mean(y) + <r, W_i> if mean and covariance were estimated, otherwise <r, W_i>.
    y : ndarray of shape (n,)
        Labels.
    lengths : ndarray of shape (n,) or float
        |W_i|^2.
    weight : float
        The number of rows, or the sum of their weights.
    estimated : bool
        Whether mean and covariance come from these rows.
    """
    if not estimated:
        return np.asarray((weight * fitted - lengths * y) / max(weight - 1, 1))
    leverage = np.minimum((1 + lengths) / weight, 0.9)
    return np.asarray((fitted - leverage * y) / (1 - leverage))


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Scores of the rows along r-hat, leave-one-out if there are few rows.

    Attributes
    ----------
    frame : Frame
        The rows in whitened coordinates.
    axis : ndarray of shape (d,)
        r-hat in whitened coordinates.
    label_mean : float
        The mean of the labels.
    weight : float
        The number of rows, or the sum of their weights.
    estimated : bool
        Whether mean and covariance come from these rows.
    left_out : bool
        Whether scores are leave-one-out.
    """

    frame: Frame
    axis: Vector
    label_mean: float
    weight: float
    estimated: bool
    left_out: bool

    def __call__(self, block: Rows) -> tuple[Vector, Vector | float]:
        """Return the scores of the rows of a block, and |W_i|^2 (0 if none is left out)."""
        frame = self.frame
        fitted = times(self._project(block.X)[:, 0], frame.scale(block.X))
        if self.estimated:
            fitted = fitted + self.label_mean
        if not self.left_out:
            return np.asarray(fitted), 0.0
        lengths = float(len(self.axis)) if frame.elliptical else frame.squared_lengths(block.X)
        scores = leave_one_out(fitted, block.y, lengths, self.weight, estimated=self.estimated)
        return scores, lengths

    @cached_property
    def _project(self) -> Callable[[Features], Matrix]:
        return self.frame.projection(self.axis[None, :])


def slice_edges(s: Vector, weight: AnyArray | None) -> Vector:
    """Return the scores that divide the rows into slices of about equal weight.

    Each lies midway between two neighbouring scores, so that rounding cannot move a row to another
    slice.
    """
    levels = np.arange(1, N_SLICES) / N_SLICES
    quantiles = np.quantile(s, levels, weights=weight, method="inverted_cdf")
    values = np.unique(np.round(s, 9))
    following = np.searchsorted(values, quantiles + 1e-9, side="right")
    after = values[np.minimum(following, len(values) - 1)]
    return np.asarray(np.where(following < len(values), (quantiles + after) / 2, np.inf))


@dataclass(frozen=True, eq=False)
class Scored:
    """The mirror direction, and the polynomial m(s) = E[y | s] that predicts labels along it.

    Attributes
    ----------
    unit : ndarray of shape (d,)
        The direction, whitened, of length 1.
    score : callable
        Block -> scores, and |W_i|^2.
    mean, deviation : float
        Mean and standard deviation of the scores, by which they are standardised.
    m : Polynomial
        Fitted to a sample of the rows.
    edges : ndarray of shape (B - 1,)
        Standardised scores that divide the sample into B slices.
    """

    unit: Vector
    score: Callable[[Rows], tuple[Vector, Vector | float]]
    mean: float
    deviation: float
    m: Polynomial
    edges: Vector

    @classmethod
    def fit(
        cls,
        unit: Vector,
        score: Callable[[Rows], tuple[Vector, Vector | float]],
        some: Sample,
        n_rows: int,
    ) -> Scored:
        """Fit m, and divide the scores into slices, by some of the `n_rows` rows."""
        scores, weight = collect(some, lambda block: score(block)[0]), some.weight
        mean = float(np.average(scores, weights=weight))
        deviation = float(np.sqrt(np.average((scores - mean) ** 2, weights=weight))) or 1.0
        s = (scores - mean) / deviation
        degree = min(DEGREE, max(n_rows // 20, 1))
        m = Polynomial.fit(s[:, None], some.y.astype(np.float64), weight, degree)
        return cls(unit, score, mean, deviation, m, slice_edges(s, weight))

    def __call__(self, block: Rows) -> tuple[Vector, Vector, Vector, Vector | float]:
        """Return standardised scores s, e = y - m(s), m'(s), and |W_i|^2 of a block."""
        scores, lengths = self.score(block)
        s = (scores - self.mean) / self.deviation
        values, slopes = self.m(s[:, None]).T
        return s, block.y - values, slopes, lengths

"""Rows in whitened coordinates, their leave-one-out scores, and what these leave of the labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.blas import strsm

from spectralmirror.arrays import AnyArray, Features, Matrix, Vector
from spectralmirror.blocks import Rows
from spectralmirror.engines import collect
from spectralmirror.kernels import far_origin, shifted
from spectralmirror.polynomial import REACH, Polynomial
from spectralmirror.whitening import Whitening

__all__ = ["Frame", "leave_one_out", "lengths_and_scores", "residuals", "squared_lengths"]

DEGREE = 7
#: m(s) is looked up on a grid, fine enough for an error of 1e-4 m'(s).
GRID = 32_769


@dataclass(frozen=True, eq=False)
class Frame:
    """Rows seen in whitened coordinates, W_i = scale_i Sigma^(-1/2) (x_i - mu).

    Attributes
    ----------
    rows : Rows
        The rows, with labels of -1 and +1.
    whitening : Whitening
        mu and Sigma.
    scale : ndarray of shape (n,)
        1, or sqrt(d) / |W_i| where rows are brought to one length.
    """

    rows: Rows
    whitening: Whitening
    scale: Vector

    def __getitem__(self, index: slice | NDArray[np.int64]) -> Frame:
        return replace(self, rows=self.rows[index], scale=self.scale[index])

    def present(self) -> NDArray[np.int64]:
        """Return the numbers of the rows whose weight is not 0."""
        weight = self.rows.weight
        return np.arange(len(self.rows)) if weight is None else np.flatnonzero(weight)

    @cached_property
    def origin(self) -> AnyArray | None:
        """The point that is subtracted from the rows before they are summed, None for 0."""
        return far_origin(self.whitening.mean, self.whitening.scale, self.rows.X.dtype)

    def step(self) -> Vector:
        """Return the mean as seen from the origin."""
        mean = self.whitening.mean
        return mean if self.origin is None else mean - self.origin.astype(np.float64)

    def labelled(self) -> Rows:
        """Rows that carry their label and their scale."""
        return replace(self.rows, y=np.column_stack([self.rows.y, self.scale]))

    def labels(self) -> Vector:
        """Labels of the rows that are present."""
        return self.rows.present().y.astype(np.float64)

    def weights(self) -> Vector | None:
        """Weights of the rows that are present."""
        weight = self.rows.present().weight
        return None if weight is None else weight.astype(np.float64)

    def coordinates(self, basis: Matrix) -> Matrix:
        """Return <b_j, W_i> for the rows b_j of a whitened basis, of all rows that are present."""
        project = self.projection(basis)
        return collect(self.labelled(), lambda block: project(block.X) * block.y[:, 1:])

    def projection(self, basis: Matrix) -> Callable[[Features], Matrix]:
        """Return a function of the features of a block: <b_j, W>, without the scale of rows."""
        directions = self.whitening.direction(basis.T)
        offset = (self.step() @ directions)[:, None]

        def project(X: Features) -> Matrix:
            part, single = shifted(X, self.origin), directions.T.astype(X.dtype)
            coordinates = np.array([part.dot(row) for row in single], dtype=np.float64)
            coordinates -= offset
            return coordinates.T

        return project


def squared_lengths(rows: Rows, whitening: Whitening) -> Vector:
    """Return |W_i|^2 of the rows that are present, W = Sigma^(-1/2) (x - mu)."""
    return lengths_and_scores(rows, whitening, np.zeros_like(whitening.mean))[:, 0]


def lengths_and_scores(rows: Rows, whitening: Whitening, axis: Vector) -> Matrix:
    """Return |W_i|^2 and <axis, W_i> of the rows that are present, shape (n, 2).

    In single precision, which is ample for scores and what corrects them.
    """
    frame = Frame(rows, whitening, np.ones(0))
    inverse_scale, single = 1 / whitening.scale, axis.astype(np.float32)
    centre = (frame.step() * inverse_scale).astype(np.float32)
    factor = None
    if whitening.cholesky is not None:
        factor = np.asfortranarray(whitening.cholesky, dtype=np.float32)

    def of(block: Rows) -> AnyArray:
        part = shifted(block.X, frame.origin)
        part = part.toarray() if sparse.issparse(part) else part
        W = np.empty(part.shape, dtype=np.float32)
        np.multiply(part, inverse_scale, out=W, casting="same_kind")
        W -= centre
        if factor is not None:
            W = strsm(1.0, factor, W.T, lower=1, overwrite_b=1).T
        return np.column_stack([np.einsum("ij,ij->i", W, W), W.dot(single)])

    return collect(rows, of).astype(np.float64)


def leave_one_out(
    fitted: Vector, y: Vector, lengths: Vector, weight: float, *, estimated: bool
) -> Vector:
    """Return the scores of the rows, each from a direction to which it did not contribute.

    With whitening from the rows themselves, r-hat = mean(y W) is least squares, and row i has the
    leverage h_i = (1 + |W_i|^2) / n: s_i = (fitted_i - h_i y_i) / (1 - h_i). With known mean and
    covariance r-hat is a plain mean, and s_i = (n fitted_i - |W_i|^2 y_i) / (n - 1). A row of
    weight 2 stands for two rows, of which one is left out.

    Parameters
    ----------
    fitted : ndarray of shape (n,)
        mean(y) + <r, W_i> where the whitening was estimated, else <r, W_i>.
    y : ndarray of shape (n,)
        Labels.
    lengths : ndarray of shape (n,)
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


def residuals(scores: Vector, y: Vector, weight: Vector | None) -> tuple[Vector, Vector, Vector]:
    """Return standardised scores s, e = y - m(s) with m(s) = E[y | s] a polynomial, and m'(s)."""
    mean = np.average(scores, weights=weight)
    deviation = np.sqrt(np.average((scores - mean) ** 2, weights=weight))
    s = (scores - mean) / (deviation if deviation > 0 else 1.0)
    m = Polynomial.fit(s[:, None], y, weight, min(DEGREE, max(len(s) // 20, 1)))
    place = np.clip((s + REACH) * ((GRID - 1) / (2 * REACH)) + 0.5, 0, GRID - 1).astype(np.intp)
    values, slopes = m(np.linspace(-REACH, REACH, GRID)[:, None]).T
    return s, y - values[place], slopes[place]

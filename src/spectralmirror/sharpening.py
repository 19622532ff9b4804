"""One Gauss-Newton step towards the subspace that predicts the labels best.

Inside a subspace with coordinates u = B W, a model predicts the label as h(u). A direction of B
that errs by delta leaves a trace of itself in the residuals: for the features w outside the
subspace E[(y - h) grad h w'] = J delta, with J = E[grad h grad h']. The step B + J^-1 G, where G is
the mean of (y - h) grad h w', takes most of the error away, and the spread of its summands tells
how much is left. Neither model needs to know the response f.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from spectralmirror.arrays import AnyArray, Matrix, Vector
from spectralmirror.blocks import Rows
from spectralmirror.engines import reduce
from spectralmirror.kernels import linear_sums
from spectralmirror.polynomial import FIT_ROWS, Polynomial, largest_degree
from spectralmirror.scores import Frame

__all__ = ["Model", "alone", "in_groups", "sharpen"]

LINK_DEGREE = 5
#: No direction is turned by more than this tangent.
LONGEST_STEP = 1.0


@dataclass(frozen=True, eq=False)
class Model:
    """What predicts the labels inside a subspace.

    Attributes
    ----------
    rows : Rows
        The rows, whose y carries what `predict` needs.
    predict : callable
        Block of these rows -> residuals y - h, and slopes grad h of shape (n, k), the latter
        times the scale of each row.
    """

    rows: Rows
    predict: Callable[[Rows], tuple[Vector, Matrix]]


def alone(frame: Frame, basis: Matrix) -> Model | None:
    """Predict each label from its own row, h(u) = E[y | u] a polynomial of degree 5 or 3.

    None where there are too few rows, or too many dimensions, for a polynomial of degree 3.
    """
    degree = largest_degree(len(basis), frame.rows.effective_rows)
    if degree < 3:
        return None
    sample = frame[:: max(1, len(frame.rows) // FIT_ROWS)]
    h = Polynomial.fit(sample.coordinates(basis), sample.labels(), sample.weights(), degree)

    project = frame.projection(basis)

    def predict(block: Rows) -> tuple[Vector, Matrix]:
        y, scale = block.y.T
        values = h(project(block.X) * scale[:, None])
        return y - values[:, 0], values[:, 1:] * scale[:, None]

    return Model(frame.labelled(), predict)


def in_groups(frame: Frame, basis: Matrix, groups: NDArray[np.int64]) -> Model:
    """Predict each label from its row and the other rows of its group.

    These say where the profile of the group lies, a_i = sum over the others of y u. The label is
    predicted as m(t), t = <u, M a_i + b>, with M and b by least squares and m a polynomial.
    """
    u, y, weight = frame.coordinates(basis), frame.labels(), frame.weights()
    groups = groups[frame.present()]
    (n, k), ones = u.shape, np.ones(len(u)) if weight is None else weight
    signed = y[:, None] * u
    sums = np.column_stack([np.bincount(groups, ones * column) for column in signed.T])
    others = sums[groups] - ones[:, None] * signed
    others /= np.sqrt(np.average((others**2).sum(axis=1), weights=ones)) or 1.0
    others = np.column_stack([others, np.ones(n)])
    gram, moment = np.zeros((k * (k + 1),) * 2), np.zeros(k * (k + 1))
    for i in range(0, n, 8192):
        part = slice(i, i + 8192)
        features = (u[part, :, None] * others[part, None, :]).reshape(-1, k * (k + 1))
        weighted = features * ones[part, None]
        gram += weighted.T @ features
        moment += weighted.T @ y[part]
    M = np.linalg.lstsq(gram, moment, rcond=1e-10)[0].reshape(k, k + 1)
    profile = others @ M.T
    t = np.einsum("ij,ij->i", u, profile)
    deviation = np.sqrt(np.average(t**2, weights=ones)) or 1.0
    link = Polynomial.fit((t / deviation)[:, None], y, weight, LINK_DEGREE)
    h, slope = link((t / deviation)[:, None]).T
    slopes = profile * (slope / deviation * frame.scale[frame.present()])[:, None]
    carried = frame.rows.spread(np.column_stack([y - h, slopes]))
    return Model(replace(frame.rows, y=carried), lambda block: (block.y[:, 0], block.y[:, 1:]))


@dataclass(frozen=True, eq=False)
class StepSums:
    """What the step is made of, summed over rows.

    Attributes
    ----------
    gradient : ndarray of shape (k, d)
        sum of w (y - h) grad h (x - origin)'.
    totals : ndarray of shape (k,)
        sum of w (y - h) grad h, to move the origin.
    curvature, spread : ndarray of shape (k, k)
        sums of w grad h grad h' and of w (y - h)^2 grad h grad h'.
    """

    gradient: Matrix
    totals: Vector
    curvature: Matrix
    spread: Matrix

    def __add__(self, other: StepSums) -> StepSums:
        return StepSums(
            self.gradient + other.gradient,
            self.totals + other.totals,
            self.curvature + other.curvature,
            self.spread + other.spread,
        )

    @classmethod
    def of(cls, block: Rows, model: Model, origin: AnyArray | None) -> StepSums:
        """Sum one block."""
        residuals, slopes = model.predict(block)
        weight = np.ones(len(block)) if block.weight is None else block.weight.astype(np.float64)
        pull = slopes * (weight * residuals)[:, None]
        return cls(
            linear_sums(block.X, pull.T.astype(block.X.dtype), origin),
            pull.sum(axis=0),
            (slopes * weight[:, None]).T @ slopes,
            (slopes * (weight * residuals**2)[:, None]).T @ slopes,
        )


def sharpen(frame: Frame, basis: Matrix, model: Model, n_fixed: int) -> tuple[Matrix, float]:
    """Turn all rows of a whitened, orthonormal basis but the first few towards the best ones.

    Parameters
    ----------
    frame : Frame
        The rows in their whitened coordinates.
    basis : ndarray of shape (k, d)
        Orthonormal rows.
    model : Model
        What predicts the labels inside the subspace.
    n_fixed : int
        So many rows of the basis stay as they are.

    Returns
    -------
    ndarray of shape (k, d)
        The improved basis, no longer orthonormal.
    float
        An estimate of the error that is left, |sin Theta|_F.
    """
    (k, d), n = basis.shape, frame.rows.total_weight
    sums = reduce(model.rows, partial(StepSums.of, model=model, origin=frame.origin))
    centred = (sums.gradient - np.outer(sums.totals, frame.step())) / n
    G = np.array([frame.whitening.whiten_sum(row) for row in centred])
    G -= (G @ basis.T) @ basis
    J, V = sums.curvature / n, sums.spread / n
    try:
        inverse = np.linalg.inv(J)
        turn = np.linalg.solve(J[n_fixed:, n_fixed:], G[n_fixed:])
    except np.linalg.LinAlgError:
        return basis, np.inf
    length = np.linalg.norm(turn, axis=1, keepdims=True)
    turn *= LONGEST_STEP / np.maximum(length, LONGEST_STEP)
    error = (d - k) / frame.rows.effective_rows * np.trace(inverse @ V @ inverse)
    return np.vstack([basis[:n_fixed], basis[n_fixed:] + turn]), float(np.sqrt(max(error, 0)))

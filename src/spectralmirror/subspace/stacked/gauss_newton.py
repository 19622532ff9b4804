"""One Gauss-Newton step towards the subspace that predicts the labels best.

Inside a subspace with coordinates u = B W, a model predicts the label as h(u). An error delta of B
shows in the residuals: for the features w outside the subspace, E[(y - h) grad h w'] = J delta with
J = E[grad h grad h']. The step B + J^-1 G, where G is the mean of (y - h) grad h w', removes most
of the error, and the variance of the terms of G shows how much is left. Neither model needs to know
the response f.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spectralmirror.rows.grouped import Block, GroupedRows
from spectralmirror.rows.kernels import linear_sums
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import Sums, collect, reduce
from spectralmirror.rows.sample import Sample
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import AnyArray, Matrix, Vector
from spectralmirror.subspace.stacked.polynomial import (
    FIT_ROWS,
    GROUPS_TO_FIT,
    Polynomial,
    largest_degree,
)
from spectralmirror.subspace.stacked.scores import Frame, times

__all__ = ["Model", "alone", "in_groups", "sharpen"]

#: Degree of the polynomial in the model of groups.
LINK_DEGREE = 5
#: Longest step of a direction, as the tangent of the angle by which it turns.
LONGEST_STEP = 1.0


#: Block -> residuals y - h, and slopes grad h of shape (n, k) times the scale of each row.
Model = Callable[[Any], tuple[Vector, Matrix]]


def alone(source: Source, some: Sample, frame: Frame, basis: Matrix) -> Model | None:
    """Predict each label from its own row by a polynomial h(u) = E[y | u] of degree 5 or 3.

    It is fitted to a sample of the rows. Returns None if there are too few rows, or too many
    dimensions, for a polynomial of degree 3.
    """
    degree = largest_degree(len(basis), source.effective_rows)
    if degree < 3:
        return None
    project = frame.projection(basis)

    def seen(block: Rows) -> Matrix:
        return times(project(block.X), frame.scale(block.X))

    h = Polynomial.fit(collect(some, seen), some.y.astype(np.float64), some.weight, degree)

    def predict(block: Rows) -> tuple[Vector, Matrix]:
        scale = frame.scale(block.X)
        values = h(times(project(block.X), scale))
        return block.y - values[:, 0], times(values[:, 1:], scale)

    return predict


def in_groups(grouped: GroupedRows, frame: Frame, basis: Matrix) -> Model:
    """Predict each label from its row and the other rows of its group.

    The other rows indicate the profile of the group: a_i is their sum of y u. The label is
    predicted as m(t) with t = <u, M a_i + b>, where M and b are found by least squares and m is a
    polynomial, all fitted to a sample of the groups.
    """
    project, k = frame.projection(basis), len(basis)

    def seen(block: Block) -> tuple[Matrix, Matrix]:
        """Return u, and [a_i, 1], of every row."""
        u = times(project(block.X), frame.scale(block.X))
        weight = np.ones(len(block)) if block.weight is None else block.weight
        signed = u.T * (weight * block.y)
        others = block.of_rows(block.sums(signed)) - signed
        return u, np.column_stack([others.T, np.ones(len(u))])

    some = grouped.select(FIT_ROWS, GROUPS_TO_FIT, seed=0)
    parts = [(*seen(block), block.y.astype(np.float64), block.weight) for block in some.blocks()]
    u, others, y = (np.concatenate([part[i] for part in parts]) for i in range(3))
    weight = None if parts[0][3] is None else np.concatenate([part[3] for part in parts])
    lengths = (others[:, :-1] ** 2).sum(axis=1)
    unit = np.append(np.full(k, 1 / (np.sqrt(np.average(lengths, weights=weight)) or 1.0)), 1.0)
    M = _bilinear(u, others * unit, y, weight) * unit
    t = np.einsum("ij,ij->i", u, others @ M.T)
    deviation = np.sqrt(np.average(t**2, weights=weight)) or 1.0
    link = Polynomial.fit((t / deviation)[:, None], y, weight, LINK_DEGREE)

    def predict(block: Block) -> tuple[Vector, Matrix]:
        u, others = seen(block)
        profile = others @ M.T
        t = np.einsum("ij,ij->i", u, profile)
        h, slope = link((t / deviation)[:, None]).T
        return block.y - h, times(profile * (slope / deviation)[:, None], frame.scale(block.X))

    return predict


def _bilinear(u: Matrix, a: Matrix, y: Vector, weight: AnyArray | None) -> Matrix:
    """Return the matrix M for which <u, M a> predicts y best, by least squares."""
    k, m = u.shape[1], a.shape[1]
    gram, moment = np.zeros((k * m, k * m)), np.zeros(k * m)
    for i in range(0, len(u), 8192):
        part = slice(i, i + 8192)
        features = (u[part, :, None] * a[part, None, :]).reshape(-1, k * m)
        weighted = features if weight is None else features * weight[part, None]
        gram += weighted.T @ features
        moment += weighted.T @ y[part]
    return np.asarray(np.linalg.lstsq(gram, moment, rcond=1e-10)[0].reshape(k, m))


@dataclass(frozen=True, eq=False)
class StepSums(Sums):
    """Sums over rows from which the step of all directions but the first m is computed.

    Attributes
    ----------
    gradient : ndarray of shape (k - m, d)
        sum of w (y - h) grad h (x - origin)', without the first m derivatives.
    totals : ndarray of shape (k - m,)
        sum of w (y - h) grad h, to move the origin.
    curvature, spread : ndarray of shape (k, k)
        sums of w grad h grad h' and of w (y - h)^2 grad h grad h'.
    """

    gradient: Matrix
    totals: Vector
    curvature: Matrix
    spread: Matrix

    @classmethod
    def of(cls, block: Any, model: Model, origin: AnyArray | None, n_fixed: int = 0) -> StepSums:
        """Sum one block; the first `n_fixed` directions stay as they are."""
        residuals, slopes = model(block)
        weight = np.ones(len(block)) if block.weight is None else block.weight.astype(np.float64)
        pull = slopes[:, n_fixed:] * (weight * residuals)[:, None]
        return cls(
            linear_sums(block.X, pull.T.astype(block.X.dtype), origin),
            pull.sum(axis=0),
            (slopes * weight[:, None]).T @ slopes,
            (slopes * (weight * residuals**2)[:, None]).T @ slopes,
        )


def sharpen(
    rows: Source, blocks: Any, frame: Frame, basis: Matrix, model: Model, n_fixed: int
) -> tuple[Matrix, float]:
    """Turn the rows of a whitened basis, except the first `n_fixed`, by one Gauss-Newton step.

    Parameters
    ----------
    rows : Source
        The rows.
    blocks : Source or GroupedRows
        The same rows as the model takes them, one by one or in whole groups.
    frame : Frame
        Their whitened coordinates.
    basis : ndarray of shape (k, d)
        Orthonormal rows.
    model : Model
        Predicts the labels inside the subspace.
    n_fixed : int
        Number of rows of the basis that stay as they are.

    Returns
    -------
    ndarray of shape (k, d)
        The improved basis, no longer orthonormal.
    float
        Estimate of the remaining error, |sin Theta|_F; infinite if J is singular.
    """
    (k, d), n = basis.shape, rows.total_weight
    of = partial(StepSums.of, model=model, origin=frame.origin, n_fixed=n_fixed)
    sums = reduce(blocks, of)
    centred = (sums.gradient - np.outer(sums.totals, frame.step())) / n
    G = np.array([frame.whitening.whiten_sum(row) for row in centred]).reshape(-1, d)
    G -= (G @ basis.T) @ basis
    J, V = sums.curvature / n, sums.spread / n
    try:
        inverse = np.linalg.inv(J)
        turn = np.linalg.solve(J[n_fixed:, n_fixed:], G)
    except np.linalg.LinAlgError:
        return basis, np.inf
    length = np.linalg.norm(turn, axis=1, keepdims=True)
    turn *= LONGEST_STEP / np.maximum(length, LONGEST_STEP)
    error = (d - k) / rows.effective_rows * np.trace(inverse @ V @ inverse)
    return np.vstack([basis[:n_fixed], basis[n_fixed:] + turn]), float(np.sqrt(max(error, 0)))

"""Many mirrors for the price of one: the rows in slices of their score.

A mirror multiplies the residual e by a function T(s) of the score: T = sgn is the paper's. The
rows are divided into slices of equal weight by s, and S_b = sum of e W W' and v_b = sum of e W are
summed in each. Every row is in one slice, so this costs one pass, and any mirror that is constant
on the slices is a combination of the S_b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectralmirror.arrays import AnyArray, Matrix, Vector
from spectralmirror.blocks import Rows
from spectralmirror.kernels import weighted_sums

__all__ = ["N_SLICES", "SlicedMoments", "Slices", "mirrors"]

N_SLICES = 6


@dataclass(frozen=True, eq=False)
class Slices:
    """The division of the rows that are present, and the size of the noise in each slice.

    Attributes
    ----------
    index : ndarray of shape (n,)
        The slice of each row.
    residuals : ndarray of shape (n,)
        e, with mean 0 in every slice.
    scores : ndarray of shape (B,)
        The mean of s in each slice.
    noise : ndarray of shape (B,)
        The standard deviation of an entry of S_b and of v_b, sqrt(sum of w e^2).
    turn : ndarray of shape (B,)
        What a turn of r-hat by delta makes of v_b / noise_b, in units of delta, of length 1.
    """

    index: NDArray[np.int64]
    residuals: Vector
    scores: Vector
    noise: Vector
    turn: Vector

    @classmethod
    def of(cls, s: Vector, e: Vector, slope: Vector, weight: Vector | None) -> Slices:
        """Divide the rows into slices of equal weight by their scores; `slope` is m'(s)."""
        levels = np.arange(1, N_SLICES) / N_SLICES
        edges = np.quantile(s, levels, weights=weight, method="inverted_cdf")
        index = np.searchsorted(edges, s)
        total = _sums(index, weight, None)
        scores = _sums(index, weight, s) / total
        residuals = e - (_sums(index, weight, e) / total)[index]
        # labels that are predicted without error leave rounding, which must not be blown up
        noise = np.sqrt(np.maximum(_sums(index, weight, residuals**2), 1e-12 * total))
        turn = _sums(index, weight, slope) / noise
        length = float(np.linalg.norm(turn))
        return cls(index, residuals, scores, noise, turn / (length if length > 0 else 1.0))

    def beside_turn(self, vectors: Matrix) -> Matrix:
        """Take out of v_b / noise_b, one a column, what a turn of r-hat would explain.

        r-hat itself is not exact. Its error is no second direction, but leaves E[m'(s)] delta in
        the slices, and would be counted as one.
        """
        return vectors - np.outer(vectors @ self.turn, self.turn)


def _sums(index: NDArray[np.int64], weight: Vector | None, values: Vector | None) -> Vector:
    """Weighted sums over each slice; never 0, where a slice may be empty."""
    ones = np.ones(len(index)) if weight is None else weight
    products = ones if values is None else ones * values
    sums = np.bincount(index, products, minlength=N_SLICES)
    return np.where(np.bincount(index, minlength=N_SLICES) > 0, sums, 1.0)


@dataclass(frozen=True, eq=False)
class SlicedMoments:
    """Sums over the rows of each slice, about a common origin.

    Attributes
    ----------
    totals : ndarray of shape (B, 2)
        sum of z and sum of v, the weights of products and of rows.
    first : ndarray of shape (B, 2, d)
        sum of z (x - o) and of v (x - o).
    second : ndarray of shape (B, d, d)
        sum of z (x - o)(x - o)'.
    """

    totals: Matrix
    first: AnyArray
    second: AnyArray

    @classmethod
    def of(cls, rows: Rows, origin: AnyArray | None) -> SlicedMoments:
        """Sum one block; its y holds the slice, the residual e and the scale of every row.

        A row of scale c enters products as c^2 e and sums as c e.
        """
        index, e, scale = rows.y.T
        z, v = rows.weighted(e * scale**2), rows.weighted(e * scale)
        d = rows.X.shape[1]
        first, second = np.empty((N_SLICES, 2, d)), np.empty((N_SLICES, d, d))
        totals = np.empty((N_SLICES, 2))
        for b in range(N_SLICES):
            here = index == b
            linear = np.vstack([np.where(here, z, 0), np.where(here, v, 0)])
            first[b], second[b] = weighted_sums(rows.X, linear[0], linear, origin)
            totals[b] = linear.sum(axis=1, dtype=np.float64)
        return cls(totals, first, second)

    def __add__(self, other: SlicedMoments) -> SlicedMoments:
        return SlicedMoments(
            self.totals + other.totals, self.first + other.first, self.second + other.second
        )

    def about(self, step: Vector) -> tuple[AnyArray, AnyArray]:
        """Return S_b and v_b about a mean that lies a step from the origin."""
        matrices = self.second.copy()
        for M, first, total in zip(matrices, self.first[:, 0], self.totals[:, 0], strict=True):
            mixed = np.outer(first, step)
            M += total * np.outer(step, step) - mixed - mixed.T
        return matrices, self.first[:, 1] - self.totals[:, 1:] * step


def mirrors(slices: Slices) -> Matrix:
    """Return the mirrors T(s) = s, sgn(s) and 1 on the slices, each of length 1, shape (3, B).

    Each has blind spots, but not the same ones: the sign mirror fails where the positive and the
    negative side of a profile weigh the same, the constant one (principal Hessian directions)
    for features of mean 0.
    """
    shapes = np.vstack([slices.scores, np.sign(slices.scores), np.ones(N_SLICES)])
    lengths = np.linalg.norm(shapes, axis=1, keepdims=True)
    return np.asarray(shapes / np.maximum(lengths, 1e-300))

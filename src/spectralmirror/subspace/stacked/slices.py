"""Several mirrors at the cost of one: the rows in slices of their score.

A mirror multiplies the residual e by a function T(s) of the score; the paper's is T = sgn. The rows
are divided by s into slices of equal weight, and S_b = sum of e W W' and v_b = sum of e W are
computed in each. Every row is in one slice, so one pass is enough, and every mirror that is
constant on the slices is a linear combination of the S_b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.kernels import weighted_sums
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import Sums
from spectralmirror.rows.types import AnyArray, Matrix, Vector
from spectralmirror.subspace.stacked.scores import Frame, Scored, times

__all__ = ["N_SLICES", "SliceSums", "SlicedMoments", "Slices", "mirrors", "slice_edges"]

#: Number B of slices.
N_SLICES = 6


@dataclass(frozen=True, eq=False)
class SliceSums(Sums):
    """Sums over the rows of each slice.

    Attributes
    ----------
    sums : ndarray of shape (6, B)
        The number of rows, and their weights times 1, s, e, e^2 and m'(s).
    """

    sums: Matrix

    @classmethod
    def of(cls, rows: Rows, scored: Scored, edges: Vector) -> SliceSums:
        """Sum one block."""
        s, e, slopes, _ = scored(rows)
        index = np.searchsorted(edges, s)
        ones = np.ones(len(s))
        w = ones if rows.weight is None else rows.weight.astype(np.float64)
        weights = [ones, w, w * s, w * e, w * e**2, w * slopes]
        return cls(np.array([np.bincount(index, v, minlength=N_SLICES) for v in weights]))


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
class Slices:
    """The slices, and the size of the noise in each.

    Attributes
    ----------
    edges : ndarray of shape (B - 1,)
        The scores that divide the slices.
    means : ndarray of shape (B,)
        The mean of the residuals e in each slice, which is subtracted from them.
    scores : ndarray of shape (B,)
        The mean of s in each slice.
    noise : ndarray of shape (B,)
        The standard deviation of an entry of S_b and of v_b, sqrt(sum of w e^2).
    turn : ndarray of shape (B,)
        Direction, of length 1, in which turning r-hat changes the v_b / noise_b.
    """

    edges: Vector
    means: Vector
    scores: Vector
    noise: Vector
    turn: Vector

    @classmethod
    def of(cls, edges: Vector, found: SliceSums) -> Slices:
        """Compute means and noise from the sums over all rows."""
        count, total, s, e, squares, slopes = found.sums
        total = np.where(count > 0, total, 1.0)  # for slices without rows
        means = e / total
        # Labels that are predicted without error leave only rounding, which must not be scaled up.
        noise = np.sqrt(np.maximum(squares - total * means**2, 1e-12 * total))
        turn = slopes / noise
        length = float(np.linalg.norm(turn))
        return cls(edges, means, s / total, noise, turn / (length if length > 0 else 1.0))

    def index(self, s: Vector) -> NDArray[np.int64]:
        """Return the slice of each row."""
        return np.searchsorted(self.edges, s)

    def beside_turn(self, vectors: Matrix) -> Matrix:
        """Remove from v_b / noise_b, one per column, what a turn of r-hat would explain.

        An error delta of r-hat leaves E[m'(s)] delta in the slices, which would otherwise be
        counted as a second direction.
        """
        return vectors - np.outer(vectors @ self.turn, self.turn)


@dataclass(frozen=True, eq=False)
class SlicedMoments(Sums):
    """Sums over the rows of each slice, about a common origin.

    Attributes
    ----------
    totals : ndarray of shape (B, 2)
        sum of z and sum of v, the coefficients of products and of rows.
    first : ndarray of shape (B, 2, d)
        sum of z (x - o) and of v (x - o).
    second : ndarray of shape (B, d, d)
        sum of z (x - o)(x - o)'.
    """

    totals: Matrix
    first: AnyArray
    second: AnyArray

    @classmethod
    def of(cls, rows: Rows, scored: Scored, slices: Slices, frame: Frame) -> SlicedMoments:
        """Sum one block."""
        s, e, _, _ = scored(rows)
        index = slices.index(s)
        residuals = e - slices.means[index]
        return cls.summed(rows, index, residuals, frame.scale(rows.X), frame.origin)

    @classmethod
    def summed(
        cls,
        rows: Rows,
        index: NDArray[np.int64],
        e: Vector,
        scale: Vector | None,
        origin: AnyArray | None,
    ) -> SlicedMoments:
        """Sum one block, given the slice and the residual of every row.

        A row of scale c enters products with z = c^2 e, and sums with v = c e.
        """
        v = times(e, scale)
        z, v = rows.weighted(times(v, scale)), rows.weighted(v)
        d = rows.n_features
        first, second = np.empty((N_SLICES, 2, d)), np.empty((N_SLICES, d, d))
        totals = np.empty((N_SLICES, 2))
        for b in range(N_SLICES):
            here = index == b
            linear = np.vstack([np.where(here, z, 0), np.where(here, v, 0)])
            first[b], second[b] = weighted_sums(rows.X, linear[0], linear, origin)
            totals[b] = linear.sum(axis=1, dtype=np.float64)
        return cls(totals, first, second)

    def about(self, step: Vector) -> tuple[AnyArray, AnyArray]:
        """Return S_b and v_b about the mean, origin + step."""
        matrices = self.second.copy()
        for M, first, total in zip(matrices, self.first[:, 0], self.totals[:, 0], strict=True):
            mixed = np.outer(first, step)
            M += total * np.outer(step, step) - mixed - mixed.T
        return matrices, self.first[:, 1] - self.totals[:, 1:] * step


def mirrors(slices: Slices) -> Matrix:
    """Return the mirrors T(s) = s, sgn(s) and 1 on the slices, each of length 1, shape (3, B).

    Each has blind spots, but not the same ones: the sign mirror fails if the positive and the
    negative side of a profile cancel, and the constant one (principal Hessian directions) for
    features of mean 0.
    """
    shapes = np.vstack([slices.scores, np.sign(slices.scores), np.ones(N_SLICES)])
    lengths = np.linalg.norm(shapes, axis=1, keepdims=True)
    return np.asarray(shapes / np.maximum(lengths, 1e-300))

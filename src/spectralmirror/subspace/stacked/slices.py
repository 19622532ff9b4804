"""Several mirrors at the cost of one: the rows in slices of their score.

A mirror multiplies the residual e by a function T(s) of the score; the paper's is T = sgn. The rows
are divided by s into slices of equal weight, and S_b = sum of e W W' and v_b = sum of e W are
computed in each. Every row is in one slice, so one pass is enough, and every mirror that is
constant on the slices is a linear combination of the S_b.

Residuals above 0 and below 0 are summed apart. Within a slice the residuals must cancel, which
those from a polynomial that was fitted to a sample do only roughly; the two sums are then scaled so
that they do (:attr:`Slices.balance`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.kernels import class_sums
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import LargeSums
from spectralmirror.rows.types import AnyArray, Matrix, Vector
from spectralmirror.subspace.stacked.scores import N_SLICES, Frame, Scored, times

__all__ = ["SlicedMoments", "Slices", "mirrors"]


@dataclass(frozen=True, eq=False)
class Slices:
    """The slices, and the size of the noise in each.

    Attributes
    ----------
    edges : ndarray of shape (B - 1,)
        The scores that divide the slices.
    balance : ndarray of shape (2, B)
        What the residuals above 0, and those below 0, are multiplied by, so that they cancel in
        each slice. It is 0 where all labels of a slice are the same.
    scores : ndarray of shape (B,)
        The mean of s in each slice.
    noise : ndarray of shape (B,)
        The standard deviation of an entry of S_b and of v_b, sqrt(sum of w e^2).
    turn : ndarray of shape (B,)
        Direction, of length 1, in which turning r-hat changes the v_b / noise_b.
    """

    edges: Vector
    balance: Matrix
    scores: Vector
    noise: Vector
    turn: Vector

    @classmethod
    def of(cls, edges: Vector, sums: AnyArray) -> Slices:
        """Compute balance and noise from :attr:`SlicedMoments.sums` over all rows.

        Subtracting the mean m of the residuals from all of them would leave the sums
        E_1 - n_1 m = E_2 + n_2 m = (E_1 n_2 + E_2 n_1) / n of those above and below 0, in absolute
        terms. Scaling both to this value is the same for residuals that depend on the label only.
        """
        weight, scores, size, squares, slopes = sums
        total = weight.sum(axis=0)
        total = np.where(total > 0, total, 1.0)  # for slices without rows
        common = (size * weight[::-1]).sum(axis=0) / total
        balance = np.where(size > 0, common / np.where(size > 0, size, 1.0), 0.0)
        # Labels that are predicted without error leave only rounding, which must not be scaled up.
        noise = np.sqrt(np.maximum((balance**2 * squares).sum(axis=0), 1e-12 * total))
        turn = slopes.sum(axis=0) / noise
        length = float(np.linalg.norm(turn))
        turn = turn / (length if length > 0 else 1.0)
        return cls(edges, balance, scores.sum(axis=0) / total, noise, turn)

    def residuals(self, s: Vector, e: Vector) -> tuple[NDArray[np.int64], Vector]:
        """Return the slice of each row, and its residual after balancing."""
        index = np.searchsorted(self.edges, s)
        return index, e * self.balance[(e < 0).astype(np.intp), index]

    def beside_turn(self, vectors: Matrix) -> Matrix:
        """Remove from v_b / noise_b, one per column, what a turn of r-hat would explain.

        An error delta of r-hat leaves E[m'(s)] delta in the slices, which would otherwise be
        counted as a second direction.
        """
        return vectors - np.outer(vectors @ self.turn, self.turn)


@dataclass(frozen=True, eq=False)
class SlicedMoments(LargeSums):
    """Sums over the rows of each slice, with residuals e above 0 and below 0 apart.

    A row of scale c enters products with z = c^2 |e|, and sums with v = c |e|; L = 1 if all scales
    are 1, so that these are the same, and otherwise L = 2.

    Attributes
    ----------
    sums : ndarray of shape (5, 2, B)
        The weights of the rows times 1, s, |e|, e^2 and m'(s).
    totals : ndarray of shape (2, B, L)
        sum of z and sum of v, the coefficients of products and of rows.
    first : ndarray of shape (2, B, L, d)
        sum of z (x - o) and of v (x - o).
    second : ndarray of shape (2, B, d, d)
        sum of z (x - o)(x - o)'.
    """

    sums: AnyArray
    totals: AnyArray
    first: AnyArray
    second: AnyArray

    @classmethod
    def of(
        cls,
        rows: Rows,
        scored: Scored,
        edges: Vector,
        frame: Frame,
        origin: AnyArray | None,
        *,
        single: bool = False,
    ) -> SlicedMoments:
        """Sum one block about an origin; `single` computes the products in float32."""
        s, e, slopes, _ = scored(rows)
        w = np.ones(len(s)) if rows.weight is None else rows.weight.astype(np.float64)
        scale = frame.scale(rows.X)
        n_classes, d = 2 * N_SLICES, rows.n_features
        classes = (np.searchsorted(edges, s) + N_SLICES * (e < 0)).astype(np.uint8)
        v = w * np.abs(times(e, scale))
        z = v if scale is None else v * scale
        linear = z[None, :] if scale is None else np.vstack([z, v])

        def totals(values: Vector) -> Vector:
            return np.bincount(classes, values, minlength=n_classes).astype(np.float64)

        sums = np.array([totals(x) for x in (w, w * s, w * np.abs(e), w * e**2, w * slopes)])
        first, second = class_sums(rows.X, classes, n_classes, z, linear, origin, single=single)
        return cls(
            sums.reshape(5, 2, N_SLICES),
            np.stack([totals(x) for x in linear], axis=-1).reshape(2, N_SLICES, -1),
            first.reshape(2, N_SLICES, -1, d),
            second.reshape(2, N_SLICES, d, d),
        )

    def about(self, step: Vector, slices: Slices, T: Matrix) -> tuple[AnyArray, AnyArray]:
        """Return sum_b T_jb S_b for each row j of T, and the v_b, about the mean, origin + step."""
        signed = slices.balance * np.array([[1.0], [-1.0]])
        C = T[:, None, :] * signed
        products = np.tensordot(C, self.second, axes=([1, 2], [0, 1]))
        means = np.tensordot(C, self.first[:, :, 0], axes=([1, 2], [0, 1]))
        totals = (C * self.totals[..., 0]).sum(axis=(1, 2))
        for M, mean, total in zip(products, means, totals, strict=True):
            mixed = np.outer(mean, step)
            M += total * np.outer(step, step) - mixed - mixed.T
        vectors = (signed[..., None] * self.first[:, :, -1]).sum(axis=0)
        totals = (signed * self.totals[..., -1]).sum(axis=0)
        return products, vectors - totals[:, None] * step


def mirrors(slices: Slices) -> Matrix:
    """Return the mirrors T(s) = s, sgn(s) and 1 on the slices, each of length 1, shape (3, B).

    Each has blind spots, but not the same ones: the sign mirror fails if the positive and the
    negative side of a profile cancel, and the constant one (principal Hessian directions) for
    features of mean 0.
    """
    shapes = np.vstack([slices.scores, np.sign(slices.scores), np.ones(N_SLICES)])
    lengths = np.linalg.norm(shapes, axis=1, keepdims=True)
    return np.asarray(shapes / np.maximum(lengths, 1e-300))

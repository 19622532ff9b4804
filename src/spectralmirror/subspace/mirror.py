"""The mirror: sums for r, the mirrored labels Z, and sums weighted by them (lines 3 to 5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from spectralmirror.rows.checks import check_finite
from spectralmirror.rows.kernels import linear_sums
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import Sums, reduce
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import AnyArray, Features, Vector
from spectralmirror.subspace.moments import SignedMoments
from spectralmirror.subspace.whitening import Whitening

__all__ = [
    "LabelSums",
    "MirroredRows",
    "label_sums",
    "mirror_block",
    "mirrored_labels",
    "mirrored_rows",
]


@dataclass(frozen=True, eq=False)
class LabelSums(Sums):
    """Sums of the labels, enough for r if mean and covariance are known.

    Attributes
    ----------
    first : ndarray of shape (d,)
        sum_i w_i y_i (x_i - origin).
    label_sum : float
        sum_i w_i y_i.
    """

    first: Vector
    label_sum: float

    @classmethod
    def of(cls, rows: Rows, origin: AnyArray | None) -> LabelSums:
        """Sum one block."""
        labels = rows.weighted(rows.y)
        return cls(linear_sums(rows.X, labels[None, :], origin)[0], _sum(labels))

    def about(self, step: Vector) -> Vector:
        """sum_i w_i y_i (x_i - mu), with mu = origin + step."""
        return self.first - self.label_sum * step


def label_sums(rows: Source, whitening: Whitening) -> tuple[LabelSums, Vector]:
    """Return the label sums about an origin, and the known mean as seen from there."""
    origin = whitening.origin(rows.dtype)
    return reduce(rows, partial(LabelSums.of, origin=origin)), whitening.mean_from(origin)


def mirrored_labels(X: Features, y: AnyArray, direction: Vector) -> AnyArray:
    """Z_i = Y_i sgn<r, X_i>, the features not centred (line 4)."""
    return np.asarray(y * np.sign(X.dot(direction.astype(X.dtype))))


@dataclass(frozen=True, eq=False)
class MirroredRows(Sums):
    """Sums of the features with and without their mirrored labels as weights.

    Attributes
    ----------
    moments : SignedMoments
        Sums with the mirrored labels as weights.
    label_sum : float
        sum_i w_i y_i.
    first : ndarray of shape (d,)
        sum_i w_i (x_i - origin).
    """

    moments: SignedMoments
    label_sum: float
    first: Vector

    @classmethod
    def of(cls, rows: Rows, direction: Vector, origin: AnyArray | None) -> MirroredRows:
        """Sum one block."""
        ones = rows.weighted(np.ones(len(rows)))
        return cls(
            SignedMoments.of(rows, mirror_block(rows, direction, origin), origin),
            _sum(rows.weighted(rows.y)),
            linear_sums(rows.X, ones[None, :], origin)[0],
        )

    @property
    def label_mean(self) -> float:
        """The mean of the labels."""
        return self.label_sum / self.moments.weight

    @property
    def mirrored_mean(self) -> float:
        """The mean of the mirrored labels Z."""
        positive, negative = self.moments.masses
        return float((positive - negative) / self.moments.weight)

    @property
    def mean(self) -> Vector:
        """The mean of the features."""
        return self.moments.origin + self.first / self.moments.weight


def mirrored_rows(rows: Source, direction: Vector, whitening: Whitening) -> MirroredRows:
    """Sum the features with their mirrored labels as weights: lines 4 and 5 in one pass."""
    origin = whitening.origin(rows.dtype)
    mirrored = reduce(rows, partial(MirroredRows.of, direction=direction, origin=origin))
    moments = mirrored.moments
    check_finite(rows, moments.masses, moments.first, np.diagonal(moments.second))
    return mirrored


def mirror_block(rows: Rows, direction: Vector, origin: AnyArray | None) -> AnyArray:
    """Return the mirrored labels of a block, in double precision if its features lie far from 0.

    Single precision does not resolve the sign of <r, x> there.
    """
    X = rows.X if origin is None else rows.X.astype(np.float64, copy=False)
    return mirrored_labels(X, rows.y, direction)


def _sum(values: AnyArray) -> float:
    return float(values.sum(dtype=np.float64))

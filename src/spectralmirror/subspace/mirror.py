"""The mirror: its direction r, the mirrored labels Z and their sums (Algorithm 1, lines 3 to 5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from spectralmirror.rows.kernels import far_origin, linear_sums, shifted
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import AnyArray, Features, Vector
from spectralmirror.subspace.moments import SignedMoments
from spectralmirror.subspace.whitening import Whitening

__all__ = [
    "LabelSums",
    "MirroredOperator",
    "MirroredRows",
    "label_sums",
    "mirrored_labels",
    "mirrored_rows",
]


@dataclass(frozen=True, eq=False)
class LabelSums:
    """sum_i w_i y_i (x_i - origin) and sum_i w_i y_i of the rows."""

    first: Vector
    label_sum: float

    @classmethod
    def of(cls, rows: Rows, origin: AnyArray | None) -> LabelSums:
        """Sum one block."""
        labels = rows.weighted(rows.y)
        return cls(linear_sums(rows.X, labels[None, :], origin)[0], _sum(labels))

    def __add__(self, other: LabelSums) -> LabelSums:
        return LabelSums(self.first + other.first, self.label_sum + other.label_sum)

    def about(self, step: Vector) -> Vector:
        """sum_i w_i y_i (x_i - mu), with mu a step from the origin."""
        return self.first - self.label_sum * step


def label_sums(rows: Source, whitening: Whitening) -> tuple[LabelSums, Vector]:
    """Return the label sums in one pass, the mean being known, and that mean from their origin."""
    origin = _origin(rows, whitening)
    return reduce(rows, partial(LabelSums.of, origin=origin)), _step(whitening, origin)


def mirrored_labels(X: Features, y: AnyArray, direction: Vector) -> AnyArray:
    """Z_i = Y_i sgn<r, X_i>, the features not centred (line 4)."""
    return np.asarray(y * np.sign(X.dot(direction.astype(X.dtype))))


@dataclass(frozen=True, eq=False)
class MirroredRows:
    """Sums of the features under their mirrored labels, and without.

    Attributes
    ----------
    moments : SignedMoments
        Under the mirrored labels.
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
            SignedMoments.of(rows, _mirror(rows, direction, origin), origin),
            _sum(rows.weighted(rows.y)),
            linear_sums(rows.X, ones[None, :], origin)[0],
        )

    def __add__(self, other: MirroredRows) -> MirroredRows:
        return MirroredRows(
            self.moments + other.moments,
            self.label_sum + other.label_sum,
            self.first + other.first,
        )

    @property
    def label_mean(self) -> float:
        """The mean of the labels."""
        return self.label_sum / self.moments.weight

    @property
    def mean(self) -> Vector:
        """The mean of the features."""
        return self.moments.origin + self.first / self.moments.weight


def mirrored_rows(rows: Source, direction: Vector, whitening: Whitening) -> MirroredRows:
    """Sum the features under their mirrored labels: lines 4 and 5 in one pass."""
    of = partial(MirroredRows.of, direction=direction, origin=_origin(rows, whitening))
    return reduce(rows, of)


def _mirror(rows: Rows, direction: Vector, origin: AnyArray | None) -> AnyArray:
    # Single precision does not resolve <r, x> where the features lie far from 0.
    X = rows.X if origin is None else rows.X.astype(np.float64, copy=False)
    return mirrored_labels(X, rows.y, direction)


def _origin(rows: Source, whitening: Whitening) -> AnyArray | None:
    return far_origin(whitening.mean, whitening.scale, rows.dtype)


def _step(whitening: Whitening, origin: AnyArray | None) -> Vector:
    return whitening.mean if origin is None else whitening.mean - origin.astype(np.float64)


def _sum(values: AnyArray) -> float:
    return float(values.sum(dtype=np.float64))


class MirroredOperator:
    """v -> Q v without Q: n d operations each, where forming Q takes n d^2.

    Q v = sum_i w_i Z_i W_i <W_i, v> / sum_i w_i, with W_i the whitened features.
    """

    def __init__(self, rows: Rows, direction: Vector, whitening: Whitening):
        self.whitening = whitening
        self.origin = _origin(rows, whitening)
        parts = Rows(rows.X, rows.y)  # all of them: a mirrored label for every row
        z = np.concatenate([_mirror(part, direction, self.origin) for part in parts.blocks()])
        self.rows = Rows(rows.X, z, rows.weight)
        self.weight = rows.total_weight
        #: sum_i w_i Z_i / sum_i w_i, where the bulk of the spectrum lies
        self.bulk = reduce(self.rows, lambda block: _sum(block.weighted(block.y))) / self.weight

    def __call__(self, v: Vector) -> Vector:
        """Apply Q to a whitened vector."""
        g = self.whitening.direction(v)
        step = _step(self.whitening, self.origin)
        offset = self.rows.X.dtype.type(step @ g)
        g = g.astype(self.rows.X.dtype)

        def of(block: Rows) -> Vector:
            sums = np.zeros(len(g) + 1)
            for piece in block.pieces():
                part = shifted(piece.X, self.origin)
                t = part.dot(g)  # for vectors much faster than @, and sparse rows have it too
                t -= offset
                t *= piece.weighted(piece.y)
                sums[:-1] += part.T.dot(t)
                sums[-1] += _sum(t)
            return sums

        sums = reduce(self.rows, of)
        return self.whitening.whiten_sum(sums[:-1] - sums[-1] * step) / self.weight

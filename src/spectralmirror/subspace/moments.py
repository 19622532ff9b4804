"""Sums over rows that can be merged: the features alone, with labels, and with signed weights.

Each statistic is a small frozen value: ``of(rows)`` sums one block, ``+`` merges two sums, and
properties compute results from them. Merging is exact up to rounding, in any order and for blocks
of any size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from spectralmirror.rows.checks import check_features, check_finite, check_memory
from spectralmirror.rows.kernels import sample_origin, weighted_sums
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import Sums, reduce
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import AnyArray, Matrix, Vector
from spectralmirror.rows.weights import check_weights
from spectralmirror.subspace.whitening import Whitening

__all__ = ["FeatureMoments", "LabelledMoments", "SignedMoments", "labelled_moments"]


@dataclass(frozen=True, eq=False)
class FeatureMoments:
    """Weight, mean and scatter of the features (lines 1 and 2 of Algorithm 1).

    They are merged by the update of Chan, Golub and LeVeque (1979), which is accurate even for a
    variance of 1 around a mean of a million.

    Attributes
    ----------
    weight : float
        sum_i w_i, the number of rows if there are no weights.
    mean : ndarray of shape (d,)
        sum_i w_i x_i / weight.
    scatter : ndarray of shape (d, d)
        sum_i w_i (x_i - mean)(x_i - mean)'.
    dtype : dtype
        Precision of the rows that were summed, float64 or float32.

    Examples
    --------
    Features that are fitted to many label vectors are summed once:

    >>> import numpy as np
    >>> from spectralmirror import FeatureMoments, SpectralMirror
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> X, y, truth = make_linear_classifier_mixture(20_000, 5, weights=[0.5, 0.5], random_state=0)
    >>> moments = FeatureMoments.from_rows(X)
    >>> mirrors = [SpectralMirror(2, moments=moments).fit(X, label) for label in (y, -y)]
    """

    weight: float
    mean: Vector
    scatter: Matrix
    dtype: Any = np.float64

    @classmethod
    def from_rows(cls, X: Any, sample_weight: Any = None) -> FeatureMoments:
        """Sum the rows of an array, a DataFrame or a CSR matrix."""
        X = check_features(X)
        check_memory(X.shape[1])
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, X.shape[0], X.dtype)
        rows = Rows(X, np.zeros(X.shape[0], X.dtype), sample_weight)
        moments = reduce(rows, cls.of)
        check_finite(rows, moments.mean, np.diagonal(moments.scatter))
        return moments

    @classmethod
    def of(cls, rows: Rows) -> FeatureMoments:
        """Sum one block of rows."""
        return LabelledMoments.of(rows).features

    def __add__(self, other: FeatureMoments) -> FeatureMoments:
        if not isinstance(other, FeatureMoments):
            return NotImplemented
        if self.mean.shape != other.mean.shape:
            raise ValueError(
                "Only moments of the same features can be added: sum the same columns."
            )
        weight = self.weight + other.weight
        step = other.mean - self.mean
        share = other.weight / weight if weight else 0.0
        mean = self.mean + share * step
        scatter = self.scatter + other.scatter
        scatter += (self.weight * share * step)[:, None] * step
        coarser = min(self.dtype, other.dtype, key=lambda dtype: np.dtype(dtype).itemsize)
        return FeatureMoments(weight, mean, scatter, coarser)

    @cached_property
    def covariance(self) -> Matrix:
        """Sigma-hat, the scatter divided by the weight."""
        return self.scatter / self.weight

    @cached_property
    def whitening(self) -> Whitening:
        """The factored covariance, computed once for all fits that use it."""
        return Whitening.of(self.mean, self.covariance, self.dtype)


@dataclass(frozen=True, eq=False)
class LabelledMoments:
    """Moments of the features together with their sums against the labels.

    Attributes
    ----------
    features : FeatureMoments
        The moments of the features.
    label_sum : float
        sum_i w_i y_i.
    cross : ndarray of shape (d,)
        sum_i w_i y_i (x_i - mean), whose Sigma^-1 multiple is the mirror direction.
    """

    features: FeatureMoments
    label_sum: float
    cross: Vector

    @classmethod
    def of(cls, rows: Rows, *, single: bool = False) -> LabelledMoments:
        """Sum one block of rows; `single` computes products in float32 if there are no weights."""
        X = rows.X
        ones, labels = rows.weighted(np.ones(len(rows))), rows.weighted(rows.y)
        origin = sample_origin(X, np.dtype(np.float32) if single else None)
        linear = np.vstack([ones, labels])
        first, scatter = weighted_sums(X, rows.weight, linear, origin, single=single)
        weight, label_sum = rows.total_weight, float(labels.sum(dtype=np.float64))
        offset = first[0] / weight if weight else np.zeros(X.shape[1])
        scatter -= weight * np.outer(offset, offset)
        mean = offset if origin is None else origin.astype(np.float64) + offset
        features = FeatureMoments(weight, mean, scatter, X.dtype)
        return cls(features, label_sum, first[1] - label_sum * offset)

    def __add__(self, other: LabelledMoments) -> LabelledMoments:
        features = self.features + other.features
        cross = self.cross_about(features.mean) + other.cross_about(features.mean)
        return LabelledMoments(features, self.label_sum + other.label_sum, cross)

    @property
    def label_mean(self) -> float:
        """The mean of the labels."""
        return self.label_sum / self.features.weight

    @property
    def mean_cross(self) -> Vector:
        """sum_i w_i y_i (x_i - mean) / weight, exactly 0 if all labels are the same."""
        if abs(self.label_sum) == self.features.weight:
            return np.zeros_like(self.cross)  # otherwise rounding would be left
        return self.cross / self.features.weight

    def cross_about(self, mean: Vector) -> Vector:
        """sum_i w_i y_i (x_i - mean) for any given mean."""
        return self.cross + self.label_sum * (self.features.mean - mean)


def labelled_moments(rows: Source) -> LabelledMoments:
    """Sum features and labels over all rows; raise if the features are not finite."""
    labelled = reduce(rows, LabelledMoments.of)
    check_finite(rows, labelled.features.mean, np.diagonal(labelled.features.scatter))
    return labelled


@dataclass(frozen=True, eq=False)
class SignedMoments(Sums):
    """Sums of features with weights z of either sign, such as mirrored labels (line 5).

    Only sums about the same origin can be merged; afterwards :meth:`about` moves them.

    Attributes
    ----------
    weight : float
        sum_i w_i, by which the sums are divided.
    masses : ndarray of shape (2,)
        sum_i |z_i| over rows with z_i > 0 and over rows with z_i < 0.
    squares : ndarray of shape (2,)
        sum_i z_i^2 over the same rows.
    first : ndarray of shape (d,)
        sum_i z_i (x_i - origin).
    second : ndarray of shape (d, d)
        sum_i z_i (x_i - origin)(x_i - origin)'.
    origin : ndarray of shape (d,)
        The point that was subtracted.
    """

    weight: float
    masses: Vector
    squares: Vector
    first: Vector
    second: Matrix
    origin: Vector

    @classmethod
    def of(cls, rows: Rows, z: AnyArray, origin: AnyArray | None = None) -> SignedMoments:
        """Sum one block with weights w_i z_i about an origin, which is 0 if None."""
        z = rows.weighted(z)
        first, second = weighted_sums(rows.X, z, z[None, :], origin)
        signs = np.maximum(z, 0, dtype=np.float64), np.maximum(-z, 0, dtype=np.float64)
        return cls(
            rows.total_weight,
            np.array([part.sum() for part in signs]),
            np.array([part @ part for part in signs]),
            first[0],
            second,
            np.zeros(rows.X.shape[1]) if origin is None else origin.astype(np.float64),
        )

    def __add__(self, other: SignedMoments) -> SignedMoments:
        if not np.array_equal(self.origin, other.origin):
            raise ValueError("Only signed moments about the same origin can be added.")
        return replace(super().__add__(other), origin=self.origin)

    @property
    def effective_rows(self) -> Vector:
        """Kish's effective number of rows of each sign."""
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(self.masses**2 / self.squares)

    def about(self, mean: Vector) -> Matrix:
        """sum_i z_i (x_i - mean)(x_i - mean)' / weight."""
        step = self.origin - mean
        total = self.masses[0] - self.masses[1]
        mixed = np.outer(self.first, step)
        return np.asarray(
            (self.second + mixed + mixed.T + total * np.outer(step, step)) / self.weight
        )

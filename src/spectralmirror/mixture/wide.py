"""Wide rows: many features, for which nothing of size d x d is formed.

Sums of products of all pairs of features take n d^2 operations and d^2 numbers, factors of them
d^3 operations. Beyond `WIDE_FROM` features columns are scaled, not whitened, and what second
derivatives are needed for is computed from products with vectors, each of which takes n d.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from spectralmirror.mixture.class_options import ClassOptions
from spectralmirror.rows.checks import check_finite
from spectralmirror.rows.grouped import GroupedRows, InMemoryGroups
from spectralmirror.rows.kernels import sample_origin
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import AnyArray, Vector
from spectralmirror.subspace.whitening import Whitening

__all__ = ["WIDE_FROM", "ColumnMoments", "Columns", "in_order", "is_wide"]

#: Rows of more features than this are wide.
WIDE_FROM = 400
#: A mean that is further from 0 than this number of standard deviations is subtracted from dense
#: rows, which costs a copy at each pass; scores then lose at most two digits.
FAR = 30.0


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """Weight, mean and scatter of each column by itself, merged as in :class:`FeatureMoments`.

    Attributes
    ----------
    weight : float
        sum_i w_i.
    mean, scatter : ndarray of shape (d,)
        sum_i w_i x_i / weight, and sum_i w_i (x_i - mean)^2.
    present : ndarray of shape (d,)
        Number of entries that are not 0.
    n_rows : int
        Number of rows.
    is_sparse : bool
        Whether some rows are sparse.
    """

    weight: float
    mean: Vector
    scatter: Vector
    present: Vector
    n_rows: int
    is_sparse: bool = False

    @classmethod
    def of(cls, rows: Rows) -> ColumnMoments:
        """Sum one block of rows; sparse rows stay sparse."""
        X, w = rows.X, rows.weighted(np.ones(len(rows)))
        is_sparse = bool(sparse.issparse(X))
        origin = None if is_sparse else sample_origin(X)
        part = X if origin is None else X - origin
        squares = part.power(2) if is_sparse else np.square(part)
        weight = rows.total_weight
        first, second = (values.T.dot(w).astype(np.float64) for values in (part, squares))
        offset = first / weight if weight else first
        mean = offset if origin is None else origin + offset
        scatter = np.maximum(second - weight * offset**2, 0)
        return cls(weight, mean, scatter, _n_present(X), len(rows), is_sparse)

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        weight = self.weight + other.weight
        share = other.weight / weight if weight else 0.0
        step = other.mean - self.mean
        return ColumnMoments(
            weight,
            self.mean + share * step,
            self.scatter + other.scatter + self.weight * share * step**2,
            self.present + other.present,
            self.n_rows + other.n_rows,
            self.is_sparse or other.is_sparse,
        )


def _n_present(X: Any) -> Vector:
    """Return the number of entries of each column that are not 0."""
    d = X.shape[1]
    if sparse.issparse(X):
        return np.bincount(X.indices[X.data != 0], minlength=d).astype(np.float64)
    return np.full(d, float(len(X))) if X.all() else np.count_nonzero(X, axis=0).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known about the columns of wide rows.

    Attributes
    ----------
    whitening : Whitening
        Means and standard deviations; 1 for constant columns, whose coefficients are then 0.
    scale : ndarray of shape (d,)
        What columns are divided by, and penalties are measured in: the standard deviation, divided
        by the root of the share of entries that are not 0. A rare word is then penalised as much as
        a frequent one; the standard deviation alone would leave it almost without a penalty.
    origin : ndarray of shape (d,) or None
        The point to subtract from dense rows; None for 0.
    """

    whitening: Whitening
    scale: Vector
    origin: AnyArray | None

    @classmethod
    def of(cls, rows: Source) -> Columns:
        """Examine the columns: one pass over the rows."""
        moments = reduce(rows, ColumnMoments.of)
        check_finite(rows, moments.mean, moments.scatter)
        variances = moments.scatter / moments.weight
        whitening = Whitening.of_columns(moments.mean, variances, rows.dtype)
        far = (np.abs(whitening.mean) > FAR * whitening.scale).any() and not moments.is_sparse
        share = np.maximum(moments.present, 1) / moments.n_rows
        origin = whitening.mean.astype(rows.dtype) if far else None
        return cls(whitening, whitening.scale / np.sqrt(share), origin)


def is_wide(
    estimator: Any, grouped: GroupedRows, options: ClassOptions, kinds: Any, n_labels: int
) -> bool:
    """Return whether a mixture is fitted without matrices of d x d numbers.

    Spreads, constraints, choice sets, labels of more than two kinds, EM and profiles that stay in
    the subspace of the spectral step need such matrices: with them, rows are never wide.
    """
    plain = kinds == (None,) and options.has_subspace and n_labels == 2
    plain = plain and getattr(estimator, "solver", "lbfgs") == "lbfgs"
    if not getattr(estimator, "refine", True) and isinstance(estimator.subspace, str):
        return False
    has_sets = getattr(grouped.rows, "sets", None) is not None
    return grouped.rows.n_features > WIDE_FROM and plain and not has_sets


def in_order(grouped: GroupedRows) -> GroupedRows:
    """Return rows in memory in the order of their groups: a copy, unless they are already.

    Otherwise each pass would copy them again.
    """
    if not isinstance(grouped, InMemoryGroups) or grouped.order is None:
        return grouped
    if (np.diff(grouped.order) == 1).all():
        return grouped
    return grouped.with_features(grouped.rows.X[grouped.order])

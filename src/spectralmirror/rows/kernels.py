"""The one expensive sum: sum_i z_i (x_i - o)(x_i - o)' over the rows of a block.

Rows are divided by the sign of z and scaled by sqrt|z|, so that each part is a product B'B.
BLAS computes only half of such a product (SYRK), so both signs together cost what one X'X does,
whereas X' diag(z) X would cost two.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.types import AnyArray, Features, Matrix, Vector

__all__ = [
    "buffer",
    "class_sums",
    "far_origin",
    "linear_sums",
    "sample_origin",
    "shifted",
    "weighted_sums",
]

#: Sparse blocks with a larger share of stored entries are made dense: BLAS is faster from there on.
DENSE_FROM = 0.05
#: Raw sums lose (mean / standard deviation)^2 units in the last place. A mean that is further from
#: 0 than this number of standard deviations is subtracted from the rows first.
FAR_FROM_ZERO = {np.dtype(np.float64): 3.0, np.dtype(np.float32): 1.0}
_SAMPLE = 256
#: Largest buffer, in bytes, that a thread keeps.
LARGEST_BUFFER = 64_000_000
#: Size of the pieces of rows that several products read while they are in the cache.
PIECE_BYTES = 1_000_000

_buffers = threading.local()  # the threads of a sum end with it, and so do their buffers


def sample_origin(X: Features, dtype: np.dtype[Any] | None = None) -> AnyArray | None:
    """Return a point near the rows to subtract before summing, or None if 0 is near enough.

    The point is the mean of a few rows, in the precision of X or in `dtype`, so that x - o is exact
    for x near o. It changes results by no more than rounding.
    """
    n = X.shape[0]
    sample = X[:: max(1, n // _SAMPLE)][:_SAMPLE]
    sample = (sample.toarray() if sparse.issparse(sample) else sample).astype(np.float64)
    if not len(sample):
        return None
    return far_origin(sample.mean(axis=0), sample.std(axis=0), dtype or X.dtype)


def far_origin(mean: Vector, deviation: Vector, dtype: np.dtype[Any]) -> AnyArray | None:
    """Return the mean in the precision of the rows if it is far from 0, otherwise None."""
    far = (np.abs(mean) > FAR_FROM_ZERO[dtype] * deviation).any()
    return mean.astype(dtype) if far and np.isfinite(mean).all() else None


def shifted(X: Features, origin: AnyArray | None) -> Any:
    """Return x_i - o for every row: X itself if o is 0, otherwise dense rows in a buffer."""
    if origin is None:
        return X
    return _part(X.toarray() if sparse.issparse(X) else X, None, origin)


def linear_sums(X: Features, linear: AnyArray, origin: AnyArray | None) -> Matrix:
    """Return sum_i a_i (x_i - o) for each row a of `linear`: one pass, no product of features."""
    return _linear(linear, shifted(X, origin))


def weighted_sums(
    X: Features,
    z: AnyArray | None,
    linear: AnyArray,
    origin: AnyArray | None,
    *,
    single: bool = False,
) -> tuple[Matrix, Matrix]:
    """Return sum_i a_i (x_i - o) for each row a of `linear`, and sum_i z_i (x_i - o)(x_i - o)'.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        float64 or float32; products are computed in this precision, sums in float64.
    z : ndarray of shape (n,) or None
        Weights of either sign; None means 1 for every row.
    linear : ndarray of shape (m, n)
        Coefficients of m linear sums, which must be 0 wherever z is 0.
    origin : ndarray of shape (d,) or None
        The point o; None means 0.
    single : bool
        Whether products are computed in float32 if z is None, whatever the precision of X.

    Returns
    -------
    ndarray of shape (m, d)
        The linear sums.
    ndarray of shape (d, d)
        The quadratic sum, exactly symmetric.
    """
    if sparse.issparse(X):
        if origin is None and X.nnz <= DENSE_FROM * X.shape[0] * X.shape[1]:
            return _sparse_sums(X, z, linear)
        X = X.toarray()
    d = X.shape[1]
    first, second = np.zeros((len(linear), d)), np.zeros((d, d))
    if z is None and (single or origin is None):
        size = max(PIECE_BYTES // (d * X.itemsize), d)
        for start in range(0, len(X), size):
            piece, coefficients = X[start : start + size], linear[:, start : start + size]
            if origin is not None:
                piece = _part(piece, None, origin)
            first += coefficients @ piece
            piece = _in_single(piece, None) if single else piece
            second += piece.T @ piece
        return first, second
    for sign, index in _by_sign(z):
        part = _part(X, index, origin)
        first += _linear(linear if index is None else linear[:, index], part)
        if z is not None:
            part = _scaled(part, np.abs(z if index is None else z[index]), in_place=part is not X)
        if sign > 0:
            second += part.T @ part
        else:
            second -= part.T @ part
    return first, second


def class_sums(
    X: Features,
    classes: NDArray[np.uint8],
    n_classes: int,
    z: AnyArray,
    linear: AnyArray,
    origin: AnyArray | None,
    *,
    single: bool,
) -> tuple[AnyArray, AnyArray]:
    """Return the sums of :func:`weighted_sums` for each class of rows, with weights z >= 0.

    Every row is in one class, so that all of them together cost what one X'X does.

    Parameters
    ----------
    X, linear, origin
        As in :func:`weighted_sums`.
    classes : ndarray of shape (n,)
        The class of each row, from 0 to n_classes - 1.
    n_classes : int
        Number of classes.
    z : ndarray of shape (n,)
        Weights of the products, at least 0.
    single : bool
        Whether products are computed in float32, whatever the precision of X.

    Returns
    -------
    ndarray of shape (n_classes, m, d)
        The linear sums.
    ndarray of shape (n_classes, d, d)
        The quadratic sums, exactly symmetric.
    """
    d = X.shape[1]
    first, second = np.zeros((n_classes, len(linear), d)), np.zeros((n_classes, d, d))
    order = np.argsort(classes, kind="stable")
    ends = np.cumsum(np.bincount(classes, minlength=n_classes))
    if sparse.issparse(X):
        if origin is None and X.nnz <= DENSE_FROM * X.shape[0] * d:
            for c, index in enumerate(np.split(order, ends[:-1])):
                first[c], second[c] = _sparse_sums(X[index], z[index], linear[:, index])
            return first, second
        X = X.toarray()
    dtype = np.dtype(np.float32) if single else X.dtype
    roots, linear = np.sqrt(z).astype(dtype), linear.astype(dtype, copy=False)
    size = max(PIECE_BYTES // (d * X.itemsize), d)
    for c, rows in enumerate(np.split(order, ends[:-1])):
        for start in range(0, len(rows), size):
            index = rows[start : start + size]
            if dtype == X.dtype:
                part = _part(X, index, origin)
            else:
                part = _in_single(_part(X, index, None), origin)
            first[c] += _linear(linear[:, index], part)
            part *= roots[index, None]
            second[c] += part.T @ part
    return first, second


def _in_single(X: AnyArray, origin: AnyArray | None) -> AnyArray:
    """Return x_i - o, subtracted in the precision of X, in float32."""
    if X.dtype == np.float32:
        return X if origin is None else _part(X, None, origin)
    n, d = X.shape
    single = buffer(n, d, np.dtype(np.float32), "single")
    if origin is None:
        single[:] = X
    else:
        np.subtract(X, origin, out=single, casting="same_kind")
    return single


def _by_sign(z: AnyArray | None) -> list[tuple[int, NDArray[np.intp] | None]]:
    """Return the rows with z > 0 and those with z < 0, if there are any; None means all rows."""
    if z is None:
        return [(1, None)]
    for sign in (1, -1):
        if (sign * z > 0).all():
            return [(sign, None)]
    parts = [(1, np.flatnonzero(z > 0)), (-1, np.flatnonzero(z < 0))]
    return [(sign, index) for sign, index in parts if len(index)]


def _scaled(part: AnyArray, size: AnyArray, *, in_place: bool) -> AnyArray:
    """Return rows times the roots of their sizes, in place or in this thread's buffer."""
    if (size == 1).all():
        return part
    out = part if in_place else buffer(len(part), part.shape[1], part.dtype)
    return np.asarray(np.multiply(part, np.sqrt(size)[:, None], out=out))


def _part(X: AnyArray, index: NDArray[np.intp] | None, origin: AnyArray | None) -> AnyArray:
    """Return x_i - o for the rows of the index in this thread's buffer, or X itself if equal."""
    if index is None and origin is None:
        return X
    part = buffer(len(X) if index is None else len(index), X.shape[1], X.dtype)
    if index is None:
        part[:] = X
    else:
        # mode="clip" writes straight into the buffer; the default checks bounds in a copy
        np.take(X, index, axis=0, out=part, mode="clip")
    if origin is not None:
        part -= origin
    return part


def buffer(n: int, d: int, dtype: np.dtype[Any], use: str = "part") -> AnyArray:
    """Return an array of this thread, which the next call for the same use overwrites."""
    if n * d * dtype.itemsize > LARGEST_BUFFER:  # too large to keep
        return np.empty((n, d), dtype=dtype)
    buffer = getattr(_buffers, use, None)
    if buffer is None or buffer.dtype != dtype or buffer.size < n * d:
        buffer = np.empty(n * d, dtype=dtype)
        setattr(_buffers, use, buffer)
    return np.asarray(buffer[: n * d].reshape(n, d))


def _sparse_sums(X: Features, z: AnyArray | None, linear: AnyArray) -> tuple[Matrix, Matrix]:
    weighted = X if z is None else sparse.diags_array(z).tocsr() @ X
    second = (weighted.T @ X).toarray().astype(np.float64)
    return _linear(linear, X), (second + second.T) / 2


def _linear(linear: AnyArray, part: Any) -> Matrix:
    # One matrix-vector product each: BLAS is slow at matrices of two rows.
    sums = [part.T.dot(a) for a in linear]
    return np.array(sums, dtype=np.float64).reshape(len(linear), part.shape[1])

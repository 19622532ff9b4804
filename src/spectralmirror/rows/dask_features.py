"""Features in Dask collections: chunks of whole rows, dense or sparse, and their matrices."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from spectralmirror.rows.column_types import check_columns, common_dtype

__all__ = ["blocks_of", "matrix_of", "scipy_rows", "whole_rows"]

#: Chunks of some of the columns are joined to at most this size, unless they were larger before.
CHUNK_BYTES = 128_000_000


def whole_rows(X: Any) -> Any:
    """Return a collection of the same rows whose chunks hold all columns.

    Where the columns of a dense array are divided, rows are divided instead: chunks of usual size
    that hold a few columns each would be many times as large if they were only joined.
    """
    if hasattr(X, "columns"):
        return X
    check_columns({"X": X.dtype} if X.dtype != object else {})
    if getattr(X, "ndim", 0) != 2 or np.isnan(X.shape[1]):
        raise ValueError(
            "X must be a table of rows and columns (Expected 2D array), with a known number of "
            "columns: use X.reshape(-1, 1) for a single feature."
        )
    lengths, widths = X.chunks
    if len(widths) == 1:
        return X
    if np.isnan(lengths).any() or not isinstance(X._meta, np.ndarray):
        return X.rechunk({1: -1})
    most = max(CHUNK_BYTES // X.dtype.itemsize, max(lengths) * max(widths)) // X.shape[1]
    divided = chain.from_iterable(_divided(n, max(int(most), 1)) for n in lengths)
    return X.rechunk({0: tuple(divided), 1: -1})


def _divided(n: int, most: int) -> list[int]:
    """Return the sizes of the parts of n rows, which are at most `most` and alike."""
    return [len(part) for part in np.array_split(np.arange(n), max(-(-n // most), 1))]


def blocks_of(X: Any) -> tuple[Any, np.dtype[Any], list[Any]]:
    """Return the names of the features, their precision, and a task per chunk of whole rows."""
    if not hasattr(X, "columns"):
        return None, common_dtype([X.dtype]), list(X.to_delayed()[:, 0])
    kinds = [kind.subtype if _is_sparse(kind) else kind for kind in X.dtypes]
    check_columns(dict(zip(X.columns, kinds, strict=True)))
    return list(X.columns), common_dtype(kinds), list(X.to_delayed())


def matrix_of(X: Any, place: str) -> Any:
    """Return the rows of a partition as an array, with NaN for missing values, or as CSR."""
    X = scipy_rows(X)
    if sparse.issparse(X):
        return X.tocsr()
    matrix = np.asarray(X)
    if matrix.dtype != object:
        return matrix
    try:
        if hasattr(X, "columns"):
            return X.to_numpy(dtype=np.float64, na_value=np.nan)
        return matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers, but does not in {place}: {error}.") from None


def scipy_rows(X: Any) -> Any:
    """Return sparse rows of the package sparse, or of pandas, as a matrix of SciPy."""
    if hasattr(X, "to_scipy_sparse"):
        return sparse.csr_array(X.to_scipy_sparse())
    if hasattr(X, "columns") and all(map(_is_sparse, X.dtypes)):
        return sparse.csr_array(X.sparse.to_coo())
    return X


def _is_sparse(kind: Any) -> bool:
    """Return whether a type of pandas is sparse."""
    return str(kind).startswith("Sparse[")

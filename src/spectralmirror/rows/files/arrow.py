"""Arrow columns as NumPy arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["as_column", "column_values", "fill", "matrix", "unique_values"]

#: Rows that are transposed at a time.
STRIP = 8192


def column_values(column: Any) -> NDArray[Any]:
    """Return an Arrow column as an array, with NaN or None for missing values."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        return np.concatenate([_decoded(chunk) for chunk in chunks] or [np.empty(0, object)])
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    if isinstance(column, pa.ChunkedArray):
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _decoded(column: Any) -> NDArray[Any]:
    """Return the values of a column of categories, with None for missing ones."""
    values = np.array([*column.dictionary.to_pylist(), None], dtype=object)
    indices = column.indices.cast(pa.int64()).fill_null(len(values) - 1)
    return np.asarray(values[indices.to_numpy()])


def unique_values(column: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the different values of an Arrow column, and the position of each row's value.

    Dates and times become integers, which :func:`as_column` turns back.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_temporal(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    coded = column.dictionary_encode()
    return coded.dictionary.to_pylist(), np.asarray(coded.indices.to_numpy(zero_copy_only=False))


def as_column(values: Sequence[Any], kind: Any) -> Any:
    """Return values from :func:`unique_values` as an Arrow column of the type they came from."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    return pa.array(values, kind)


def fill(X: NDArray[Any], columns: Sequence[Any]) -> None:
    """Write Arrow columns into the columns of a matrix whose rows are contiguous in memory.

    Columns go into a strip first, which is then transposed into X: writing them straight into X,
    one number per row, takes three times as long.
    """
    arrays = [column_values(column) for column in columns]
    strip = np.empty((len(arrays), min(len(X), STRIP)), dtype=X.dtype)
    for start in range(0, len(X), STRIP):
        rows = X[start : start + STRIP]
        for line, array in zip(strip, arrays, strict=True):
            line[: len(rows)] = array[start : start + len(rows)]
        rows[:] = strip[:, : len(rows)].T


def matrix(columns: Sequence[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return Arrow columns as the columns of a matrix whose rows are contiguous in memory."""
    X = np.empty((len(columns[0]) if columns else 0, len(columns)), dtype=dtype)
    fill(X, columns)
    return X

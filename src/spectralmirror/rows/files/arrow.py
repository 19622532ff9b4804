"""Columns of tables: which can be features, in which precision, and as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = [
    "as_column",
    "check_columns",
    "column_values",
    "common_dtype",
    "family",
    "fill",
    "is_number",
    "listed",
    "matrix",
    "nearest",
    "told_names",
    "unique_values",
]

_NUMBERS = (
    *("int", "uint", "float", "double", "halffloat", "bool", "decimal"),
    *("tinyint", "smallint", "bigint", "null"),
)
#: Rows that are turned from columns at a time.
STRIP = 8192


def check_columns(types: Mapping[Any, Any], where: str = "") -> None:
    """Raise where a column cannot be a feature; types are of NumPy, pandas, Arrow or Spark."""
    for name, kind in types.items():
        if not is_number(kind):
            raise ValueError(
                f"X must hold numbers, but column {name!r}{where} holds {kind}: encode it first "
                "(for example with sklearn.preprocessing.OneHotEncoder) or leave it out."
            )


def is_number(kind: Any) -> bool:
    """Return whether a type is one of whole or floating-point numbers, or of truth values."""
    if isinstance(kind, np.dtype):
        return kind.kind in "fiub"
    name = str(kind).lower()
    return name.startswith(_NUMBERS) and not name.startswith("interval")


def family(kind: Any) -> str:
    """Return what values of a type can be compared with: numbers, text, or their own type."""
    name = str(kind).lower()
    if is_number(kind):
        return "numbers"
    text = ("string", "str", "utf8", "large_string", "object", "categorical", "enum", "dictionary")
    return "text" if name.startswith(text) else name


def common_dtype(types: Iterable[Any]) -> np.dtype[Any]:
    """Return float32 where no column has more digits than that, else float64."""
    single = {"float32", "float16", "float", "halffloat", "half"}
    return np.dtype(np.float32 if {str(kind).lower() for kind in types} <= single else np.float64)


def nearest(name: str, names: Iterable[str]) -> str:
    """Return which names are meant, perhaps, where one was not found."""
    close = get_close_matches(str(name), list(map(str, names)), n=3)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def told_names(name: str, names: Iterable[str]) -> str:
    """Return which names are meant, perhaps, or else all that there are."""
    names = list(names)
    return nearest(name, names) or f"; its columns are {listed(names)}."


def listed(names: Iterable[str]) -> str:
    """Return names in quotation marks, the first few and how many more."""
    names = list(names)
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(map(repr, names[:12])) + more


def column_values(column: Any) -> NDArray[Any]:
    """Return an Arrow column as an array; NaN or None where a value is missing."""
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
    """Return a column of categories as their values, None where one is missing."""
    values = np.array([*column.dictionary.to_pylist(), None], dtype=object)
    indices = column.indices.cast(pa.int64()).fill_null(len(values) - 1)
    return np.asarray(values[indices.to_numpy()])


def unique_values(column: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the different values of an Arrow column, and for each row which of them it holds.

    Dates and times are whole numbers, which :func:`as_column` turns back.
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
    """Return different values of a column as an Arrow column of its type."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    return pa.array(values, kind)


def fill(X: NDArray[Any], columns: Sequence[Any]) -> None:
    """Write Arrow columns into the columns of a matrix whose rows lie together in memory.

    Column after column into a strip first, and the strip into X at once: in small steps that
    write far apart the same would take three times as long.
    """
    arrays = [column_values(column) for column in columns]
    strip = np.empty((len(arrays), min(len(X), STRIP)), dtype=X.dtype)
    for start in range(0, len(X), STRIP):
        rows = X[start : start + STRIP]
        for line, array in zip(strip, arrays, strict=True):
            line[: len(rows)] = array[start : start + len(rows)]
        rows[:] = strip[:, : len(rows)].T


def matrix(columns: Sequence[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return Arrow columns as the columns of a matrix whose rows lie together in memory."""
    X = np.empty((len(columns[0]) if columns else 0, len(columns)), dtype=dtype)
    fill(X, columns)
    return X

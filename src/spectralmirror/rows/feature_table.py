"""What X may be: arrays, lists, sparse matrices, and the data frames of several libraries."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.column_types import is_time
from spectralmirror.rows.messages import refuse_masked, shortened

__all__ = [
    "NamedMatrix",
    "check_kind",
    "check_names",
    "column_names",
    "find_column_without_numbers",
]


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """An array whose columns have names: a data frame without the library, or a copy.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        The columns.
    columns : list of str
        Their names.
    """

    values: NDArray[Any]
    columns: list[str]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)


def check_kind(X: Any) -> Any:
    """Return X, with lists as an array; raise if X is not a table, or would be misread."""
    refuse_masked(X, "X")
    if isinstance(X, str | PathLike):
        raise ValueError(
            f"X is a path, {shortened(str(X))}: fit spectralmirror.scan(path, label=...) instead."
        )
    # SciPy's dictionary of keys is a dict, too
    if isinstance(X, dict | set | Number | None) and not sparse.issparse(X):
        raise ValueError(
            f"X must be a table of rows and columns (Expected 2D array), got {type(X).__name__}: "
            "pass an array or a DataFrame."
        )
    if hasattr(X, "collect_schema") and not hasattr(X, "shape"):
        raise ValueError(
            "X is a LazyFrame, which holds no rows yet: call X.collect() first, or fit "
            "spectralmirror.scan(X, label=...)."
        )
    X = _array(X)
    if _is_frame(X):
        _check_frame(X)
    else:
        _check_array(X)
    return X


def _array(X: Any) -> Any:
    """Return lists of numbers as an array."""
    if hasattr(X, "shape") or hasattr(X, "__array__"):
        return X
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(
            "The rows of X are not all equally long, so they do not form a table."
        ) from None
    return X if array.dtype == object else array


def _check_array(X: Any) -> None:
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "names", None):
        raise ValueError(
            "X is a structured array: make a table of its fields first, with "
            "numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
    if len(getattr(X, "shape", (0, 0))) < 2:
        raise ValueError(
            "X must be a table of rows and columns (Expected 2D array), but has one dimension. "
            "Reshape your data: use X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row."
        )
    kind = getattr(dtype, "kind", "")
    if kind == "c":
        raise ValueError("Complex data not supported: pass the real and imaginary parts of X.")
    if kind in ("m", "M"):
        raise _no_number(X, 0, next(iter(X[:, 0]), dtype))


def _check_frame(X: Any) -> None:
    names = column_names(X)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"X has several columns named {twice!r}: give every column a name of its own."
        )
    kinds = _types(X)
    for j, kind in enumerate(kinds):
        if is_time(kind):
            raise _no_number(X, j, next(iter(_column(X, j)), kind))
        if str(kind).startswith("complex"):
            raise ValueError("Complex data not supported: pass the real and imaginary parts of X.")
    if any(getattr(kind, "fill_value", 0) != 0 for kind in kinds):
        raise ValueError(
            "X has sparse columns whose fill value is not 0: pass X.sparse.to_dense()."
        )


def check_names(X: Any) -> None:
    """Raise if some names of columns are text and others are not."""
    names = column_names(X) if _is_frame(X) else []
    others = [name for name in names if not isinstance(name, str)]
    if 0 < len(others) < len(names):
        raise ValueError(
            f"X has names of columns that are text and others that are not, such as {others[0]!r}: "
            "use X.columns = X.columns.astype(str)."
        )


def find_column_without_numbers(X: Any) -> ValueError | None:
    """Return an error about the first column that holds something else than numbers."""
    if sparse.issparse(X) or len(np.shape(X)) != 2:
        return None
    for j in range(np.shape(X)[1]):
        column = _column(X, j)
        if getattr(getattr(column, "dtype", None), "kind", "O") in "fiub":
            continue
        bad = next((value for value in column if not _is_number(value)), None)
        if bad is not None:
            return _no_number(X, j, bad)
    return None


def _no_number(X: Any, j: int, value: Any) -> ValueError:
    name = column_names(X)[j]
    if isinstance(value, int):
        return ValueError(
            f"X has whole numbers in column {name!r} that are too large for float64: rescale it "
            "first, for example divide it by a large number."
        )
    return ValueError(
        f"X must hold numbers, but column {name!r} holds {shortened(value)}: encode it first (for "
        "example with sklearn.preprocessing.OneHotEncoder) or leave it out."
    )


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and not isinstance(X, NamedMatrix)


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns, or their numbers if they have no names."""
    return list(getattr(X, "column_names", getattr(X, "columns", range(np.shape(X)[1]))))


def _types(X: Any) -> list[Any]:
    """Return the types of the columns of a data frame (pandas, polars) or an Arrow table."""
    if hasattr(X, "dtypes"):
        return list(X.dtypes)
    return list(X.schema.types) if hasattr(X, "schema") else []


def _column(X: Any, j: int) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, j]
    return X[column_names(X)[j]] if hasattr(X, "columns") else np.asarray(X)[:, j]


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True

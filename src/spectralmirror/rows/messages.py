"""What cannot be rows, labels or weights: one clear sentence each, which says where."""

from __future__ import annotations

from numbers import Number
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

__all__ = [
    "explain_features",
    "explain_labels",
    "is_missing",
    "names_of",
    "numbers",
    "refuse_features",
    "refuse_masked",
    "shortened",
]

#: Types of columns that NumPy turns into numbers of some unit without a word.
TIMES = ("date", "time", "duration", "period", "interval")
#: Longest value that is shown in a sentence.
LONGEST = 60


def refuse_masked(values: Any, name: str) -> None:
    """Raise where values are masked: NumPy drops the mask, and what it hides would count."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} has masked values: leave such rows out, or replace them, for example with "
            f"{name}.filled(...)."
        )


def refuse_features(X: Any) -> None:
    """Raise for kinds of tables that would be read as something else, or not at all."""
    refuse_masked(X, "X")
    if isinstance(X, str | PathLike):
        raise ValueError(
            f"X is a path, {shortened(str(X))}: fit spectralmirror.scan(path, label=...) instead."
        )
    # SciPy's matrices in the form of a dictionary are one
    if isinstance(X, dict | set | Number | None) and not sparse.issparse(X):
        raise ValueError(
            f"X must be a table of rows and columns (Expected 2D array), got {type(X).__name__}: "
            "pass an array or a DataFrame."
        )
    if type(X).__name__ == "LazyFrame":
        raise ValueError(
            "X is a LazyFrame, which holds no rows yet: call X.collect() first, or fit "
            "spectralmirror.scan(X, label=...)."
        )
    if getattr(getattr(X, "dtype", None), "names", None):
        raise ValueError(
            "X is a structured array: make a table of its fields first, with "
            "numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
    for j, kind in enumerate(_kinds(X)):
        if str(kind).lower().startswith(TIMES):
            _refuse_value(X, j, next(iter(_column(X, j)), kind))


def explain_features(X: Any, error: Exception) -> None:
    """Raise a shorter sentence than scikit-learn's, which names the column where there is one."""
    text = str(error)
    if "Complex data" in text:
        raise ValueError(
            "Complex data not supported: pass the real and imaginary parts of X and y apart."
        ) from None
    if "Expected 2D" in text:
        raise ValueError(
            "X must be a table of rows and columns (Expected 2D array), but has one dimension. "
            "Reshape your data: use X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row."
        ) from None
    if "inhomogeneous" in text:
        raise ValueError("The rows of X are not all equally long, so they make no table.") from None
    if "fill value must be 0" in text:
        raise ValueError(
            "X has sparse columns whose fill value is not 0: pass X.sparse.to_dense()."
        ) from None
    if sparse.issparse(X) or len(_shape(X)) != 2:
        return
    _explain_names(X, text)
    if "argument must be" in text and not hasattr(X, "columns"):
        return  # not even text: scikit-learn's TypeError says so
    for j in range(_shape(X)[1]):
        column = _column(X, j)
        if getattr(getattr(column, "dtype", None), "kind", "O") in "fiub":
            continue
        bad = next((value for value in column if not _is_number(value)), None)
        if bad is not None:
            _refuse_value(X, j, bad)


def _explain_names(X: Any, text: str) -> None:
    names = names_of(X)
    if "unique column names" in text:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"X has several columns named {twice!r}: give every column a name of its own."
        ) from None
    if "string names" in text:
        other = next(name for name in names if not isinstance(name, str))
        raise ValueError(
            f"X has names of columns that are text and others that are not, such as {other!r}: "
            "use X.columns = X.columns.astype(str)."
        ) from None


def _refuse_value(X: Any, j: int, value: Any) -> None:
    name = names_of(X)[j]
    if isinstance(value, int):
        raise ValueError(
            f"X has whole numbers in column {name!r} that are too large for float64: rescale it "
            "first, for example divide it by a large number."
        ) from None
    raise ValueError(
        f"X must hold numbers, but column {name!r} holds {shortened(value)}: encode it first (for "
        "example with sklearn.preprocessing.OneHotEncoder) or leave it out."
    ) from None


def explain_labels(y: Any) -> None:
    """Raise where a label is missing, whatever it is that stands for it."""
    values = np.asarray(y, dtype=object)
    row = (
        next((i for i, v in enumerate(values) if is_missing(v)), None) if values.ndim == 1 else None
    )
    if row is not None:
        raise ValueError(
            f"Input y contains NaN (a missing label) in row {row}: drop such rows."
        ) from None


def is_missing(value: Any) -> bool:
    """None, NaN or NaT, which are not equal to themselves, or pandas' NA, which is not anything."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def shortened(value: Any) -> str:
    """Return a value as it is shown in a sentence, shortened where it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _kinds(X: Any) -> list[Any]:
    """Return the types of the columns, or the one type of an array."""
    if hasattr(X, "dtypes"):
        kinds = X.dtypes.tolist() if hasattr(X.dtypes, "tolist") else X.dtypes
        return kinds if isinstance(kinds, list) else [kinds]
    if hasattr(X, "schema"):
        return list(X.schema.types)
    return [X.dtype] if hasattr(X, "dtype") else []


def names_of(X: Any) -> list[Any]:
    """Return the names of the columns, or their numbers where they have none."""
    return list(getattr(X, "column_names", getattr(X, "columns", range(_shape(X)[1]))))


def _shape(X: Any) -> tuple[int, ...]:
    return tuple(X.shape) if hasattr(X, "shape") else np.asarray(X).shape


def _column(X: Any, j: int) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, j]
    return X[names_of(X)[j]] if hasattr(X, "columns") else np.asarray(X)[:, j]


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def numbers(value: ArrayLike, told: str) -> NDArray[np.float64]:
    """Return values as float64; `told` is the sentence where they are no such numbers."""
    try:
        with np.errstate(over="ignore"):  # of longer floats: callers refuse what is infinite
            given = np.asarray(value)
            if given.dtype.kind not in "cmM":
                return given.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(told)

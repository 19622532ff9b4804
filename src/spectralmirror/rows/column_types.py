"""Classify column types by name, for all libraries alike: NumPy, pandas, Arrow, Spark.

A name is what these libraries have in common ("Int64", "int64", "uint8", "bigint").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["check_columns", "common_dtype", "family", "is_number", "is_time"]

_NUMBERS = (
    *("int", "uint", "float", "double", "halffloat", "bool", "decimal"),
    *("tinyint", "smallint", "bigint", "null"),
)
_TEXT = ("string", "str", "utf8", "large_string", "object", "categorical", "enum", "dictionary")
#: NumPy silently converts these to numbers in some unit.
_TIMES = ("date", "time", "duration", "period", "interval")
_SINGLE = {"float32", "float16", "float", "halffloat", "half"}


def check_columns(types: Mapping[Any, Any], where: str = "") -> None:
    """Raise if a column cannot be a feature."""
    for name, kind in types.items():
        if not is_number(kind):
            raise ValueError(
                f"X must hold numbers, but column {name!r}{where} holds {kind}: encode it first "
                "(for example with sklearn.preprocessing.OneHotEncoder) or leave it out."
            )


def is_number(kind: Any) -> bool:
    """Return whether a type holds integers, floating-point numbers or booleans."""
    if isinstance(kind, np.dtype):
        return kind.kind in "fiub"
    name = str(kind).lower()
    return name.startswith(_NUMBERS) and not name.startswith("interval")


def is_time(kind: Any) -> bool:
    """Return whether a type holds dates, times, durations, periods or intervals."""
    return str(kind).lower().startswith(_TIMES)


def family(kind: Any) -> str:
    """Return what values of a type can be compared with: numbers, text, or their own type."""
    if is_number(kind):
        return "numbers"
    name = str(kind).lower()
    return "text" if name.startswith(_TEXT) else name


def common_dtype(types: Iterable[Any]) -> np.dtype[Any]:
    """Return float32 if float32 can represent every column, otherwise float64."""
    return np.dtype(np.float32 if {str(kind).lower() for kind in types} <= _SINGLE else np.float64)

"""Columns of tables: which can be features, and in which precision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["check_columns", "common_dtype"]


def check_columns(types: Mapping[Any, Any], where: str = "") -> None:
    """Raise where a column cannot be a feature; `types` are NumPy's, pandas' or Arrow's."""
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
    return name.startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal"))


def common_dtype(types: Iterable[Any]) -> np.dtype[Any]:
    """Return float32 where no column has more digits than that, else float64."""
    single = {"float32", "float16", "float", "halffloat", "half"}
    return np.dtype(np.float32 if {str(kind).lower() for kind in types} <= single else np.float64)

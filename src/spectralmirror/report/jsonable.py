"""Conversion of results to what strict JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["jsonable"]

#: Significant digits that are kept, more than estimates deserve; numbers from `LARGE` on keep one
#: decimal.
DIGITS, LARGE = 6, 1e5


def jsonable(value: Any) -> Any:
    """Return dicts, lists, strings, booleans, integers, rounded floats and None.

    NaN and infinities become None, keys become strings, and any other object becomes `str(object)`.
    """
    if isinstance(value, np.ndarray | np.generic):
        return jsonable(value.tolist())
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return round(value, 1) if abs(value) >= LARGE else float(f"{value:.{DIGITS}g}") + 0.0
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    return str(value)

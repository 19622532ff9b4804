"""Anything as plain data: what strict JSON can hold, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["LONGEST_VALUE", "plain", "value_text"]

#: Significant digits that are kept, more than estimates deserve; of large numbers one decimal.
DIGITS, LARGE = 6, 1e5
#: Values of users are cut to so many characters: a page is no place for whole documents.
LONGEST_VALUE = 80


def plain(value: Any) -> Any:
    """Return dicts, lists, text, booleans, whole numbers, rounded floats and None.

    What is not finite becomes None, keys become text, and anything else becomes its text.
    """
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return round(value, 1) if abs(value) >= LARGE else float(f"{value:.{DIGITS}g}") + 0.0
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value)


def value_text(value: Any) -> str:
    """Return a value of a user's column, or a label, as people write it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(value, float):
        return f"{value:.2f}".removesuffix(".00") if 1e5 <= abs(value) < 1e15 else f"{value:.6g}"
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"

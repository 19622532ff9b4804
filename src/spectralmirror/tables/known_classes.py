"""A column of known classes: letters as in summaries, or numbers from 0."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from spectralmirror.rows.files.arrow import unique_values
from spectralmirror.rows.types import Vector

__all__ = ["known_numbers"]


def known_numbers(column: Any, name: str) -> Vector:
    """Return the class of each row's group; -1 if it is not known.

    Classes are A, B, ..., as the summary calls them, or 0, 1, ...; -1, or a missing value, stands
    for a class that is not known.
    """
    values, numbers = unique_values(column)
    found = np.array([*(_number(value, name) for value in values), -1.0])
    places = np.where(np.isnan(numbers.astype(np.float64)), len(values), numbers)
    return found[places.astype(np.intp)]


def _number(value: Any, name: str) -> float:
    """Return the number of a class."""
    text = "" if value is None else str(value).strip().removesuffix(".0")
    if re.fullmatch("[A-Z]", text):
        return float(ord(text) - ord("A"))
    if re.fullmatch("-1|[0-9]{1,4}", text):
        return float(text)
    if text in ("", "nan"):
        return -1.0
    raise ValueError(
        f"Column {name!r} of known classes holds {text!r:.60}: write A, B, ... or 0, 1, ..., and "
        "nothing, or -1, where the class is not known."
    )

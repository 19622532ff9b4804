"""Errors about rows, phrased once: what is wrong, in which columns, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CollinearError",
    "ColumnError",
    "did_you_mean",
    "did_you_mean_or_list",
    "first_missing",
    "is_missing",
    "listed",
    "named_columns",
    "numbers",
    "one_line",
    "refuse_masked",
    "shortened",
]

#: Longest value that is shown in a sentence.
LONGEST = 60
#: Most names that are listed in a sentence.
MOST_NAMES = 12


class ColumnError(ValueError):
    """Something is wrong with columns of X.

    Parameters
    ----------
    message : str
        One sentence, in which "{columns}" stands for the columns and "{place}" for the place.
    columns : sequence of int
        Numbers of the columns.
    place : str
        Where the rows come from; empty if that is clear.
    """

    def __init__(self, message: str, columns: Any, place: str = ""):
        super().__init__(message, columns, place)
        self.message, self.columns, self.place = message, columns, place

    def __str__(self) -> str:
        return self.describe(None)

    def describe(self, names: Sequence[str] | None) -> str:
        """Return the message with the columns by name, or by number if they have no names."""
        shown = [str(j) if names is None else repr(str(names[j])) for j in self.columns[:10]]
        more = "" if len(self.columns) <= 10 else f" and {len(self.columns) - 10} more"
        plural = "s" if len(self.columns) > 1 else ""
        return self.message.format(
            columns=f"column{plural} {', '.join(shown)}{more}",
            place=f" ({self.place})" if self.place else "",
        )


class CollinearError(ColumnError):
    """Some columns can be computed from others."""


@contextmanager
def named_columns(estimator: Any) -> Iterator[None]:
    """Let errors call columns by the names that the estimator has seen."""
    try:
        yield
    except ColumnError as error:
        raise ValueError(error.describe(getattr(estimator, "feature_names_in_", None))) from None


def refuse_masked(values: Any, name: str) -> None:
    """Raise if values are masked: NumPy drops the mask, and hidden values would count."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} has masked values: leave such rows out, or replace them, for example with "
            f"{name}.filled(...)."
        )


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA is neither equal to itself nor different
        return True
    except ValueError:  # an array
        return False


def first_missing(values: NDArray[Any]) -> int | None:
    """Return the position of the first missing value of a column."""
    if values.dtype.kind not in "OfcmM":
        return None
    try:
        missing = values != values
        if values.dtype == object:
            missing |= values == np.array(None)
    except (TypeError, ValueError):  # pandas' NA, or values that are arrays
        missing = np.array([is_missing(value) for value in values], dtype=bool)
    return int(missing.argmax()) if missing.any() else None


def shortened(value: Any) -> str:
    """Return a value as it is shown in a sentence, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def one_line(error: Exception) -> str:
    """Return the first line of another library's error, as a sentence."""
    text = str(error).strip().splitlines() or [type(error).__name__]
    return text[0] if text[0].endswith((".", "!", "?")) else f"{text[0]}."


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the names that are close to it."""
    names = list(map(str, names))
    same = [other for other in names if other.casefold() == str(name).casefold()]
    close = same or get_close_matches(str(name), names, n=3)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else "."


def did_you_mean_or_list(name: str, names: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: close names, or else all of them."""
    names = list(names)
    close = did_you_mean(name, names)
    return f"; its columns are {listed(names)}." if close == "." else close


def listed(names: Iterable[str]) -> str:
    """Return the first few names in quotation marks, and the number of the others."""
    names = list(names)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[:MOST_NAMES])) + more


def numbers(value: ArrayLike, message: str) -> NDArray[np.float64]:
    """Return values as float64; raise `message` if they are not real numbers."""
    try:
        with np.errstate(over="ignore"):  # callers refuse infinite values
            given = np.asarray(value)
            if given.dtype.kind not in "cmM":
                return given.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(message)

"""Numbers, names and lists as people write them: the filters of the templates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "between",
    "count_of",
    "decimals_for",
    "factor",
    "fixed",
    "listing",
    "magnitudes",
    "multiple",
    "name_list",
    "number",
    "percent",
    "quoted",
    "range_of",
    "shortened",
    "signed",
    "signed_fixed",
    "value_text",
]

#: A space at which lines do not break.
SPACE = "\u00a0"
#: Larger factors of odds are written as "more than" this: data do not support more precision.
LARGEST_FACTOR = 1000.0
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Names are shortened to this many characters in lists.
LONGEST_LISTED = 40
#: Users' values are shortened to this many characters.
LONGEST_VALUE = 80


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with this many significant digits, thousands separators and a true minus.

    Trailing zeros are kept if rounding made them: 2.003 is "2.00", but 2 is "2".
    """
    if value is None:
        return "unknown"
    if value == 0:
        return "0"
    place = int(f"{value:.{digits - 1}e}".partition("e")[2])  # of the rounded value
    if not -5 <= place < 15:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        power = str(int(exponent)).translate(SUPERSCRIPTS)
        return f"{_minus(mantissa)}{SPACE}×{SPACE}10{power}"
    decimals = max(digits - 1 - place, 0)
    while decimals and round(value, decimals - 1) == value:
        decimals -= 1
    return _minus(f"{value:,.{decimals}f}")


def fixed(value: float, decimals: int) -> str:
    """Return a number with this many decimals."""
    return _minus(f"{value + 0.0:,.{decimals}f}")


def decimals_for(interval: Sequence[float]) -> int:
    """Return the decimals that show two significant digits of half the interval's length."""
    half = (interval[1] - interval[0]) / 2
    return 1 - math.floor(math.log10(half)) if half > 1e-9 else 9


def _minus(text: str) -> str:
    return text.replace("-", "−")


def signed(value: float, digits: int = 2) -> str:
    """Return a number with its sign."""
    return ("+" if value > 0 else "") + number(value, digits)


def count_of(n: float, thing: str) -> str:
    """Return how many of a thing there are, such as "1 row" or "12,000 rows"."""
    return f"{n:,.0f}{SPACE}{thing if n == 1 else thing + 's'}"


def signed_fixed(value: float, decimals: int) -> str:
    """Return a number with its sign and this many decimals."""
    text = fixed(value, decimals)
    return text if value <= 0 or not float(text.replace(",", "")) else "+" + text


def percent(share: float | None, decimals: int | None = None) -> str:
    """Return a share in per cent, by default with decimals only if it is near 0 or 100."""
    if share is None:
        return "unknown"
    if decimals is not None:
        return f"{100 * share:.{decimals}f}{SPACE}%"
    close = min(share, 1 - share)
    decimals = 0 if close >= 0.0095 or close <= 0 else 1 if close >= 0.0005 else 2
    text = f"{100 * share:.{decimals}f}"
    if close > 0 and float(text) in (0.0, 100.0):
        return f"{'less than 0.01' if share < 0.5 else 'more than 99.99'}{SPACE}%"
    return f"{text}{SPACE}%"


def factor(log: float, interval: Sequence[float] | None = None, suffix: str = "") -> str:
    """Return exp(log), the suffix, and the interval, whose ends are logarithms, too.

    Factors below 10 have the decimals that suit the one nearest to 1, larger ones have none.
    """
    nearest = min(map(abs, [log, *(interval or [])]))
    decimals = 2 if nearest < math.log(2) else 1

    def text(log: float) -> str:
        if log > math.log(LARGEST_FACTOR):
            return f"more than {LARGEST_FACTOR:,.0f}"
        if log < -math.log(LARGEST_FACTOR):
            return f"less than {1 / LARGEST_FACTOR:g}"
        return f"{math.exp(log):.{decimals if log < math.log(9.95) else 0}f}"

    return text(log) + suffix + between(interval, text)


def multiple(log: float) -> str:
    """Return by how much exp(log) multiplies or divides, in as little room as there is in a figure.

    0.693 is "× 2.00", -0.693 is "÷ 2.00".
    """
    size = abs(log)
    sign = "×" if log >= 0 else "÷"
    if size > math.log(LARGEST_FACTOR):
        return f"{sign}{SPACE}>{SPACE}{LARGEST_FACTOR:,.0f}"
    return f"{sign}{SPACE}{factor(size)}"


def range_of(interval: Sequence[float], form: Callable[..., str] = number, *arguments: Any) -> str:
    """Return both ends of an interval as `form` writes them, the lower end first."""
    low, high = (form(end, *arguments) for end in sorted(interval))
    unit = f"{SPACE}%"
    if low[0].isdigit() and low.endswith(unit) and high.endswith(unit):
        low = low.removesuffix(unit)
    return f"{low} to {high}"


def between(
    interval: Sequence[float] | None, form: Callable[..., str] = number, *arguments: Any
) -> str:
    """Return an interval in brackets after a space, or nothing if there is none."""
    return "" if interval is None else f" ({range_of(interval, form, *arguments)})"


def magnitudes(interval: Sequence[float] | None) -> list[float] | None:
    """Return the absolute values of both ends of an interval that does not contain 0."""
    return None if interval is None else [abs(end) for end in interval]


def quoted(name: Any) -> str:
    """Return a user's name in quotation marks."""
    return f"‘{name}’"


def listing(items: Sequence[str], most: int | None = None) -> str:
    """Return "a, b and c", or the first few and how many more there are."""
    shown = list(items)
    if most is not None and len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most:,} more"]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def name_list(names: Sequence[str], most: int) -> str:
    """Return a list of the first few names, shortened and in quotation marks."""
    return listing([quoted(shortened(name, LONGEST_LISTED)) for name in names], most)


def shortened(text: str, most: int) -> str:
    """Return a text with its middle left out if it is longer than this."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return text[: most - 1 - tail] + "…" + text[len(text) - tail :]


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

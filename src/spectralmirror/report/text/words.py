"""Numbers, names and lists as people write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "between",
    "count",
    "factor",
    "fixed",
    "listing",
    "number",
    "percent",
    "quoted",
    "range_of",
    "shortened",
    "signed",
]

SPACE = "\u00a0"  # which does not break lines
#: Beyond this factor odds are "more than" it: the data say no more than that.
LARGEST_FACTOR = 1000.0
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with so many digits, in groups of three and with a proper minus.

    Zeros at the end are kept where they say something: 2.003 is "2.00", but 2 is "2".
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
    """Return a number with so many decimals."""
    return _minus(f"{value + 0.0:,.{decimals}f}")


def _minus(text: str) -> str:
    return text.replace("-", "−")


def signed(value: float, digits: int = 2) -> str:
    """Return a number with its sign."""
    return ("+" if value > 0 else "") + number(value, digits)


def count(n: float, thing: str, things: str | None = None) -> str:
    """Return how many of a thing there are, such as "1 row" or "12,000 rows"."""
    return f"{n:,.0f}{SPACE}{thing if n == 1 else things or thing + 's'}"


def percent(share: float | None) -> str:
    """Return a share in per cent, with decimals only where it is near 0 or 100."""
    if share is None:
        return "unknown"
    close = min(share, 1 - share)
    decimals = 0 if close >= 0.0095 or close <= 0 else 1 if close >= 0.0005 else 2
    text = f"{100 * share:.{decimals}f}"
    if close > 0 and float(text) in (0.0, 100.0):
        return f"{'less than 0.01' if share < 0.5 else 'more than 99.99'}{SPACE}%"
    return f"{text}{SPACE}%"


def factor(value: float, interval: Sequence[float] | None = None) -> str:
    """Return a factor and its interval, both given as logarithms.

    Below 10 all have the decimals that the one nearest to 1 deserves, and from 10 on none.
    """
    logs = [value, *(interval or [])]
    least = min(map(abs, logs))
    decimals = 2 if least < math.log(2) else 1

    def text(log: float) -> str:
        if log > math.log(LARGEST_FACTOR):
            return f"more than {LARGEST_FACTOR:,.0f}"
        if log < -math.log(LARGEST_FACTOR):
            return f"less than {1 / LARGEST_FACTOR:g}"
        return f"{math.exp(log):.{decimals if log < math.log(9.95) else 0}f}"

    return text(value) + between(interval, text)


def range_of(interval: Sequence[float], form: Callable[[float], str] = number) -> str:
    """Return both ends of an interval, the lesser first."""
    low, high = sorted(interval)
    low_text, high_text = form(low), form(high)
    unit = f"{SPACE}%"
    if low_text[0].isdigit() and low_text.endswith(unit) and high_text.endswith(unit):
        low_text = low_text.removesuffix(unit)
    return f"{low_text} to {high_text}"


def between(interval: Sequence[float] | None, form: Callable[[float], str] = number) -> str:
    """Return an interval in brackets, or nothing where there is none."""
    return "" if interval is None else f" ({range_of(interval, form)})"


def quoted(name: Any) -> str:
    """Return a name of the user's in quotation marks."""
    return f"‘{name}’"


def listing(items: Sequence[str], most: int | None = None) -> str:
    """Return "a, b and c", or the first few and how many more there are."""
    shown = list(items)
    if most is not None and len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most:,} more"]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def shortened(text: str, most: int) -> str:
    """Return a text with its middle left out where it is too long for a picture."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return text[: most - 1 - tail] + "…" + text[len(text) - tail :]

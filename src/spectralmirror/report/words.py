"""Numbers, names and lists as people write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "between",
    "count",
    "listing",
    "number",
    "percent",
    "quoted",
    "range_of",
    "shortened",
    "signed",
    "times",
]

SPACE = "\u00a0"  # which does not break lines
#: Beyond this factor odds are "more than" it: the data say no more than that.
LARGEST_FACTOR = 1000.0
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with so many digits, in groups of three and with a proper minus."""
    if value is None:
        return "unknown"
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        text = f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.{digits - 1}e}"
    elif abs(value) >= 1e-4:
        decimals = digits - 1 - math.floor(math.log10(abs(value)))
        text = f"{value:.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if decimals > digits else text
    else:
        text = f"{value:.{digits - 1}e}"
    mantissa, _, exponent = text.partition("e")
    power = f"{SPACE}×{SPACE}10{str(int(exponent)).translate(SUPERSCRIPTS)}" if exponent else ""
    return mantissa.replace("-", "−") + power


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


def times(factor: float) -> str:
    """Return a factor of odds, 1 or more or less, and no more exact than it deserves."""
    if factor > LARGEST_FACTOR:
        return f"more than {LARGEST_FACTOR:,.0f}"
    if factor < 1 / LARGEST_FACTOR:
        return f"less than {1 / LARGEST_FACTOR:g}"
    return number(factor, 3 if factor < 2 else 2)


def range_of(interval: Sequence[float], form: Callable[[float], str] = number) -> str:
    """Return both ends of an interval, the lesser first."""
    low, high = sorted(interval)
    low_text, high_text = form(low), form(high)
    unit = f"{SPACE}%"
    if low_text.endswith(unit) and high_text.endswith(unit):
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

"""What a feature does, alone and against other classifiers, in words."""

from __future__ import annotations

from typing import Any

from spectralmirror.report.text.words import between, factor, number, quoted, signed
from spectralmirror.responses import get_response

__all__ = ["contrast", "effect"]


def effect(entry: dict[str, Any], data: dict[str, Any]) -> str:
    """Return what a feature does to the labels of a classifier."""
    response = get_response(data["model"]["response"])
    positive = quoted(data["labels"]["positive"])
    value, interval, step = entry["value"], entry["interval"], _step(entry)
    towards = positive if value >= 0 else quoted(data["labels"]["negative"])
    if not response.norm_identified:
        return f"pulls towards {towards} with {number(abs(value), 2)} {step}"
    unclear = interval is not None and interval[0] <= 0 <= interval[1]
    if not response.canonical:
        if unclear:
            return f"has no clear effect: {signed(value)}{between(interval, signed)} {step}"
        ends = None if interval is None else [abs(end) for end in interval]
        form = between(ends, lambda end: number(end, 2))
        return f"moves the score towards {towards} by {number(abs(value), 2)}{form} {step}"
    if unclear:
        return (
            f"has no clear effect on the odds of {positive}: times {factor(value, interval)} {step}"
        )
    if value >= 0:
        by, bracket, limits = factor(value, interval).partition(" (")
        return f"raises the odds of {positive} {by}-fold{bracket}{limits} {step}"
    return f"divides the odds of {positive} by {factor(-value, _turned(interval))} {step}"


def contrast(entry: dict[str, Any], data: dict[str, Any]) -> str:
    """Return how a classifier differs from the mean of the others in a feature."""
    others = "the other" if data["model"]["k"] == 2 else "the others on average"
    step, value, interval = _step(entry), entry["value"], entry["interval"]
    if not get_response(data["model"]["response"]).canonical:
        own, theirs = signed(entry["own"]), signed(entry["others"])
        return (
            f"{own} here and {theirs} with {others}, {step}; a difference of "
            f"{signed(value)}{between(interval, signed)}"
        )
    if interval is not None and interval[0] <= 0 <= interval[1]:
        apart = f"no clear difference, a factor of {factor(value, interval)}"
    elif value >= 0:
        apart = f"a factor of {factor(value, interval)} more"
    else:
        apart = f"a factor of {factor(-value, _turned(interval))} less"
    return (
        f"the odds of {quoted(data['labels']['positive'])} are {_multiplied(entry['own'])} here "
        f"and {_multiplied(entry['others'])} with {others}, {step}: {apart}"
    )


def _multiplied(log: float) -> str:
    return f"multiplied by {factor(log)}" if log >= 0 else f"divided by {factor(-log)}"


def _turned(interval: list[float] | None) -> list[float] | None:
    return None if interval is None else [-end for end in interval]


def _step(entry: dict[str, Any]) -> str:
    if entry["level"] and entry["reference"] is not None:
        return f"against {quoted(entry['reference'])}"
    if entry["level"]:
        return "where it is 1 rather than 0"
    return f"for each standard deviation ({number(entry['step'])}) more"

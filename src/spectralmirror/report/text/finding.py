"""The finding, and whether rows that were held out support it."""

from __future__ import annotations

import math
from typing import Any

from spectralmirror.report.text.words import (
    between,
    fixed,
    listing,
    number,
    percent,
    quoted,
    range_of,
)

__all__ = ["caveat", "finding", "gain", "supported", "title"]


def title(data: dict[str, Any]) -> str:
    """Return the title of the page."""
    column, k = data["labels"]["column"], data["model"]["k"]
    what = "The classifier" if k == 1 else "Hidden classifiers"
    return f"{what} behind {quoted(column) if column else 'the labels'}"


def finding(data: dict[str, Any]) -> str:
    """Return the finding in a few sentences."""
    column, k = data["labels"]["column"], data["model"]["k"]
    labels = f"The labels in {quoted(column)}" if column else "The labels"
    if k == 1:
        why = (
            "a second hidden classifier did not lower BIC"
            if data["model"]["asked"] == "auto"
            else "one was asked for"
        )
        return f"{labels} are described by a single linear classifier: {why}. {_support(data)}"
    look = f"{labels} look as if they were made by {k} hidden classifiers"
    fitted = f"{k} hidden classifiers were fitted to {labels[0].lower()}{labels[1:]}"
    if data["held_out"]["reason"]:
        look = fitted
    elif not supported(data):
        look = f"{fitted}, but rows that were held out give little reason to believe in them"
    return f"{look}. {_shares(data)}. {_support(data)}"


def _shares(data: dict[str, Any]) -> str:
    """Return how much each classifier makes; with intervals for two, of whom that is readable."""
    grouped, model = data["rows"]["n_groups"] is not None, data["model"]
    shares: list[str] = []
    for c in data["classifiers"]:
        of = "" if shares else " of the groups" if grouped else " of them"
        known = model["has_errors"] and model["k"] == 2
        interval = between(c["weight_interval"], percent) if known else ""
        makes = "" if shares else "makes "
        those = "those of " if grouped else ""
        shares.append(f"{c['name']} {makes}{those}{percent(c['weight'])}{of}{interval}")
    return f"Classifier {listing(shares)}"


def supported(data: dict[str, Any]) -> bool:
    """Return whether the mixture predicts better, or nothing is known of that.

    With groups it is the prediction with a history that counts: one comparison, not the better of
    two.
    """
    held_out = data["held_out"]
    if held_out["reason"]:
        return True
    judged = held_out["history"] or held_out["fresh"]
    return bool(judged["verdict"] == "better")


def _support(data: dict[str, Any]) -> str:
    """Return whether rows that were held out support a mixture over a single classifier."""
    held_out, k = data["held_out"], data["model"]["k"]
    if held_out["reason"]:
        return "Whether this predicts better than a single classifier could not be tested."
    fresh, history = held_out["fresh"], held_out["history"]
    if k == 1:
        auc = fresh["mixture"]["auc"]
        return f"On rows that were held out it reaches an AUC of {number(auc)}."
    words = {
        "better": "predicts better than a single classifier",
        "worse": "predicts worse than a single classifier",
        "unclear": "does not clearly predict better than a single classifier",
    }
    first = f"On rows that were held out, the mixture {words[fresh['verdict']]}"
    text = f"{first} (log-loss {gain(fresh)})."
    if history is None:
        return f"{text} {_right(fresh)}"
    also = ", too" if fresh["verdict"] == "better" else ", either"
    too = also if history["verdict"] == fresh["verdict"] else ""
    later = f"Where half of a group's labels are known, it {words[history['verdict']]}{too}"
    return f"{text} {later} (log-loss {gain(history)}). {_right(history)}"


def _right(comparison: dict[str, Any]) -> str:
    """Return how many labels both predict rightly, which everybody understands."""
    ours, single = (percent(comparison[name]["accuracy"]) for name in ("mixture", "single"))
    return f"It predicts {ours} of these labels rightly, a single classifier {single}."


def gain(comparison: dict[str, Any]) -> str:
    """Return by how much the log-loss of a mixture is lower, and its interval."""
    value, interval = comparison["gain"], comparison["gain_interval"]
    way, sign = ("lower", 1) if value >= 0 else ("higher", -1)
    if interval is None:
        return f"{way} by {number(abs(value), 2)} a label"
    half = (interval[1] - interval[0]) / 2
    decimals = 1 - math.floor(math.log10(half)) if half > 1e-9 else 9  # two digits of the error
    ends = range_of([sign * end for end in interval], lambda end: fixed(end, decimals))
    return f"{way} by {fixed(abs(value), decimals)} a label, 95\u00a0% interval {ends}"


def caveat(data: dict[str, Any]) -> str:
    """Return what a mixture is not."""
    if data["rows"]["n_groups"] is None:
        return (
            "Each label is a single look at an unknown classifier, so that a mixture is one way to "
            "describe how labels depend on features. Effects that are not linear look alike."
        )
    return (
        "Groups in which labels agree for another reason than a shared classifier, or effects that "
        "are not linear, can look like a mixture, too."
    )

"""What the data mean, in sentences."""

from __future__ import annotations

import math
from typing import Any

from spectralmirror.report.words import (
    between,
    count,
    factor,
    fixed,
    listing,
    number,
    percent,
    quoted,
    range_of,
    shortened,
    signed,
)

__all__ = ["contrast", "effect", "facts", "finding", "gain", "supported", "title"]

#: Names are shortened to so many characters where several are listed.
LONGEST_LISTED = 40
RESPONSES = {
    "logistic": "logistic: the log-odds of a label are linear in the features",
    "probit": "probit: the label is the sign of a linear score with Gaussian noise",
    "hard": "hard: each classifier labels by the side of a plane, without noise",
}


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
    if not supported(data):
        look = (
            f"{k} hidden classifiers were fitted to {labels[0].lower()}{labels[1:]}, but rows that "
            "were held out give little reason to believe in more than one"
        )
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
    """Return whether the mixture predicts better in some way, or nothing is known of that."""
    held_out = data["held_out"]
    if held_out["reason"]:
        return True
    compared = [held_out["fresh"], held_out["history"]]
    return any(one is not None and one["verdict"] == "better" for one in compared)


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
        return text
    too = ", too" if history["verdict"] == fresh["verdict"] else ""
    later = f"Where half of a group's labels are known, it {words[history['verdict']]}{too}"
    return f"{text} {later} (log-loss {gain(history)})."


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


def facts(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what was fitted and on what, as terms and what they are."""
    about = data["about"]
    known = ("files", "label", "group", "n_rows", "notes", "references")
    found = [("Files", str(about["files"]))] if about.get("files") else []
    found += [*_rows(data), *_model(data)]
    found += [(str(key), str(value)) for key, value in about.items() if key not in known]
    return found


def _rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    rows, labels, names = data["rows"], data["labels"], data["features"]["names"]
    text = f"{count(rows['fitted'], 'row')} fitted"
    if rows["looked_at"] != rows["fitted"]:
        text += f"; this page looked at {rows['looked_at']:,} of them"
    found = [("Rows", text)]
    if rows["n_groups"] is not None:
        column = f", by {quoted(rows['group_column'])}" if rows["group_column"] else ""
        of = f"median {number(rows['median_group'])} rows each"
        found.append(("Groups", f"{count(rows['n_groups'], 'group')}{column}; {of}"))
    column = f"in {quoted(labels['column'])}: " if labels["column"] else ""
    positive = f"{quoted(labels['positive'])} counts as +1 ({percent(labels['share_positive'])})"
    share = percent(1 - labels["share_positive"])
    found.append(("Labels", f"{column}{positive}, {quoted(labels['negative'])} as −1 ({share})"))
    listed = listing([quoted(shortened(name, LONGEST_LISTED)) for name in names], 8)
    found.append(("Features", f"{len(names):,}: {listed}"))
    return found


def _model(data: dict[str, Any]) -> list[tuple[str, str]]:
    model = data["model"]
    path = ", ".join(f"{fixed(bic, 1)} for {k}" for k, bic in model["bic_path"])
    how = "as asked for"
    if model["asked"] == "auto":
        how = f"by the least BIC ({path})"
    elif model["asked"] != model["k"]:
        how = f"though {model['asked']} were asked for"
    criteria = f"log-likelihood {fixed(model['log_likelihood'], 1)}, BIC {fixed(model['bic'], 1)}"
    intercepts = "" if model["intercepts"] else ", without intercepts"
    return [
        ("Classifiers", f"{model['k']}, {how}"),
        ("Response", RESPONSES[model["response"]] + intercepts),
        ("Penalty", f"l2 = {number(model['l2'])} on squared effects per standard deviation"),
        ("Fit", f"{criteria}, {count(model['n_parameters'], 'parameter')}"),
        ("Outcome", model["status"]),
    ]


def effect(entry: dict[str, Any], data: dict[str, Any]) -> str:
    """Return what a feature does to the labels of a classifier."""
    response, positive = data["model"]["response"], quoted(data["labels"]["positive"])
    value, interval, step = entry["value"], entry["interval"], _step(entry)
    towards = positive if value >= 0 else quoted(data["labels"]["negative"])
    if response == "hard":
        return f"pulls towards {towards} with {number(abs(value), 2)} {step}"
    unclear = interval is not None and interval[0] <= 0 <= interval[1]
    if response == "probit":
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
    if data["model"]["response"] != "logistic":
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

"""What the page says of each classifier beside its effects."""

from __future__ import annotations

from typing import Any

from spectralmirror.report.text.words import between, number, percent, quoted
from spectralmirror.responses import get_response

__all__ = ["estimates", "how_to_read", "others_say", "profiles_caption", "says", "weight"]


def how_to_read(data: dict[str, Any]) -> str:
    """Return what effects are, in this response."""
    response = get_response(data["model"]["response"])
    positive = quoted(data["labels"]["positive"])
    if not response.norm_identified:
        return (
            "Each classifier decides by the side of a plane on which a row lies. Only the "
            "direction of its profile means something: entries are per standard deviation of the "
            "feature, and their squares sum to 1. There are no intervals for hard labels."
        )
    if not response.canonical:
        above, below = (percent(float(response.f(t))) for t in (1.0, -1.0))
        text = (
            f"Each classifier adds up a score of the features: at a score of 0 both labels are "
            f"equally likely, at 1 {positive} has a probability of {above}, at −1 of {below}."
        )
    else:
        text = (
            f"Each classifier turns the features into odds of {positive}: one unit of effect "
            "multiplies these odds by e = 2.72."
        )
    errors = " Brackets hold 95\u00a0% intervals." if data["model"]["has_errors"] else ""
    return f"{text} All effects hold the other features fixed.{errors}"


def profiles_caption(data: dict[str, Any]) -> str:
    """Return what the picture of the profiles shows."""
    shown, n = len(data["profiles"]["features"]), data["profiles"]["n_features"]
    which = f"The {shown} strongest of {n} features. " if shown < n else ""
    bars = "Bars are 95\u00a0% intervals." if data["profiles"]["halves"] is not None else ""
    positive = quoted(data["labels"]["positive"])
    return f"{which}To the right of 0 a feature speaks for {positive}. {bars}".strip()


def weight(classifier: dict[str, Any], data: dict[str, Any]) -> str:
    """Return the weight of a classifier and how it labels on the whole."""
    positive = quoted(data["labels"]["positive"])
    rows = percent(classifier["says_positive"])
    if data["model"]["k"] == 1:
        return f"It would label {rows} of the rows {positive}."
    interval = classifier["weight_interval"] if data["model"]["has_errors"] else None
    share = f"{percent(classifier['weight'])}{between(interval, percent)}"
    grouped = data["rows"]["n_groups"] is not None
    makes = f"the labels of {share} of the groups" if grouped else f"{share} of the labels"
    return (
        f"It makes {makes}. Had it made all labels, {rows} of the rows would be {positive}. In "
        f"Python it is component\u00a0{classifier['number']}."
    )


def says(probability: float, data: dict[str, Any]) -> str:
    """Return the label that a classifier would give, and how surely."""
    label = data["labels"]["positive" if probability > 0.5 else "negative"]
    sure = max(probability, 1 - probability)
    return f"{label} ({'over 99' if sure > 0.99 else format(100 * sure, '.0f')}\u00a0%)"


def others_say(row: dict[str, Any], data: dict[str, Any]) -> str:
    """Return the label that all others would give, and how sure the least sure of them is."""
    least = min(row["others"], key=lambda p: max(p, 1 - p))
    text = says(least, data)
    if len(row["others"]) == 1 or "over" in text:
        return text
    return text.removesuffix(")") + " or more)"


def estimates(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the table of all estimates, as text."""
    features, k = data["features"], data["model"]["k"]

    def of(values: list[Any], errors: list[Any]) -> list[str]:
        return [
            number(values[c]) + (f" ({number(errors[c], 2)})" if errors[c] is not None else "")
            for c in range(k)
        ]

    lines = []
    if data["model"]["intercepts"]:
        own = of(features["intercepts"], features["intercept_errors"])
        lines.append({"name": "(intercept)", "mean": "", "scale": "", "estimates": own})
    for j, name in enumerate(features["names"]):
        values, errors = (
            [of_component[j] for of_component in features[key]]
            for key in ("coefficients", "errors")
        )
        lines.append(
            {
                "name": name,
                "mean": number(features["mean"][j]),
                "scale": number(features["scale"][j]),
                "estimates": of(values, errors),
            }
        )
    return lines

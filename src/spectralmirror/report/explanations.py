"""What each section of the page says of its figures."""

from __future__ import annotations

from typing import Any

from spectralmirror.report.sentences import gain
from spectralmirror.report.words import between, count, listing, number, percent, quoted

__all__ = [
    "assignment_words",
    "calibration_caption",
    "caveat",
    "estimates",
    "held_out_words",
    "how_to_read",
    "mirror_captions",
    "others_say",
    "percent1",
    "profiles_caption",
    "says",
    "spectrum_words",
    "weight",
]


def percent1(share: float) -> str:
    """Return a share in per cent with one decimal, for columns of them."""
    return f"{100 * share:.1f}\u00a0%"


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


def spectrum_words(data: dict[str, Any]) -> list[str]:
    """Return what the eigenvalues mean."""
    spectrum, k = data["spectrum"], data["model"]["k"]
    kept, separation = spectrum["eigenvalues"]["n_kept"], spectrum["separation"]
    found = [
        "The spectrum looks for directions in the space of the features along which the labels "
        "depend on them, without any likelihood or starts. The first is the mean direction r of "
        f"all classifiers; {k} of them add at most {count(k - 1, 'direction')} to it, with "
        "eigenvalues that stand out of the bulk of the noise."
        if k > 1
        else "With a single classifier there is one direction r, and all eigenvalues beside it "
        "should lie in the bulk of the noise."
    ]
    if spectrum["grouped"]:
        found = [
            "The spectrum looks for directions along which the labels of the same group agree, "
            "without any likelihood or starts. Each classifier adds at most one, and noise ends "
            "at an eigenvalue of 2."
        ]
    if k > 1 and separation is not None and kept:
        verdict = (
            "so it stands out clearly"
            if separation > 1.5
            else "so it barely stands out"
            if separation > 1
            else "so it is lost in the noise"
        )
        found.append(
            f"The weakest direction kept has {number(separation, 2)} times the largest eigenvalue "
            f"that noise alone would give (in 95\u00a0% of cases), {verdict}."
        )
    if spectrum["weak"]:
        found += [*spectrum["weak"], "The fit by likelihood, below, does not rest on them."]
    return found


def mirror_captions(data: dict[str, Any]) -> list[str]:
    """Return what is seen in the plane before and after mirroring."""
    if data["model"]["k"] == 1:
        return [
            "The labels along the direction r of the classifier, to the right, and along a random "
            "one, upwards.",
            "The same points with all labels left of the mirror flipped (Z). One classifier leaves "
            "no pattern from top to bottom.",
        ]
    return [
        "The labels in the estimated plane: the mean direction r of all classifiers to the right, "
        "and upwards the direction in which they differ most.",
        "The same points with all labels left of the mirror flipped (Z). One classifier alone "
        "would leave no pattern from top to bottom.",
    ]


def how_to_read(data: dict[str, Any]) -> str:
    """Return what effects are, in this response."""
    response, positive = data["model"]["response"], quoted(data["labels"]["positive"])
    if response == "hard":
        return (
            "Each classifier decides by the side of a plane on which a row lies. Only the "
            "direction of its profile means something: entries are per standard deviation of the "
            "feature, and their squares sum to 1. There are no intervals for hard labels."
        )
    if response == "probit":
        text = (
            f"Each classifier adds up a score of the features: at a score of 0 both labels are "
            f"equally likely, at 1 {positive} has a probability of 84\u00a0%, at −1 of 16\u00a0%."
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


def held_out_words(data: dict[str, Any]) -> list[str]:
    """Return how rows were held out, and what came of it."""
    held_out, k = data["held_out"], data["model"]["k"]
    grouped = held_out["n_groups"] is not None
    of = f" in {count(held_out['n_groups'], 'group')}" if grouped else ""
    found = [
        f"{count(held_out['n_rows'], 'row')}{of} were divided into {held_out['n_folds']} parts"
        f"{' of whole groups' if grouped else ''}, and each part predicted by models fitted to the "
        f"other parts: {'this mixture' if k > 1 else 'this classifier'}, and a single "
        "logistic regression with the same penalty. Log-loss is the mean of −log of the "
        "probability that was given to the label seen; less is better. An AUC of 1 and an "
        "accuracy of 100\u00a0% would be perfect, and an AUC of 0.5 is a guess."
    ]
    if k == 1:
        return [*found, "With one classifier both are the same model, up to its response."]
    found.append(
        f"The mixture's log-loss is {gain(held_out['fresh'])}"
        f"{' for new groups' if grouped else ''}. {_history(data)}The interval treats the parts as "
        "independent, though the models fitted share rows: it is somewhat too short."
    )
    return found


def _history(data: dict[str, Any]) -> str:
    history = data["held_out"]["history"]
    if history is None:
        return ""
    return (
        "Once half of a group's labels are known, they tell which classifier makes the others; a "
        f"single classifier learns nothing from them. On the other half the log-loss is "
        f"{gain(history)}. "
    )


def calibration_caption(data: dict[str, Any]) -> str:
    """Return how to read the calibration."""
    positive = quoted(data["labels"]["positive"])
    n = len(data["held_out"]["calibration"]["mixture"])
    return (
        f"Rows that were held out, in {n} parts of equal size by the predicted probability of "
        f"{positive}. Points on the diagonal are right on average. Bars are 95\u00a0% intervals."
    )


def assignment_words(data: dict[str, Any]) -> list[str]:
    """Return how often the most likely classifier should be the right one."""
    assignments = data["assignments"]
    largest = percent(assignments["largest"])
    parts = [f"{percent(assignments['rows']['mean'])} of the rows by a single label"]
    if assignments["groups"]:
        parts.append(f"{percent(assignments['groups']['mean'])} of the groups by all their labels")
    return [
        f"If the fitted mixture holds, its most likely classifier is the right one for "
        f"{listing(parts)}. Always naming the largest one would be right for {largest}."
    ]

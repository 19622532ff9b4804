"""What each of the other sections says of its figures."""

from __future__ import annotations

from typing import Any

from spectralmirror.report.text.finding import gain
from spectralmirror.report.text.words import count, listing, number, percent, quoted

__all__ = [
    "assignment_words",
    "calibration_caption",
    "held_out_words",
    "mirror_captions",
    "percent1",
    "spectrum_words",
]


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
            "without any likelihood or starts. Each classifier adds at most one."
        ]
    if k > 1 and separation and kept:  # it is 0 where there is no noise to compare with
        verdict = (
            "so it stands out clearly"
            if separation > 1.5
            else "so it barely stands out"
            if separation > 1
            else "so it is lost in the noise"
        )
        weakest = spectrum["eigenvalues"]["eigenvalues"][kept - 1]
        edge = number(weakest / separation, 2)
        found.append(
            f"The weakest direction kept has an eigenvalue of {number(weakest, 2)}. Noise alone "
            f"would stay below {edge} (in 95\u00a0% of cases), {verdict}."
        )
    found += spectrum["weak"]
    if spectrum["weak"] and data["model"]["refined"]:
        found.append("The fit by likelihood, below, does not rest on them.")
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


def held_out_words(data: dict[str, Any]) -> list[str]:
    """Return how rows were held out, and what came of it."""
    held_out, k = data["held_out"], data["model"]["k"]
    grouped = held_out["n_groups"] is not None
    of = f" in {count(held_out['n_groups'], 'group')}" if grouped else ""
    found = [
        f"{count(held_out['n_rows'], 'row')}{of} were divided into {held_out['n_folds']} parts"
        f"{' of whole groups' if grouped else ''}, and each part predicted by models fitted to the "
        f"other parts: {'this mixture' if k > 1 else 'this classifier'}, and a single "
        f"{held_out['single']} with the same penalty. Log-loss is the mean of −log of the "
        "probability that was given to the label seen; less is better. An AUC of 1 and an "
        "accuracy of 100\u00a0% would be perfect, and an AUC of 0.5 is a guess."
    ]
    if k == 1:
        return [*found, "With one classifier both are the same model, up to its response."]
    found.append(
        f"The mixture's log-loss is {gain(held_out['fresh'])}"
        f"{' for new groups' if grouped else ''}. {_history(data)}The interval treats the parts as "
        "independent, though the models fitted share rows: it is somewhat too short."
        f"{_chosen(data)}"
    )
    return found


def _chosen(data: dict[str, Any]) -> str:
    """Return a warning where the number of classifiers has seen what was held out."""
    if data["model"]["asked"] != "auto":
        return ""
    return " The number of classifiers was chosen on all rows, those held out included."


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


def percent1(share: float) -> str:
    """Return a share in per cent with one decimal, for columns of them."""
    return f"{100 * share:.1f}\u00a0%"

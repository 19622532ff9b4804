"""The effects of features on each of several labels, in every class and against the others.

The coefficients of a class sum to zero over labels: exp u_lc is the factor of the odds of label c
against the geometric mean of all labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spectralmirror.effects.results import OVERALL
from spectralmirror.mixture.summary import letters
from spectralmirror.report.average_changes import change_of, strongest_features
from spectralmirror.report.effects import (
    MAX_CONTRASTS,
    class_weights,
    contrast_weights,
    effect,
    is_shared,
)
from spectralmirror.report.inputs import Inputs
from spectralmirror.rows.types import AnyArray, Matrix

__all__ = ["changes_of_labels", "label_classifiers", "label_contrasts"]

#: How many labels are described in words, and how many features of each.
MAX_LABELS, MAX_FEATURES = 6, 3
#: Why there are no average changes.
WITH_SPREAD = "Members of a class differ, and there are more than two labels."
#: How many features and labels the table of average changes has.
CHANGED_FEATURES, CHANGED_LABELS = 6, 8


def label_classifiers(inputs: Inputs, binary: list[bool]) -> list[dict[str, Any]]:
    """Return the weight of every class, the strongest features of each label, and its labels."""
    mixture, found = inputs.mixture, class_weights(inputs)
    per_sd = mixture.coef_ * inputs.scale
    errors = mixture.coef_standard_error_ * inputs.scale
    names = [inputs.label_text(one) for one in mixture.classes_]
    told = np.argsort(-np.abs(per_sd).max(axis=(0, 2)), kind="stable")[:MAX_LABELS]
    for c, one in enumerate(found):
        says = mixture.predict_proba(inputs.X, np.eye(len(found))[c]).mean(axis=0)
        one["says"] = says
        one["labels"] = [
            {
                "label": names[b],
                "says": says[b],
                "strongest": [
                    effect(inputs, int(j), binary[j], per_sd[c, b, j], errors[c, b, j])
                    for j in np.argsort(-np.abs(per_sd[c, b]), kind="stable")[:MAX_FEATURES]
                ],
            }
            for b in sorted(told.tolist())
        ]
        one["contrasts"] = _contrasts_of(inputs, c, binary, names) if len(found) > 1 else []
    return found


def label_contrasts(mixture: Any, c: int) -> tuple[Matrix, Matrix]:
    """Return the profiles of class c less the weighted mean of the others, and standard errors.

    Both have the shape (C, d); as :func:`spectralmirror.report.effects.contrasts` for two labels.
    """
    k, C, d = mixture.coef_.shape
    a = contrast_weights(mixture.weights_, c)
    difference = np.tensordot(a, mixture.coef_, axes=1)
    if mixture.covariance_ is None:
        return difference, np.full((C, d), np.nan)
    size = k * C * (d + 1)
    joint: AnyArray = mixture.covariance_[:size, :size].reshape(k, C, d + 1, k, C, d + 1)
    variance = np.einsum("l,m,lbjmbj->bj", a, a, joint, optimize=True)[:, :d]
    return difference, np.sqrt(np.maximum(variance, 0))


def _contrasts_of(
    inputs: Inputs, c: int, binary: list[bool], names: list[str]
) -> list[dict[str, Any]]:
    """Return the labels and features in which class c differs most from the others."""
    d = len(inputs.names)
    difference, errors = (one * inputs.scale for one in label_contrasts(inputs.mixture, c))
    own = inputs.mixture.coef_[c] * inputs.scale
    found: list[dict[str, Any]] = []
    for place in np.argsort(-np.abs(difference).ravel(), kind="stable").tolist():
        b, j = divmod(place, d)
        if is_shared(inputs, j):
            continue
        change = effect(inputs, j, binary[j], difference[b, j], errors[b, j])
        steps = change["step"] / inputs.scale[j]
        both = {"own": own[b, j] * steps, "others": (own[b, j] - difference[b, j]) * steps}
        found.append({**change, **both, "label": names[b]})
        if len(found) == MAX_CONTRASTS:
            break
    return found


def changes_of_labels(inputs: Inputs) -> dict[str, Any]:
    """Return the average changes of the probability of every label, for the strongest features."""
    mixture = inputs.mixture
    if mixture.spread_kind_ is not None:
        return {"reason": WITH_SPREAD}
    size = np.abs(mixture.coef_ * inputs.scale).max(axis=(0, 1))
    frequent = np.argsort([-(inputs.y == one).mean() for one in mixture.classes_], kind="stable")
    labels = mixture.classes_[np.sort(frequent[:CHANGED_LABELS])]
    return {
        "reason": None,
        "names": [*letters(mixture.n_components_), OVERALL],
        "features": [
            _changes(inputs, j, labels.tolist()) for j in strongest_features(size, CHANGED_FEATURES)
        ],
        "n_labels_left_out": len(mixture.classes_) - len(labels),
    }


def _changes(inputs: Inputs, j: int, labels: list[Any]) -> dict[str, Any]:
    found = [change_of(inputs, j, label) for label in labels]
    changes = [
        {"label": inputs.label_text(label), "changes": one["changes"]}
        for label, one in zip(labels, found, strict=True)
    ]
    return {
        **{key: found[0][key] for key in ("feature", "level", "step", "reference")},
        "labels": changes,
    }

"""The effect of each feature on the labels of a classifier, alone and against the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectralmirror.mixture.summary import WEIGHT, letters, profile_covariance, quantile, table
from spectralmirror.report.inputs import Inputs
from spectralmirror.responses import get_response
from spectralmirror.rows.types import Matrix, Vector

__all__ = [
    "class_weights",
    "classifiers",
    "contrast_weights",
    "contrasts",
    "effect",
    "is_shared",
    "weights_and_effects",
]

#: How many features are described, alone and against the other classifiers.
MAX_FEATURES, MAX_CONTRASTS = 5, 3
#: Level of the confidence intervals.
LEVEL = 0.95


def classifiers(inputs: Inputs, binary: list[bool]) -> list[dict[str, Any]]:
    """Return the weight and the strongest features of every classifier, and what it would say."""
    mixture, found = inputs.mixture, weights_and_effects(inputs, binary)
    for c, one in enumerate(found):
        one["says_positive"] = mixture.predict_proba(inputs.X, np.eye(len(found))[c])[:, 1].mean()
    return found


def weights_and_effects(inputs: Inputs, binary: list[bool]) -> list[dict[str, Any]]:
    """Return the weight and the strongest features of every class."""
    per_sd = _per_sd(inputs)
    errors = inputs.mixture.coef_standard_error_ * inputs.scale
    found = class_weights(inputs)
    for c, one in enumerate(found):
        strongest = np.argsort(-np.abs(per_sd[c]), kind="stable")[:MAX_FEATURES]
        one["strongest"] = [
            effect(inputs, j, binary[j], per_sd[c, j], errors[c, j]) for j in strongest
        ]
        one["contrasts"] = _contrasts_of(inputs, c, binary) if len(found) > 1 else []
    return found


def class_weights(inputs: Inputs) -> list[dict[str, Any]]:
    """Return the name, the number and the weight of every class."""
    lines = [line for line in table(inputs.mixture, LEVEL) if line.term == WEIGHT]
    return [
        {
            "name": name,
            "number": c,
            "weight": line.estimate,
            "weight_interval": [line.lower, line.upper] if len(lines) > 1 else None,
        }
        for c, (name, line) in enumerate(zip(letters(len(lines)), lines, strict=True))
    ]


def contrast_weights(weights: Vector, c: int) -> Vector:
    """Return a, with sum_l a_l u_l = u_c - sum_(l not c) p_l u_l / (1 - p_c)."""
    a = -weights / max(1 - weights[c], 1e-300)
    a[c] = 1.0
    return np.asarray(a)


def contrasts(mixture: Any, c: int) -> tuple[Vector, Vector]:
    """Return profile c less the weighted mean of the others, and the standard errors.

    The contrast a'u has the variance a' C a, where C is the estimated covariance of
    (u_1, ..., u_k), and the weights in a are treated as known. Errors are NaN if C is not known.
    """
    d = mixture.coef_.shape[1]
    a = contrast_weights(mixture.weights_, c)
    difference = a @ mixture.coef_
    if mixture.covariance_ is None:
        return difference, np.full(d, np.nan)
    covariance = profile_covariance(mixture)[:, :d, :, :d]
    variance = np.einsum("l,m,ljmj->j", a, a, covariance)
    return difference, np.sqrt(np.maximum(variance, 0))


def _contrasts_of(inputs: Inputs, c: int, binary: list[bool]) -> list[dict[str, Any]]:
    per_sd = _per_sd(inputs)
    others = per_sd[c] - contrast_weights(inputs.mixture.weights_, c) @ per_sd
    errors = contrasts(inputs.mixture, c)[1] * inputs.scale
    order = np.argsort(-np.abs(per_sd[c] - others), kind="stable")
    chosen = [j for j in order if not is_shared(inputs, j)][:MAX_CONTRASTS]
    found = []
    for j in chosen:
        change = effect(inputs, j, binary[j], per_sd[c, j] - others[j], errors[j])
        in_steps = change["step"] / inputs.scale[j]
        found.append({**change, "own": per_sd[c, j] * in_steps, "others": others[j] * in_steps})
    return found


def _per_sd(inputs: Inputs) -> Matrix:
    """Return profiles per standard deviation of the features; unit vectors for hard labels."""
    profiles = np.asarray(inputs.mixture.coef_ * inputs.scale)
    if not get_response(inputs.mixture.response).norm_identified:
        profiles = profiles / np.linalg.norm(profiles, axis=1, keepdims=True)
    return profiles


def effect(inputs: Inputs, j: int, binary: bool, per_sd: float, error: float) -> dict[str, Any]:
    """Return the effect of a step of a feature, which is one SD, or from 0 to 1 if it is binary."""
    level = binary and get_response(inputs.mixture.response).norm_identified
    step = 1.0 if level else inputs.scale[j]
    value, per_step = per_sd * step / inputs.scale[j], error * step / inputs.scale[j]
    half = quantile(inputs.mixture, LEVEL) * per_step
    name = inputs.names[j]
    return {
        "feature": name,
        "level": level,
        "step": step,
        "reference": dict(inputs.about.get("references") or {}).get(name),
        "value": value,
        "interval": [value - half, value + half] if np.isfinite(half) else None,
        "shared": inputs.mixture.n_components_ > 1 and is_shared(inputs, j),
    }


def is_shared(inputs: Inputs, j: int) -> bool:
    """Return whether all classes have the same coefficient of a feature by assumption."""
    shared = getattr(inputs.mixture, "shared", ())
    return shared == "all" if isinstance(shared, str) else int(j) in list(shared)

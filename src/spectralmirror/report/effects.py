"""What each classifier makes of a feature, alone and against the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectralmirror.mixture.summary import WEIGHT, letters, quantile, table
from spectralmirror.report.inputs import Given
from spectralmirror.responses import get_response
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["classifiers", "contrast_weights", "contrasts"]

#: How many features are put into words, alone and against the others.
MOST_FEATURES, MOST_CONTRASTS = 5, 3
LEVEL = 0.95


def classifiers(given: Given, binary: list[bool]) -> list[dict[str, Any]]:
    """Return the weight and the strongest features of every classifier."""
    mixture, k = given.mixture, given.mixture.n_components_
    weights = [line for line in table(mixture, LEVEL) if line.term == WEIGHT]
    per_sd = _per_sd(given)
    errors = mixture.coef_standard_error_ * given.scale
    ours = []
    for c, name in enumerate(letters(k)):
        strongest = np.argsort(-np.abs(per_sd[c]), kind="stable")[:MOST_FEATURES]
        says = mixture.predict_proba(given.X, np.eye(k)[c])[:, 1]
        ours.append(
            {
                "name": name,
                "number": c,
                "weight": weights[c].estimate,
                "weight_interval": [weights[c].lower, weights[c].upper] if k > 1 else None,
                "says_positive": says.mean(),
                "strongest": [
                    _effect(given, j, binary[j], per_sd[c, j], errors[c, j]) for j in strongest
                ],
                "contrasts": _contrasts_of(given, c, binary) if k > 1 else [],
            }
        )
    return ours


def contrast_weights(weights: Vector, c: int) -> Vector:
    """Return a, with sum_l a_l u_l = u_c - sum_(l not c) p_l u_l / (1 - p_c)."""
    a = -weights / max(1 - weights[c], 1e-300)
    a[c] = 1.0
    return np.asarray(a)


def contrasts(mixture: Any, c: int) -> tuple[Vector, Vector]:
    """Return how far each entry of profile c lies from the mean of the others, and its error.

    The contrast a'u has the variance a' C a, C being the covariance of (u_1, ..., u_k) as it was
    estimated, and the weights in a count as known. The error is NaN where C is not known.
    """
    k, d = mixture.coef_.shape
    a = contrast_weights(mixture.weights_, c)
    difference = a @ mixture.coef_
    if mixture.covariance_ is None:
        return difference, np.full(d, np.nan)
    covariance = mixture.covariance_.reshape(k, d + 1, k, d + 1)[:, :d, :, :d]
    variance = np.einsum("l,m,ljmj->j", a, a, covariance)
    return difference, np.sqrt(np.maximum(variance, 0))


def _contrasts_of(given: Given, c: int, binary: list[bool]) -> list[dict[str, Any]]:
    per_sd = _per_sd(given)
    others = per_sd[c] - contrast_weights(given.mixture.weights_, c) @ per_sd
    errors = contrasts(given.mixture, c)[1] * given.scale
    chosen = np.argsort(-np.abs(per_sd[c] - others), kind="stable")[:MOST_CONTRASTS]
    found = []
    for j in chosen:
        effect = _effect(given, j, binary[j], per_sd[c, j] - others[j], errors[j])
        in_steps = effect["step"] / given.scale[j]
        found.append({**effect, "own": per_sd[c, j] * in_steps, "others": others[j] * in_steps})
    return found


def _per_sd(given: Given) -> Matrix:
    """Return profiles per standard deviation of the features; of hard labels, of unit length."""
    profiles = np.asarray(given.mixture.coef_ * given.scale)
    if not get_response(given.mixture.response).norm_identified:
        profiles = profiles / np.linalg.norm(profiles, axis=1, keepdims=True)
    return profiles


def _effect(given: Given, j: int, binary: bool, per_sd: float, error: float) -> dict[str, Any]:
    """Return an entry and its interval for a step of the feature: an SD, or from 0 to 1."""
    level = binary and get_response(given.mixture.response).norm_identified
    step = 1.0 if level else given.scale[j]
    value, per_step = per_sd * step / given.scale[j], error * step / given.scale[j]
    half = quantile(given.mixture, LEVEL) * per_step
    name = given.names[j]
    return {
        "feature": name,
        "level": level,
        "step": step,
        "reference": dict(given.about.get("references") or {}).get(name),
        "value": value,
        "interval": [value - half, value + half] if np.isfinite(half) else None,
    }

"""How much a step of a feature changes the probability of the label on average."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectralmirror.effects import average_effects
from spectralmirror.effects.results import LEVELS, OVERALL
from spectralmirror.effects.selected import levels_of_categories
from spectralmirror.mixture.summary import letters
from spectralmirror.report.effects import LEVEL
from spectralmirror.report.inputs import Inputs
from spectralmirror.rows.types import Vector

__all__ = ["average_changes", "change_of", "strongest_features"]

#: How many features are shown.
MOST_FEATURES = 8


def average_changes(inputs: Inputs) -> dict[str, Any]:
    """Return the average changes of P(y = classes_[1] | x) of the features that change it most.

    A step is one standard deviation, for which the change is the slope times the step, or from 0 to
    1. The level of a category is compared with the level of reference, in rows of no other level.
    """
    size = np.abs(inputs.mixture.coef_ * inputs.scale).max(axis=0)
    return {
        "names": [*letters(inputs.mixture.n_components_), OVERALL],
        "features": [change_of(inputs, j) for j in strongest_features(size, MOST_FEATURES)],
    }


def strongest_features(size: Vector, most: int) -> list[int]:
    """Return the features of the largest size."""
    strongest: list[int] = np.argsort(-size, kind="stable")[:most].tolist()
    return strongest


def change_of(inputs: Inputs, j: int, label: Any = None) -> dict[str, Any]:
    """Return the changes of the probability of a label with a feature, by class and overall."""
    name, references = inputs.names[j], inputs.about.get("references") or {}
    exclusive = levels_of_categories(inputs.names, references)
    one = average_effects(
        inputs.mixture, inputs.X, features=[j], exclusive=exclusive, label=label, level=LEVEL
    )
    level = one.change[0] == LEVELS
    step = 1.0 if level else float(inputs.scale[j])
    known = bool(np.isfinite(one.standard_error).all())
    lines = zip(one.estimate[:, 0], one.lower[:, 0], one.upper[:, 0], strict=True)
    return {
        "feature": name,
        "level": level,
        "step": step,
        "reference": references.get(name),
        "changes": [
            {"value": value * step, "interval": [low * step, high * step] if known else None}
            for value, low, high in lines
        ],
    }

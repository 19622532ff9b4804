"""Which features and weights are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.mixture.summary import constrained
from spectralmirror.rows.types import Vector

__all__ = [
    "check_two_labels",
    "checked_weights",
    "feature_index",
    "feature_names",
    "held_at_zero",
    "levels_of_categories",
]

#: Coefficients below this part of the largest one, per standard deviation, are at their bound of 0.
NEGLIGIBLE = 1e-9


def check_two_labels(model: Any, name: str) -> None:
    """Raise if a mixture has coefficients for each of several labels."""
    if len(model.classes_) > 2:
        raise ValueError(
            f"{name} takes mixtures of two labels, but this one has {len(model.classes_)}: change "
            "a column of X and compare predict_proba, or fit one label against all others."
        )


def feature_names(model: Any) -> list[str]:
    """Return the names of the features; x0, x1, ... if they have none."""
    d = model.n_features_in_
    return [str(name) for name in getattr(model, "feature_names_in_", [f"x{j}" for j in range(d)])]


def levels_of_categories(names: Sequence[str], references: Mapping[str, str]) -> list[list[int]]:
    """Return the indices of the levels of each category, features of the form "colour=red".

    `references` has the level that each of them is compared with.
    """
    found: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        if name in references:
            found.setdefault(name.partition("=")[0], []).append(j)
    return list(found.values())


def feature_index(model: Any, feature: Any) -> int:
    """Return the index of a feature that is named, or given by its index."""
    names = feature_names(model)
    if isinstance(feature, str):
        if feature not in names:
            known = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
            raise ValueError(f"There is no feature {feature!r}: the model has {known}.")
        return names.index(feature)
    fits = isinstance(feature, Integral) and not isinstance(feature, bool)
    if not fits or not -len(names) <= int(feature) < len(names):
        raise ValueError(f"A feature is a name or an index below {len(names)}, got {feature!r}.")
    return int(feature) % len(names)


def held_at_zero(model: Any, j: int) -> NDArray[np.bool_]:
    """Return for each class whether the sign that was asked of a coefficient holds it at 0."""
    if feature_names(model)[j] not in constrained(model)[1]:
        return np.zeros(model.n_components_, dtype=bool)
    per_deviation = np.abs(model.coef_ * model.feature_scale_)
    return np.asarray(per_deviation[:, j] <= NEGLIGIBLE * per_deviation.max())


def checked_weights(model: Any, component_weights: Any) -> tuple[Vector, bool]:
    """Return one weight for each class, and whether they were given and so have no error."""
    if component_weights is None:
        return model.weights_, False
    if np.ndim(component_weights) != 1:
        raise ValueError(
            f"component_weights must hold {model.n_components_} numbers, one for each class."
        )
    return model._component_weights(component_weights, 1)[0], True

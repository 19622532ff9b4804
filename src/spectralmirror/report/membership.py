"""Who belongs to which class, and what was required of all classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectralmirror.mixture.summary import INTERCEPT, constrained, letters, membership_lines
from spectralmirror.plotting.membership import membership_data
from spectralmirror.report.effects import LEVEL
from spectralmirror.report.inputs import Inputs

__all__ = ["membership", "requirements"]

#: Covariates of which a picture is drawn.
MAX_CURVES = 4
#: Pictures reach over the middle of the persons: from the 2nd to the 98th percentile.
MIDDLE = (2, 98)


def membership(inputs: Inputs) -> dict[str, Any] | None:
    """Return how the weights of the classes depend on covariates; None if they do not.

    Log-odds against the first class are per standard deviation of the covariate, or from 0 to 1 if
    it has only these values.
    """
    mixture = inputs.mixture
    lines = [line for line in membership_lines(mixture, LEVEL) if line.term != INTERCEPT]
    if not lines:
        return None
    names, Z = [str(name) for name in mixture.membership_names_in_], inputs.membership
    references = dict(inputs.about.get("membership_references") or {})
    binary = [
        name in references or (Z is not None and bool(np.isin(Z[:, j], (0, 1)).all()))
        for j, name in enumerate(names)
    ]
    scale = mixture._membership_scale
    steps = {name: 1.0 if binary[j] else float(scale[j]) for j, name in enumerate(names)}
    classes = []
    for c, called in enumerate(letters(mixture.n_components_)):
        own = [line for line in lines if line.component == c]
        classes.append({"name": called, "terms": [_term(line, steps[line.term]) for line in own]})
    order = np.argsort([-_reach(classes, j) for j in range(len(names))], kind="stable")
    return {
        "covariates": [
            {"name": name, "level": binary[j], "step": steps[name],
             "reference": references.get(name)}
            for j, name in enumerate(names)
        ],
        "against": classes[0]["name"],
        "classes": classes[1:],
        "curves": [
            {**membership_data(mixture, int(j), LEVEL, ends=_ends(inputs, int(j), binary[j])),
             "level": binary[j]}
            for j in order[:MAX_CURVES]
        ],
    }  # fmt: skip


def _term(line: Any, step: float) -> dict[str, Any]:
    known = np.isfinite(line.lower) and np.isfinite(line.upper)
    return {
        "covariate": line.term,
        "value": line.estimate * step,
        "interval": [line.lower * step, line.upper * step] if known else None,
    }


def _reach(classes: list[dict[str, Any]], j: int) -> float:
    """Return the largest difference of log-odds between classes for a step of covariate j."""
    values = [0.0, *(one["terms"][j]["value"] for one in classes[1:])]
    return float(max(values) - min(values))


def _ends(inputs: Inputs, j: int, binary: bool) -> tuple[float, float] | None:
    if binary:
        return 0.0, 1.0
    if inputs.membership is None:
        return None
    low, high = np.percentile(inputs.membership[:, j], MIDDLE)
    return (float(low), float(high)) if low < high else None


def requirements(inputs: Inputs) -> dict[str, Any]:
    """Return the features with one coefficient for all classes, and those of a given sign."""
    shared, signs = constrained(inputs.mixture)
    called = dict(zip([f"x{j}" for j in range(len(inputs.names))], inputs.names, strict=True))
    return {
        "shared": [called.get(name, name) for name in shared],
        "signs": [[called.get(name, name), sign] for name, sign in signs.items()],
    }

"""How certain it is which classifier made the labels."""

from __future__ import annotations

from typing import Any

from spectralmirror.plotting.mixture import responsibilities_data
from spectralmirror.report.inputs import Inputs

__all__ = ["assignments"]


def assignments(inputs: Inputs) -> dict[str, Any]:
    """Return histograms over rows, each judged alone, and over groups, each judged as a whole."""
    mixture, X, y, groups = inputs.mixture, inputs.X, inputs.y, inputs.groups
    by_group = None if groups is None else responsibilities_data(mixture, X, y, groups=groups)
    return {
        "largest": mixture.weights_[0],
        "rows": responsibilities_data(mixture, X, y),
        "groups": by_group,
    }

"""How sure it is who made the labels."""

from __future__ import annotations

from typing import Any

from spectralmirror.plotting.mixture import responsibilities_data
from spectralmirror.report.inputs import Given

__all__ = ["assignments"]


def assignments(given: Given) -> dict[str, Any]:
    """Return histograms over rows, each judged alone, and over groups, each judged together."""
    mixture = given.mixture
    grouped = given.groups is not None
    return {
        "largest": mixture.weights_[0],
        "rows": responsibilities_data(mixture, given.X, given.y),
        "groups": responsibilities_data(mixture, given.X, given.y, given.groups)
        if grouped
        else None,
    }

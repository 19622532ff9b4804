"""How certain it is which classifier made the labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectralmirror.plotting.mixture import responsibilities_data
from spectralmirror.report.held_out import sample
from spectralmirror.report.inputs import Inputs

__all__ = ["assignments"]


def assignments(inputs: Inputs) -> dict[str, Any]:
    """Return histograms over rows, each judged alone, and over groups, each judged as a whole.

    With a spread, a posterior is an integral for each group, and only a sample of them is judged.
    """
    mixture, X, y, groups = inputs.mixture, inputs.X, inputs.y, inputs.groups
    given = inputs.of_groups()
    if groups is not None and getattr(mixture, "spread_kind_", None) is not None:
        few = sample(groups, np.random.default_rng(inputs.seed), with_spread=True)
        X, y, groups, given = X[few], y[few], groups[few], inputs.of_groups(few)
    by_group = None
    if groups is not None:
        by_group = responsibilities_data(mixture, X, y, groups=groups, **given)
    return {
        "largest": mixture.weights_[0],
        "rows": responsibilities_data(mixture, X, y, **given),
        "groups": by_group,
    }

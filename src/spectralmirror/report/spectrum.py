"""The spectral method, fitted to the same rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from spectralmirror.plotting.mirror import mirror_data, spectrum_data
from spectralmirror.report.inputs import Inputs
from spectralmirror.subspace.estimator import SpectralMirror, WeakSignalWarning

__all__ = ["spectrum"]

#: Points in a scatter plot: more would hide each other.
MAX_POINTS = 1500


def spectrum(inputs: Inputs) -> dict[str, Any]:
    """Return eigenvalues and mirrored points, or the reason why there are none."""
    mirror = SpectralMirror(inputs.mixture.n_components_, random_state=inputs.seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            mirror.fit(inputs.frame, inputs.y, groups=inputs.groups)
        except (ValueError, np.linalg.LinAlgError) as error:
            return {"reason": str(error)}
    weak = [str(w.message) for w in caught if issubclass(w.category, WeakSignalWarning)]
    points = mirror_data(mirror, inputs.frame, inputs.y, MAX_POINTS)
    points["classes"] = [inputs.label_text(value) for value in mirror.classes_]
    return {
        "reason": None,
        "weak": weak,
        "separation": mirror.separation_,
        "grouped": mirror.bulk_ == 0,
        "eigenvalues": spectrum_data(mirror),
        "points": points,
    }

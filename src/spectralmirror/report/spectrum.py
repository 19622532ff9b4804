"""What the spectrum shows, or why it shows nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from spectralmirror.plotting.mirror import mirror_data, spectrum_data
from spectralmirror.report.inputs import Given
from spectralmirror.subspace.estimator import SpectralMirror, WeakSignalWarning

__all__ = ["spectrum"]

#: Points of a picture, in which more would hide each other.
MOST_POINTS = 1500


def spectrum(given: Given) -> dict[str, Any]:
    """Return eigenvalues and mirrored points, or the reason why there are none."""
    mirror = SpectralMirror(given.mixture.n_components_, random_state=given.seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            mirror.fit(given.frame, given.y, groups=given.groups)
        except (ValueError, np.linalg.LinAlgError) as error:
            return {"reason": str(error)}
    weak = [str(w.message) for w in caught if issubclass(w.category, WeakSignalWarning)]
    points = mirror_data(mirror, given.frame, given.y, MOST_POINTS)
    points["classes"] = [given.label_text(value) for value in mirror.classes_]
    return {
        "reason": None,
        "weak": weak,
        "separation": mirror.separation_,
        "grouped": mirror.bulk_ == 0,
        "eigenvalues": spectrum_data(mirror),
        "points": points,
    }

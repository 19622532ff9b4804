"""The tensor method finds mixtures of linear regressions, and fails on binary labels."""

from __future__ import annotations

import numpy as np

from spectralmirror.baselines import NoDecompositionError, SpectralExperts
from spectralmirror.experiments.data import regression_mixture
from spectralmirror.experiments.experiment import Cell, Experiment, Row, crossed
from spectralmirror.metrics import profile_error, subspace_error
from spectralmirror.mixture import LinearClassifierMixture
from spectralmirror.rows.types import Matrix

__all__ = ["EXPERTS"]

SIZES = {
    "tiny": (2000,),
    "quick": (1000, 3000, 10_000, 30_000, 100_000),
    "full": (1000, 3000, 10_000, 30_000, 100_000, 300_000),
}
DIMENSION = {"tiny": 3, "quick": 5, "full": 5}
REPETITIONS = {"tiny": 1, "quick": 10, "full": 20}


def cells(scale: str) -> list[Cell]:
    """Return all sizes and seeds."""
    return crossed(d=[DIMENSION[scale]], n=SIZES[scale], seed=range(REPETITIONS[scale]))


def measure(d: int, n: int, seed: int) -> list[Row]:
    """Return the errors of the tensor method on responses, on their signs, and on 0/1 labels.

    Two profiles u_l ~ N(0, I) of equal weight; the response is <u_l, x> plus noise of standard
    deviation 0.2. If the tensor method finds no decomposition, `failed` is 1 and there are no
    errors. The last row is our mixture, fitted to the signs.
    """
    X, y, profiles = regression_mixture(d, n, seed)
    signs = np.where(y > 0, 1.0, -1.0)
    targets = {"responses": y, "labels -1/+1": signs, "labels 0/1": (signs + 1) / 2}
    rows: list[Row] = []
    for name, target in targets.items():
        try:
            found = SpectralExperts(2, random_state=seed).fit(X, target).coef_
        except NoDecompositionError:
            rows.append(_row("tensor", name, None, profiles))
        else:
            rows.append(_row("tensor", name, found, profiles))
    mixture = LinearClassifierMixture(2, fit_intercept=False, random_state=seed).fit(X, signs)
    rows.append(_row("mixture", "labels -1/+1", mixture.coef_, profiles))
    return rows


def _row(method: str, target: str, found: Matrix | None, profiles: Matrix) -> Row:
    row: Row = {"method": method, "target": target}
    if found is None or len(found) < len(profiles):
        return row | {"failed": 1, "sine": None, "profile_error": None}
    error = profile_error(profiles, found, scale_free=True)
    return row | {"failed": 0, "sine": subspace_error(found, profiles), "profile_error": error}


EXPERTS = Experiment("experts", "Tensor moments on responses and on labels", cells, measure)

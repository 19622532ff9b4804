"""Figure 3: the expected label by K nearest neighbours, with and without projection."""

from __future__ import annotations

import numpy as np
from scipy.linalg import orth
from sklearn.neighbors import KNeighborsRegressor

from spectralmirror.experiments.data import section5
from spectralmirror.experiments.experiment import Cell, Experiment, Row, crossed
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["FIGURE3"]

SIZES = {
    "tiny": (200, 800),
    "quick": (250, 500, 1000, 2000, 4000, 8000, 16_000),
    "full": (250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000),
}
DIMENSIONS = {"tiny": (5,), "quick": (20,), "full": (10, 20, 50)}
REPETITIONS = {"tiny": 2, "quick": 10, "full": 25}
NEW_ROWS = 1000


def cells(scale: str) -> list[Cell]:
    """Return all sizes and seeds."""
    return crossed(d=DIMENSIONS[scale], n=SIZES[scale], seed=range(REPETITIONS[scale]))


def measure(d: int, n: int, seed: int) -> list[Row]:
    """Return the RMSE between the mean label of K neighbours and E[y | x], on new rows.

    In all features, inside the paper's U-hat, inside ours, and inside the true span; for scale,
    also the RMSE of always predicting the mean label.
    """
    X, y, truth = section5(n + NEW_ROWS, d, seed)
    X, y, new = X[:n], y[:n], X[n:]
    expected = truth.expected_label(new)
    bases = {
        "ambient": np.eye(d),
        "paper": SpectralMirror(2, method="paper").fit(X, y).components_,
        "default": SpectralMirror(2, random_state=seed).fit(X, y).components_,
        "truth": orth(truth.profiles.T).T,
    }
    row: Row = {"mean": _rmse(y.mean(), expected)}
    for name, basis in bases.items():
        for how, K in (("sqrt", np.sqrt(n)), ("log", np.log(n))):
            neighbours = KNeighborsRegressor(round(K)).fit(X @ basis.T, y)
            row[f"{name}_{how}"] = _rmse(neighbours.predict(new @ basis.T), expected)
    return [row]


def _rmse(found: np.ndarray | float, expected: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found - expected) ** 2)))


FIGURE3 = Experiment("figure3", "Prediction by nearest neighbours", cells, measure)

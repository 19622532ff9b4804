"""The blind spot: at 130 degrees and one particular weight, the mirror shows one direction only."""

from __future__ import annotations

from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.experiments.data import at_angle
from spectralmirror.experiments.experiment import Cell, Experiment, Row, crossed
from spectralmirror.experiments.references import maximum_likelihood, span_error
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["BLIND", "BLIND_SPOT"]

#: The weight at which the signal of the paper's mirror is 0 (see examples/blind_spot.py).
BLIND = 0.79864
WEIGHTS = {
    "tiny": (0.6, BLIND),
    "quick": (0.5, 0.6, 0.7, BLIND, 0.86, 0.95),
    "full": (0.5, 0.55, 0.6, 0.65, 0.7, 0.74, 0.77, BLIND, 0.83, 0.86, 0.9, 0.95),
}
SIZE = {"tiny": (4000, 5), "quick": (40_000, 30), "full": (80_000, 30)}
REPETITIONS = {"tiny": 1, "quick": 6, "full": 20}
DEGREES, NORM = 130.0, 3.0


def cells(scale: str) -> list[Cell]:
    """Return all weights and seeds."""
    n, d = SIZE[scale]
    return crossed(n=[n], d=[d], p=WEIGHTS[scale], seed=range(REPETITIONS[scale]))


def measure(n: int, d: int, p: float, seed: int) -> list[Row]:
    """Return sin d_P of every method for logistic profiles of norm 3."""
    X, y, truth = make_linear_classifier_mixture(
        n, profiles=at_angle(DEGREES, NORM, d), weights=[p, 1 - p], random_state=seed
    )
    found = {
        "paper": SpectralMirror(2, method="paper").fit(X, y).components_,
        "paper_with_mirror": SpectralMirror(2, method="paper", include_mirror_direction=True)
        .fit(X, y)
        .components_,
        "default": SpectralMirror(2, random_state=seed).fit(X, y).components_,
        "likelihood": maximum_likelihood(X, y, truth).coef_,
    }
    return [{name: span_error(basis, truth) for name, basis in found.items()}]


BLIND_SPOT = Experiment("blindspot", "The blind spot at 130 degrees", cells, measure)

"""Is r in the estimated span? Theorem 1 does not say so; section 5 reports that it always was."""

from __future__ import annotations

from spectralmirror.experiments.data import section5
from spectralmirror.experiments.experiment import Cell, Experiment, Row
from spectralmirror.experiments.references import population_mirror
from spectralmirror.metrics import subspace_error
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["SPAN"]

DIMENSIONS = {"tiny": (5,), "quick": (20,), "full": (10, 20, 50)}
ROWS_PER_FEATURE = {
    "tiny": (100,),
    "quick": (10, 50, 200, 1000, 5000),
    "full": (10, 20, 50, 100, 200, 500, 1000, 2000, 5000),
}
REPETITIONS = {"tiny": 2, "quick": 20, "full": 40}


def cells(scale: str) -> list[Cell]:
    """Return all sizes and seeds."""
    return [
        {"d": d, "rows_per_feature": ratio, "n": ratio * d, "seed": seed}
        for d in DIMENSIONS[scale]
        for ratio in ROWS_PER_FEATURE[scale]
        for seed in range(REPETITIONS[scale])
    ]


def measure(d: int, rows_per_feature: int, n: int, seed: int) -> list[Row]:
    """Return how far r and r-hat lie outside U-hat, and the effect of including r-hat.

    `r` and `r_hat` are sines between a direction and the subspace of Algorithm 1; `paper` is its
    sin d_P, `with_r_hat` that of the span of r-hat and one eigenvector, and `r_hat_error` the sine
    between r-hat and the true span.
    """
    X, y, truth = section5(n, d, seed)
    paper = SpectralMirror(2, method="paper").fit(X, y)
    beside = SpectralMirror(2, method="paper", include_mirror_direction=True).fit(X, y)
    U, r_hat = paper.components_, paper.mirror_direction_[None]
    return [
        {
            "r": subspace_error(population_mirror(truth)[None], U),
            "r_hat": subspace_error(r_hat, U),
            "r_hat_error": subspace_error(r_hat, truth.profiles),
            "paper": subspace_error(U, truth.profiles),
            "with_r_hat": subspace_error(beside.components_, truth.profiles),
            "largest_weight": float(truth.weights.max()),
        }
    ]


SPAN = Experiment("span", "The mirror direction and the span", cells, measure)

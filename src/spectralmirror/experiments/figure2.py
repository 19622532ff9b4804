"""Figure 2: convergence of the subspace, against n and against n/d."""

from __future__ import annotations

from spectralmirror.experiments.data import section5
from spectralmirror.experiments.experiment import Cell, Experiment, Row
from spectralmirror.experiments.references import efficient_sine, maximum_likelihood, span_error
from spectralmirror.metrics import subspace_error
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["FIGURE2"]

DIMENSIONS = {"tiny": (5, 10), "quick": (10, 20, 40, 80), "full": (10, 20, 40, 80, 160)}
ROWS_PER_FEATURE = {
    "tiny": (50, 200),
    "quick": (20, 50, 100, 200, 500),
    "full": (10, 20, 50, 100, 200, 500, 1000),
}
REPETITIONS = {"tiny": 2, "quick": 10, "full": 20}


def cells(scale: str) -> list[Cell]:
    """Return all sizes, labels and seeds."""
    return [
        {"labels": labels, "d": d, "rows_per_feature": ratio, "n": ratio * d, "seed": seed}
        for labels in ("hard", "logistic")
        for d in DIMENSIONS[scale]
        for ratio in ROWS_PER_FEATURE[scale]
        for seed in range(REPETITIONS[scale])
    ]


def measure(labels: str, d: int, rows_per_feature: int, n: int, seed: int) -> list[Row]:
    """Return sin d_P of every method.

    `likelihood` is maximised from the truth. `bound` is the asymptotic root mean square error of an
    efficient estimate. Hard labels have no bound, because their model is not regular: the error of
    maximum likelihood falls like d/n, not like its square root.
    """
    X, y, truth = section5(n, d, seed, labels)
    paper = SpectralMirror(2, method="paper").fit(X, y)
    ours = SpectralMirror(2, random_state=seed).fit(X, y)
    likely = maximum_likelihood(X, y, truth)
    row: Row = {
        "paper": subspace_error(paper.components_, truth.profiles),
        "default": subspace_error(ours.components_, truth.profiles),
        "likelihood": span_error(likely.coef_, truth),
        "likelihood_components": likely.n_components_,
        "likelihood_converged": int(likely.converged_),
    }
    if labels == "logistic":
        row["bound"] = efficient_sine(n, truth)
    return [row]


FIGURE2 = Experiment("figure2", "Convergence of the subspace", cells, measure)

"""Principal Hessian directions fail if the features have mean 0, and the mirror does not."""

from __future__ import annotations

import numpy as np

from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.experiments.experiment import Cell, Experiment, Row, crossed
from spectralmirror.metrics import subspace_error
from spectralmirror.subspace.estimator import SpectralMirror
from spectralmirror.subspace.hessian_directions import PrincipalHessianDirections

__all__ = ["HESSIAN"]

MEANS = {
    "tiny": (0.0, 1.0),
    "quick": (0.0, 0.25, 0.5, 1.0, 1.5, 2.0),
    "full": (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0),
}
SIZE = {"tiny": (2000, 5), "quick": (20_000, 20), "full": (20_000, 20)}
REPETITIONS = {"tiny": 2, "quick": 10, "full": 20}


def cells(scale: str) -> list[Cell]:
    """Return all means and seeds."""
    n, d = SIZE[scale]
    return crossed(n=[n], d=[d], mean=MEANS[scale], seed=range(REPETITIONS[scale]))


def measure(n: int, d: int, mean: float, seed: int) -> list[Row]:
    """Return sin d_P of every method, for features whose mean has this norm.

    The mean has a random direction. Classifiers pass through the origin, as in the paper's model,
    so a larger mean leaves more labels of one kind. The weights are those of section 5.
    """
    rng = np.random.default_rng(seed)
    weights, direction = rng.dirichlet(np.ones(2)), rng.standard_normal(d)
    X, y, truth = make_linear_classifier_mixture(
        n,
        d,
        response="hard",
        profile_norm=None,
        weights=weights,
        mean=mean * direction / np.linalg.norm(direction),
        random_state=seed,
    )
    methods = {
        "labels": PrincipalHessianDirections(2),
        "residuals": PrincipalHessianDirections(2, target="residuals"),
        "paper": SpectralMirror(2, method="paper"),
        "default": SpectralMirror(2, random_state=seed),
    }
    return [
        {
            name: subspace_error(method.fit(X, y).components_, truth.profiles)
            for name, method in methods.items()
        }
    ]


HESSIAN = Experiment("hessian", "Principal Hessian directions at mean 0", cells, measure)

"""Figure 4: prediction and clustering by EM, in all features or inside the estimated subspace."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from spectralmirror.datasets import MixtureTruth
from spectralmirror.experiments.data import section5
from spectralmirror.experiments.experiment import Cell, Experiment, Row
from spectralmirror.experiments.references import SHARP
from spectralmirror.metrics import component_error
from spectralmirror.mixture import LinearClassifierMixture
from spectralmirror.rows.types import AnyArray, Matrix
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["FIGURE4"]

SIZES = {
    "tiny": (300,),
    "quick": (125, 500, 2000),
    "full": (125, 250, 500, 1000, 2000, 4000, 8000),
}
DIMENSION = {"tiny": 4, "quick": 10, "full": 20}
REPETITIONS = {"tiny": 1, "quick": 2, "full": 10}
STARTS = {"tiny": 3, "quick": 30, "full": 30}
NEW_ROWS = 10_000
#: "Close to the truth": the distance from it, in units of the norm of a profile.
OFF = 0.3
#: Next to no penalty. Without any, EM would diverge if two classifiers can fit all labels.
HARDLY = 1e-4


def cells(scale: str) -> list[Cell]:
    """Return all sizes and seeds."""
    return [
        {"labels": labels, "d": DIMENSION[scale], "n": n, "starts": STARTS[scale], "seed": seed}
        for labels in ("hard", "logistic")
        for n in SIZES[scale]
        for seed in range(REPETITIONS[scale])
    ]


def measure(labels: str, d: int, n: int, starts: int, seed: int) -> list[Row]:
    """Return the errors on new rows of every fit, from near the truth and from random starts.

    One row per way to start EM. `ambient` is EM in all features, `unpenalised` the same with next
    to no penalty, `paper` EM inside the paper's U-hat, `inside` EM inside ours. `refined` is the
    default of LinearClassifierMixture without intercepts, in all features and with its own starts:
    it does not use the truth, and is the same in both rows.
    """
    X, y, truth = section5(n + NEW_ROWS, d, seed, labels)
    new = X[n:], y[n:], truth.components[n:]
    X, y = X[:n], y[:n]
    bases = {
        "paper": SpectralMirror(2, method="paper").fit(X, y).components_,
        "inside": SpectralMirror(2, random_state=seed).fit(X, y).components_,
    }
    same: dict[str, Any] = {"fit_intercept": False, "random_state": seed}
    refined = LinearClassifierMixture(2, **same).fit(X, y)
    rows: list[Row] = []
    for start, init in (("truth", near(truth, seed)), ("random", "random")):
        options = {**same, "solver": "em", "init": init, "n_init": starts}
        fits = {"ambient": LinearClassifierMixture(2, subspace=None, **options).fit(X, y)}
        free = LinearClassifierMixture(2, subspace=None, l2=HARDLY, **options)
        fits["unpenalised"] = free.fit(X, y)
        for name, basis in bases.items():
            inside = LinearClassifierMixture(2, subspace=basis, refine=False, **options)
            fits[name] = inside.fit(X, y)
        fits["refined"] = refined
        row: Row = {"start": start}
        for name, mixture in fits.items():
            row |= {f"{key}_{name}": value for key, value in errors(mixture, truth, *new).items()}
            row[f"components_{name}"] = mixture.n_components_
            row[f"converged_{name}"] = int(mixture.converged_)
        row["refined_above_ambient"] = refined.objective_ - fits["ambient"].objective_
        row |= {f"{key}_bayes": value for key, value in best_possible(truth, *new).items()}
        rows.append(row)
    return rows


def near(truth: MixtureTruth, seed: int) -> Matrix:
    """Return profiles at a distance of OFF from the true ones, in units of their norm."""
    length = np.linalg.norm(truth.profiles, axis=1, keepdims=True)
    unit = truth.profiles / length
    noise = np.random.default_rng(seed).standard_normal(unit.shape)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    return np.asarray((length if truth.response.norm_identified else SHARP) * (unit + OFF * noise))


def errors(
    mixture: LinearClassifierMixture, truth: MixtureTruth, X: Matrix, y: AnyArray, made_by: AnyArray
) -> Row:
    """Return three errors on new rows.

    `expected`: RMSE between decision_function and E[y | x] (the paper's text). `label`: the share
    of labels that are predicted wrongly by the estimate of the classifier that made them (the
    caption's "label given features and the classifier"). `component`: the share of labels assigned
    to the wrong classifier. The last two use the best matching of components.
    """
    found = mixture.decision_function(X)
    k = len(truth.weights)
    coef = np.repeat(mixture.coef_[:1], k, axis=0)  # in place of a component that vanished
    coef[: mixture.n_components_] = mixture.coef_
    wrong = [
        float(np.mean(np.einsum("ij,ij->i", X, coef[list(order)][made_by]) * y <= 0))
        for order in permutations(range(k))
    ]
    return {
        "expected": float(np.sqrt(np.mean((found - truth.expected_label(X)) ** 2))),
        "label": min(wrong),
        "component": component_error(made_by, mixture.predict_component(X, y)),
    }


def best_possible(truth: MixtureTruth, X: Matrix, y: AnyArray, made_by: AnyArray) -> Row:
    """Return the errors of the true mixture."""
    scores = y[:, None] * (X @ truth.profiles.T)
    likely = (truth.weights * truth.response.f(scores)).argmax(axis=1)
    return {
        "label": float(np.mean(scores[np.arange(len(y)), made_by] < 0)),
        "component": float(np.mean(likely != made_by)),
    }


FIGURE4 = Experiment("figure4", "Prediction and clustering by EM", cells, measure)

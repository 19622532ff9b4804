"""The median of the eigenvalues is not the centre of the bulk if k >= d/2; the mean of Z is."""

from __future__ import annotations

import numpy as np

from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.experiments.experiment import Cell, Experiment, Row, crossed
from spectralmirror.metrics import subspace_error
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.types import AnyArray, Matrix, Vector
from spectralmirror.subspace.algorithm1 import algorithm1
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["MEDIAN"]

DIMENSION = 10
COMPONENTS = {"tiny": (2, 6), "quick": (2, 3, 4, 5, 6, 7, 8), "full": (2, 3, 4, 5, 6, 7, 8)}
SIZE = {"tiny": 5000, "quick": 100_000, "full": 400_000}
REPETITIONS = {"tiny": 1, "quick": 6, "full": 20}


def cells(scale: str) -> list[Cell]:
    """Return all numbers of components and seeds."""
    seeds = range(REPETITIONS[scale])
    return crossed(n=[SIZE[scale]], d=[DIMENSION], k=COMPONENTS[scale], seed=seeds)


def measure(n: int, d: int, k: int, seed: int) -> list[Row]:
    """Return sin d_P with the median as the centre, with the mean of Z, and of our default.

    k orthogonal hard classifiers of equal weight. With features of mean 0, the bulk of Q lies at
    E[Z], because directions outside the span are independent of Z.
    """
    X, y, truth = make_linear_classifier_mixture(
        n, profiles=np.eye(k, d), weights=np.full(k, 1 / k), response="hard", random_state=seed
    )
    eigenvalues, directions, bulk = mirrored_spectrum(X, y)
    median = float(np.median(eigenvalues))
    ours = SpectralMirror(k, random_state=seed).fit(X, y)
    return [
        {
            "median": subspace_error(furthest(eigenvalues, directions, median, k), truth.profiles),
            "known_bulk": subspace_error(
                furthest(eigenvalues, directions, bulk, k), truth.profiles
            ),
            "default": subspace_error(ours.components_, truth.profiles),
        }
    ]


def mirrored_spectrum(X: Matrix, y: AnyArray) -> tuple[Vector, Matrix, float]:
    """Return eigenvalues, un-whitened eigenvectors (as rows) and the mean of Z: lines 1 to 6."""
    found = algorithm1(Rows(X, y), X.shape[1])
    return found.spectrum.eigenvalues, found.basis, found.second.mirrored_mean


def furthest(eigenvalues: Vector, directions: Matrix, bulk: float, k: int) -> Matrix:
    """Return the k directions whose eigenvalues lie furthest from the bulk (lines 7 and 8)."""
    order = np.argsort(-np.abs(eigenvalues - bulk), kind="stable")
    return np.asarray(directions[order[:k]])


MEDIAN = Experiment("median", "The median as the centre of the bulk", cells, measure)

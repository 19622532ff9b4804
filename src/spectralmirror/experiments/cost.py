"""The cost of a fit: seconds against d and n, for our methods and the tensor method."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from spectralmirror.baselines import SpectralExperts
from spectralmirror.experiments.data import regression_mixture
from spectralmirror.experiments.experiment import Cell, Experiment, Row
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["COST"]

#: The number of rows in the sweep over d, and the number of features in the sweep over n.
AT_N = {"tiny": 2000, "quick": 10_000, "full": 20_000}
AT_D = {"tiny": 4, "quick": 8, "full": 12}
DIMENSIONS = {
    "tiny": (4, 8),
    "quick": (4, 8, 16, 64, 256),
    "full": (4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024),
}
SIZES = {
    "tiny": (1000, 4000),
    "quick": (5000, 20_000, 80_000),
    "full": (8000, 32_000, 128_000, 512_000, 2_048_000),
}
#: The tensor method is not run with more features, or more numbers in X.
MOST_FEATURES = {"tiny": 8, "quick": 16, "full": 24}
MOST_NUMBERS = 7_000_000
REPEATS = 3


def cells(scale: str) -> list[Cell]:
    """Return both sweeps for every method."""
    sizes = [("d", AT_N[scale], d) for d in DIMENSIONS[scale]]
    sizes += [("n", n, AT_D[scale]) for n in SIZES[scale]]
    return [
        {"against": against, "method": method, "n": n, "d": d}
        for method in METHODS
        for against, n, d in sizes
        if method != "tensor" or (d <= MOST_FEATURES[scale] and n * d <= MOST_NUMBERS)
    ]


def measure(against: str, method: str, n: int, d: int) -> list[Row]:
    """Return the processor seconds of a fit: the smallest of three, after a warm-up.

    They are summed over all threads, and so do not depend on the number of cores.
    """
    X, y, _ = regression_mixture(d, n, seed=0)
    target = y if method == "tensor" else np.where(y > 0, 1, -1)
    seconds = []
    for _ in range(REPEATS + 1):
        start = time.process_time()
        METHODS[method]().fit(X, target)
        seconds.append(time.process_time() - start)
    return [{"seconds": min(seconds[1:])}]


METHODS: dict[str, Callable[[], Any]] = {
    "paper": lambda: SpectralMirror(2, method="paper"),
    "default": lambda: SpectralMirror(2, random_state=0),
    "tensor": lambda: SpectralExperts(2, random_state=0),
}

COST = Experiment("cost", "Seconds against d and n", cells, measure, alone=True)

"""Figure 1: mirroring, for two classifiers in three dimensions.

Each half space holds labels of both classifiers; r-hat lies between the two profiles; and after
mirroring, one half space is no longer the negative of the other.
"""

from __future__ import annotations

import numpy as np

from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.experiments.experiment import Cell, Experiment, Row
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["FIGURE1"]

#: Chosen for a clear picture: an acute angle, unequal weights, and r-hat between the profiles.
PROFILES = np.array([[1.0, 0.1, 0.25], [0.1, 1.0, 0.35]])
WEIGHTS = (0.55, 0.45)
SHOWN = {"tiny": 50, "quick": 100, "full": 100}


def cells(scale: str) -> list[Cell]:
    """Return the only cell: the number of points shown, and the number that r-hat is made from."""
    return [{"shown": SHOWN[scale], "n": 4000, "seed": 1}]


def measure(shown: int, n: int, seed: int) -> list[Row]:
    """Return points with their labels and mirrored labels, both profiles, and r-hat.

    The mirror is that of Algorithm 1: r-hat comes from the first half of the rows, and the points
    from the second half, whose labels are mirrored.
    """
    X, y, truth = make_linear_classifier_mixture(
        n, profiles=PROFILES, weights=WEIGHTS, response="hard", random_state=seed
    )
    r = SpectralMirror(2, method="paper").fit(X, y).mirror_direction_
    rows = [_row("profile", u, i, 0) for i, u in enumerate(truth.profiles, 1)]
    rows.append(_row("mirror", r / np.linalg.norm(r), 0, 0))
    half = slice(n // 2, n // 2 + shown)
    mirrored = y[half] * np.sign(X[half] @ r)
    points = zip(X[half], y[half], mirrored, strict=True)
    return rows + [_row("point", x, int(label), int(z)) for x, label, z in points]


def _row(kind: str, x: np.ndarray, label: int, mirrored: int) -> Row:
    """Return a row; the label of a profile is its number."""
    x1, x2, x3 = (round(float(value), 4) for value in x)
    return {"kind": kind, "x1": x1, "x2": x2, "x3": x3, "label": label, "mirrored": mirrored}


FIGURE1 = Experiment("figure1", "Mirroring in three dimensions", cells, measure)

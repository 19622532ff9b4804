"""How good predicted probabilities are, and how sure a difference is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score

from spectralmirror.rows.types import Vector

__all__ = ["calibration", "clustered_interval", "comparison", "losses", "share_interval"]

#: Probabilities are kept so far from 0 and 1, so that one row does not decide everything.
CLIP = 1e-12
#: Points of a calibration curve, and the fewest rows behind each: with fewer, its share of labels
#: is uncertain by more than 0.2 either way.
BINS, ROWS_A_BIN = 10, 25


def losses(probability: Vector, positive: NDArray[np.bool_]) -> Vector:
    """Return -log of the probability that each label was given, in nats."""
    p = np.clip(probability, CLIP, 1 - CLIP)
    return np.asarray(-np.log(np.where(positive, p, 1 - p)))


def comparison(
    predicted: dict[str, Vector], positive: NDArray[np.bool_], clusters: NDArray[Any]
) -> dict[str, Any]:
    """Return log-loss, AUC and accuracy of each, and what the mixture gains on a single one.

    The verdict is "better" or "worse" where the whole interval of the gain lies on one side of 0,
    and otherwise "unclear".
    """
    gains = losses(predicted["single"], positive) - losses(predicted["mixture"], positive)
    interval = clustered_interval(gains, clusters)
    verdict = "unclear"
    if interval is not None and interval[0] > 0:
        verdict = "better"
    elif interval is not None and interval[1] < 0:
        verdict = "worse"
    return {
        "n_rows": len(positive),
        **{name: _scores(probability, positive) for name, probability in predicted.items()},
        "gain": gains.mean(),
        "gain_interval": interval,
        "verdict": verdict,
    }


def clustered_interval(
    values: Vector, clusters: NDArray[Any], level: float = 0.95
) -> list[float] | None:
    """Return an interval of the mean of values that depend on each other inside clusters.

    With S_g the sum of (value - mean) over cluster g, the variance of the mean of n values in G
    clusters is G / (G - 1) sum_g S_g^2 / n^2, and the quantile Student's with G - 1 degrees.
    """
    numbers = np.unique(clusters, return_inverse=True)[1]
    sums = np.bincount(numbers, values - values.mean())
    G = len(sums)
    if G < 2:
        return None
    error = np.sqrt(G / (G - 1) * (sums @ sums)) / len(values)
    half = float(student.isf((1 - level) / 2, G - 1)) * error
    return [float(values.mean() - half), float(values.mean() + half)]


def calibration(
    probability: Vector, positive: NDArray[np.bool_], clusters: NDArray[Any]
) -> list[dict[str, Any]]:
    """Return what was predicted and what was seen, in tenths of the rows by what was predicted."""
    n_bins = int(np.clip(len(positive) // ROWS_A_BIN, 1, BINS))
    parts = np.array_split(np.argsort(probability, kind="stable"), n_bins)
    return [
        {
            "predicted": float(probability[part].mean()),
            "seen": float(positive[part].mean()),
            "interval": share_interval(positive[part], clusters[part]),
        }
        for part in parts
    ]


def share_interval(
    positive: NDArray[np.bool_], clusters: NDArray[Any], level: float = 0.95
) -> list[float]:
    """Return an interval of a share, where rows depend on each other inside clusters.

    Wilson's, of as many independent rows as would have the variance that clusters have; of rows
    that are all alike, as many as there are clusters.
    """
    numbers = np.unique(clusters, return_inverse=True)[1]
    p, n, G = float(positive.mean()), float(len(positive)), int(numbers.max()) + 1
    sums = np.bincount(numbers, positive - p)
    spread = float(sums @ sums) * G / max(G - 1, 1)
    n = min(n, n * n * p * (1 - p) / spread) if spread > 0 else G
    q2 = float(student.isf((1 - level) / 2, max(G - 1, 1))) ** 2
    centre, half = p + q2 / (2 * n), np.sqrt(q2 * (p * (1 - p) + q2 / (4 * n)) / n)
    return [float((centre - half) / (1 + q2 / n)), float((centre + half) / (1 + q2 / n))]


def _scores(probability: Vector, positive: NDArray[np.bool_]) -> dict[str, Any]:
    both = positive.any() and not positive.all()
    return {
        "log_loss": losses(probability, positive).mean(),
        "auc": float(roc_auc_score(positive, probability)) if both else None,
        "accuracy": ((probability > 0.5) == positive).mean(),
    }

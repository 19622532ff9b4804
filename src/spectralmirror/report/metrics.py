"""Quality of predicted probabilities, with cluster-robust intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.metrics import accuracy_score, roc_auc_score

from spectralmirror.report.effects import LEVEL
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["calibration", "clustered_interval", "comparison", "share_interval"]

#: Probabilities are kept this far from 0 and 1, so that no single row dominates the log-loss.
CLIP = 1e-12
#: Points of a calibration curve, and the fewest rows behind each: with fewer, the observed share
#: is uncertain by more than 0.2 either way.
MAX_BINS, ROWS_PER_BIN = 10, 25


def comparison(
    predicted: dict[str, Matrix],
    y: NDArray[np.intp],
    clusters: NDArray[Any],
    rival: str = "single",
) -> dict[str, Any]:
    """Return the scores of every model, and the gain of the mixture over a rival.

    The gain is the mean over rows of the difference of log-losses. The verdict is "better" or
    "worse" if the whole interval of the gain lies on one side of 0, and otherwise "unclear".

    `predicted` holds the probabilities of all labels, shape (n, n_labels), and `y` the number of
    the label of each row.
    """
    predicted = {name: np.clip(p, CLIP, 1 - CLIP) for name, p in predicted.items()}
    # per row, which `log_loss` does not return: the interval needs the sums over clusters
    of_label = {name: p[np.arange(len(y)), y] for name, p in predicted.items()}
    gains = np.log(of_label["mixture"] / of_label[rival])
    interval = clustered_interval(gains, clusters)
    verdict = "unclear"
    if interval is not None and interval[0] > 0:
        verdict = "better"
    elif interval is not None and interval[1] < 0:
        verdict = "worse"
    return {
        "n_rows": len(y),
        "rival": rival,
        **{name: _scores(p, y) for name, p in predicted.items()},
        "gain": gains.mean(),
        "gain_interval": interval,
        "verdict": verdict,
    }


def _scores(probability: Matrix, y: NDArray[np.intp]) -> dict[str, Any]:
    """Return the log-loss and the accuracy, and the AUC of two labels if both occur."""
    n_labels = probability.shape[1]
    both = n_labels == 2 and y.any() and not y.all()
    return {
        "log_loss": float(-np.log(probability[np.arange(len(y)), y]).mean()),
        "auc": roc_auc_score(y, probability[:, 1]) if both else None,
        "accuracy": accuracy_score(y, probability.argmax(axis=1)),
    }


def calibration(
    probability: Vector, positive: NDArray[np.bool_], clusters: NDArray[Any]
) -> list[dict[str, Any]]:
    """Return the mean prediction and the observed share in bins of equally many rows.

    scikit-learn's `calibration_curve` returns the same points for predictions without ties, but
    not which rows lie in a bin, which the cluster-robust interval of the share needs.
    """
    n_bins = int(np.clip(len(positive) // ROWS_PER_BIN, 1, MAX_BINS))
    bins = np.array_split(np.argsort(probability, kind="stable"), n_bins)
    return [
        {
            "predicted": float(probability[rows].mean()),
            "seen": float(positive[rows].mean()),
            "interval": share_interval(positive[rows], clusters[rows]),
        }
        for rows in bins
    ]


def clustered_interval(values: Vector, clusters: NDArray[Any]) -> list[float] | None:
    """Return the cluster-robust confidence interval of a mean, or None for a single cluster.

    With S_g the sum of (value - mean) over cluster g, the variance of the mean of n values in G
    clusters is G / (G - 1) sum_g S_g^2 / n^2. The quantile is Student's with G - 1 degrees of
    freedom.
    """
    sums = _cluster_sums(values - values.mean(), clusters)
    G = len(sums)
    if G < 2:
        return None
    error = np.sqrt(G / (G - 1) * (sums @ sums)) / len(values)
    half = float(student.isf((1 - LEVEL) / 2, G - 1)) * error
    return [float(values.mean() - half), float(values.mean() + half)]


def share_interval(positive: NDArray[np.bool_], clusters: NDArray[Any]) -> list[float]:
    """Return a cluster-robust confidence interval of a share.

    It is Wilson's interval with an effective sample size: the number of independent rows that
    would give the cluster-robust variance. If all rows agree, it is the number of clusters.
    """
    p, n = float(positive.mean()), float(len(positive))
    sums = _cluster_sums(positive.astype(float) - p, clusters)
    G = len(sums)
    spread = float(sums @ sums) * G / max(G - 1, 1)
    n = min(n, n * n * p * (1 - p) / spread) if spread > 0 else G
    q2 = float(student.isf((1 - LEVEL) / 2, max(G - 1, 1))) ** 2
    centre, half = p + q2 / (2 * n), np.sqrt(q2 * (p * (1 - p) + q2 / (4 * n)) / n)
    return [float((centre - half) / (1 + q2 / n)), float((centre + half) / (1 + q2 / n))]


def _cluster_sums(values: Vector, clusters: NDArray[Any]) -> Vector:
    return np.asarray(np.bincount(np.unique(clusters, return_inverse=True)[1], values), float)

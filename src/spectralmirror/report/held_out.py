"""How well labels that were held out are predicted, by the mixture and by a single classifier."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spectralmirror.report.inputs import Given
from spectralmirror.report.metrics import calibration, comparison
from spectralmirror.responses import get_response
from spectralmirror.rows.types import Vector

__all__ = ["FOLDS", "MOST_ROWS", "folds", "held_out", "sample"]

FOLDS = 5
#: Refits use at most so many rows, in whole groups: they take seconds then, and a difference of
#: log-loss that matters shows.
MOST_ROWS = 20_000
#: Stands in for no penalty at all, which separable labels would need.
LEAST_PENALTY = 1e-8


@dataclass(eq=False)
class Predictions:
    """Probabilities of label +1 for rows that were held out, NaN where there are none.

    Attributes
    ----------
    mixture, single, constant : ndarray
        By the mixture, by a single logistic regression, and by the share of the labels fitted.
    with_history : ndarray
        By the mixture, given the known half of the row's group.
    """

    mixture: Vector
    single: Vector
    constant: Vector
    with_history: Vector

    @classmethod
    def none(cls, n: int) -> Predictions:
        """Nothing predicted yet."""
        return cls(*(np.full(n, np.nan) for _ in range(4)))


def held_out(given: Given) -> dict[str, Any]:
    """Compare by cross-validation in whole groups; return figures, or why there are none."""
    rng = np.random.default_rng(given.seed)
    chosen = sample(given.clusters, rng)
    clusters = np.unique(given.clusters[chosen], return_inverse=True)[1]
    n_clusters = int(clusters.max()) + 1
    if n_clusters < FOLDS:
        what = "rows" if given.groups is None else "groups"
        return {"reason": f"There are fewer than {FOLDS} {what}."}
    fold = folds(clusters, rng)
    X, positive = given.X[chosen], given.positive[chosen]
    predictions, failures = Predictions.none(len(chosen)), {}
    for number in range(FOLDS):
        try:
            _predict_fold(given, X, positive, clusters, fold == number, predictions, rng)
        except (ValueError, np.linalg.LinAlgError) as error:
            failures[number + 1] = str(error)
    known = np.isfinite(predictions.mixture)
    if not known.any():
        return {"reason": " ".join(dict.fromkeys(failures.values()))}
    later = np.isfinite(predictions.with_history)
    fresh = _compare(predictions.mixture, predictions, positive, clusters, known)
    return {
        "reason": None,
        "failures": [
            f"Part {number} of {FOLDS} could not be predicted: {why}"
            for number, why in failures.items()
        ],
        "n_folds": FOLDS,
        "single": f"{get_response(given.mixture.response).fitted.name} regression",
        "n_rows": int(known.sum()),
        "n_groups": None if given.groups is None else n_clusters,
        "fresh": fresh,
        "history": _compare(predictions.with_history, predictions, positive, clusters, later),
        "calibration": {
            "mixture": calibration(predictions.mixture[known], positive[known], clusters[known]),
            "single": calibration(predictions.single[known], positive[known], clusters[known]),
        },
    }


def sample(clusters: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the rows of groups in random order, as many whole ones as `MOST_ROWS` holds."""
    if len(clusters) <= MOST_ROWS:
        return np.arange(len(clusters))
    sizes = np.bincount(clusters)
    order = rng.permutation(len(sizes))
    n_taken = int(np.searchsorted(np.cumsum(sizes[order]), MOST_ROWS, side="right"))
    taken = np.zeros(len(sizes), dtype=bool)
    taken[order[: max(n_taken, FOLDS)]] = True
    rows = np.flatnonzero(taken[clusters])
    if len(rows) <= MOST_ROWS:
        return rows
    # a few giant groups: so many rows of each
    shuffled = rng.permutation(rows)
    by_group = shuffled[np.argsort(clusters[shuffled], kind="stable")]
    starts = np.unique(clusters[by_group], return_index=True)[1]
    place = np.arange(len(by_group)) - np.repeat(starts, np.diff([*starts, len(by_group)]))
    return np.sort(by_group[place < MOST_ROWS // len(starts)])


def folds(clusters: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of every row: groups are dealt out like cards, whole."""
    return np.asarray((rng.permutation(int(clusters.max()) + 1) % FOLDS)[clusters])


def _predict_fold(
    given: Given,
    X: Any,
    positive: NDArray[np.bool_],
    clusters: NDArray[Any],
    held: NDArray[np.bool_],
    predictions: Predictions,
    rng: np.random.Generator,
) -> None:
    """Fit both models without the rows held out, and fill in what they predict for these."""
    fitted, grouped = ~held, given.groups is not None
    y = np.where(positive, 1, -1)
    if len(np.unique(y[fitted])) < 2:
        raise ValueError("The rows to fit all have the same label.")
    mixture = clone(given.mixture).set_params(
        n_components=given.mixture.n_components_, random_state=given.seed
    )
    single = _single(given.mixture)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folds, which are not what was fitted
        mixture.fit(X[fitted], y[fitted], groups=clusters[fitted] if grouped else None)
        single.fit(X[fitted], y[fitted])
    predictions.mixture[held] = mixture.predict_proba(X[held])[:, 1]
    predictions.single[held] = single.predict_proba(X[held])[:, 1]
    predictions.constant[held] = positive[fitted].mean()
    if grouped and mixture.n_components_ > 1:
        known, later = _halves(np.flatnonzero(held), clusters, rng)
        if len(later):
            weights = np.zeros((int(clusters.max()) + 1, mixture.n_components_))
            weights[clusters[known]] = mixture.component_proba(X[known], y[known], clusters[known])
            given_history = mixture.predict_proba(X[later], weights[clusters[later]])
            predictions.with_history[later] = given_history[:, 1]


def _halves(
    rows: NDArray[np.intp], clusters: NDArray[Any], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide the rows of every group at random into a known half and a later one.

    Of an odd number the later half has one more, and a single row has no known half and is left
    out.
    """
    shuffled = rng.permutation(rows)
    order = shuffled[np.argsort(clusters[shuffled], kind="stable")]
    _, starts, sizes = np.unique(clusters[order], return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(starts, sizes)
    known = place < np.repeat(sizes // 2, sizes)
    alone = np.repeat(sizes < 2, sizes)
    return np.sort(order[known]), np.sort(order[~known & ~alone])


def _single(mixture: Any) -> Any:
    """Return a regression with the penalty of the mixture: l2/2 |u|^2, per SD."""
    # the same response, or the gain would be that of another response, too
    if not get_response(mixture.response).fitted.canonical:
        return clone(mixture).set_params(n_components=1, init="spectral", subspace=None)
    intercept = bool(mixture.fit_intercept)
    return make_pipeline(
        StandardScaler(with_mean=intercept),
        LogisticRegression(
            C=1 / max(mixture.l2, LEAST_PENALTY), fit_intercept=intercept, tol=1e-6, max_iter=1000
        ),
    )


def _compare(
    ours: Vector,
    predictions: Predictions,
    positive: NDArray[np.bool_],
    clusters: NDArray[Any],
    rows: NDArray[np.bool_],
) -> dict[str, Any] | None:
    if not rows.any():
        return None
    return comparison(
        {
            "mixture": ours[rows],
            "single": predictions.single[rows],
            "constant": predictions.constant[rows],
        },
        positive[rows],
        clusters[rows],
    )

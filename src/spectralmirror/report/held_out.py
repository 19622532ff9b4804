"""Cross-validated predictions of the mixture and of a single classifier."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spectralmirror.report.group_means import mean_labels, with_mean
from spectralmirror.report.inputs import Inputs
from spectralmirror.report.metrics import calibration, comparison
from spectralmirror.responses import get_response
from spectralmirror.rows.progress import stage
from spectralmirror.rows.types import Matrix

__all__ = ["FOLDS", "MAX_ROWS", "MAX_ROWS_WITH_SPREAD", "held_out", "sample"]

FOLDS = 5
#: Refits use at most this many rows, in whole groups: they then take seconds, and are enough to
#: show a difference of log-loss that matters.
MAX_ROWS = 20_000
#: The same if there is a spread, which takes some fifty times longer to fit.
MAX_ROWS_WITH_SPREAD = 8_000
#: Stands in for no penalty, under which separable labels would have no finite estimate.
MIN_PENALTY = 1e-8


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows that are cross-validated.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Their features.
    y : ndarray of int
        The number of their label, in the order of `classes_`.
    n_labels : int
        Number of labels.
    clusters : ndarray of int
        Their groups, numbered from 0; every row is its own if there are none.
    grouped : bool
        Whether there are groups.
    membership : ndarray of shape (n, q) or None
        Covariates of the groups.
    """

    X: Any
    y: NDArray[np.intp]
    n_labels: int
    clusters: NDArray[np.intp]
    grouped: bool
    membership: Any = None

    def of_groups(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Return the covariates of some rows as an argument of the mixture; {} without any."""
        return {} if self.membership is None else {"membership": self.membership[rows]}


@dataclass(frozen=True, eq=False)
class Predictions:
    """Probabilities of all labels for held-out rows, NaN where there are none.

    Attributes
    ----------
    mixture, single, constant : ndarray
        By the mixture, by a single regression, and by the share of the labels fitted.
    with_history : ndarray
        By the mixture, given the labels of the known half of the row's group.
    with_mean : ndarray
        By a single regression, given the mean of these labels as one more feature; with more than
        two labels, the shares of all but the first.
    """

    mixture: Matrix
    single: Matrix
    constant: Matrix
    with_history: Matrix
    with_mean: Matrix

    @classmethod
    def empty(cls, n: int, n_labels: int) -> Predictions:
        """Return predictions of n rows, all still missing."""
        return cls(*(np.full((n, n_labels), np.nan) for _ in range(5)))


def held_out(inputs: Inputs) -> dict[str, Any]:
    """Compare by cross-validation over whole groups; return figures, or why there are none."""
    rng = np.random.default_rng(inputs.seed)
    chosen = sample(inputs.clusters, rng, with_spread=_kind_of_spread(inputs) is not None)
    clusters = np.unique(inputs.clusters[chosen], return_inverse=True)[1]
    n_clusters, grouped = int(clusters.max()) + 1, inputs.groups is not None
    if n_clusters < FOLDS:
        return {"reason": f"There are fewer than {FOLDS} {'groups' if grouped else 'rows'}."}
    Z = None if inputs.membership is None else inputs.membership[chosen]
    y, C = np.searchsorted(inputs.mixture.classes_, inputs.y[chosen]), len(inputs.mixture.classes_)
    rows = Sample(inputs.X[chosen], y, C, clusters, grouped, Z)
    predictions, failures = Predictions.empty(len(chosen), C), {}
    folds = GroupKFold(FOLDS, shuffle=True, random_state=inputs.seed)
    for number, (fitted, held) in enumerate(folds.split(rows.X, groups=clusters), start=1):
        stage(f"held-out rows, part {number} of {FOLDS}")
        try:
            _predict_fold(inputs, rows, fitted, held, predictions, rng)
        except (ValueError, np.linalg.LinAlgError) as error:
            failures[number] = str(error)
    known = np.isfinite(predictions.mixture[:, 0])
    if not known.any():
        return {"reason": " ".join(dict.fromkeys(failures.values()))}
    return {
        "reason": None,
        "failures": [
            f"Part {number} of {FOLDS} could not be predicted: {why}"
            for number, why in failures.items()
        ],
        "n_folds": FOLDS,
        "single": _single_name(inputs.mixture),
        "n_rows": int(known.sum()),
        "n_groups": n_clusters if grouped else None,
        "fresh": _compare(predictions.mixture, predictions, rows),
        "history": _compare(predictions.with_history, predictions, rows, means=True),
        "calibration": {
            name: _calibration(p, rows, known)
            for name, p in (("mixture", predictions.mixture), ("single", predictions.single))
        },
        **({} if C == 2 else {"confusion": _confusion(predictions, rows)}),
    }


def _single_name(mixture: Any) -> str:
    """Return what the regression is called with which the mixture is compared."""
    name = f"{get_response(mixture.response).fitted.name} regression"
    return name if len(mixture.classes_) == 2 else f"multinomial {name}"


def _calibration(p: Matrix, rows: Sample, known: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """Return the curve of label +1; that of every label of every row if there are more than two."""
    labels = np.arange(1 if rows.n_labels == 2 else 0, rows.n_labels)
    seen = rows.y[known, None] == labels
    clusters = np.repeat(rows.clusters[known], len(labels))
    return calibration(p[known][:, labels].ravel(), seen.ravel(), clusters)


def _confusion(predictions: Predictions, rows: Sample) -> dict[str, Any]:
    """Return how often each label was predicted where each was observed, with the best knowledge.

    Half of the labels of each group are known if there are groups.
    """
    history = np.isfinite(predictions.with_history[:, 0])
    P = predictions.with_history if history.any() else predictions.mixture
    known = np.isfinite(P[:, 0])
    pairs = rows.y[known] * rows.n_labels + P[known].argmax(axis=1)
    counts = np.bincount(pairs, minlength=rows.n_labels**2)
    return {
        "with_history": bool(history.any()),
        "counts": counts.reshape(rows.n_labels, rows.n_labels),
    }


def _kind_of_spread(inputs: Inputs) -> str | None:
    """Return how members of one class differ; models that were stored earlier have no spread."""
    return getattr(inputs.mixture, "spread_kind_", None)


def sample(
    clusters: NDArray[np.int64], rng: np.random.Generator, *, with_spread: bool = False
) -> NDArray[np.intp]:
    """Return the rows of as many whole groups, in random order, as `MAX_ROWS` holds.

    scikit-learn's `GroupShuffleSplit` takes a number of groups, not of rows. Groups that are too
    large for `FOLDS` of them to be taken whole contribute equally many random rows each.
    """
    most = MAX_ROWS_WITH_SPREAD if with_spread else MAX_ROWS
    if len(clusters) <= most:
        return np.arange(len(clusters))
    sizes = np.bincount(clusters)
    order = rng.permutation(len(sizes))
    n_taken = int(np.searchsorted(np.cumsum(sizes[order]), most, side="right"))
    taken = np.zeros(len(sizes), dtype=bool)
    taken[order[: max(n_taken, FOLDS)]] = True
    rows = np.flatnonzero(taken[clusters])
    if len(rows) <= most:
        return rows
    by_group, place, _ = _shuffled_within_groups(rows, clusters, rng)
    n_groups = len(np.unique(clusters[rows]))
    return np.sort(by_group[place < most // n_groups])


def _shuffled_within_groups(
    rows: NDArray[np.intp], clusters: NDArray[Any], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows ordered by group, at random within; their place in it, and its size."""
    shuffled = rng.permutation(rows)
    by_group = shuffled[np.argsort(clusters[shuffled], kind="stable")]
    _, starts, sizes = np.unique(clusters[by_group], return_index=True, return_counts=True)
    place = np.arange(len(by_group)) - np.repeat(starts, sizes)
    return by_group, place, np.repeat(sizes, sizes)


def _halves(
    rows: NDArray[np.intp], clusters: NDArray[Any], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide the rows of every group at random into a known half and a later half.

    If their number is odd, the later half has one more. Groups of a single row are left out.
    """
    by_group, place, sizes = _shuffled_within_groups(rows, clusters, rng)
    known = place < sizes // 2
    return np.sort(by_group[known]), np.sort(by_group[~known & (sizes > 1)])


def _predict_fold(
    inputs: Inputs,
    rows: Sample,
    fitted: NDArray[np.intp],
    held: NDArray[np.intp],
    predictions: Predictions,
    rng: np.random.Generator,
) -> None:
    """Fit both models without the held-out rows, and fill in what they predict for these."""
    X, clusters, y, C = rows.X, rows.clusters, rows.y, rows.n_labels
    if len(np.unique(y[fitted])) < C:
        few = "all have the same label" if C == 2 else "lack one of the labels"
        raise ValueError(f"The rows to fit {few}.")
    mixture = clone(inputs.mixture).set_params(
        n_components=inputs.mixture.n_components_,
        spread=_kind_of_spread(inputs),
        random_state=inputs.seed,
        init=inputs.mixture.init,  # clone would return a fitted mixture unfitted
    )
    single = _single_classifier(inputs.mixture)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about the folds say nothing about the fit
        groups = clusters[fitted] if rows.grouped else None
        mixture.fit(X[fitted], y[fitted], groups=groups, **rows.of_groups(fitted))
        single.fit(X[fitted], y[fitted])
    predictions.mixture[held] = mixture.predict_proba(X[held], **rows.of_groups(held))
    predictions.single[held] = single.predict_proba(X[held])
    predictions.constant[held] = np.bincount(y[fitted], minlength=C) / len(fitted)
    if rows.grouped and (mixture.n_components_ > 1 or mixture.spread_kind_ is not None):
        known, later = _halves(held, clusters, rng)
        if len(later):
            history = X[known], y[known], clusters[known]
            with_history = mixture.predict_proba(
                X[later], groups=clusters[later], history=history, **rows.of_groups(later)
            )
            predictions.with_history[later] = with_history
            own = rng.spawn(1)[0]  # which leaves the halves of later folds as they are
            by_mean = _by_mean(inputs.mixture, rows, fitted, known, later, own)
            predictions.with_mean[later] = by_mean


def _by_mean(
    mixture: Any,
    rows: Sample,
    fitted: NDArray[np.intp],
    known: NDArray[np.intp],
    later: NDArray[np.intp],
    rng: np.random.Generator,
) -> Matrix:
    """Return what a single regression predicts for later rows, given means of known labels.

    It is fitted to the mean label of the other half of each group, as it is used. Groups of a
    single row are fitted without a mean.
    """
    hot, clusters = rows.y[:, None] == np.arange(1, rows.n_labels), rows.clusters
    shares, means = hot[fitted].mean(axis=0).tolist(), np.zeros(hot.shape)
    first, second = _halves(fitted, clusters, rng)
    for one, other in ((first, second), (second, first), (known, later)):
        for c, share in enumerate(shares):
            means[other, c] = mean_labels(hot[one, c], clusters[one], clusters[other], share)
    X = with_mean(rows.X, means)
    single = _single_classifier(mixture)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single.fit(X[fitted], rows.y[fitted])
    return np.asarray(single.predict_proba(X[later]))


def _single_classifier(mixture: Any) -> Any:
    """Return a regression with the penalty of the mixture, l2/2 |u|^2 per SD.

    If the mixture chooses its penalty from the data, so does the regression: the penalty of a
    mixture is not the best one for a single classifier.
    """
    # the same response: the gain would otherwise be that of another response, too
    if mixture.l2 == "auto" or not get_response(mixture.response).fitted.canonical:
        return clone(mixture).set_params(
            n_components=1, init="spectral", subspace=None, spread=None
        )
    intercept = bool(mixture.fit_intercept)
    twice = 1 if len(mixture.classes_) == 2 else 2  # ours is on contrasts of labels
    C = 1 / (twice * max(mixture.l2, MIN_PENALTY))
    return make_pipeline(
        StandardScaler(with_mean=intercept),
        LogisticRegression(C=C, fit_intercept=intercept, tol=1e-6, max_iter=1000),
    )


def _compare(
    mixture: Matrix, predictions: Predictions, rows: Sample, *, means: bool = False
) -> dict[str, Any] | None:
    """Compare predictions of the mixture with the others, on the rows that have them."""
    known = np.isfinite(mixture[:, 0])
    if not known.any():
        return None
    predicted = {
        "mixture": mixture[known],
        "single": predictions.single[known],
        "constant": predictions.constant[known],
    }
    if not means:
        return comparison(predicted, rows.y[known], rows.clusters[known])
    predicted["mean"] = predictions.with_mean[known]
    return comparison(predicted, rows.y[known], rows.clusters[known], rival="mean")

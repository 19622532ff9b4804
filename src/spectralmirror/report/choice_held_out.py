"""Cross-validated predictions of the mixture and of a conditional logit of one class."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from spectralmirror.report.choice_inputs import ChoiceInputs
from spectralmirror.report.held_out import FOLDS, sample
from spectralmirror.report.metrics import CLIP, calibration, clustered_interval
from spectralmirror.rows.progress import stage
from spectralmirror.rows.types import Vector

__all__ = ["choices_held_out"]


@dataclass(frozen=True, eq=False)
class _Predicted:
    """Probabilities that held-out rows are chosen, NaN where there are none.

    Attributes
    ----------
    mixture, single : ndarray
        By the mixture, and by a conditional logit.
    with_history : ndarray
        By the mixture, given the choices of the known half of the person's sets.
    """

    mixture: Vector
    single: Vector
    with_history: Vector


def choices_held_out(inputs: ChoiceInputs) -> dict[str, Any]:
    """Compare by cross-validation over whole persons; return figures, or why there are none."""
    rng = np.random.default_rng(inputs.seed)
    varied = inputs.mixture.spread_kind_ is not None
    rows = sample(inputs.clusters, rng, with_spread=varied)
    # groups that are too large give some of their rows: keep sets that are whole
    found, sizes = np.bincount(inputs.choices[rows], minlength=inputs.n_sets), inputs.sizes
    rows = rows[(found == sizes)[inputs.choices[rows]]]
    clusters = inputs.clusters[rows]
    of = "choices" if inputs.groups is None else "persons"
    n_clusters = len(np.unique(clusters))
    if n_clusters < FOLDS:
        return {"reason": f"There are fewer than {FOLDS} {of}."}
    predicted, failures = _Predicted(*(np.full(len(rows), np.nan) for _ in range(3))), {}
    folds = GroupKFold(FOLDS, shuffle=True, random_state=inputs.seed)
    for number, (fitted, held) in enumerate(folds.split(rows, groups=clusters), start=1):
        stage(f"held-out choices, part {number} of {FOLDS}")
        try:
            _predict_fold(inputs, rows, fitted, held, predicted, rng)
        except (ValueError, np.linalg.LinAlgError) as error:
            failures[number] = str(error)
    known = np.isfinite(predicted.mixture)
    if not known.any():
        return {"reason": " ".join(dict.fromkeys(failures.values()))}
    chosen = inputs.y[rows]
    return {
        "reason": None,
        "failures": [
            f"Part {number} of {FOLDS} could not be predicted: {why}"
            for number, why in failures.items()
        ],
        "n_folds": FOLDS,
        "n_choices": int(chosen[known].sum()),
        "n_groups": n_clusters if inputs.groups is not None else None,
        "fresh": _compare(inputs, rows, predicted.mixture, predicted.single),
        "history": _compare(inputs, rows, predicted.with_history, predicted.single),
        "calibration": {
            name: calibration(p[known], chosen[known], clusters[known])
            for name, p in (("mixture", predicted.mixture), ("single", predicted.single))
        },
    }


def _predict_fold(
    inputs: ChoiceInputs,
    rows: NDArray[np.intp],
    fitted: NDArray[np.intp],
    held: NDArray[np.intp],
    predicted: _Predicted,
    rng: np.random.Generator,
) -> None:
    """Fit both models without the held-out sets, and fill in what they predict for these."""
    k = inputs.mixture.n_components_
    mixture = clone(inputs.mixture).set_params(
        n_components=k, spread=inputs.mixture.spread_kind_, random_state=inputs.seed,
        init=inputs.mixture.init,
    )  # fmt: skip
    single = clone(inputs.mixture).set_params(n_components=1, spread=None, init="spectral")
    X, y, sets, persons = inputs.X[rows], inputs.y[rows], inputs.choices[rows], inputs.groups
    who = sets if persons is None else persons[rows]
    grouped = persons is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about the folds say nothing about the fit
        for model, given in ((mixture, inputs.of_groups(rows[fitted])), (single, {})):
            groups = who[fitted] if grouped else None
            model.fit(X[fitted], y[fitted], choices=sets[fitted], groups=groups, **given)
    given = inputs.of_groups(rows[held])
    predicted.mixture[held] = mixture.predict_proba(X[held], choices=sets[held], **given)
    predicted.single[held] = single.predict_proba(X[held], choices=sets[held])
    if grouped and (k > 1 or mixture.spread_kind_ is not None):
        known, later = _halves(held, sets, who, rng)
        if len(known) and len(later):
            history = X[known], y[known], sets[known], who[known]
            given = inputs.of_groups(rows[later])
            predicted.with_history[later] = mixture.predict_proba(
                X[later], choices=sets[later], groups=who[later], history=history, **given
            )


def _halves(
    held: NDArray[np.intp], sets: NDArray[Any], who: NDArray[Any], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide the sets of every person at random into a known half and a later half.

    If their number is odd, the later half has one more. Persons of a single set are left out.
    """
    found, first = np.unique(sets[held], return_index=True)
    person = who[held][first]
    order = rng.permutation(len(found))
    order = order[np.argsort(person[order], kind="stable")]
    _, starts, sizes = np.unique(person[order], return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(starts, sizes)
    size = np.repeat(sizes, sizes)
    halves = place < size // 2, (place >= size // 2) & (size > 1)
    known, later = (found[np.sort(order[half])] for half in halves)
    return held[np.isin(sets[held], known)], held[np.isin(sets[held], later)]


def _compare(
    inputs: ChoiceInputs, rows: NDArray[np.intp], mixture: Vector, single: Vector
) -> dict[str, Any] | None:
    """Compare predictions, on the sets that have them.

    The gain is the mean over choices of the difference of log-losses, with a cluster-robust
    interval. "constant": all alternatives of a set are equally likely.
    """
    known = np.isfinite(mixture)
    if not known.any():
        return None
    chosen, sets = inputs.y[rows][known], inputs.choices[rows][known]
    _, numbers, sizes = np.unique(sets, return_inverse=True, return_counts=True)
    equal = 1.0 / sizes[numbers]
    predicted = {"mixture": mixture[known], "single": single[known], "constant": equal}
    clusters = inputs.clusters[rows][known][chosen]
    gains = np.log(_clipped(predicted["mixture"]) / _clipped(predicted["single"]))[chosen]
    interval = clustered_interval(gains, clusters)
    verdict = "unclear"
    if interval is not None and interval[0] > 0:
        verdict = "better"
    elif interval is not None and interval[1] < 0:
        verdict = "worse"
    return {
        "n_choices": int(chosen.sum()),
        "rival": "single",
        **{name: _scores(p, chosen, numbers) for name, p in predicted.items()},
        "gain": gains.mean(),
        "gain_interval": interval,
        "verdict": verdict,
    }


def _scores(p: Vector, chosen: NDArray[np.bool_], numbers: NDArray[np.intp]) -> dict[str, Any]:
    """Return the log-loss of choices, and how often the most likely alternative is chosen.

    If several are equally likely, each of them counts in part.
    """
    largest = np.full(int(numbers.max()) + 1, -np.inf)
    np.maximum.at(largest, numbers, p)
    best = p >= largest[numbers] * (1 - 1e-12)
    hits = np.bincount(numbers, best & chosen) / np.bincount(numbers, best)
    return {
        "log_loss": float(-np.log(_clipped(p[chosen])).mean()),
        "accuracy": float(hits.mean()),
        "auc": None,
    }


def _clipped(p: Vector) -> Vector:
    return np.clip(p, CLIP, 1 - CLIP)

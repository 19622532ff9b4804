"""Average effects of features on the probability of a label, with delta-method errors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spectralmirror.effects.choices import ChoiceEffects
from spectralmirror.effects.derivatives import EffectSums, Model, Others, OtherValues
from spectralmirror.effects.results import LEVELS, OVERALL, SLOPE, AverageEffects
from spectralmirror.effects.selected import (
    checked_weights,
    feature_index,
    feature_names,
)
from spectralmirror.effects.several_labels import LabelModel
from spectralmirror.mixture.choice_estimator import ChoiceMixture
from spectralmirror.mixture.summary import letters, quantile
from spectralmirror.rows.checks import check_features, is_dask
from spectralmirror.rows.containers import output_container
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.types import AnyArray, Matrix, Vector
from spectralmirror.rows.weights import check_weights

__all__ = ["average_effects"]


def average_effects(
    model: Any,
    X: Any,
    *,
    choices: Any = None,
    features: Any = None,
    exclusive: Any = (),
    sample_weight: Any = None,
    component_weights: Any = None,
    label: Any = None,
    level: float = 0.95,
) -> AverageEffects:
    """Return the average change of P(y = label | x) with each feature.

    Averages are over the rows of X. For a feature whose values in X are all 0 or 1, this is the
    mean of P(x with 1) - P(x with 0); for others it is the mean of the derivative dP/dx_j. If
    persons of one class differ (`spread`), P is an average over them.

    Lines "A", "B", ... are the effects on persons of each class, P = E f(<u_l + B z, x> + b_l). The
    last line, "overall", is their mean with the weights p_l: the effect on a person whose class is
    not known. If the weights depend on covariates, p_l is their average over the fitted groups.

    For choices among alternatives, P is the probability that an alternative is chosen from its set,
    and what changes is a feature of that alternative alone: these are own effects, averaged over
    the alternatives. Weights of 0 and 1 choose those to speak about, such as trains.

    Standard errors follow from `covariance_` of the model by the delta method. They treat the rows
    of X as given, as Stata's and statsmodels' do. They are NaN if the model has no standard errors,
    as with "hard" labels, and for models that were stored without the covariance of their weights.

    Parameters
    ----------
    model : LinearClassifierMixture or ChoiceMixture
        A fitted mixture.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or a source
        The rows to average over, as a rule those that were fitted. A source
        (:func:`spectralmirror.scan`, `spectralmirror.spark.scan`) or a dask collection is read
        twice. For choices: rows in memory, all those of each set.
    choices : array-like of shape (n_samples,), default=None
        The choice set of each row; for a ChoiceMixture only, which needs it.
    features : list of str or int, default=None
        Names or indices of features; None means all.
    exclusive : list of lists of str or int, default=()
        Features of which at most one is 1 in any row, such as the levels of each category but one:
        P with one of them at 1, or at 0, is that with the others at 0, so that a level is compared
        with the level that is left out.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    component_weights : array-like of shape (k,), default=None
        Weights to use in place of `weights_` for the last line, taken as known.
    label : default=None
        The label whose probability changes. None means the second of two, `classes_[1]`; one of
        more than two must be named.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    AverageEffects
        A table that can be printed; :meth:`AverageEffects.to_frame` returns it as a DataFrame.

    Examples
    --------
    >>> from spectralmirror import LinearClassifierMixture
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> from spectralmirror.effects import average_effects
    >>> X, y, _ = make_linear_classifier_mixture(5_000, 3, weights=[0.7, 0.3], random_state=0)
    >>> mixture = LinearClassifierMixture(random_state=0).fit(X, y)
    >>> average_effects(mixture, X, features=[0, 1]).estimate.shape  # A, B and overall
    (3, 2)
    """
    check_is_fitted(model, "coef_")
    asked, sign = _label(model, label)
    if len(model.classes_) > 2 and model.spread_kind_ is not None:
        raise ValueError(
            "average_effects of more than two labels needs a mixture without spread: change a "
            "column of X and compare predict_proba."
        )
    q, names = quantile(model, level), feature_names(model)
    chosen = range(len(names)) if features is None else _listed(features)
    indices = np.array([feature_index(model, one) for one in chosen], dtype=np.intp)
    p, weights_known = checked_weights(model, component_weights)
    others = _beside(model, indices, exclusive)
    if of_choices := isinstance(model, ChoiceMixture):
        own = ChoiceEffects.of(model, X, choices, sample_weight, indices, others)
        discrete, sums = own.discrete, own.sums(model)
    else:
        if choices is not None:
            raise ValueError("choices is for a ChoiceMixture: leave it out.")
        rows = _rows(model, X, sample_weight)
        discrete, sums = _of_labels(model, rows, asked, indices, others)
    by_class = sums.effects / sums.weight
    estimate = np.vstack([by_class, p @ by_class])
    errors = np.full(estimate.shape, np.nan)
    C = _joint_covariance(model)
    if C is not None:
        slopes = _slopes(sums, p, by_class, len(C), weights_known=weights_known)
        variances = np.einsum("cji,cji->cj", slopes @ C, slopes)
        errors = np.sqrt(np.maximum(variances, 0))
    estimate *= sign
    return AverageEffects(
        model.classes_[[asked]].tolist()[0],
        [*letters(model.n_components_), OVERALL],
        [names[j] for j in indices],
        [LEVELS if one else SLOPE for one in discrete],
        estimate,
        errors,
        estimate - q * errors,
        estimate + q * errors,
        level,
        output_container(model),
        "chosen" if of_choices else "y",
    )


def _of_labels(
    model: Any, rows: Any, asked: int, indices: NDArray[np.intp], others: Others
) -> tuple[NDArray[np.bool_], EffectSums]:
    """Return which features are 0 or 1, and the sums over rows of the effects on a label."""
    discrete = reduce(rows, OtherValues.of).count[indices] == 0
    if len(model.classes_) > 2:
        return discrete, reduce(rows, LabelModel.of(model, asked, indices, discrete, others).sums)
    of = Model.of(model, indices, discrete, others)
    return discrete, reduce(rows, partial(EffectSums.of, of))


def _slopes(
    sums: EffectSums, p: Vector, by_class: Matrix, size: int, *, weights_known: bool
) -> AnyArray:
    """Return the derivatives of all effects by the entries of `covariance_`, (k + 1, m, size).

    What the weights depend on stands last there; given the average weights, it changes nothing.
    """
    by_profiles, by_spread = sums.by_profiles / sums.weight, sums.by_spread / sums.weight
    k, m, one = by_profiles.shape
    found = np.zeros((k + 1, m, size))
    for c in range(k):
        own = slice(c * one, (c + 1) * one)
        found[c, :, own], found[k, :, own] = by_profiles[c], p[c] * by_profiles[c]
        if not weights_known:
            found[k, :, k * one + c] = by_class[c]
    of_spread = slice(k * (one + 1), k * (one + 1) + by_spread.shape[2])
    found[:k, :, of_spread] = by_spread
    found[k, :, of_spread] = np.tensordot(p, by_spread, axes=1)
    return found


def _label(model: Any, label: Any) -> tuple[int, float]:
    """Return which label is meant, and the sign of its effects if there are two."""
    labels = model.classes_.tolist()
    if label is None:
        if len(labels) > 2:
            raise ValueError(f"label is missing: name one of the labels {labels}.")
        return 1, 1.0
    if label not in labels:
        raise ValueError(f"label must be one of {labels}, got {label!r}.")
    asked = labels.index(label)
    return asked, -1.0 if len(labels) == 2 and asked == 0 else 1.0


def _joint_covariance(model: Any) -> Matrix | None:
    """Return `covariance_`, or None for models that have none of the weights."""
    size = model.coef_.size + model.intercept_.size + model.n_components_
    C: Matrix | None = model.covariance_
    return None if C is None or len(C) < size else C


def _rows(model: Any, X: Any, sample_weight: Any) -> Any:
    """Return the rows to average over."""
    if hasattr(X, "grouped_rows"):
        if sample_weight is not None:
            raise ValueError("sample_weight belongs to the scan: name its column there.")
        grouped, names = X.grouped_rows()
        _check_source(model, grouped.rows.n_features, names)
        return grouped.rows
    if is_dask(X):
        from spectralmirror.rows.dask import DaskFeatures

        return DaskFeatures.of(X, sample_weight, partial(check_features, estimator=model))
    X = check_features(X, model)
    weight = None if sample_weight is None else check_weights(sample_weight, X.shape[0], X.dtype)
    return Rows(X, np.zeros(X.shape[0]), weight)


def _check_source(model: Any, n_features: int, names: Any) -> None:
    """Raise if a source has other features than the model."""
    fitted = getattr(model, "feature_names_in_", None)
    if n_features != model.n_features_in_:
        raise ValueError(
            f"The source has {n_features} features, but the model was fitted to "
            f"{model.n_features_in_}."
        )
    if fitted is not None and names is not None and list(names) != list(fitted):
        first = next(j for j, name in enumerate(fitted) if names[j] != name)
        raise ValueError(
            f"The source has {names[first]!r} where the model was fitted to {fitted[first]!r}: "
            "name the features in the same order, scan(..., features=)."
        )


def _beside(model: Any, indices: NDArray[np.intp], exclusive: Any) -> Others:
    """Return, for each feature, those that cannot be 1 if it is."""
    sets = [{feature_index(model, one) for one in _listed(several)} for several in exclusive]
    return tuple(
        np.array(sorted(set().union(*(s for s in sets if j in s)) - {j}), dtype=np.intp)
        for j in indices.tolist()
    )


def _listed(features: Any) -> list[Any] | NDArray[Any]:
    if isinstance(features, str | int):
        return [features]
    found = list(features)
    if not found:
        raise ValueError("features is empty: name at least one, or pass None for all.")
    return found

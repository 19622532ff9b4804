"""Whether the parts of a loaded model fit together, so that it can be used without surprises.

Attributes from which predictions are computed are checked one by one. Those that are only shown
are checked by letting the model describe itself.
"""

from __future__ import annotations

from dataclasses import fields
from numbers import Integral
from typing import Any

import numpy as np

from spectralmirror.rows.labels import MOST_LABELS

__all__ = ["is_whole"]

#: What a fit says about the spread of people within a class; models of older formats have none.
SPREAD = {
    "spread_kind_",
    "spread_",
    "intercept_spread_",
    "spread_deviation_",
    "spread_standard_error_",
    "intercept_deviation_",
    "intercept_deviation_standard_error_",
    "spread_evidence_",
    "_n_spread",
}
#: The same for what the weights of the classes depend on.
MEMBERSHIP = {
    "membership_coef_",
    "membership_intercept_",
    "membership_coef_standard_error_",
    "membership_intercept_standard_error_",
    "_membership_mean",
    "_membership_scale",
}


def is_whole(model: Any) -> bool:
    """Return whether the attributes of a model are consistent, as they are after a fit."""
    from spectralmirror.tables.table_model import FittedTable

    try:
        return _is_table(model) if isinstance(model, FittedTable) else _is_estimator(model)
    except Exception:  # parts of other kinds may raise anything
        return False


def _is_table(model: Any) -> bool:
    recipe, mixture, about = model.recipe, model.mixture, model.about
    return bool(
        _has_only_fields(model)
        and isinstance(model.label, str)
        and isinstance(model.group, str | None)
        and model.missing in ("error", "impute", "drop")
        and isinstance(about["source"], str)
        and _is_count(about["n_rows"])
        and _are_texts(about["notes"], list)
        and _is_recipe(recipe)
        and _is_estimator(mixture)
        and list(mixture.feature_names_in_) == recipe.names
        and _are_choices(model.choices, mixture)
        and _are_covariates(model)
        and model.described()
    )


def _are_choices(choices: Any, mixture: Any) -> bool:
    """Return whether the columns of choices are there if, and only if, choices were fitted."""
    from spectralmirror.mixture import ChoiceMixture

    if choices is None:
        return not isinstance(mixture, ChoiceMixture)
    return (
        isinstance(mixture, ChoiceMixture)
        and _has_only_fields(choices)
        and _are_texts(choices.sets, tuple)
        and isinstance(choices.alternative, str | None)
        and _is_wide(choices.wide)
    )


def _is_wide(form: Any) -> bool:
    """Return whether alternatives have sides and features, or choices are in long form."""
    if form is None:
        return True
    return (
        _has_only_fields(form)
        and isinstance(form.chosen, str)
        and _are_texts(form.features, tuple)
        and type(form.sides) is tuple
        and len(form.sides) > 1
        and all(_are_texts(pair, tuple) and len(pair) == 2 for pair in form.sides)
        and isinstance(form.available, str | None)
        and (form.absent is None or _are_texts(form.absent, tuple))
    )


def _are_covariates(table: Any) -> bool:
    """Return whether the covariates of groups are those of the mixture."""
    names = getattr(table.mixture, "membership_names_in_", None)
    if table.membership is None:
        return names is None
    return names is not None and _is_recipe(table.membership) and (
        names.tolist() == table.membership.names
    )  # fmt: skip


def _is_recipe(recipe: Any) -> bool:
    from spectralmirror.tables.features import Category, Number

    for term in recipe.terms:
        if type(term) is Number:
            fine = bool(np.isfinite(term.mean))
        else:
            fine = type(term) is Category and _are_texts(term.levels, tuple)
            fine = fine and len(term.levels) > 0
        if not (fine and _has_only_fields(term) and isinstance(term.column, str)):
            return False
    sides = [pair for pair in (recipe.pairs, recipe.winner) if pair is not None]
    return (
        _has_only_fields(recipe)
        and type(recipe.terms) is tuple
        and all(_are_texts(pair, tuple) and len(pair) == 2 for pair in sides)
        and recipe.dtype in ("float32", "float64")
        and _are_outcomes(recipe.outcomes)
    )


def _are_outcomes(outcomes: Any) -> bool:
    """Return whether these are two labels, or None."""
    if outcomes is None:
        return True
    single = all(isinstance(value, str | int | float) for value in outcomes)
    return type(outcomes) is tuple and len(set(map(str, outcomes))) == 2 == len(outcomes) and single


def _has_only_fields(value: Any) -> bool:
    """Return whether an instance of a dataclass has no attribute that hides a method."""
    return set(vars(value)) <= {field.name for field in fields(value)}


def _is_estimator(model: Any) -> bool:
    model._validate_params()
    # nothing may stand in the place of a method
    if any(callable(value) or hasattr(type(model), name) for name, value in vars(model).items()):
        return False
    d = model.n_features_in_
    names = getattr(model, "feature_names_in_", None)
    if names is not None and not (names.shape == (d,) and _are_texts(names.tolist(), list)):
        return False
    if not _is_count(d):
        return False
    if hasattr(model, "coef_"):
        return _is_mixture(model, model.n_components_, d)
    vectors = [getattr(model, name, None) for name in ("mean_", "mirror_direction_")]
    return _is_array(model.components_, (len(model.components_), d)) and all(
        vector is None or _is_array(vector, (d,)) for vector in vectors
    )


def _is_mixture(model: Any, k: int, d: int) -> bool:
    C = _n_scores(model)
    shapes: dict[str, tuple[int, ...]] = {
        "coef_": (k, d) if C == 1 else (k, C, d),
        "intercept_": (k,) if C == 1 else (k, C),
        "weights_": (k,),
        "sharpness_": (k,),
        "feature_mean_": (d,),
        "feature_scale_": (d,),
    }
    p, root = model.weights_, getattr(model, "_parameter_root", None)  # older models have none
    return bool(
        _is_count(k)
        and all(_is_array(getattr(model, name), shape) for name, shape in shapes.items())
        and (p >= 0).all()
        and np.isclose(p.sum(), 1)
        and (model.sharpness_ >= 0).all()
        and np.isfinite(_largest_scores(model, model.coef_, model.intercept_)).all()
        and (C == 1 or (model.response == "logistic" and (model.sharpness_ == 1).all()))
        and _is_spread(model, d)
        and _is_membership(model, k)
        and (root is None or _is_root(model, root, k, d))
        and _is_covariance(model, k, d)
        and _are_resamples(model, k, d)
        and len(np.unique(model.classes_)) == len(model.classes_)
        and _is_count(getattr(model, "n_choices_", 0))
        and model.summary()
    )


def _n_scores(model: Any) -> int:
    """Return the number of scores of a class: one for each of more than two labels.

    Labels of more kinds are never fitted, and np.unique may take minutes, even without bytes.
    """
    n_labels = len(model.classes_)
    if model.classes_.shape != (n_labels,) or not 2 <= n_labels < MOST_LABELS:
        raise ValueError("no labels")
    return 1 if n_labels == 2 else n_labels


def _is_root(model: Any, root: Any, k: int, d: int) -> bool:
    """Return whether this can be a root of a covariance of the parameters.

    These are k (d + 1) coefficients, (d + 1) q entries of B, row by row, and, for k - 1 classes,
    the coefficients of the weights and a logit. With C > 2 labels, there are k C (d + 1).
    """
    C = _n_scores(model)
    q = model.spread_.shape[-1] if hasattr(model, "spread_") else 0
    of_profiles, of_spread = k * C * (d + 1), C * (d + 1) * q
    of_weights = (k - 1) * (_n_covariates(model) + 1)
    shape = (of_profiles + of_spread + of_weights, *np.shape(root)[1:])
    if not _is_array(root, shape) or root.ndim != 2:
        return False
    profiles, B, _ = np.split(root, [of_profiles, of_profiles + of_spread])
    shape = (k, d + 1) if C == 1 else (k, C, d + 1)
    steps = np.moveaxis(profiles.reshape(*shape, -1), -1, 0)
    bounds = [_largest_scores(model, step[..., :d], step[..., d]) for step in steps]
    of_people = [_is_bounded(model, b[:d].T, b[d]) for b in _columns(B, C, d + 1)]
    return bool(np.isfinite(bounds).all()) and all(of_people)


def _is_covariance(model: Any, k: int, d: int) -> bool:
    """Return whether the covariance of the estimates has the right shape, or there is none.

    These are k (d + 1) coefficients, k weights, the free entries of B and what the weights of all
    classes but the first depend on; older models have the coefficients only. With C > 2 labels,
    there are k C (d + 1) coefficients.
    """
    found, C = model.covariance_, _n_scores(model)
    if found is None:
        return True
    q = _n_covariates(model)
    of_weights = (k - 1) * (q + 1) if q else 0
    of_coef = k * C * (d + 1)
    sizes = of_coef, of_coef + k + getattr(model, "_n_spread", 0) + of_weights
    return found.dtype == np.float64 and found.shape in [(size, size) for size in sizes]


def _are_resamples(model: Any, k: int, d: int) -> bool:
    """Return whether the resamples that a model carries have its shape, or there are none."""
    from spectralmirror.mixture.bootstrap import KEPT

    found = getattr(model, "resamples_", None)
    if found is None:
        return True
    n, C, q = len(found["converged"]), _n_scores(model), _n_covariates(model)
    shapes: dict[str, tuple[int, ...]] = {
        "coef": (n, k, d) if C == 1 else (n, k, C, d),
        "intercept": (n, k) if C == 1 else (n, k, C),
        "weights": (n, k),
        "spread_deviation": (n, d),
        "intercept_deviation": (n,),
        "membership_coef": (n, k, q),
        "membership_intercept": (n, k),
    }
    return bool(
        type(found) is dict
        and found.keys() == set(KEPT)
        and n > 1
        and all(_is_array(found[name], shape) for name, shape in shapes.items())
        and found["converged"].dtype == np.bool_
        and found["converged"].shape == (n,)
    )


def _n_covariates(model: Any) -> int:
    """Return the number of covariates of the weights; older models have none."""
    return model.membership_coef_.shape[1] if hasattr(model, "membership_coef_") else 0


def _is_membership(model: Any, k: int) -> bool:
    """Return whether what the weights depend on fits together, or an older model has none."""
    found = MEMBERSHIP & set(vars(model))
    if not found:
        return True
    q = _n_covariates(model)
    names = getattr(model, "membership_names_in_", np.empty(0, dtype=object))
    return bool(
        found == MEMBERSHIP
        and _is_array(model.membership_coef_, (k, q))
        and _is_array(model.membership_intercept_, (k,))
        and np.shape(model.membership_coef_standard_error_) == (k, q)
        and np.shape(model.membership_intercept_standard_error_) == (k,)
        and _is_array(model._membership_mean, (q,))
        and _is_array(model._membership_scale, (q,))
        and (model._membership_scale > 0).all()
        and names.shape == (q,)
        and _are_texts(names.tolist(), list)
    )


def _columns(B: Any, C: int, n: int) -> Any:
    """Return the columns of a root for B as matrices of n rows, one for each of C labels."""
    return B.T.reshape(B.shape[1] * C, n, -1)


def _is_spread(model: Any, d: int) -> bool:
    """Return whether the parts of the spread of people fit together, or an older model has none."""
    from spectralmirror.mixture.spread import KINDS

    found = SPREAD & set(vars(model))
    if not found:
        return True
    kind, B, b = model.spread_kind_, model.spread_, model.intercept_spread_
    C, q = _n_scores(model), B.shape[-1]
    # without spread, models that were stored earlier have no axis for labels
    several = (C,) if C > 1 and (kind is not None or B.ndim == 3) else ()
    deviation, error = model.intercept_deviation_, model.intercept_deviation_standard_error_
    return bool(
        found == SPREAD
        and (kind is None or kind in KINDS)
        and (q > 0) == (kind is not None)
        and _is_array(B, (*several, d, q))
        and _is_array(b, (*several, q))
        and _is_bounded(model, np.swapaxes(B, -1, -2), b)
        and _is_array(model.spread_deviation_, (*several, d))
        and np.shape(model.spread_standard_error_) == (*several, d)
        and np.shape(deviation) == np.shape(error) == several
        and np.isfinite(deviation).all()
        and (isinstance(error, float) or (len(several) and error.dtype == np.float64))
        and _is_count(model._n_spread)
        and _are_entries(getattr(model, "_spread_entries", None), int(model._n_spread))
        and isinstance(getattr(model, "spread_score_", np.nan), float)
        and model.spread_evidence_.keys() <= {"none", *KINDS}
    )


def _are_entries(found: Any, n: int) -> bool:
    """Return whether these are free entries of B and their penalties; older models have none."""
    return found is None or (_is_array(found, (2, n)) and bool((found[1] > 0).all()))


def _is_bounded(model: Any, directions: Any, intercepts: Any) -> bool:
    """Return whether the squares of a person's deviations are finite for rows like those fitted."""
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(directions) @ _feature_sizes(model) + np.abs(intercepts)
        return bool(np.isfinite(np.square(sizes).sum()))


def _largest_scores(model: Any, profiles: Any, intercepts: Any) -> Any:
    """Return s_l (<|u_l|, |mean| + scale> + |b_l|), a bound on scores of rows like those fitted."""
    with np.errstate(over="ignore", invalid="ignore"):
        bounds = np.abs(profiles) @ _feature_sizes(model) + np.abs(intercepts)
        return model.sharpness_ * bounds if bounds.ndim == 1 else bounds


def _feature_sizes(model: Any) -> Any:
    return np.abs(model.feature_mean_) + np.abs(model.feature_scale_)


def _is_array(array: Any, shape: tuple[int, ...]) -> bool:
    """Return whether these are finite numbers of a shape, in single or double precision."""
    is_float = type(array) is np.ndarray and array.dtype in (np.float32, np.float64)
    return is_float and array.shape == shape and bool(np.isfinite(array).all())


def _are_texts(values: Any, holder: type[Any]) -> bool:
    return isinstance(values, holder) and all(isinstance(value, str) for value in values)


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0

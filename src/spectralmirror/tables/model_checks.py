"""Whether the parts of a loaded model fit together: their kinds, shapes and numbers."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

__all__ = ["is_whole"]

#: Attributes of a mixture that are single numbers, and whole numbers.
REALS = (
    *("objective_", "log_likelihood_", "aic_", "bic_", "icl_"),
    *("assignment_entropy_", "expected_accuracy_"),
)
COUNTS = ("n_parameters_", "n_iter_", "n_passes_", "n_agreed_")


def is_whole(model: Any) -> bool:
    """Return whether a model is what a fit leaves, as far as anything that uses it can tell."""
    from spectralmirror.tables.table_model import FittedTable

    try:
        return _is_table(model) if isinstance(model, FittedTable) else _is_estimator(model)
    except Exception:  # parts of other kinds may raise anything
        return False


def _is_table(model: Any) -> bool:
    from spectralmirror.mixture import LinearClassifierMixture
    from spectralmirror.tables.features import Recipe

    fields = set(vars(model)) == {"mixture", "recipe", "label", "group", "missing", "about"}
    if not fields or type(model.recipe) is not Recipe:
        return False
    recipe, mixture, about = model.recipe, model.mixture, model.about
    if type(mixture) is not LinearClassifierMixture or not isinstance(about, dict):
        return False
    texts = isinstance(model.label, str) and isinstance(model.group, str | None)
    known = isinstance(about["source"], str) and _is_count(about["n_rows"])
    known &= _are(str, about["notes"], list)
    policy = model.missing in ("error", "impute", "drop")
    if not (texts and known and policy and _is_recipe(recipe) and _is_estimator(mixture)):
        return False
    return list(mixture.feature_names_in_) == recipe.names


def _is_recipe(recipe: Any) -> bool:
    from spectralmirror.tables.features import Category, Number

    if not set(vars(recipe)) <= {"terms", "pairs", "winner", "dtype"}:
        return False
    for term in recipe.terms:
        if type(term) is Number:
            fine = set(vars(term)) == {"column", "mean"} and _is_real(term.mean)
        else:
            fine = type(term) is Category and set(vars(term)) == {"column", "levels"}
            fine = fine and _are(str, term.levels, tuple) and len(term.levels) > 0
        if not fine or not isinstance(term.column, str):
            return False
    sides = all(
        pair is None or (_are(str, pair, tuple) and len(pair) == 2)
        for pair in (recipe.pairs, recipe.winner)
    )
    return sides and type(recipe.terms) is tuple and recipe.dtype in ("float32", "float64")


def _is_estimator(model: Any) -> bool:
    """Whether parameters are allowed, and nothing stands in the place of a method."""
    check_is_fitted(model)
    model._validate_params()
    kind = type(model)
    if any(callable(value) or hasattr(kind, name) for name, value in vars(model).items()):
        return False
    d = model.n_features_in_
    if not _is_count(d):
        return False
    names = getattr(model, "feature_names_in_", None)
    if names is not None and not (names.shape == (d,) and _are(str, names.tolist(), list)):
        return False
    if hasattr(model, "coef_"):
        k = model.n_components_
        return _is_count(k) and _is_mixture(model, k, d)
    return _is_array(model.components_, (len(model.components_), d)) and _has_vectors(model, d)


def _has_vectors(model: Any, d: int) -> bool:
    """Whether what a transformer subtracts, and what it looked along, are vectors of features."""
    vectors = [getattr(model, name, None) for name in ("mean_", "mirror_direction_")]
    return all(v is None or _is_array(v, (d,)) for v in vectors)


def _is_mixture(model: Any, k: int, d: int) -> bool:
    from spectralmirror.mixture.starts import Start

    shapes: dict[str, tuple[int, ...]] = {
        "coef_": (k, d),
        "intercept_": (k,),
        "weights_": (k,),
        "sharpness_": (k,),
        "feature_mean_": (d,),
        "feature_scale_": (d,),
    }
    errors = {name: shapes[name] for name in ("coef_", "intercept_", "weights_")}
    p = model.weights_
    return bool(
        all(_is_array(getattr(model, name), shape) for name, shape in shapes.items())
        and all(
            _is_array(getattr(model, f"{name}standard_error_"), shape, finite=False)
            for name, shape in errors.items()
        )
        and (p >= 0).all()
        and np.isclose(p.sum(), 1)
        and (model.sharpness_ >= 0).all()
        and np.isfinite(_largest_scores(model)).all()
        and len(model.classes_) == len(np.unique(model.classes_)) == 2
        and all(isinstance(getattr(model, name), Real) for name in REALS)
        and all(isinstance(getattr(model, name), Integral) for name in COUNTS)
        and isinstance(model.converged_, bool | np.bool_)
        and isinstance(getattr(model, "grouped_", False), bool)  # earlier files do not say
        and isinstance(getattr(model, "degrees_of_freedom_", np.inf), Real)
        and isinstance(model.status_, str)
        and all(_is_count(n) and isinstance(v, Real) for n, v in model.bic_path_.items())
        and _are(Start, model.starts_, list)
    )


def _largest_scores(model: Any) -> Any:
    """Return s_l (<|u_l|, |mean| + scale> + |b_l|): rows like those that were fitted have less."""
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(model.feature_mean_) + np.abs(model.feature_scale_)
        return model.sharpness_ * (np.abs(model.coef_) @ size + np.abs(model.intercept_))


def _is_array(array: Any, shape: tuple[int, ...], *, finite: bool = True) -> bool:
    """Whether these are floating-point numbers of a shape."""
    if type(array) is not np.ndarray or array.dtype.kind != "f" or array.shape != shape:
        return False
    return not finite or bool(np.isfinite(array).all())


def _are(kind: type, values: Any, holder: type[list[Any]] | type[tuple[Any, ...]]) -> bool:
    return isinstance(values, holder) and all(isinstance(value, kind) for value in values)


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and bool(np.isfinite(value))


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0

"""Turn what is passed to fit (arrays, scans, Dask and Spark collections) into grouped rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from inspect import signature
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils.validation import check_is_fitted

from spectralmirror.rows.checks import check_group_keys, check_rows, is_dask
from spectralmirror.rows.grouped import GroupedRows, InMemoryGroups
from spectralmirror.rows.labels import check_classes, why_binary
from spectralmirror.rows.traits import traits_of_rows

__all__ = ["accept_rows", "checks_parameters", "count_scans", "on_parts", "remember_features"]

Method = TypeVar("Method", bound=Callable[..., Any])


def checks_parameters(fit: Method) -> Method:
    """Check the constraints of parameters before fit, as scikit-learn does, and keep fit's type.

    A fit that fails leaves the estimator as it was: a mixture that was fitted before can be used.
    """
    checked = _fit_context(prefer_skip_nested_validation=False)(fit)

    @wraps(checked)
    def fit_or_nothing(estimator: Any, *args: Any, **given: Any) -> Any:
        before = dict(vars(estimator))
        try:
            return checked(estimator, *args, **given)
        except BaseException as error:
            if not isinstance(error, Warning):  # a warning made an error comes after a whole fit
                vars(estimator).clear()
                vars(estimator).update(before)
            raise

    return cast(Method, fit_or_nothing)


def accept_rows(
    estimator: Any,
    X: Any,
    y: Any,
    groups: Any,
    sample_weight: Any,
    membership: Any = None,
    known: Any = None,
) -> tuple[GroupedRows, NDArray[Any]]:
    """Return the rows in their groups, and the different labels.

    A source that knows its own labels, as a scan does, has a method ``grouped_rows``.
    """
    if hasattr(X, "grouped_rows"):
        if any(value is not None for value in (y, groups, sample_weight, membership, known)):
            raise ValueError(
                "y, groups, sample_weight, membership and known belong to the scan: name their "
                "columns there, as scan(..., label=, groups=, sample_weight=, membership=, "
                "known=), and call fit(source)."
            )
        grouped, names = X.grouped_rows()
    elif is_dask(X):
        from spectralmirror.rows.dask import dask_rows

        if y is None:
            raise ValueError(
                f"{type(estimator).__name__} requires y to be passed, but the target y is None."
            )
        grouped, names = dask_rows(X, y, groups, sample_weight, membership, known)
    else:
        y, groups, sample_weight, membership, known = (
            value.compute() if is_dask(value) else value
            for value in (y, groups, sample_weight, membership, known)
        )
        rows, classes = check_rows(estimator, X, y, sample_weight)
        keys = check_group_keys(groups, len(rows))
        traits, columns = traits_of_rows(membership, known, len(rows), groups)
        sorted_rows = InMemoryGroups.of(replace(rows, keys=keys, traits=traits))
        return replace(sorted_rows, trait_columns=columns), classes
    classes = grouped.rows.survey.classes
    check_classes(classes, why=why_binary(estimator), n_rows=grouped.n_present)
    remember_features(estimator, grouped.rows.n_features, names)
    return grouped, classes


def remember_features(estimator: Any, n_features: int, names: Sequence[Any] | None) -> None:
    """Set the attributes that scikit-learn sets from X."""
    estimator.n_features_in_ = n_features
    if names is not None and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def on_parts(
    width: Callable[[Any], int | None], dtype: Callable[[Any], Any] = lambda _: np.float64
) -> Callable[[Method], Method]:
    """Let a method that takes rows accept Dask collections too, lazily, partition by partition.

    `width` and `dtype` are functions of the estimator: the number of columns that the method
    returns (None for one value per row), and their type.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def wrapper(self: Any, X: Any, *columns: Any, **options: Any) -> Any:
            if hasattr(X, "grouped_rows"):
                name = method.__name__
                raise ValueError(
                    f"{name} returns its values in memory: source.map_to('out.parquet', "
                    f"model.{name}) writes those of a scan to a file."
                )
            if not is_dask(X):
                return method(self, X, *columns, **options)
            from spectralmirror.rows.dask import lazily

            check_is_fitted(self)
            given = signature(method).bind(self, X, *columns, **options).arguments
            if given.get("groups") is not None:
                raise ValueError(
                    f"{method.__name__} takes Dask collections without groups: rows of a group may "
                    "be in different partitions."
                )
            if given.get("history") is not None:
                raise ValueError(
                    f"{method.__name__} takes Dask collections without a history: its persons may "
                    "be in any partition. Compute them first."
                )
            if np.ndim(given.get("component_weights", 0)) > 1:
                raise ValueError(
                    "component_weights must hold one number per component for Dask collections."
                )
            names = [n for n in ("y", "membership") if given.get(n) is not None]
            others = {n: v for n, v in given.items() if n in ("component_weights", "averaged")}
            bound = partial(_with_columns, partial(method, self, **others), tuple(names))
            aligned = [given[name] for name in names]
            sizes = {"width": width(self), "dtype": dtype(self)}
            return lazily(bound, X, *aligned, names=names, **sizes)

        wrapper.takes_named_matrix = True  # type: ignore[attr-defined]
        return cast(Method, wrapper)

    return decorate


def _with_columns(method: Callable[..., Any], names: tuple[str, ...], X: Any, *columns: Any) -> Any:
    return method(X, **dict(zip(names, columns, strict=True)))


def count_scans(estimator: Any, grouped: GroupedRows) -> None:
    """Set `n_scans_`: how often rows that are not in memory were read."""
    if grouped.in_memory:
        vars(estimator).pop("n_scans_", None)
    else:
        estimator.n_scans_ = grouped.rows.passes.total()

"""What a fitted mixture returns, as DataFrames whose columns carry the names of the classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Self, TypeVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture.person_model import PersonProfiles
from spectralmirror.mixture.summary import INTERCEPT, WEIGHT, letters
from spectralmirror.rows.containers import frame, index_of, output_container
from spectralmirror.rows.types import AnyArray, Vector

__all__ = ["FramesOut", "framed", "framed_persons"]

Method = TypeVar("Method", bound=Callable[..., Any])
#: The choices of :meth:`FramesOut.set_output`.
CONTAINERS = ("default", "pandas", "polars")


class FramesOut:
    """A mixture that returns DataFrames if asked to."""

    coef_: AnyArray
    intercept_: AnyArray
    n_components_: int
    fit_intercept: bool

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what methods return that have a column for each class, or for each feature.

        These are `component_proba`, `membership_proba`, `person_profiles`, `coef_frame` and
        ``summary(as_frame=True)``. Columns of classes are called "A", "B", ..., heaviest class
        first, as in reports.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            "pandas" or "polars" for DataFrames of that package, "default" for arrays. None changes
            nothing. ``sklearn.set_config(transform_output=...)`` sets it for all estimators.

        Returns
        -------
        self : estimator
            The mixture itself.
        """
        if transform is None:
            return self
        if transform not in CONTAINERS:
            names = ", ".join(map(repr, CONTAINERS))
            raise ValueError(f"transform must be one of {names}, got {transform!r}.")
        self._sklearn_output_config = {"transform": transform}  # where scikit-learn keeps it
        return self

    def coef_frame(self, *, weights: bool = False) -> Any:
        """Return the coefficients as a DataFrame: a line for each feature, a column for each class.

        With more than two labels, there is a line for each feature of each label, "label: feature".

        Parameters
        ----------
        weights : bool, default=False
            Whether the weights of the classes stand in the first line.

        Returns
        -------
        DataFrame
            Of pandas, indexed by feature, or of the package named by :meth:`set_output`, with a
            column "term". The line "(intercept)" holds the intercepts.
        """
        check_is_fitted(self, "coef_")
        terms, lines = _terms(self, self.coef_, self.intercept_)
        if weights:
            terms, lines = [WEIGHT, *terms], [self.weights_, *lines]  # type: ignore[attr-defined]
        columns = dict(zip(letters(self.n_components_), np.array(lines).T, strict=True))
        return indexed(columns, "term", terms, output_container(self))


def framed(method: Method) -> Method:
    """Let a method that returns a column for each class follow `set_output`."""

    @wraps(method)
    def wrapper(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        found, container = method(self, X, *args, **options), output_container(self)
        if container == "default" or not isinstance(found, np.ndarray):
            return found
        columns = dict(zip(letters(found.shape[1]), found.T, strict=True))
        return frame(columns, container, index_of(X))

    return cast(Method, wrapper)


def framed_persons(method: Method) -> Method:
    """Let a method that returns `PersonProfiles` follow `set_output`."""

    @wraps(method)
    def wrapper(self: Any, *args: Any, **options: Any) -> Any:
        found, container = method(self, *args, **options), output_container(self)
        return found if container == "default" else _of_persons(self, found, container)

    return cast(Method, wrapper)


def indexed(columns: dict[str, Any], name: str, values: list[Any], container: str) -> Any:
    """Return a frame whose lines are named: by its index in pandas, by its first column else."""
    made = frame({name: values} | columns, container)
    return made.set_index(name) if hasattr(made, "set_index") else made


def _terms(mixture: Any, coef: AnyArray, intercept: AnyArray) -> tuple[list[str], list[Vector]]:
    """Return the name of each intercept and coefficient, and its values for classes or persons."""
    named = getattr(mixture, "feature_names_in_", None)
    features = [f"x{j}" for j in range(coef.shape[-1])] if named is None else list(named)
    if coef.ndim == 3:
        terms: list[str] = []
        lines: list[Vector] = []
        for j, label in enumerate(mixture.classes_.tolist()):
            one = _terms(mixture, coef[:, j], intercept[:, j])
            terms += [f"{label}: {term}" for term in one[0]]
            lines += one[1]
        return terms, lines
    if not mixture.fit_intercept:
        return features, list(coef.T)
    return [INTERCEPT, *features], [intercept, *coef.T]


def _of_persons(mixture: Any, found: PersonProfiles, container: str) -> Any:
    """Return a line for each person: means, then standard deviations."""
    names, means = _terms(mixture, found.coef, found.intercept)
    deviations = _terms(mixture, found.coef_standard_deviation, found.intercept_standard_deviation)[
        1
    ]
    columns = dict(zip(names, means, strict=True))
    columns |= {f"{name} (std. dev.)": d for name, d in zip(names, deviations, strict=True)}
    return indexed(columns, "person", found.groups.tolist(), container)

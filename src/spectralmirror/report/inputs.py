"""The fitted mixture and the rows that a report is about, checked."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture import LinearClassifierMixture
from spectralmirror.mixture.summary import constrained
from spectralmirror.report.text.formatting import value_text
from spectralmirror.rows.checks import check_features, check_groups
from spectralmirror.rows.types import Matrix

__all__ = ["Inputs", "check_inputs", "covariates_of", "without_names"]


@dataclass(frozen=True, eq=False)
class Inputs:
    """A fitted mixture and rows to evaluate it on.

    Attributes
    ----------
    mixture : LinearClassifierMixture
        The fitted mixture without its feature names, so that it accepts arrays.
    frame : DataFrame or array
        The features as they were passed.
    X : ndarray of shape (n, d)
        The features as a dense array.
    y : ndarray of shape (n,)
        The labels.
    groups : ndarray of shape (n,) or None
        Group of every row, numbered from 0.
    names : list of str
        Names of the features.
    table : polars DataFrame or None
        The same rows in the user's own columns.
    about : dict
        Facts from the caller.
    seed : int
        Seed of everything random.
    membership : ndarray of shape (n, q) or None
        Covariates of the groups; None if they are not known, or do not matter.
    """

    mixture: Any
    frame: Any
    X: Matrix
    y: NDArray[Any]
    groups: NDArray[np.int64] | None
    names: list[str]
    table: Any
    about: dict[str, Any]
    seed: int
    membership: Matrix | None = field(default=None, kw_only=True)

    def of_groups(self, rows: Any = slice(None)) -> dict[str, Any]:
        """Return the covariates of some rows as an argument of the mixture; {} without any."""
        return {} if self.membership is None else {"membership": self.membership[rows]}

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Mask of the rows whose label stands for +1."""
        return cast(NDArray[np.bool_], self.y == self.mixture.classes_[1])

    def label_text(self, value: Any) -> str:
        """Return the caller's name for a label, or the label itself as text."""
        names = self.about.get("label_names") or {}
        return str(names.get(str(value), value_text(value)))

    @property
    def clusters(self) -> NDArray[np.int64]:
        """Group of every row; without groups, every row is a cluster of its own."""
        return np.arange(len(self.y)) if self.groups is None else self.groups

    @property
    def scale(self) -> NDArray[np.float64]:
        """Standard deviations of the features."""
        return np.asarray(self.mixture.feature_scale_)


def without_names(mixture: Any) -> Any:
    """Return a mixture that accepts arrays, and whose parameters call features by number."""
    shared, signs = constrained(mixture)
    nameless = copy(mixture)
    names = [str(name) for name in nameless.__dict__.pop("feature_names_in_", ())]
    if names:
        if getattr(mixture, "shared", ()) != "all":
            nameless.shared = [names.index(name) for name in shared]
        nameless.signs = {names.index(name): sign for name, sign in signs.items()} or None
    return nameless


def covariates_of(mixture: Any, membership: Any, n: int) -> Matrix | None:
    """Return covariates as an array, or raise if they are not those of the mixture."""
    if membership is None or not hasattr(mixture, "membership_names_in_"):
        return None
    mixture._lines(membership, n, None)
    values: Matrix = np.asarray(membership, dtype=np.float64).reshape(n, -1)
    return values


def check_inputs(
    mixture: Any,
    X: Any,
    y: Any,
    groups: Any,
    table: Any,
    about: Any,
    random_state: Any,
    membership: Any = None,
) -> Inputs:
    """Return the arguments of a report, or raise an error that says which of them is wrong."""
    if not isinstance(mixture, LinearClassifierMixture):
        kind = type(mixture).__name__
        raise TypeError(f"A report is about a fitted LinearClassifierMixture, got {kind}.")
    check_is_fitted(mixture, "coef_")
    if groups is None and getattr(mixture, "grouped_", False):
        raise ValueError(
            "The mixture was fitted with groups: pass the groups of these rows, groups=."
        )
    matrix = check_features(X, mixture)
    if hasattr(matrix, "toarray"):
        matrix = matrix.toarray()
    labels = column_or_1d(y)
    if table is not None and not isinstance(table, pl.DataFrame):
        table = pl.DataFrame(table)
    for name, length in (("y", len(labels)), ("table", None if table is None else len(table))):
        if length not in (None, len(matrix)):
            raise ValueError(f"X has {len(matrix)} rows but {name} has {length}.")
    if not np.isin(labels, mixture.classes_).all():
        raise ValueError(f"y must hold the labels that were fitted, {mixture.classes_.tolist()}.")
    numbered = [f"x{j}" for j in range(matrix.shape[1])]
    names = [str(name) for name in getattr(mixture, "feature_names_in_", numbered)]
    seed = int(check_random_state(random_state).randint(2**31))
    numbers = check_groups(groups, len(matrix))
    Z = covariates_of(mixture, membership, len(matrix))
    return Inputs(
        without_names(mixture), X, matrix, labels, numbers, names, table, dict(about or {}), seed,
        membership=Z,
    )  # fmt: skip

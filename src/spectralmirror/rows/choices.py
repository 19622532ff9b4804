"""Choices in long form: one row for each alternative of each set, one of which is chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.accept import remember_features
from spectralmirror.rows.checks import check_features, check_group_keys, is_dask
from spectralmirror.rows.grouped import GroupedRows, InMemoryGroups
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.messages import ColumnError, named_columns
from spectralmirror.rows.sets import (
    SAME_IN_SETS,
    ChoiceSets,
    centred,
    check_chosen,
    check_same_in_sets,
    check_sets,
)
from spectralmirror.rows.traits import traits_of_rows
from spectralmirror.rows.types import Features
from spectralmirror.rows.weights import check_weights

__all__ = ["accept_choice_rows", "accept_choices"]


def accept_choice_rows(
    estimator: Any,
    X: Any,
    chosen: Any,
    choices: Any,
    groups: Any,
    sample_weight: Any,
    membership: Any,
    known: Any,
) -> tuple[GroupedRows, int]:
    """Return the rows of choices in their groups, and the number of choice sets.

    A source that knows its own choices, as a scan does, has a method ``choice_rows``.
    """
    columns = chosen, choices, groups, sample_weight, membership, known
    if hasattr(X, "choice_rows"):
        if any(value is not None for value in columns):
            raise ValueError(
                "chosen, choices, groups, sample_weight, membership and known belong to the scan: "
                "name their columns there, as scan(..., label=, choices=, groups=), and call "
                "fit(source)."
            )
        grouped, names, n_sets = X.choice_rows()
    elif hasattr(X, "grouped_rows"):
        raise ValueError(
            f"Choices cannot be fitted from {type(X).__name__}: pass arrays, Dask collections, or "
            "files as scan(..., label=, choices=, groups=)."
        )
    elif is_dask(X):
        from spectralmirror.rows.dask_choices import dask_choices

        if chosen is None or choices is None:
            missing = "chosen" if chosen is None else "choices"
            raise ValueError(f"{missing} is missing: pass a value for each row of X.")
        grouped, names, n_sets = dask_choices(X, *columns)
    else:
        columns = tuple(value.compute() if is_dask(value) else value for value in columns)
        X = check_features(X, estimator, reset=True)
        with named_columns(estimator):
            return accept_choices(X, *columns), len(np.unique(np.asarray(columns[1])))
    remember_features(estimator, grouped.rows.n_features, names)
    return grouped, n_sets


def accept_choices(
    X: Features,
    chosen: Any,
    choices: Any,
    groups: Any,
    sample_weight: Any,
    membership: Any,
    known: Any,
) -> InMemoryGroups:
    """Return rows of checked features in whole sets and groups; without groups, sets are groups.

    Sets that all have two alternatives become rows of their own: the difference between the first
    and the second, with a binary label.
    """
    n = int(X.shape[0])
    sets = check_sets(choices, n)
    y = check_chosen(chosen, sets)
    keys = check_group_keys(choices if groups is None else groups, n)
    assert keys is not None
    keys = keys[sets.order]
    check_same_in_sets(keys, sets, "groups")
    weight = None
    if sample_weight is not None:
        weight = check_weights(sample_weight, n, X.dtype)[sets.order]
        check_same_in_sets(weight, sets, "sample_weight")
    persons = choices if groups is None else groups
    traits, columns = traits_of_rows(membership, known, n, persons)
    traits = None if traits is None else traits[sets.order]
    X = X[sets.order]
    _check_varies(X, sets)
    rows = Rows(X, y.astype(X.dtype), weight, keys=keys, traits=traits, sets=sets.numbers)
    difference = X[sets.starts] - X[sets.starts + 1] if (sets.sizes == 2).all() else None
    if difference is not None and _varies(difference).all():
        rows = replace(rows[sets.starts], X=difference, sets=None)
    else:  # a constant of an alternative that always comes first does not vary in differences
        rows = replace(rows, X=centred(X, sets))
    return replace(InMemoryGroups.of(rows).in_order(), trait_columns=columns)


def _check_varies(X: Features, sets: ChoiceSets) -> None:
    """Raise if no set has alternatives that differ in some column of ordered rows.

    They are compared as they are: the mean of equal numbers may differ in its last digit.
    """
    if sparse.issparse(X):
        first = np.repeat(sets.starts, sets.sizes)
        varies = abs(X - X[first]).max(axis=0).toarray().ravel() > 0
    else:
        least, most = (of.reduceat(X, sets.starts, axis=0) for of in (np.minimum, np.maximum))
        varies = (least < most).any(axis=0)
    if not varies.all():
        raise ColumnError(SAME_IN_SETS, np.flatnonzero(~varies))


def _varies(X: Features) -> NDArray[np.bool_]:
    """Return which columns vary."""
    least, most = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(X):
        least, most = least.toarray().ravel(), most.toarray().ravel()
    return np.asarray(least < most)

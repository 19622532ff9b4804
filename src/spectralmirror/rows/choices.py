"""Choices in long form: one row for each alternative of each set, one of which is chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spectralmirror.rows.checks import check_group_keys
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.sets import centred, check_chosen, check_same_in_sets, check_sets
from spectralmirror.rows.traits import traits_of_rows
from spectralmirror.rows.types import Features
from spectralmirror.rows.weights import check_weights

__all__ = ["accept_choices"]


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
    rows = Rows(X, y.astype(X.dtype), weight, keys=keys, traits=traits, sets=sets.numbers)
    if (sets.sizes == 2).all():
        difference = X[sets.starts] - X[sets.starts + 1]
        rows = replace(rows[sets.starts], X=difference, sets=None)
    else:
        rows = replace(rows, X=centred(X, sets))
    return replace(InMemoryGroups.of(rows).in_order(), trait_columns=columns)

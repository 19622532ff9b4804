"""Rows of choices in the order of their sets: what predictions are made for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.checks import check_group_keys
from spectralmirror.rows.messages import first_missing
from spectralmirror.rows.sets import ChoiceSets, centred, check_same_in_sets, check_sets
from spectralmirror.rows.types import AnyArray, Features

__all__ = ["SetRows"]


class SetRows(NamedTuple):
    """Rows in the order of their sets, and the person of each."""

    X: Any
    sets: ChoiceSets
    keys: NDArray[np.uint64]
    persons: NDArray[np.intp]

    @classmethod
    def of(cls, X: Features, choices: Any, groups: Any) -> SetRows:
        """Return checked features in the order of their sets; without groups, sets are persons."""
        n = int(X.shape[0])
        sets = check_sets(choices, n)
        keys = check_group_keys(choices if groups is None else groups, n)
        assert keys is not None
        keys = keys[sets.order]
        check_same_in_sets(keys, sets, "groups")
        _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        rank[np.argsort(first, kind="stable")] = np.arange(len(first))
        return cls(centred(X[sets.order], sets), sets, keys, rank[numbers])

    @property
    def first(self) -> NDArray[np.intp]:
        """First row of each person."""
        return np.unique(self.persons, return_index=True)[1]

    def in_their_order(self, values: AnyArray) -> AnyArray:
        """Return values of ordered rows in the order in which the rows came."""
        found = np.empty_like(values)
        found[self.sets.order] = values
        return found

    def alternatives(self, names: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return the alternatives, and the number of that of each ordered row.

        `names` holds the alternative of each row as the rows came; None means its position within
        its set.
        """
        n = len(self.persons)
        if names is None:
            names = np.arange(n) - np.repeat(self.sets.starts, self.sets.sizes)
        else:
            names = np.asarray(names)
            if names.shape != (n,):
                raise ValueError(
                    f"alternatives must name the alternative of each of {n} rows, got shape "
                    f"{names.shape}."
                )
            missing = first_missing(names)
            if missing is not None:
                raise ValueError(
                    f"alternatives is missing in row {missing}: name the alternative of each row."
                )
            names = names[self.sets.order]
        try:
            return np.unique(names, return_inverse=True)
        except TypeError:
            raise ValueError(
                "alternatives mixes values that cannot be compared: use one kind."
            ) from None

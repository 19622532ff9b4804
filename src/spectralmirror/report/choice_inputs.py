"""A fitted mixture of choices, and the choices that a report is about, checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from spectralmirror.report.inputs import Inputs, covariates_of, without_names
from spectralmirror.rows.checks import check_features, check_groups
from spectralmirror.rows.sets import check_chosen, check_same_in_sets, check_sets

__all__ = ["ChoiceInputs", "check_choices"]

#: Features that are taken for a price if none is named.
PRICE = re.compile(r"(^|[_ .-])(price|cost|costs|fare|fee|rent|toll)($|[_ .-])", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class ChoiceInputs(Inputs):
    """A fitted mixture of choices, and choices to evaluate it on, set by set.

    Attributes
    ----------
    choices : ndarray of shape (n,)
        The choice set of every row, numbered from 0.
    alternatives : ndarray of shape (n,)
        The alternative of every row; its position within the set if they have no names.
    named : bool
        Whether alternatives have names.
    price : int or None
        The feature that is the price.
    """

    choices: NDArray[np.intp]
    alternatives: NDArray[Any]
    named: bool
    price: int | None

    @property
    def clusters(self) -> NDArray[np.int64]:
        """Person of every row; without persons, every set is a cluster of its own."""
        return np.asarray(self.choices if self.groups is None else self.groups, dtype=np.int64)

    @property
    def n_sets(self) -> int:
        """Number of choice sets."""
        return int(self.choices[-1]) + 1

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of alternatives of every set."""
        return np.bincount(self.choices)

    @property
    def starts(self) -> NDArray[np.intp]:
        """First row of every set."""
        return np.flatnonzero(np.append(True, self.choices[1:] != self.choices[:-1]))


def check_choices(
    mixture: Any,
    X: Any,
    chosen: Any,
    choices: Any,
    alternatives: Any,
    groups: Any,
    about: Any,
    random_state: Any,
    membership: Any = None,
) -> ChoiceInputs:
    """Return the arguments of a report, or raise an error that says which of them is wrong."""
    check_is_fitted(mixture, "coef_")
    if groups is None and mixture.grouped_:
        raise ValueError(
            "The mixture was fitted with groups: pass the person of each row, groups=."
        )
    matrix = check_features(X, mixture)
    if hasattr(matrix, "toarray"):
        matrix = matrix.toarray()
    n = len(matrix)
    sets = check_sets(choices, n)
    y = check_chosen(chosen, sets) > 0
    persons = check_groups(groups, n)
    if persons is not None:
        persons = persons[sets.order]
        check_same_in_sets(persons, sets, "groups")
        persons = np.unique(persons, return_inverse=True)[1]
    if alternatives is None:
        names: NDArray[Any] = np.arange(n) - np.repeat(sets.starts, sets.sizes) + 1
    else:
        names = np.asarray(alternatives)
        if names.shape != (n,):
            raise ValueError(
                f"alternatives must name the alternative of each of {n} rows, got shape "
                f"{names.shape}."
            )
        names = names[sets.order].astype(str)
    features = [str(one) for one in getattr(mixture, "feature_names_in_", _numbered(matrix))]
    Z = covariates_of(mixture, membership, n)
    about = dict(about or {})
    return ChoiceInputs(
        without_names(mixture), X, matrix[sets.order], y, persons, features, None, about,
        int(check_random_state(random_state).randint(2**31)), sets.numbers, names,
        alternatives is not None, _price(about.get("price"), features),
        membership=None if Z is None else Z[sets.order],
    )  # fmt: skip


def _numbered(matrix: Any) -> list[str]:
    return [f"x{j}" for j in range(matrix.shape[1])]


def _price(name: Any, features: list[str]) -> int | None:
    """Return the feature that is the price: the one that was named, or that is called so."""
    if name is not None:
        if name not in features:
            raise ValueError(f"There is no feature {name!r}; the features are {features}.")
        return features.index(name)
    called = [j for j, feature in enumerate(features) if PRICE.search(feature)]
    return called[0] if len(called) == 1 else None

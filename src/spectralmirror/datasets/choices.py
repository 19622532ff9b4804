"""Simulated choices whose hidden classes are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from spectralmirror.rows.checks import check_table, require_count
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["ChoiceTruth", "make_choice_mixture"]


@dataclass(frozen=True)
class ChoiceTruth:
    """The mixture that made the choices.

    Attributes
    ----------
    profiles : ndarray of shape (k, n_features)
        The profiles u_l of the classes.
    weights : ndarray of shape (k,)
        The probabilities p_l.
    components : ndarray of shape (n_samples,)
        The class of each row's person.
    choices : ndarray of shape (n_samples,)
        The choice set of each row.
    groups : ndarray of shape (n_samples,)
        The person of each row.
    person_profiles : ndarray of shape (n_persons, n_features)
        The profile of each person: that of the class, and their own deviation.
    """

    profiles: Matrix
    weights: Vector
    components: NDArray[np.int64]
    choices: NDArray[np.int64]
    groups: NDArray[np.int64]
    person_profiles: Matrix


def make_choice_mixture(
    n_persons: int = 500,
    n_features: int = 5,
    n_components: int = 2,
    *,
    n_choices: int = 8,
    n_alternatives: int = 4,
    profiles: ArrayLike | None = None,
    profile_norm: float = 2.0,
    weights: ArrayLike | None = None,
    spread: float = 0.0,
    random_state: Any = None,
) -> tuple[Matrix, NDArray[np.bool_], ChoiceTruth]:
    """Draw choices of persons who belong to hidden classes.

    Parameters
    ----------
    n_persons : int, default=500
        Number of persons.
    n_features : int, default=5
        Number of features of an alternative, which are standard normal.
    n_components : int, default=2
        Number of classes.
    n_choices : int, default=8
        Number of sets from which each person chooses.
    n_alternatives : int, default=4
        Number of alternatives of a set.
    profiles : array-like of shape (n_components, n_features), default=None
        The profiles of the classes; None draws them at random.
    profile_norm : float, default=2.0
        Norm of random profiles.
    weights : array-like of shape (n_components,), default=None
        Probabilities of the classes; None means that they are equal.
    spread : float, default=0.0
        Standard deviation of persons' coefficients around those of their class.
    random_state : int, RandomState instance or None, default=None
        The same seed gives the same data.

    Returns
    -------
    X : ndarray of shape (n_persons * n_choices * n_alternatives, n_features)
        The alternatives, one in each row.
    chosen : ndarray of shape (n_samples,)
        Whether each row was chosen from its set.
    truth : ChoiceTruth
        The classes, and to which set, person and class each row belongs.

    Examples
    --------
    >>> from spectralmirror.datasets import make_choice_mixture
    >>> X, chosen, truth = make_choice_mixture(100, 3, n_choices=5, random_state=0)
    >>> X.shape, int(chosen.sum())
    ((2000, 3), 500)
    """
    require_count(
        n_persons=n_persons, n_features=n_features, n_components=n_components,
        n_choices=n_choices, n_alternatives=n_alternatives - 1,
    )  # fmt: skip
    rng = check_random_state(random_state)
    if profiles is None:
        U = rng.standard_normal((n_components, n_features))
        U *= profile_norm / np.linalg.norm(U, axis=1, keepdims=True)
    else:
        U = check_table(profiles, "profiles")
        n_components, n_features = U.shape
    equal = np.full(n_components, 1 / n_components)
    p = equal if weights is None else np.asarray(weights, dtype=np.float64)
    classes = rng.choice(n_components, size=n_persons, p=p / p.sum())
    own = U[classes] + spread * rng.standard_normal((n_persons, n_features))
    n_sets = n_persons * n_choices
    X = rng.standard_normal((n_sets * n_alternatives, n_features))
    choices = np.repeat(np.arange(n_sets), n_alternatives)
    groups = np.repeat(np.arange(n_persons), n_choices * n_alternatives)
    utility = (X * own[groups]).sum(axis=1) + rng.gumbel(size=len(X))  # McFadden (1974)
    best = utility.reshape(n_sets, n_alternatives).argmax(axis=1)
    chosen = (np.arange(n_alternatives) == best[:, None]).ravel()
    return X, chosen, ChoiceTruth(U, p / p.sum(), classes[groups], choices, groups, own)

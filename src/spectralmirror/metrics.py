"""Distances between an estimate and the truth: of subspaces, components and profiles.

And a scorer for cross-validation: how likely the held-out labels of a person are together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import orth, svdvals
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.metadata_routing import MetadataRequest

from spectralmirror.rows.checks import check_groups, check_table
from spectralmirror.rows.messages import is_missing, refuse_masked
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.rows.weights import check_weights

__all__ = [
    "component_error",
    "person_log_likelihood",
    "principal_angles",
    "profile_error",
    "subspace_error",
]


def principal_angles(A: ArrayLike, B: ArrayLike) -> Vector:
    """Return the principal angles between the row spaces of A and B, largest first.

    Each angle is computed from its sine and its cosine, both of them singular values (Knyazev and
    Argentati 2002), and is accurate to rounding near 0 as well as near pi/2. Rows need not be
    orthogonal or of unit length.

    Parameters
    ----------
    A, B : array-like of shape (k, n_features)
        Vectors that span each subspace, one per row.

    Returns
    -------
    ndarray of shape (min(rank A, rank B),)
        Angles in radians.

    Examples
    --------
    >>> from spectralmirror.metrics import principal_angles
    >>> principal_angles([[1, 0, 0], [0, 1, 0]], [[2, 0, 0], [0, 1, 1]]).round(4)
    array([0.7854, 0.    ])
    """
    A, B = _unit_rows(A, "A"), _unit_rows(B, "B")
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"A and B must have the same number of columns, got {A.shape[1]} and {B.shape[1]}."
        )
    for matrix, name in ((A, "A"), (B, "B")):
        if not matrix.any():
            raise ValueError(f"{name} has only zero rows, which span nothing to measure.")
    larger, smaller = sorted((orth(A.T), orth(B.T)), key=lambda basis: -basis.shape[1])
    inside = larger.T @ smaller
    cosines = svdvals(inside)[::-1]
    sines = svdvals(smaller - larger @ inside)
    return np.asarray(np.arctan2(sines, cosines))


def subspace_error(A: ArrayLike, B: ArrayLike) -> float:
    """Return the sine of the largest principal angle, sin d_P, between the row spaces of A and B.

    It is 0 if the spaces agree, and 1 if some direction of one is orthogonal to the other. If the
    dimensions differ, it is 0 if the smaller space lies inside the larger.

    Parameters
    ----------
    A, B : array-like of shape (k, n_features)
        Vectors that span each subspace, one per row.

    Returns
    -------
    float
        In [0, 1].
    """
    return float(np.sin(principal_angles(A, B)[0]))


def component_error(true: ArrayLike, found: ArrayLike) -> float:
    """Return the share of rows assigned incorrectly, under the best matching of component names.

    The names of components carry no meaning, so they are matched one to one first (Hungarian method
    on the contingency table). Either side may have more components than the other.

    Parameters
    ----------
    true, found : array-like of shape (n_samples,)
        The component of each row.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from spectralmirror.metrics import component_error
    >>> component_error([0, 0, 1, 1], ["b", "b", "a", "b"])
    0.25
    """
    check_consistent_length(true, found)
    table = contingency_matrix(_assignment(true, "true"), _assignment(found, "found"))
    if not table.size:
        raise ValueError("true and found are empty: pass at least one row.")
    agreed = table[linear_sum_assignment(table, maximize=True)].sum()
    return float(1 - agreed / table.sum())


def profile_error(true: ArrayLike, found: ArrayLike, *, scale_free: bool = False) -> float:
    """Return the relative error of profiles under the best matching of components.

    sqrt( min over permutations s of sum_l |u_l - v_s(l)|^2  /  sum_l |u_l|^2 ).

    Parameters
    ----------
    true, found : array-like of shape (k, n_features)
        The profiles u_l and their estimates v_l, one per row, in any order.
    scale_free : bool, default=False
        Compare directions only, by scaling every profile to unit length first: hard labels do not
        identify norms.

    Returns
    -------
    float
        0 if all profiles agree.
    """
    U, V = check_table(true, "true"), check_table(found, "found")
    if U.shape != V.shape:
        raise ValueError(
            f"true and found must have the same shape, got {U.shape} and {V.shape}: "
            "pass equally many profiles of the same features."
        )
    if not U.any():
        raise ValueError("true has only zero profiles, so a relative error is not defined.")
    if scale_free:
        U, V = _unit_rows(U, "true"), _unit_rows(V, "found")
    length = np.abs(U).max()
    scale = max(length, np.abs(V).max())
    squares = np.square(U[:, None, :] / scale - V[None, :, :] / scale).sum(axis=2)
    total = squares[linear_sum_assignment(squares)].sum()
    with np.errstate(over="ignore", divide="ignore"):  # an error above 1e308 is inf
        return float(np.sqrt(total) / np.linalg.norm(U / length) / (length / scale))


def person_log_likelihood(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    membership: Any = None,
    choices: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the mean over groups of the log-likelihood of all labels of a group.

    A scorer for whole persons: pass it as ``scoring=`` to cross-validation and searches of
    scikit-learn. After ``sklearn.set_config(enable_metadata_routing=True)``, these pass groups and
    covariates on to it, and to ``fit``.

    Parameters
    ----------
    estimator : fitted estimator
        A mixture, a pipeline that ends with one, or any other classifier with `predict_proba`,
        which takes the labels of a group for independent.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The features.
    y : array-like of shape (n_samples,)
        Their labels; for a :class:`~spectralmirror.ChoiceMixture`, which rows were chosen.
    groups : array-like of shape (n_samples,)
        The group of each row.
    membership : array-like of shape (n_samples, n_covariates), default=None
        Covariates of the groups.
    choices : array-like of shape (n_samples,), default=None
        The choice set of each row, for a :class:`~spectralmirror.ChoiceMixture`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; that of a group is the mean of those of its rows, as in fits.

    Returns
    -------
    float
        Larger is better.

    Examples
    --------
    >>> from spectralmirror import LinearClassifierMixture
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> from spectralmirror.metrics import person_log_likelihood
    >>> X, y, truth = make_linear_classifier_mixture(600, 3, 2, group_size=5, random_state=0)
    >>> mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=truth.groups)
    >>> round(person_log_likelihood(mixture, X, y, groups=truth.groups), 1)
    -1.7
    """
    if groups is None:
        raise ValueError(
            "person_log_likelihood needs the groups of the rows. Cross-validation passes them on "
            "after sklearn.set_config(enable_metadata_routing=True), as cross_val_score(..., "
            "params={'groups': g}) or GridSearchCV(...).fit(X, y, groups=g)."
        )
    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    if hasattr(estimator, "steps"):
        X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
        estimator = estimator[-1]
    given = {"membership": membership, "choices": choices}
    given = {name: value for name, value in given.items() if value is not None}
    if hasattr(estimator, "component_proba"):
        found = estimator.score_samples(X, y, groups=groups, **given)
    else:
        found = _independent(estimator, X, y, groups)
    if sample_weight is None:
        return float(np.mean(found))
    weight = _of_groups(sample_weight, groups, by_appearance=choices is not None)
    return float(np.average(found, weights=weight))


def _requests() -> MetadataRequest:
    """Return what cross-validation is asked to pass on to the scorer: all that can be passed."""
    requests = MetadataRequest(owner="person_log_likelihood")
    for name in ("groups", "membership", "choices", "sample_weight"):
        requests.score.add_request(param=name, alias=True)
    return requests


person_log_likelihood.get_metadata_routing = _requests  # type: ignore[attr-defined]


def _independent(classifier: Any, X: Any, y: Any, groups: Any) -> Vector:
    """Return sum_i log P(y_i | x_i) of each group."""
    if not hasattr(classifier, "predict_proba"):
        raise TypeError(
            "person_log_likelihood scores fitted classifiers with predict_proba, got "
            f"{type(classifier).__name__}."
        )
    p = np.asarray(classifier.predict_proba(X))
    labels, y = list(classifier.classes_), np.asarray(y)
    unknown = np.flatnonzero(~np.isin(y, labels))
    if len(unknown):
        raise ValueError(
            f"y holds {y[unknown].tolist()[0]!r} in row {unknown[0]}, but the labels that were "
            f"fitted are {classifier.classes_.tolist()}."
        )
    places = np.searchsorted(classifier.classes_, y)
    with np.errstate(divide="ignore"):
        log_p = np.log(p[np.arange(len(p)), places])
    return np.asarray(np.bincount(_numbers(groups, len(p)), log_p), dtype=np.float64)


def _of_groups(sample_weight: Any, groups: Any, *, by_appearance: bool) -> Vector:
    """Return the mean weight of each group, in the order of its value or of its first row."""
    numbers = _numbers(groups, len(groups))
    weight = check_weights(sample_weight, len(groups), np.float64)
    mean = np.bincount(numbers, weight) / np.bincount(numbers)
    if by_appearance:
        mean = mean[np.argsort(np.unique(numbers, return_index=True)[1])]
    return np.asarray(mean)


def _numbers(groups: Any, n: int) -> NDArray[np.int64]:
    found = check_groups(groups, n)
    assert found is not None
    return found


def _unit_rows(A: ArrayLike, name: str) -> Matrix:
    """Scale rows to unit length, except zero rows, without overflow or underflow."""
    rows = check_table(A, name)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = np.ldexp(rows, -np.frexp(largest)[1])  # by a power of two, so that nothing is rounded
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))


def _assignment(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return the component of each row as an array; raise ValueError if one is missing."""
    refuse_masked(values, name)
    found = column_or_1d(values)
    if found.dtype.kind in "fO" and any(map(is_missing, found.tolist())):
        raise ValueError(f"{name} has missing values: leave such rows out on both sides.")
    return np.asarray(found)

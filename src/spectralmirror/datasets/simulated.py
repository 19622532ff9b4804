"""Simulated data whose hidden classifiers are known."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from spectralmirror.responses import Response, get_response
from spectralmirror.rows.checks import (
    check_covariance,
    check_features,
    check_mean,
    check_table,
    require_count,
)
from spectralmirror.rows.messages import numbers
from spectralmirror.rows.reduce import one_blas_thread
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["MixtureTruth", "make_linear_classifier_mixture"]


@dataclass(frozen=True)
class MixtureTruth:
    """The mixture that made the labels.

    Attributes
    ----------
    profiles : ndarray of shape (k, n_features)
        The normals u_l of the classifiers.
    weights : ndarray of shape (k,)
        The probabilities p_l.
    components : ndarray of shape (n_samples,)
        The classifier that made each label.
    groups : ndarray of shape (n_samples,)
        The group of each row; rows of one group share their classifier.
    response : Response
        The function f.
    spread : ndarray of shape (n_features,)
        Standard deviations of the coefficients of persons (groups) of one class; 0 if they are
        alike.
    person_profiles : ndarray of shape (n_groups, n_features)
        The profile of each group: that of its classifier, and its own deviation.
    """

    profiles: Matrix
    weights: Vector
    components: NDArray[np.int64]
    groups: NDArray[np.int64]
    response: Response
    spread: Vector
    person_profiles: Matrix

    def expected_label(self, X: ArrayLike) -> Vector:
        """E[y | x] = sum_l p_l (2 f(<u_l, x>) - 1) for every row of X, in [-1, 1].

        If groups of one class differ, f is averaged over them.
        """
        rows: Matrix = np.asarray(check_features(X), dtype=np.float64)
        if rows.shape[1] != self.profiles.shape[1]:
            raise ValueError(
                f"X has {rows.shape[1]} features, but the profiles have {self.profiles.shape[1]}."
            )
        scores = _scores(rows, self.profiles)
        if not self.spread.any():
            return np.asarray(self.response.expected_label(scores) @ self.weights)
        deviation = np.linalg.norm(rows * self.spread, axis=1)[:, None]
        averaged = self.response.averaged
        return np.asarray(
            (averaged(scores, deviation) - averaged(-scores, deviation)) @ self.weights
        )


def make_linear_classifier_mixture(
    n_samples: int = 10_000,
    n_features: int = 20,
    n_components: int = 2,
    *,
    response: str | Response = "logistic",
    profile_norm: float | None = 4.0,
    profiles: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    covariance: ArrayLike | None = None,
    group_size: int = 1,
    spread: float | ArrayLike = 0.0,
    random_state: Any = None,
) -> tuple[Matrix, NDArray[np.int64], MixtureTruth]:
    """Draw labels from a mixture of linear classifiers (the paper's eq. 2).

    Features are x ~ N(mean, covariance). Each group of rows draws its component l with probability
    p_l, and each row of the group has the label y = +1 with probability f(<u_l, x>), else -1. For
    a single row, P(y = +1 | x) = sum_l p_l f(<u_l, x>).

    Parameters
    ----------
    n_samples : int, default=10_000
        Number of rows n.
    n_features : int, default=20
        Number of features d; ignored if `profiles` are given.
    n_components : int, default=2
        Number of classifiers k; ignored if `profiles` are given.
    response : {"logistic", "probit", "hard"} or Response, default="logistic"
        The function f. "hard" is y = sign(<u_l, x>).
    profile_norm : float or None, default=4.0
        Norm of the drawn profiles, whose directions are uniform. None draws u_l ~ N(0, I), as in
        the paper.
    profiles : array-like of shape (k, n_features), default=None
        The profiles u_l. None draws them.
    weights : array-like of shape (k,), default=None
        The probabilities p_l. None draws them uniformly from the simplex.
    mean : float or array-like of shape (n_features,), default=None
        Mean of the features; None is 0.
    covariance : array-like of shape (n_features, n_features) or (n_features,), default=None
        Covariance of the features, or their variances; None is the identity.
    group_size : int, default=1
        Number of consecutive rows that share one component.
    spread : float or array-like of shape (n_features,), default=0.0
        Standard deviations of the coefficients of groups around the profile of their classifier:
        persons of one class then differ by degrees.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. The same seed gives the same data on any number of threads.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The features.
    y : ndarray of shape (n_samples,)
        The labels, -1 or +1.
    truth : MixtureTruth
        `profiles`, `weights`, `components`, `groups`, `person_profiles`, and `expected_label(X)`.

    Examples
    --------
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> X, y, truth = make_linear_classifier_mixture(6, 3, group_size=2, random_state=0)
    >>> X.shape, y.tolist(), truth.groups.tolist()
    ((6, 3), [1, -1, 1, -1, -1, 1], [0, 0, 1, 1, 2, 2])
    """
    f = get_response(response)
    require_count(n_samples=n_samples, group_size=group_size)
    n_samples, group_size = int(n_samples), int(group_size)
    rng = check_random_state(random_state)
    if profiles is None:
        require_count(n_features=n_features, n_components=n_components)
        U = _draw_profiles(n_components, n_features, profile_norm, rng)
    else:
        U = check_table(profiles, "profiles")
    k, d = U.shape
    p = rng.dirichlet(np.ones(k)) if weights is None else check_probabilities(weights, k)
    mu = check_mean(0.0 if mean is None else mean, d)
    deviations = _check_spread(spread, d)

    n_groups = -(-n_samples // group_size)
    groups = np.arange(n_samples) // group_size
    components = rng.choice(k, size=n_groups, p=p)[groups]
    X = rng.standard_normal((n_samples, d))
    with one_blas_thread():  # how BLAS divides its work among threads can change the last bit
        root = _covariance_root(covariance, d)
        if root is not None:
            X = X * root if root.ndim == 1 else X @ root.T
        X += mu
        scores = _scores(X, U)[np.arange(n_samples), components]
    uniform = rng.uniform(size=n_samples)
    persons = U[components[::group_size]]
    if deviations.any():
        own = deviations * rng.standard_normal((n_groups, d))
        persons = persons + own
        scores = scores + np.einsum("ij,ij->i", X, own[groups])
    y = np.where(uniform < f.f(scores), 1, -1)
    return X, y, MixtureTruth(U, p, components, groups, f, deviations, persons)


def _scores(X: Matrix, profiles: Matrix) -> Matrix:
    """Return <u_l, x> for every row and profile."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = X @ profiles.T
    if not np.isfinite(scores).all():  # their signs are unknown
        raise ValueError("<u, x> is too large for float64: use shorter profiles, or smaller X.")
    return np.asarray(scores)


def _draw_profiles(k: int, d: int, norm: float | None, rng: np.random.RandomState) -> Matrix:
    U = rng.standard_normal((k, d))
    if norm is None:
        return U
    if not isinstance(norm, Real) or not 0 < norm < np.inf:
        raise ValueError(f"profile_norm must be a positive number or None, got {norm!r}.")
    return np.asarray(U * (norm / np.linalg.norm(U, axis=1, keepdims=True)))


def check_probabilities(weights: ArrayLike, k: int) -> Vector:
    p = numbers(weights, "weights must hold numbers, one for each profile.").ravel()
    if p.shape != (k,):
        raise ValueError(f"weights must hold one number for each of {k} profiles, got {p.size}.")
    if not (p >= 0).all() or not np.isclose(p.sum(), 1, atol=1e-6):
        raise ValueError(f"weights must be 0 or more and sum to 1, got {p.tolist()}.")
    return np.asarray(p / p.sum())


def _check_spread(spread: float | ArrayLike, d: int) -> Vector:
    sizes = numbers(spread, "spread must hold numbers, one for each feature.").ravel()
    if sizes.size not in (1, d) or not ((sizes >= 0) & np.isfinite(sizes)).all():
        raise ValueError(
            f"spread must be a standard deviation of 0 or more, or one for each of {d} features."
        )
    return np.array(np.broadcast_to(sizes, d))


def _covariance_root(covariance: ArrayLike | None, d: int) -> Matrix | None:
    """Return the Cholesky factor of a matrix, the roots of variances, or None for the identity."""
    if covariance is None:
        return None
    if np.shape(covariance) == (d,):
        variances = numbers(covariance, "covariance must hold numbers only.")
        if not ((variances > 0) & np.isfinite(variances)).all():
            raise ValueError("covariance must hold positive, finite variances.")
        return np.asarray(np.sqrt(variances))
    try:
        return np.asarray(np.linalg.cholesky(check_covariance(covariance, d)))
    except np.linalg.LinAlgError:
        raise ValueError("covariance must be positive definite.") from None

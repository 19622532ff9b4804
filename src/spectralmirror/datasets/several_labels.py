"""Simulated labels of several kinds whose hidden classes are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils import check_random_state

from spectralmirror.datasets.simulated import check_probabilities
from spectralmirror.rows.checks import check_features, require_count
from spectralmirror.rows.messages import numbers
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["MultinomialTruth", "make_multinomial_mixture"]


@dataclass(frozen=True)
class MultinomialTruth:
    """The mixture that made the labels.

    Attributes
    ----------
    profiles : ndarray of shape (k, n_labels, n_features)
        The profiles u_lc of the labels in each class, which sum to zero over labels.
    intercepts : ndarray of shape (k, n_labels)
        The intercepts b_lc, which sum to zero over labels, too.
    weights : ndarray of shape (k,)
        The probabilities p_l.
    components : ndarray of shape (n_samples,)
        The class that made each label.
    groups : ndarray of shape (n_samples,)
        The group of each row; rows of one group share their class.
    """

    profiles: AnyArray
    intercepts: Matrix
    weights: Vector
    components: NDArray[np.int64]
    groups: NDArray[np.int64]

    def probabilities(self, X: ArrayLike) -> Matrix:
        """P(y | x) of each label for every row of X, shape (n, n_labels)."""
        rows = np.asarray(check_features(X), dtype=np.float64)
        if rows.shape[1] != self.profiles.shape[2]:
            raise ValueError(
                f"X has {rows.shape[1]} features, but the profiles have {self.profiles.shape[2]}."
            )
        t = np.einsum("nd,kcd->nkc", rows, self.profiles) + self.intercepts
        return np.asarray(np.einsum("nkc,k->nc", softmax(t, axis=2), self.weights))


def make_multinomial_mixture(
    n_samples: int = 5_000,
    n_features: int = 5,
    n_components: int = 2,
    *,
    n_labels: int = 3,
    profile_norm: float = 2.0,
    profiles: ArrayLike | None = None,
    intercepts: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    group_size: int = 1,
    random_state: Any = None,
) -> tuple[Matrix, NDArray[np.int64], MultinomialTruth]:
    """Draw labels of several kinds from a mixture of multinomial logits.

    Features are standard normal. Each group of rows draws its class l with probability p_l, and
    each row of the group has the label c with probability softmax_c(<u_lc, x> + b_lc).

    Parameters
    ----------
    n_samples : int, default=5_000
        Number of rows.
    n_features : int, default=5
        Number of features; ignored if `profiles` are given.
    n_components : int, default=2
        Number of classes; ignored if `profiles` are given.
    n_labels : int, default=3
        Number of labels; ignored if `profiles` are given.
    profile_norm : float, default=2.0
        Root mean square of the norms |u_lc| of each class.
    profiles : array-like of shape (n_components, n_labels, n_features), default=None
        The profiles, of which only differences between labels count. None draws them.
    intercepts : array-like of shape (n_components, n_labels), default=None
        The intercepts; None means 0.
    weights : array-like of shape (n_components,), default=None
        The probabilities p_l; None means that they are equal.
    group_size : int, default=1
        Number of consecutive rows that share one class.
    random_state : int, RandomState instance or None, default=None
        The same seed gives the same data.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The features.
    y : ndarray of shape (n_samples,)
        The labels 0, ..., n_labels - 1.
    truth : MultinomialTruth
        `profiles`, `intercepts`, `weights`, `components`, `groups` and `probabilities(X)`.

    Examples
    --------
    >>> from spectralmirror.datasets import make_multinomial_mixture
    >>> X, y, truth = make_multinomial_mixture(6, 3, group_size=2, random_state=0)
    >>> X.shape, truth.profiles.shape, truth.groups.tolist()
    ((6, 3), (2, 3, 3), [0, 0, 1, 1, 2, 2])
    """
    require_count(n_samples=n_samples, group_size=group_size)
    rng = check_random_state(random_state)
    if profiles is None:
        require_count(n_features=n_features, n_components=n_components, n_labels=n_labels - 1)
        U = rng.standard_normal((n_components, n_labels, n_features))
        U -= U.mean(axis=1, keepdims=True)
        size = np.sqrt(np.square(U).sum(axis=2).mean(axis=1))
        U *= profile_norm / size[:, None, None]
    else:
        U = numbers(profiles, "profiles must hold numbers only.")
        if U.ndim != 3 or U.shape[1] < 2 or not np.isfinite(U).all():
            raise ValueError(
                "profiles must hold finite numbers for components, two labels or more, and "
                f"features, got shape {U.shape}."
            )
        U = U - U.mean(axis=1, keepdims=True)
    k, C, d = U.shape
    b = (
        np.zeros((k, C))
        if intercepts is None
        else numbers(intercepts, "intercepts must be numbers.")
    )
    if b.shape != (k, C):
        raise ValueError(f"intercepts must have shape {(k, C)}, got {b.shape}.")
    b = b - b.mean(axis=1, keepdims=True)
    p = np.full(k, 1 / k) if weights is None else check_probabilities(weights, k)
    groups = np.arange(int(n_samples)) // int(group_size)
    components = rng.choice(k, size=groups[-1] + 1, p=p)[groups]
    X = rng.standard_normal((len(groups), d))
    t = np.einsum("nd,ncd->nc", X, U[components]) + b[components]
    y = (t + rng.gumbel(size=t.shape)).argmax(axis=1)  # the largest has the softmax probability
    return X, y, MultinomialTruth(U, b, p, components, groups)

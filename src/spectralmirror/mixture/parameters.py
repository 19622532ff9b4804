"""Theta, and the posterior of the components given the labels of a block."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.types import Matrix, Vector

__all__ = ["Parameters", "Posterior"]


@dataclass(frozen=True, eq=False)
class Parameters:
    """Theta: profiles in working coordinates, the spread of persons, and who belongs where.

    Attributes
    ----------
    profiles : ndarray of shape (k, p) or (k, (C - 1) p)
        v_l.
    logits : ndarray of shape (k,)
        a, which is defined up to an additive constant.
    spread : ndarray of shape (n_entries,)
        The free entries b of B; none if persons of one class do not differ.
    membership : ndarray of shape (k, q)
        g_l, for q covariates of groups, which are defined up to an additive constant, too.
    """

    profiles: Matrix
    logits: Vector
    spread: Vector = field(default_factory=lambda: np.empty(0))
    membership: Matrix = field(default_factory=lambda: np.empty((0, 0)))

    def __post_init__(self) -> None:
        if not self.membership.size:
            object.__setattr__(self, "membership", np.empty((len(self.logits), 0)))

    @classmethod
    def equal(cls, profiles: Matrix) -> Parameters:
        """Return profiles of equal weight."""
        return cls(profiles, np.zeros(len(profiles)))

    @classmethod
    def unpacked(cls, theta: Vector, k: int, n_spread: int = 0, q: int = 0) -> Parameters:
        """Return theta from one vector, as :meth:`packed` gives it."""
        end = len(theta) - k * (q + 1)
        first = end - n_spread
        of_weights = theta[end:].reshape(k, q + 1)
        return cls(
            theta[:first].reshape(k, -1), of_weights[:, -1], theta[first:end], of_weights[:, :-1]
        )

    def packed(self) -> Vector:
        """Return theta as one vector: profiles, b, and (g_l, a_l) for each component."""
        return np.concatenate([self.profiles.ravel(), self.spread, self.of_weights.ravel()])

    def at(self, theta: Vector) -> Parameters:
        """Return parameters of the same shape from one vector."""
        return Parameters.unpacked(theta, len(self), len(self.spread), self.membership.shape[1])

    @property
    def of_weights(self) -> Matrix:
        """(g_l, a_l), shape (k, q + 1)."""
        return np.column_stack([self.membership, self.logits])

    @property
    def n_fixed(self) -> int:
        """How many entries at the end of :meth:`packed`, those of the last class, can be fixed."""
        return int(self.membership.shape[1]) + 1

    @cached_property
    def log_weights(self) -> Vector:
        """The logarithm of p."""
        logits = self.logits - self.logits.max()  # SciPy's log_softmax takes 0.4 ms
        return np.asarray(logits - np.log(np.exp(logits).sum()))

    @cached_property
    def weights(self) -> Vector:
        """The weights p, at the mean of the covariates."""
        return np.exp(self.log_weights)

    def __len__(self) -> int:
        return len(self.logits)

    def __getitem__(self, index: NDArray[np.intp]) -> Parameters:
        membership = self.membership[index]
        return Parameters(self.profiles[index], self.log_weights[index], self.spread, membership)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of the components, given the labels of a block.

    Attributes
    ----------
    log_likelihood : ndarray of shape (n_groups,)
        log sum_l p_l prod_i f(y_i t_il).
    responsibilities : ndarray of shape (k, n_groups)
        P(component l | labels of the group).
    signed : ndarray of shape (k, n)
        y_i t_il; the scores themselves if labels are of more than two kinds.
    slopes : ndarray of shape (k, n)
        (log f)'(y_i t_il); the derivatives in all scores if labels are of more than two kinds.
    """

    log_likelihood: Vector
    responsibilities: Matrix
    signed: Matrix
    slopes: Matrix

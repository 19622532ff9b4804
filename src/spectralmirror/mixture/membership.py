"""Who belongs to which class: covariates of persons, and classes that are known.

The weights of the classes may depend on covariates z of a group (a person), and some groups may be
known to belong to a class:

    p_l(z) = softmax_l(<g_l, z> + a_l),   z centred and in units of its standard deviation.

A group of the known class c contributes log p_c + log P(labels | c) to the log-likelihood: its
posterior is 1 for c. flexmix calls such covariates concomitant variables, Stata `lcprob`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from spectralmirror.rows.traits import TraitColumns, TraitSums
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["Membership", "log_weights_at"]


@dataclass(frozen=True, eq=False)
class Membership:
    """What is known about the class of a group.

    Attributes
    ----------
    mean, scale : ndarray of shape (q,)
        Mean and standard deviation of the covariates over groups.
    has_known : bool
        Whether the last trait of a group is the number of its class, -1 if that is not known.
    n_classes : int
        Number of classes for which known ones count: components that are still being grown have
        no numbers yet.
    """

    mean: Vector
    scale: Vector
    has_known: bool = False
    n_classes: int = 0

    @classmethod
    def of(cls, sums: TraitSums, columns: TraitColumns) -> Membership:
        """Return the mean and the standard deviation of the covariates."""
        q = len(columns.names)
        return cls(sums.mean[:q], sums.scale[:q], columns.has_known)

    @property
    def n_covariates(self) -> int:
        """Number q of covariates."""
        return len(self.mean)

    def standardised(self, traits: Matrix) -> Matrix:
        """Return [z, 1] for traits of groups, shape (n_groups, q + 1)."""
        q = self.n_covariates
        return np.column_stack([(traits[:, :q] - self.mean) / self.scale, np.ones(len(traits))])

    def possible(self, traits: Matrix, n_components: int, n_tied: int) -> Matrix | None:
        """Return 0 for components that a group may belong to and -inf for others, (k, n_groups).

        The `n_tied` components of one class follow each other. None if nothing is known.
        """
        if not self.has_known or n_components != n_tied * self.n_classes:
            return None
        known = traits[:, -1].astype(np.intp)
        class_of = np.arange(n_components) // n_tied
        return np.where((known < 0) | (known == class_of[:, None]), 0.0, -np.inf)


def log_weights_at(Z: Matrix, coef: Matrix, logits: Vector) -> Matrix:
    """Return log p_l(z) for lines [z, 1] of Z, shape (k, n_groups)."""
    return np.asarray(log_softmax(coef @ Z[:, :-1].T + logits[:, None], axis=0))

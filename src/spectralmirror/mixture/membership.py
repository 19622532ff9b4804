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

from spectralmirror.mixture.dependencies import dependencies, dependency_sentence
from spectralmirror.rows.traits import TraitColumns, TraitSums
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.whitening import COLLINEAR

__all__ = ["Membership", "log_weights_at", "standardised"]

EPSILON = float(np.finfo(np.float64).eps)


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
    collinear : str
        Which covariates can be computed from others; empty if none can.
    """

    mean: Vector
    scale: Vector
    has_known: bool = False
    n_classes: int = 0
    collinear: str = ""

    @classmethod
    def of(cls, sums: TraitSums, columns: TraitColumns) -> Membership:
        """Return the mean and the standard deviation of the covariates."""
        q = len(columns.names)
        found = dependencies(sums.correlation(q), 10 * COLLINEAR * EPSILON)
        collinear = dependency_sentence(found, columns.names) if found else ""
        return cls(sums.mean[:q], sums.scale[:q], columns.has_known, collinear=collinear)

    @classmethod
    def none(cls) -> Membership:
        """Return no covariates."""
        return cls(np.empty(0), np.empty(0))

    @property
    def n_covariates(self) -> int:
        """Number q of covariates."""
        return len(self.mean)

    def standardised(self, traits: Matrix) -> Matrix:
        """Return [z, 1] for traits of groups, shape (n_groups, q + 1)."""
        return standardised(traits[:, : self.n_covariates], self.mean, self.scale)

    def in_units(self, of_weights: Matrix) -> tuple[Matrix, Vector]:
        """Return coefficients and intercepts for z in its own units, relative to the first class.

        `of_weights` holds a line (g_l, a_l) for each class.
        """
        found = (of_weights - of_weights[0]) @ self._to_units.T
        return found[:, :-1], found[:, -1]

    def derivative_in_units(self, k: int) -> Matrix:
        """Return the derivative of :meth:`in_units`, without the first class.

        It is taken with respect to (g_l, a_l) of all but the last class, and has shape
        ((k - 1) (q + 1), (k - 1) (q + 1)).
        """
        relative = np.eye(k)[1:, : k - 1]
        relative[:, :1] -= 1
        return np.asarray(np.kron(relative, self._to_units), dtype=np.float64)

    @property
    def _to_units(self) -> Matrix:
        """The matrix that takes (g_l, a_l) to the units of z."""
        found = np.diag(np.append(1 / self.scale, 1.0))
        found[-1, :-1] = -self.mean / self.scale
        return found

    def possible(self, traits: Matrix, n_components: int, n_tied: int) -> Matrix | None:
        """Return 0 for components that a group may belong to and -inf for others, (k, n_groups).

        The `n_tied` components of one class follow each other. None if nothing is known.
        """
        if not self.has_known or n_components != n_tied * self.n_classes:
            return None
        known = traits[:, -1].astype(np.intp)
        class_of = np.arange(n_components) // n_tied
        return np.where((known < 0) | (known == class_of[:, None]), 0.0, -np.inf)


def standardised(Z: Matrix, mean: Vector, scale: Vector) -> Matrix:
    """Return [z, 1], with z centred and in units of its standard deviation."""
    return np.column_stack([(Z - mean) / scale, np.ones(len(Z))])


def log_weights_at(Z: Matrix, coef: Matrix, logits: Vector) -> Matrix:
    """Return log p_l(z) for lines [z, 1] of Z, shape (k, n_groups)."""
    return np.asarray(log_softmax(coef @ Z[:, :-1].T + logits[:, None], axis=0))

"""How good a fit is: information criteria, and how clearly components can be distinguished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from spectralmirror.mixture.averaging import normalised, row_variances
from spectralmirror.mixture.fitting import Fit
from spectralmirror.mixture.parameters import Posterior
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["Criteria", "FitQuality"]


@dataclass(frozen=True)
class Criteria:
    """Information criteria for m parameters and n independent observations; lower is better.

    AIC = -2 L + 2 m, BIC = -2 L + m log n and ICL = BIC + 2 H, where L is the log-likelihood and
    H the entropy of the assignments to components. Observations are groups, or rows if there are
    no groups. Only groups of several rows tell how much persons differ: BIC counts these for the s
    parameters of a spread. The log-likelihood of classes that are known is subtracted from L: that
    of the labels given these classes can be compared with that of fewer classes.
    """

    log_likelihood: float
    entropy: float
    n_parameters: int
    n_observations: float
    n_spread: int = 0
    n_repeated: float = 1.0
    log_known: float = 0.0

    @classmethod
    def of(cls, fit: Fit) -> Criteria:
        """Compute the criteria of a fit: one pass over the rows."""
        log_likelihood, entropy = map(float, fit.likelihood.total(fit.ascent.parameters, _sums))
        parameters, rows = fit.ascent.parameters, fit.likelihood.rows
        repeated = max(rows.n_groups - rows.n_single, 1) * rows.total_weight / rows.n_groups
        return cls(
            log_likelihood + fit.integration.missing,
            entropy,
            fit.n_parameters,
            rows.total_weight,
            len(parameters.spread),
            repeated,
            fit.likelihood.log_known(parameters),
        )

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return -2 * self._of_labels + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        """The Bayesian information criterion."""
        others = (self.n_parameters - self.n_spread) * float(np.log(self.n_observations))
        return -2 * self._of_labels + others + self.n_spread * float(np.log(self.n_repeated))

    @property
    def icl(self) -> float:
        """The integrated completed likelihood."""
        return self.bic + 2 * self.entropy

    @property
    def _of_labels(self) -> float:
        return self.log_likelihood - self.log_known


@dataclass(frozen=True)
class FitQuality:
    """The quality of a fit on the rows that were fitted.

    Attributes
    ----------
    criteria : Criteria
        Information criteria.
    entropy : float
        Mean entropy of the assignments of rows, divided by log k.
    accuracy : float
        Mean probability of the most likely component of a row. Both are averaged over what is not
        known about the parameters.
    """

    criteria: Criteria
    entropy: float
    accuracy: float

    @classmethod
    def of(cls, fit: Fit, criteria: Criteria) -> FitQuality:
        """Compute the quality of a fit, given its criteria: one pass over the rows."""
        averaged, k = _averaging(fit), len(fit.ascent.parameters)

        def of(block: Block, posterior: Posterior) -> Vector:
            w, r = _weights(block, posterior), averaged(block, posterior)
            rows = w if block.starts is None else w * block.sizes
            return np.array([_entropy(r) @ rows, r.max(axis=0) @ rows, rows.sum()])

        of_rows, largest, n = map(float, fit.likelihood.total(fit.ascent.parameters, of))
        return cls(criteria, of_rows / n / np.log(k) if k > 1 else 0.0, largest / n)


def _sums(block: Block, posterior: Posterior) -> Vector:
    """Sum log-likelihood and entropy over groups."""
    w = _weights(block, posterior)
    return np.array([posterior.log_likelihood @ w, _entropy(posterior.responsibilities) @ w])


def _weights(block: Block, posterior: Posterior) -> Vector:
    w = block.shares[0]
    return np.ones(posterior.responsibilities.shape[1]) if w is None else w


def _entropy(r: Matrix) -> Vector:
    return np.asarray(-xlogy(r, r).sum(axis=0))


def _averaging(fit: Fit) -> Callable[[Block, Posterior], Matrix]:
    """Return the averaged posterior of the components of a block, as a function."""
    likelihood, theta = fit.likelihood, fit.parameter_posterior
    parameters = fit.ascent.parameters  # other processes get this, but not the rows of the fit
    if theta is None or fit.kind is not None:  # at every node, an average would take too long
        return lambda _, posterior: posterior.responsibilities

    def of_rows(block: Block, posterior: Posterior) -> Matrix:
        width = 8 * block.X.shape[1]  # z, its product with a root, what it is made from; threads
        parts = map(likelihood.working, block.pieces(width))
        variances = np.hstack([row_variances(Z, theta.variance_roots) for Z in parts])
        log_p = likelihood.log_weights(block, parameters)
        response = likelihood.response
        return normalised(theta.joint_of_rows(posterior.signed, variances, response, log_p))

    def of_groups(block: Block, _: Posterior) -> Matrix:
        return normalised(theta.joint_of_groups(lambda one: likelihood.joint(block, one)))

    def of(block: Block, posterior: Posterior) -> Matrix:
        together = block.starts is not None or likelihood.labels is not None
        return (of_groups if together else of_rows)(block, posterior)

    return of

"""How good a fit is: information criteria, and how clearly components can be distinguished."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from spectralmirror.mixture.fitting import Fit
from spectralmirror.mixture.likelihood import Posterior
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.types import Vector

__all__ = ["Criteria", "FitQuality"]


@dataclass(frozen=True)
class Criteria:
    """Information criteria for m parameters and n rows; lower is better.

    AIC = -2 L + 2 m, BIC = -2 L + m log n and ICL = BIC + 2 H, where L is the log-likelihood and
    H the entropy of the assignments to components.
    """

    log_likelihood: float
    entropy: float
    n_parameters: int
    n_rows: float

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return -2 * self.log_likelihood + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        """The Bayesian information criterion."""
        return -2 * self.log_likelihood + self.n_parameters * float(np.log(self.n_rows))

    @property
    def icl(self) -> float:
        """The integrated completed likelihood."""
        return self.bic + 2 * self.entropy


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
        Mean probability of the most likely component of a row.
    """

    criteria: Criteria
    entropy: float
    accuracy: float

    @classmethod
    def of(cls, fit: Fit) -> FitQuality:
        """Compute the quality of a fit: one pass over the rows."""
        log_likelihood, of_groups, of_rows, largest, n = map(float, _sums(fit))
        k, size = len(fit.ascent.parameters), len(fit.ascent.parameters.packed()) - 1
        criteria = Criteria(log_likelihood, of_groups, size, n)
        return cls(criteria, of_rows / n / np.log(k) if k > 1 else 0.0, largest / n)


def _sums(fit: Fit) -> Vector:
    """Sum log-likelihood and entropy over groups, and entropy, largest r and 1 over rows."""

    def of(block: Block, posterior: Posterior) -> Vector:
        w, r = block.shares[0], posterior.responsibilities
        w = np.ones(r.shape[1]) if w is None else w
        entropy, largest = -xlogy(r, r).sum(axis=0), r.max(axis=0)
        rows = w if block.starts is None else w * block.sizes
        return np.array(
            [posterior.log_likelihood @ w, entropy @ w, entropy @ rows, largest @ rows, rows.sum()]
        )

    return fit.likelihood.total(fit.ascent.parameters, of)

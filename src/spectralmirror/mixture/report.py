"""What a fit is worth: information criteria, and how well components can be told apart."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from spectralmirror.arrays import Vector
from spectralmirror.mixture.fitting import Fit
from spectralmirror.mixture.likelihood import Posterior
from spectralmirror.rowset import Block

__all__ = ["assignment", "counted", "criteria"]


def criteria(
    log_likelihood: float, entropy: float, n_parameters: int, n: float
) -> dict[str, float]:
    """Return AIC = -2 L + 2 m, BIC = -2 L + m log n, and ICL = BIC + 2 entropy, m parameters."""
    bic = -2 * log_likelihood + n_parameters * np.log(n)
    return {
        "log_likelihood": log_likelihood,
        "aic": -2 * log_likelihood + 2 * n_parameters,
        "bic": float(bic),
        "icl": float(bic + 2 * entropy),
    }


def counted(fit: Fit) -> dict[str, float]:
    """Return log-likelihood and information criteria of the rows that were fitted."""
    found = _sums(fit)
    size = len(fit.ascent.parameters.packed()) - 1
    return criteria(float(found[0]), float(found[1]), size, fit.likelihood.rowset.rows.total_weight)


def assignment(fit: Fit) -> tuple[float, float]:
    """Return the mean entropy of the assignments over log k, and their expected accuracy."""
    found, k = _sums(fit), len(fit.ascent.parameters)
    return float(found[2] / found[4] / np.log(k)) if k > 1 else 0.0, float(found[3] / found[4])


def _sums(fit: Fit) -> Vector:
    """Sum over groups: log-likelihood and entropy; over rows: entropy, largest r, and 1."""

    def of(block: Block, posterior: Posterior) -> Vector:
        w, r = block.shares[0], posterior.responsibilities
        w = np.ones(r.shape[1]) if w is None else w
        entropy, largest = -xlogy(r, r).sum(axis=0), r.max(axis=0)
        rows = w if block.starts is None else w * block.sizes
        return np.array(
            [posterior.log_likelihood @ w, entropy @ w, entropy @ rows, largest @ rows, rows.sum()]
        )

    return fit.likelihood.total(fit.ascent.parameters, of)

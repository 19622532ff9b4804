"""Whether persons differ inside the classes of a fit without spread: a score test.

If the coefficients of persons scatter with small variances t_j, the log-likelihood of a group grows
by sum_j t_j d_Gj with

    d_Gj = 1/2 sum_l r_l (s_lj^2 + H_ljj),

s_l and H_l as in :class:`Curvature`, per standard deviation of the features; of labels of more than
two kinds, sums over the contrasts. Without spread, d_Gj
has mean 0 at the true parameters, so that z_j = sum_G d_Gj / sqrt(sum_G d_Gj^2) is about standard
normal. It takes one pass over the rows, where a fit with spread takes hundreds.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from spectralmirror.mixture.choice_sets import mean_of_sets, slopes_of_choices
from spectralmirror.mixture.fitting import Fit
from spectralmirror.mixture.group_scores import row_derivatives
from spectralmirror.mixture.label_contrasts import LabelContrasts
from spectralmirror.mixture.label_curvature import LabelDerivatives
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters, Posterior
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import added, reduce
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["CLEARLY_DIFFERENT", "spread_score"]

#: Persons clearly differ if the largest z is above this.
CLEARLY_DIFFERENT = 3.0


def spread_score(fit: Fit) -> float:
    """Return the largest z over all coefficients, and over their sum.

    NaN if rows have no groups, if the fit has a spread, and for wide rows, whose squares would take
    longer than the fit.
    """
    rows, likelihood = fit.likelihood.rows, fit.likelihood
    if not rows.is_repeated or fit.kind is not None or likelihood.coordinates.is_scaled:
        return float(np.nan)
    of = partial(_of_block, likelihood=fit.likelihood, parameters=fit.ascent.parameters)
    sums, squares = reduce(rows, of)
    return float(np.max(sums / np.sqrt(np.maximum(squares, 1e-300))))


def _of_block(block: Block, likelihood: Likelihood, parameters: Parameters) -> Matrix:
    """Return the sums of d_Gj over groups, and of their squares; the last j is their sum."""
    of = partial(_of_piece, likelihood=likelihood, parameters=parameters)
    return added(map(of, block.pieces(4 * block.X.shape[1])))


def _of_piece(block: Block, likelihood: Likelihood, parameters: Parameters) -> Matrix:
    posterior = likelihood.posterior(block, parameters)
    X = likelihood.working(block) @ likelihood.coordinates.from_standard
    w = block.shares[0]
    if likelihood.labels is not None:
        d = _of_labels(likelihood.labels, X, block, posterior)
    else:
        _, g, h = row_derivatives(likelihood, block, posterior)
        own = zip(posterior.responsibilities, g, h, posterior.slopes, strict=True)
        d = sum(
            r * (np.square(block.sums(X.T * (pull * block.y))) + _second(block, X, second, slopes))
            for r, pull, second, slopes in own
        )
    d = np.vstack([d, np.sum(d, axis=0)]) / 2
    weighted = d if w is None else d * w
    return np.array([weighted.sum(axis=1), (weighted * d).sum(axis=1)])


def _of_labels(labels: LabelContrasts, X: Matrix, block: Block, posterior: Posterior) -> Matrix:
    """Return 2 d_Gj if labels are of more than two kinds, shape (p, n_groups)."""
    D, found = labels.differences, LabelDerivatives.of(labels, block, posterior)
    d = np.zeros((X.shape[1], len(block.sizes)))
    for r, g, pi in zip(posterior.responsibilities, found.g, found.pi, strict=True):
        second = np.square(D.T @ pi).sum(axis=0) - np.square(D).sum(axis=1) @ pi
        squares = sum(np.square(block.sums(X.T * one)) for one in D.T @ g)
        d += r * (squares + block.sums(np.square(X.T) * (second * found.share)))
    return d


def _second(block: Block, X: Matrix, h: Vector, slopes: Vector) -> Matrix:
    """Return H_ljj of each group, shape (p, n_groups)."""
    if block.set_starts is None:
        return block.sums(np.square(X.T) * h)
    pi, shares = slopes_of_choices(slopes, block.y), block.shares[1]
    of_sets = np.zeros_like(X)
    of_sets[block.set_starts] = np.square(mean_of_sets(X, block, slopes[None])[0])
    found = of_sets - np.square(X) * pi[:, None]
    return block.sums((found if shares is None else found * shares[:, None]).T)

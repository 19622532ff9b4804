"""The gradient of the log-likelihood of each group, and the sum of its outer products.

At the true parameters, the outer products sum to the information on average: they are a cheap
preconditioner, and the middle of the cluster-robust covariance.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from spectralmirror.mixture.likelihood import Likelihood, Parameters, Posterior
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import added, reduce
from spectralmirror.rows.types import Matrix

__all__ = ["group_scores", "pulls", "row_derivatives", "score_products"]


def row_derivatives(
    likelihood: Likelihood, block: Block, posterior: Posterior
) -> tuple[Matrix, Matrix, Matrix]:
    """Return w_G r, and (log f)' and (log f)'' times the share w_i / w_G of each row."""
    r, g = posterior.responsibilities, posterior.slopes
    h = likelihood.response.curvature(posterior.signed, g)
    w, shares = block.shares
    if shares is not None:
        g, h = g * shares, h * shares
    return r if w is None else r * w, g, h


def pulls(block: Block, posterior: Posterior) -> Matrix:
    """Return r_l y_i (log f)'(y_i t_il), shape (k, n): how much a row pulls at each component."""
    shares = block.shares[1]
    found = block.of_rows(posterior.responsibilities) * posterior.slopes
    found *= block.y if shares is None else block.y * shares
    return found


def group_scores(
    likelihood: Likelihood, parameters: Parameters, block: Block, posterior: Posterior
) -> Matrix:
    """Return the gradient of log P(y_G) for each group of a block, shape (n_groups, m).

    `posterior` is that of the components as the rows see them (:meth:`Likelihood.expanded`).
    """
    k, Z = len(parameters), likelihood.working(block)
    g = pulls(block, posterior).reshape(k, -1, len(block))
    r = posterior.responsibilities.reshape(k, g.shape[1], -1).sum(axis=1)
    parts = [block.sums((Z * one[:, None]).T) for one in g.sum(axis=1)]
    spread = likelihood.spread
    if spread is not None:
        pull = spread.nodes.T @ g.sum(axis=0)
        standard = (Z @ likelihood.coordinates.from_standard).T
        of_entries = np.zeros((len(spread), r.shape[1]))
        sums = block.sums(standard[spread.rows] * pull[spread.columns])
        np.add.at(of_entries, spread.entries, sums)
        parts.append(of_entries)
    return np.vstack([*parts, r - parameters.weights[:, None]]).T


def score_products(
    likelihood: Likelihood, parameters: Parameters, *, counts: bool = False
) -> Matrix:
    """Return K = sum_G w_G^2 s_G s_G' (w_G for frequencies); s_G is the gradient of log P(y_G)."""
    of = partial(_of_block, likelihood=likelihood, parameters=parameters, counts=counts)
    return reduce(likelihood.rows, of)


def _of_block(block: Block, likelihood: Likelihood, parameters: Parameters, counts: bool) -> Matrix:
    expanded = likelihood.expanded(parameters)

    def of(piece: Block) -> Matrix:
        posterior, w = likelihood.posterior(piece, expanded), piece.shares[0]
        scores = group_scores(likelihood, parameters, piece, posterior)
        if w is not None:
            scores *= np.sqrt(w)[:, None] if counts else w[:, None]
        return np.asarray(scores.T @ scores)

    return added(map(of, likelihood.pieces(block, len(expanded))))

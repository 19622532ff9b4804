"""The gradient of the log-likelihood of each group, and the sum of its outer products.

At the true parameters, the outer products sum to the information on average: they are a cheap
preconditioner, and the middle of the cluster-robust covariance.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from spectralmirror.mixture.choice_sets import mean_of_sets, slopes_of_choices
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters, Posterior
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.kernels import weighted_sums
from spectralmirror.rows.reduce import added, reduce
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = [
    "class_scores",
    "covariates_or_ones",
    "curvature_of_scores",
    "group_scores",
    "of_weights",
    "own_curvature",
    "pulls",
    "quadratic",
    "row_derivatives",
    "score_products",
]


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


def own_curvature(
    block: Block, Z: AnyArray, q: Vector, slopes: Vector, h: Vector, m: AnyArray | None = None
) -> Matrix:
    """Return sum_i q_i (log f)'' z_i z_i' for one component; q is the same for rows of a group.

    h is (log f)'' times the share of each row in the weight of its group. The second derivatives of
    a choice set are -sum_j pi_j z_j z_j' + m m' with m = sum_j pi_j z_j, which may be passed.
    """
    if block.set_starts is None:
        return quadratic(Z, q * h)
    shares = block.shares[1]
    q = q if shares is None else q * shares
    m = mean_of_sets(Z, block, slopes[None])[0] if m is None else m
    pi = slopes_of_choices(slopes, block.y)
    return quadratic(m, q[block.chosen]) - quadratic(Z, q * pi)


def quadratic(Z: AnyArray, q: Vector) -> Matrix:
    """Return sum_i q_i z_i z_i'."""
    none = np.empty((0, len(Z)), dtype=Z.dtype)
    return weighted_sums(Z, q.astype(Z.dtype), none, None)[1]


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
    profiles, entries, r = class_scores(likelihood, parameters, block, posterior)
    parts = [profiles.reshape(-1, r.shape[1]), entries.sum(axis=0)]
    apart = r - np.exp(likelihood.log_weights(block, parameters, possible=False))
    of_classes = apart[:, None] * covariates_or_ones(likelihood, block).T
    return np.vstack([*parts, of_classes.reshape(-1, r.shape[1])]).T


def class_scores(
    likelihood: Likelihood, parameters: Parameters, block: Block, posterior: Posterior
) -> tuple[AnyArray, AnyArray, Matrix]:
    """Return what each class contributes to the gradient of log P(y_G), and its posterior.

    The gradients are those of the profile of the class, shape (k, p, n_groups), and of the entries
    of B, shape (k, n_entries, n_groups).
    """
    if likelihood.labels is not None:
        return _label_scores(likelihood, parameters, block, posterior)
    if block.nodes is not None:
        return _person_scores(likelihood, block, posterior)
    k, Z = len(parameters), likelihood.working(block)
    g = pulls(block, posterior).reshape(k, -1, len(block))
    r = posterior.responsibilities.reshape(k, g.shape[1], -1).sum(axis=1)
    profiles = np.array([block.sums_of_rows(Z, one).T for one in g.sum(axis=1)])
    spread = likelihood.spread
    if spread is None:
        return profiles, np.empty((k, 0, r.shape[1])), r
    standard = (Z @ likelihood.coordinates.from_standard).T[spread.rows]
    entries = np.zeros((k, len(spread), r.shape[1]))
    for c in range(k):
        pull = spread.nodes.T @ g[c]
        np.add.at(entries[c], spread.entries, block.sums(standard * pull[spread.columns]))
    return profiles, entries, r


def _person_scores(
    likelihood: Likelihood, block: Block, posterior: Posterior
) -> tuple[AnyArray, AnyArray, Matrix]:
    """Return the same if persons have nodes of their own."""
    spread, F, r = likelihood.spread, likelihood.from_standard, posterior.responsibilities
    assert spread is not None
    entry = np.eye(len(spread))[spread.entries]
    profiles, entries = [], []
    for c in range(len(r)):
        of_profile, of_spread = block.nodes.class_scores(posterior, c)
        profiles.append(of_profile)
        entries.append(((F.T @ of_spread)[:, spread.rows, spread.columns] @ entry).T)
    return np.array(profiles), np.array(entries), r


def _label_scores(
    likelihood: Likelihood, parameters: Parameters, block: Block, posterior: Posterior
) -> tuple[AnyArray, AnyArray, Matrix]:
    """Return the same for labels of more than two kinds."""
    labels, k, Z = likelihood.labels, len(parameters), likelihood.working(block)
    assert labels is not None
    r, share = posterior.responsibilities, block.shares[1]
    g = labels.of_labels(block.of_rows(r)) * posterior.slopes
    g = (g if share is None else g * share).reshape(len(r), len(labels), -1)
    g = (labels.differences.T @ g).reshape(k, -1, len(labels), len(block))
    r = r.reshape(k, g.shape[1], -1).sum(axis=1)
    of_profiles = g.sum(axis=1).reshape(-1, len(block))
    profiles = np.array([block.sums((Z * one[:, None]).T) for one in of_profiles])
    profiles = profiles.reshape(k, -1, r.shape[1])
    spread = likelihood.spread
    if spread is None:
        return profiles, np.empty((k, 0, r.shape[1])), r
    standard = (Z @ likelihood.coordinates.from_standard).T
    contrast, coefficient = np.divmod(spread.rows, len(standard))
    entries = np.zeros((k, len(spread), r.shape[1]))
    for c in range(k):
        pull = np.tensordot(spread.nodes, g[c], axes=(0, 0))  # (q, C - 1, n)
        found = standard[coefficient] * pull[spread.columns, contrast]
        np.add.at(entries[c], spread.entries, block.sums(found))
    return profiles, entries, r


def covariates_or_ones(likelihood: Likelihood, block: Block) -> Matrix:
    """Return c = [z, 1] for the groups of a block, 1 without covariates."""
    found = likelihood.covariates(block)
    return np.ones((len(block.sizes), 1)) if found is None else found


def of_weights(
    likelihood: Likelihood, parameters: Parameters, block: Block, r: Matrix, C: Matrix
) -> AnyArray:
    """Return the second derivatives with respect to (g_l, a_l), shape (k, q + 1, k, q + 1).

    They are sum_G ([l = m] r_l - r_l r_m - ([l = m] p_l - p_l p_m)) c c'.
    """
    p = np.exp(likelihood.log_weights(block, parameters, possible=False))
    p, w, k = np.broadcast_to(p, r.shape), block.shares[0], len(r)
    pairs = (C[:, :, None] * C[:, None]).reshape(len(C), -1)
    pairs = pairs if w is None else pairs * w[:, None]
    found = np.empty((k, k, pairs.shape[1]))
    for a in range(k):
        apart = p[a] * p - r[a] * r
        apart[a] += r[a] - p[a]
        found[a] = apart @ pairs
    return found.reshape(k, k, C.shape[1], -1).transpose(0, 2, 1, 3)


def curvature_of_scores(
    block: Block, likelihood: Likelihood, parameters: Parameters, posterior: Posterior
) -> tuple[Matrix, AnyArray, AnyArray]:
    """Return what the second derivatives owe to the gradients of groups only.

    These are sum_G s s', sum_G (s_m - r_m s) c', and :func:`of_weights`.
    """
    profiles, entries, r = class_scores(likelihood, parameters, block, posterior)
    w, k = block.shares[0], len(parameters)
    s = np.vstack([profiles.reshape(-1, r.shape[1]), entries.sum(axis=0)])
    weighted = s if w is None else s * w
    C = covariates_or_ones(likelihood, block)
    C_w = C if w is None else C * w[:, None]
    mixed = np.array([-(s * r[m]) @ C_w for m in range(k)])
    p = profiles.shape[1]
    for m in range(k):
        mixed[m, m * p : (m + 1) * p] += profiles[m] @ C_w
        mixed[m, k * p :] += entries[m] @ C_w
    found = of_weights(likelihood, parameters, block, r, C)
    return weighted @ s.T, mixed.transpose(1, 0, 2), found


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

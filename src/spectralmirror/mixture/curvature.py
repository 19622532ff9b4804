"""Second derivatives of the likelihood: for standard errors, Newton steps and splits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spectralmirror.mixture.choice_sets import mean_of_sets, scores_of_sets
from spectralmirror.mixture.group_scores import (
    covariates_or_ones,
    of_weights,
    own_curvature,
    quadratic,
    row_derivatives,
)
from spectralmirror.mixture.label_contrasts import LabelContrasts
from spectralmirror.mixture.label_curvature import SHARE, label_coupling, label_sums
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters, Posterior
from spectralmirror.mixture.tied_curvature import tied_split_matrices
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import Sums, added, reduce
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["Curvature", "coupling", "curvature", "known_share", "quadratic", "split_matrices"]


@dataclass(frozen=True, eq=False)
class Curvature(Sums):
    """Sums over groups that give all second derivatives.

    With s_l = sum_i y_i (log f)' z_i and H_l = sum_i (log f)'' z_i z_i' for each group, and
    c = [z, 1] for q covariates z of the group, c = 1 without covariates,

        d2 / dv_l dv_m = sum_G [l = m] r_l (s_l s_l' + H_l) - r_l r_m s_l s_m'
        d2 / dv_l da_m = sum_G ([l = m] r_l - r_l r_m) s_l c'
        d2 / da_l da_m = sum_G ([l = m] r_l - r_l r_m - ([l = m] p_l - p_l p_m)) c c',

    where a_l stands for (g_l, a_l).

    Attributes
    ----------
    splits : ndarray of shape (k, p, p)
        S_l = sum_G r_l (s_l s_l' + H_l); none of them if all second derivatives were requested.
    profiles : ndarray of shape (k, k, p, p)
        -d2 / dv_l dv_m; empty if only S_l was requested.
    mixed : ndarray of shape (k, k, p, q + 1)
        sum_G ([l = m] r_l - r_l r_m) s_l c'.
    of_weights : ndarray of shape (k, q + 1, k, q + 1)
        d2 / da_l da_m.
    """

    splits: AnyArray
    profiles: AnyArray
    mixed: AnyArray
    of_weights: AnyArray

    def seen_in(self, M: Matrix) -> Curvature:
        """Return the sums in coordinates M z."""
        return Curvature(
            M @ self.splits @ M.T, M @ self.profiles @ M.T, M @ self.mixed, self.of_weights
        )

    def hessian(self) -> Matrix:
        """Return the second derivatives of the log-likelihood with respect to the packed theta."""
        k, _, p, _ = self.profiles.shape
        profiles = -self.profiles.transpose(0, 2, 1, 3).reshape(k * p, k * p)
        across = self.mixed.transpose(0, 2, 1, 3).reshape(k * p, -1)
        of_weights = self.of_weights.reshape(across.shape[1], -1)
        return np.block([[profiles, across], [across.T, of_weights]])


def curvature(likelihood: Likelihood, parameters: Parameters) -> Curvature:
    """Return all second derivatives of the log-likelihood: one pass over the rows."""
    of = partial(_curvature, likelihood=likelihood, parameters=parameters, products=True)
    return reduce(likelihood.rows, of).seen_in(_to_contrasts(likelihood))


def _to_contrasts(likelihood: Likelihood) -> Matrix:
    """Return the matrix that takes what is summed over rows to the entries of a profile."""
    M, labels = likelihood.coordinates.of_rows, likelihood.labels
    return M if labels is None else np.asarray(np.kron(labels.differences.T, M))


def split_matrices(likelihood: Likelihood, parameters: Parameters) -> AnyArray:
    """Return S_l: splitting v_l into v_l + e and v_l - e of equal weight gains e' S_l e / 2.

    For one component and no groups, S = sum_i (f''/f)(y_i t_i) z_i z_i', a mirrored second moment:
    f''/f is positive for labels on the wrong side and negative for the others.
    """
    if likelihood.spread is not None:
        return tied_split_matrices(likelihood, parameters)
    of = partial(_curvature, likelihood=likelihood, parameters=parameters, products=False)
    M = _to_contrasts(likelihood)
    return M @ reduce(likelihood.rows, of).splits @ M.T


def coupling(likelihood: Likelihood, parameters: Parameters) -> Matrix:
    """Return the k x k matrix J: outside the span of the profiles, the information is near J (x) I.

    J_lm = -sum_i ([l = m] r_l ((log f)'^2 + (log f)'') - r_l r_m (log f)'_l (log f)'_m).
    """

    def of(block: Block, posterior: Posterior) -> Matrix:
        if likelihood.labels is not None:
            return label_coupling(likelihood.labels, block, posterior)
        missing, complete = _missing_and_complete(likelihood, block, posterior)
        return np.diag(complete) - missing

    return likelihood.total(parameters, of)


def known_share(likelihood: Likelihood, parameters: Parameters) -> float:
    """Return the share of the information about profiles that is left if classes are hidden.

    If the class of each group was known, J would be diagonal, D_ll = -sum_i r_l (log f)''. J is D
    less what is missing because it is hidden (Louis 1982), and the share is the smallest eigenvalue
    of D^-1/2 J D^-1/2: near 1 if the labels of a group tell its class, near 0 if rows are alone.
    """

    def of(block: Block, posterior: Posterior) -> Matrix:
        missing, complete = _missing_and_complete(likelihood, block, posterior)
        return np.vstack([missing, complete])

    *missing, complete = likelihood.total(parameters, of)
    size = np.sqrt(np.maximum(complete, 1e-300))
    return 1 - float(np.linalg.eigvalsh(np.array(missing) / size / size[:, None])[-1])


def _missing_and_complete(
    likelihood: Likelihood, block: Block, posterior: Posterior
) -> tuple[Matrix, Vector]:
    """Return D - J and the diagonal of D."""
    w, shares = block.shares
    r, g = block.of_rows(posterior.responsibilities), posterior.slopes
    h = likelihood.response.curvature(posterior.signed, g)
    if shares is not None:
        g, h = g * shares, h * shares
    weighted = r if w is None else r * block.of_rows(w)
    complete = -(weighted * h).sum(axis=1)
    return np.diag((weighted * g * g).sum(axis=1)) - (weighted * g) @ (r * g).T, complete


def _curvature(
    block: Block, likelihood: Likelihood, parameters: Parameters, products: bool
) -> Curvature:
    of = partial(_of_piece, likelihood=likelihood, parameters=parameters, products=products)
    width = block.X.shape[1]
    if likelihood.labels is not None:
        width = max(len(parameters) * len(likelihood.labels) * width // SHARE, 1)
    return added(map(of, block.pieces(width)))


def _of_piece(
    block: Block, likelihood: Likelihood, parameters: Parameters, products: bool
) -> Curvature:
    posterior = likelihood.posterior(block, parameters)
    r = posterior.responsibilities
    Z = block.with_ones(likelihood.coordinates.shift)
    if likelihood.labels is not None:
        w = block.shares[0]
        weighted = r if w is None else r * w
        splits, found, s = _of_labels(likelihood.labels, Z, block, posterior, weighted, products)
    else:
        weighted, g, h = row_derivatives(likelihood, block, posterior)
        sums = _of_rows if block.starts is None else _of_groups
        splits, found, s = sums(Z, block, posterior, weighted, g * block.y, h, products)
    if not products:
        return Curvature(splits, found, np.zeros(0), np.zeros(0))
    C = covariates_or_ones(likelihood, block)
    eye = np.eye(len(r))[:, :, None]
    mixed = np.array([s(c, weighted[c] * (eye[c] - r), C) for c in range(len(r))])
    return Curvature(splits, found, mixed, of_weights(likelihood, parameters, block, r, C))


#: (component, k numbers a for each group, C) -> sum_G a_mG s_l c', shape (k, p, q + 1)
ScoreSums = Callable[[int, Matrix, Matrix], AnyArray]


def _of_rows(
    Z: AnyArray,
    block: Block,
    posterior: Posterior,
    weighted: Matrix,
    g: Matrix,
    h: Matrix,
    products: bool,
) -> tuple[AnyArray, AnyArray, ScoreSums]:
    """Sum over rows, each of which is its own group: s_l s_m' = g_l g_m z z'."""
    r, k = posterior.responsibilities, len(g)
    p = Z.shape[1]
    splits, found = np.zeros((0 if products else k, p, p)), np.zeros((k, k, p, p))
    for a in range(k):
        own = weighted[a] * (g[a] ** 2 + h[a])
        if not products:
            splits[a] = quadratic(Z, own)
            continue
        found[a, a] = quadratic(Z, weighted[a] * r[a] * g[a] ** 2 - own)
        for b in range(a):
            found[a, b] = found[b, a] = quadratic(Z, weighted[a] * r[b] * g[a] * g[b])
    return splits, found, lambda c, a, C: _against(Z, a * g[c], C)


def _of_groups(
    Z: AnyArray,
    block: Block,
    posterior: Posterior,
    weighted: Matrix,
    g: Matrix,
    h: Matrix,
    products: bool,
) -> tuple[AnyArray, AnyArray, ScoreSums]:
    """Sum over groups of several rows."""
    r, k = posterior.responsibilities, len(g)
    each = block.of_rows(weighted)
    m: Any = [None] * k
    if block.set_starts is None:
        s = np.array([block.sums_of_rows(Z, g[c]) for c in range(k)])
    else:
        m = mean_of_sets(Z, block, posterior.slopes)
        s = scores_of_sets(Z, block, m)
    own = [own_curvature(block, Z, each[c], posterior.slopes[c], h[c], m[c]) for c in range(k)]
    p = Z.shape[1]
    splits, found = np.zeros((0 if products else k, p, p)), np.zeros((k, k, p, p))
    for a in range(k):
        if not products:
            splits[a] = (s[a] * weighted[a, :, None]).T @ s[a] + own[a]
            continue
        found[a, a] = (s[a] * (weighted[a] * (r[a] - 1))[:, None]).T @ s[a] - own[a]
        for b in range(a):
            found[a, b] = (s[a] * (weighted[a] * r[b])[:, None]).T @ s[b]
            found[b, a] = found[a, b].T
    return splits, found, lambda c, a, C: _against(s[c], a, C)


def _of_labels(
    labels: LabelContrasts,
    Z: AnyArray,
    block: Block,
    posterior: Posterior,
    weighted: Matrix,
    products: bool,
) -> tuple[AnyArray, AnyArray, ScoreSums]:
    """Sum over groups, or rows, whose labels are of more than two kinds."""
    splits, found, s = label_sums(labels, Z, block, posterior, weighted, products)
    if products:
        each = np.arange(len(splits))
        found[each, each] -= splits
        splits = splits[:0]
    return splits, found, lambda c, a, C: _against(s[c], a, C)


def _against(S: AnyArray, a: Matrix, C: Matrix) -> AnyArray:
    """Return sum_i a_mi s_i c_i' for all m: one matrix product."""
    right = (a.T[:, :, None] * C[:, None]).reshape(len(C), -1).astype(S.dtype)
    found = np.asarray(S.T @ right, dtype=np.float64)
    return found.reshape(S.shape[1], len(a), -1).transpose(1, 0, 2)

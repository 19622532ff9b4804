"""Second derivatives of the likelihood if persons of one class differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import block_diag

from spectralmirror.mixture.choice_sets import mean_of_sets, slopes_of_choices
from spectralmirror.mixture.group_scores import (
    curvature_of_scores,
    row_derivatives,
)
from spectralmirror.mixture.label_curvature import LabelDerivatives
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters, Posterior
from spectralmirror.mixture.person_curvature import person_hessian, person_split_matrices
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import Sums, added, reduce
from spectralmirror.rows.types import AnyArray, Matrix

__all__ = ["tied_hessian", "tied_split_matrices"]


@dataclass(frozen=True, eq=False)
class TiedCurvature(Sums):
    """Sums over groups that give all second derivatives with respect to tied components.

    With c_lr the gradient of log p_l w_r prod_i f(y_i t_ilr), H_lr its second derivatives, and
    s = sum_lr r_lr c_lr the gradient of the group (Louis 1982),

        L'' = sum_G sum_lr r_lr (c_lr c_lr' + H_lr) - s s'.

    Profiles and (g_m, a_m) together are sum_G (s_m - r_m s) c', where s_m is what class m
    contributes to s, and c = [z, 1] are the covariates of the group.

    Attributes
    ----------
    splits : ndarray of shape (k R, p, p)
        sum_G r_lr (s_lr s_lr' + H_lr), as in :class:`Curvature`.
    products : ndarray of shape (k p + n_entries, k p + n_entries)
        sum_G s s', of profiles and entries of B.
    mixed : ndarray of shape (k p + n_entries, k, q + 1)
        sum_G (s_m - r_m s) c'.
    of_weights : ndarray of shape (k, q + 1, k, q + 1)
        As in :class:`Curvature`.
    """

    splits: AnyArray
    products: Matrix
    mixed: AnyArray
    of_weights: AnyArray

    def hessian(self, likelihood: Likelihood, parameters: Parameters) -> Matrix:
        """Return the second derivatives of the log-likelihood with respect to the packed theta."""
        spread, k = likelihood.spread, len(parameters)
        assert spread is not None
        steps = likelihood.from_standard @ spread.directions()
        splits = self.splits.reshape(k, len(steps), *self.splits.shape[1:])
        own = splits.sum(axis=1)
        across = np.einsum("lrpq,rqe->lpe", splits, steps, optimize=True)
        within = np.einsum("rpe,rpq,rqf->ef", steps, splits.sum(axis=0), steps, optimize=True)
        across = across.reshape(-1, across.shape[-1])
        coefficients = np.block([[block_diag(*own), across], [across.T, within]])
        mixed = self.mixed.reshape(len(coefficients), -1)
        of_weights = self.of_weights.reshape(mixed.shape[1], -1)
        return np.block([[coefficients - self.products, mixed], [mixed.T, of_weights]])


def tied_hessian(likelihood: Likelihood, parameters: Parameters) -> Matrix:
    """Return the second derivatives of the log-likelihood: one pass over the rows."""
    if likelihood.has_person_nodes:
        return person_hessian(likelihood, parameters)
    return _sums(likelihood, parameters).hessian(likelihood, parameters)


def tied_split_matrices(likelihood: Likelihood, parameters: Parameters) -> AnyArray:
    """Return S_l: splitting v_l into v_l + e and v_l - e gains e' S_l e / 2."""
    if likelihood.has_person_nodes:
        return person_split_matrices(likelihood, parameters)
    splits = _sums(likelihood, parameters).splits
    return np.asarray(splits.reshape(len(parameters), -1, *splits.shape[1:]).sum(axis=1))


def _sums(likelihood: Likelihood, parameters: Parameters) -> TiedCurvature:
    of = partial(_of_block, likelihood=likelihood, parameters=parameters)
    return reduce(likelihood.rows, of)


def _of_block(block: Block, likelihood: Likelihood, parameters: Parameters) -> TiedCurvature:
    expanded = likelihood.expanded(parameters)
    of = partial(_of_piece, likelihood=likelihood, parameters=parameters, expanded=expanded)
    width = len(expanded) * (expanded.profiles.shape[1] + 4) * likelihood.n_contrasts // 4
    return added(map(of, likelihood.pieces(block, width)))


def _of_piece(
    block: Block, likelihood: Likelihood, parameters: Parameters, expanded: Parameters
) -> TiedCurvature:
    posterior = likelihood.posterior(block, expanded)
    if likelihood.labels is not None:
        splits = _splits_of_labels(block, likelihood, posterior)
        return TiedCurvature(splits, *curvature_of_scores(block, likelihood, parameters, posterior))
    weighted, g, h = row_derivatives(likelihood, block, posterior)
    Z = likelihood.working(block)
    scores = block.sums(((g * block.y)[:, :, None] * Z).transpose(0, 2, 1)).transpose(0, 2, 1)
    pairs = (Z[:, :, None] * Z[:, None]).reshape(len(Z), -1)
    each = block.of_rows(weighted)
    if block.set_starts is not None:
        shares = block.shares[1]
        each = each if shares is None else each * shares
        h = -slopes_of_choices(posterior.slopes, block.y)
    splits = ((each * h) @ pairs).reshape(len(g), Z.shape[1], -1)
    if block.set_starts is not None:
        m = mean_of_sets(Z, block, posterior.slopes)
        splits += (m * each[:, block.set_starts, None]).transpose(0, 2, 1) @ m
    splits += (scores * weighted[:, :, None]).transpose(0, 2, 1) @ scores
    return TiedCurvature(splits, *curvature_of_scores(block, likelihood, parameters, posterior))


def _splits_of_labels(block: Block, likelihood: Likelihood, posterior: Posterior) -> AnyArray:
    """Return sum_G r_lr (s_lr s_lr' + H_lr) if labels are of more than two kinds.

    H is a sum over rows of -D' (diag pi - pi pi') D (x) z z', of which the upper half is computed.
    """
    labels, Z, w = likelihood.labels, likelihood.working(block), block.shares[0]
    assert labels is not None
    r, D, m, p = (
        posterior.responsibilities,
        labels.differences,
        len(labels),
        likelihood.profile_size,
    )
    weighted = r if w is None else r * w
    found = LabelDerivatives.of(labels, block, posterior)
    q = block.of_rows(weighted) * found.share
    pairs = (Z[:, :, None] * Z[:, None]).reshape(len(Z), -1)
    of_rows = np.zeros((len(r), m, m, pairs.shape[1]))
    for a in range(m):
        for b in range(a + 1):
            second = q * found.pi[:, a] * (found.pi[:, b] - (a == b))
            of_rows[:, a, b] = of_rows[:, b, a] = second @ pairs
    of_rows = np.einsum("ai,cabz,bj->cijz", D, of_rows, D, optimize=True)
    splits = of_rows.reshape(len(r), m, m, Z.shape[1], -1).transpose(0, 1, 3, 2, 4)
    splits = splits.reshape(len(r), p, p)
    g = D.T @ found.g  # (k R, C - 1, n)
    scores = np.concatenate(
        [block.sums((g[:, a, :, None] * Z).transpose(0, 2, 1)) for a in range(m)], axis=1
    ).transpose(0, 2, 1)
    return np.asarray(splits + (scores * weighted[:, :, None]).transpose(0, 2, 1) @ scores)

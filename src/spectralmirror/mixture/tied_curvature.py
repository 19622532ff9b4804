"""Second derivatives of the likelihood if persons of one class differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import block_diag

from spectralmirror.mixture.group_scores import group_scores, row_derivatives
from spectralmirror.mixture.likelihood import Likelihood, Parameters
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import Sums, added, reduce
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["tied_hessian", "tied_split_matrices"]


@dataclass(frozen=True, eq=False)
class TiedCurvature(Sums):
    """Sums over groups that give all second derivatives with respect to tied components.

    With c_lr the gradient of log p_l w_r prod_i f(y_i t_ilr), and s = sum_lr r_lr c_lr that of the
    group (Louis 1982),

        L'' = sum_G sum_lr r_lr (c_lr c_lr' + c_lr') - s s'.

    Attributes
    ----------
    splits : ndarray of shape (k R, p, p)
        sum_G r_lr (s_lr s_lr' + H_lr), as in :class:`Curvature`.
    slopes : ndarray of shape (k R, p)
        sum_G r_lr s_lr.
    products : ndarray of shape (m, m)
        sum_G s s'.
    mass : ndarray of shape (k,)
        sum_G r_l.
    """

    splits: AnyArray
    slopes: Matrix
    products: Matrix
    mass: Vector

    def hessian(self, likelihood: Likelihood, parameters: Parameters) -> Matrix:
        """Return the second derivatives of the log-likelihood with respect to the packed theta."""
        spread, k = likelihood.spread, len(parameters)
        assert spread is not None
        steps = likelihood.coordinates.from_standard @ spread.directions()
        splits = self.splits.reshape(k, len(steps), *self.splits.shape[1:])
        slopes = self.slopes.reshape(k, len(steps), -1)
        own = splits.sum(axis=1)
        across = np.einsum("lrpq,rqe->lpe", splits, steps, optimize=True)
        within = np.einsum("rpe,rpq,rqf->ef", steps, splits.sum(axis=0), steps, optimize=True)
        across = across.reshape(-1, across.shape[-1])
        coefficients = np.block([[block_diag(*own), across], [across.T, within]])
        p, total = parameters.weights, self.mass.sum()
        centred = np.eye(k) - p
        mixed = np.vstack(
            [
                np.einsum("lp,lm->lpm", slopes.sum(axis=1), centred).reshape(-1, k),
                np.einsum("rpe,lrp,lm->em", steps, slopes, centred, optimize=True),
            ]
        )
        logits = np.einsum("l,lm,ln->mn", self.mass, centred, centred)
        logits -= total * (np.diag(p) - np.outer(p, p))
        return np.block([[coefficients, mixed], [mixed.T, logits]]) - self.products


def tied_hessian(likelihood: Likelihood, parameters: Parameters) -> Matrix:
    """Return the second derivatives of the log-likelihood: one pass over the rows."""
    return _sums(likelihood, parameters).hessian(likelihood, parameters)


def tied_split_matrices(likelihood: Likelihood, parameters: Parameters) -> AnyArray:
    """Return S_l: splitting v_l into v_l + e and v_l - e gains e' S_l e / 2."""
    splits = _sums(likelihood, parameters).splits
    return np.asarray(splits.reshape(len(parameters), -1, *splits.shape[1:]).sum(axis=1))


def _sums(likelihood: Likelihood, parameters: Parameters) -> TiedCurvature:
    of = partial(_of_block, likelihood=likelihood, parameters=parameters)
    return reduce(likelihood.rows, of)


def _of_block(block: Block, likelihood: Likelihood, parameters: Parameters) -> TiedCurvature:
    expanded = likelihood.expanded(parameters)
    of = partial(_of_piece, likelihood=likelihood, parameters=parameters, expanded=expanded)
    width = len(expanded) * (expanded.profiles.shape[1] + 4) // 4
    return added(map(of, likelihood.pieces(block, width)))


def _of_piece(
    block: Block, likelihood: Likelihood, parameters: Parameters, expanded: Parameters
) -> TiedCurvature:
    posterior = likelihood.posterior(block, expanded)
    weighted, g, h = row_derivatives(likelihood, block, posterior)
    w = block.shares[0]
    Z = likelihood.working(block)
    scores = block.sums(((g * block.y)[:, :, None] * Z).transpose(0, 2, 1)).transpose(0, 2, 1)
    pairs = (Z[:, :, None] * Z[:, None]).reshape(len(Z), -1)
    splits = ((block.of_rows(weighted) * h) @ pairs).reshape(len(g), Z.shape[1], -1)
    splits += (scores * weighted[:, :, None]).transpose(0, 2, 1) @ scores
    slopes = (weighted[:, None] @ scores)[:, 0]
    s = group_scores(likelihood, parameters, block, posterior)
    products = s.T @ (s if w is None else s * w[:, None])
    mass = weighted.reshape(len(parameters), -1).sum(axis=1)
    return TiedCurvature(splits, slopes, products, mass)

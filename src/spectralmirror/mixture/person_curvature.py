"""Second derivatives of the likelihood if each person has nodes of their own.

With x_i in working coordinates and z_r the nodes of a person in class l, the score t_ilr =
<v_l + F B z_r, x_i> has the derivatives c_ir = E' (x_i (x) [1, z_r]) in v_l and the entries of B,
for a fixed E. Row i contributes sum_r r_lr (log f)''(t_ilr) c_ir c_ir', which is

    E' (x_i x_i' (x) A_i) E,   A_i = sum_r r_lr (log f)'' [1, z_r] [1, z_r]',

and a person sum_r r_lr s_r s_r', s_r = E' (sum_i (log f)' x_i (x) [1, z_r]).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import block_diag

from spectralmirror.mixture.group_scores import curvature_of_scores, row_derivatives
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import Sums, added, reduce
from spectralmirror.rows.types import AnyArray, Matrix

__all__ = ["person_hessian", "person_split_matrices"]


@dataclass(frozen=True, eq=False)
class PersonCurvature(Sums):
    """Sums over groups that give all second derivatives.

    Attributes
    ----------
    of_rows : ndarray of shape (k, p^2, (1 + q)^2)
        sum_i x_i x_i' (x) A_i.
    of_persons : ndarray of shape (k, p + n_entries, p + n_entries)
        sum_G sum_r r_lr s_r s_r'.
    products, mixed, of_weights
        As in :class:`TiedCurvature`.
    """

    of_rows: AnyArray
    of_persons: AnyArray
    products: Matrix
    mixed: AnyArray
    of_weights: AnyArray

    def own(self, likelihood: Likelihood) -> AnyArray:
        """Return sum_G sum_r r_lr (c_lr c_lr' + H_lr), shape (k, p + n_entries, p + n_entries)."""
        E = _directions(likelihood)
        p, width = E.shape[:2]
        E = E.reshape(p * width, -1)
        K = self.of_rows.reshape(-1, p, p, width, width).swapaxes(2, 3)
        return np.asarray(E.T @ K.reshape(len(K), len(E), -1) @ E + self.of_persons)

    def hessian(self, likelihood: Likelihood) -> Matrix:
        """Return the second derivatives of the log-likelihood with respect to the packed theta."""
        own, p = self.own(likelihood), len(likelihood.coordinates.from_standard)
        across = np.vstack(list(own[:, :p, p:]))
        within = own[:, p:, p:].sum(axis=0)
        profiles = block_diag(*own[:, :p, :p])
        coefficients = np.block([[profiles, across], [across.T, within]]) - self.products
        mixed = self.mixed.reshape(len(coefficients), -1)
        of_weights = self.of_weights.reshape(mixed.shape[1], -1)
        return np.block([[coefficients, mixed], [mixed.T, of_weights]])


def person_hessian(likelihood: Likelihood, parameters: Parameters) -> Matrix:
    """Return the second derivatives of the log-likelihood: one pass over the rows."""
    return _sums(likelihood, parameters).hessian(likelihood)


def person_split_matrices(likelihood: Likelihood, parameters: Parameters) -> AnyArray:
    """Return S_l: splitting v_l into v_l + e and v_l - e gains e' S_l e / 2."""
    p = parameters.profiles.shape[1]
    return _sums(likelihood, parameters).own(likelihood)[:, :p, :p]


def _sums(likelihood: Likelihood, parameters: Parameters) -> PersonCurvature:
    of = partial(_of_block, likelihood=likelihood, parameters=parameters)
    return reduce(likelihood.rows, of)


def _of_block(block: Block, likelihood: Likelihood, parameters: Parameters) -> PersonCurvature:
    of = partial(_of_piece, likelihood=likelihood, parameters=parameters)
    return added(map(of, likelihood.pieces(block, len(parameters))))


def _directions(likelihood: Likelihood) -> AnyArray:
    """Return E, shape (p, 1 + q, p + n_entries)."""
    spread, F = likelihood.spread, likelihood.coordinates.from_standard
    assert spread is not None
    p, q = len(F), spread.nodes.shape[1]
    found = np.zeros((p, 1 + q, p + len(spread)))
    found[:, 0, :p] = np.eye(p)
    for row, column, entry in zip(spread.rows, spread.columns, spread.entries, strict=True):
        found[:, 1 + column, p + entry] += F[:, row]
    return found


def _of_piece(block: Block, likelihood: Likelihood, parameters: Parameters) -> PersonCurvature:
    posterior, k = likelihood.posterior(block, parameters), len(parameters)
    weighted, g, h = row_derivatives(likelihood, block, posterior)
    Z, q = likelihood.working(block), likelihood.spread.nodes.shape[1]  # type: ignore[union-attr]
    pairs = (Z[:, :, None] * Z[:, None]).reshape(len(Z), -1)
    second = (block.of_rows(weighted) * h).reshape(k, -1, len(Z))
    zeta = np.column_stack([np.ones(len(block.nodes.zeta)), block.nodes.zeta])
    of_zeta = (zeta[:, :, None] * zeta[:, None]).reshape(len(zeta), -1)
    M = _from_zeta(block, k, q)
    of_rows = np.empty((k, pairs.shape[1], of_zeta.shape[1]))
    for c in range(k):
        A = (second[c].T @ of_zeta).reshape(-1, 1 + q, 1 + q)
        to_z = M[c][block.numbers]
        A = to_z @ A @ to_z.swapaxes(1, 2)
        of_rows[c] = pairs.T @ A.reshape(len(Z), -1)
    of_persons = _of_persons(block, likelihood, Z, g, weighted.reshape(k, -1, weighted.shape[1]))
    return PersonCurvature(
        of_rows, of_persons, *curvature_of_scores(block, likelihood, parameters, posterior)
    )


def _from_zeta(block: Block, k: int, q: int) -> AnyArray:
    """Return the matrices that take [1, zeta] to [1, z], shape (k, n_groups, 1 + q, 1 + q)."""
    found = np.zeros((k, len(block.sizes), 1 + q, 1 + q))
    found[..., 0, 0] = 1
    found[..., 1:, 0] = block.nodes.modes
    found[..., 1:, 1:] = block.nodes.roots
    return found


def _of_persons(
    block: Block, likelihood: Likelihood, Z: Matrix, g: Matrix, weighted: AnyArray
) -> AnyArray:
    """Return sum_G sum_r r_lr s_r s_r' of each class; r_lr have shape (k, R, n_groups)."""
    spread, places = likelihood.spread, block.nodes.places()
    assert spread is not None
    entry = np.zeros((len(spread.entries), len(spread)))
    entry[np.arange(len(entry)), spread.entries] = 1
    signed, found = g * block.y, []
    S = np.stack([block.sums(signed * one) for one in Z.T], axis=2)  # (k R, n_groups, p)
    S = S.reshape(*weighted.shape, -1)
    F = likelihood.coordinates.from_standard
    for s, r, z in zip(S, weighted, places, strict=True):
        of_B = ((s @ F[:, spread.rows]) * z[..., spread.columns]) @ entry
        both = np.concatenate([s, of_B], axis=2).reshape(r.size, -1)
        found.append(both.T @ (both * r.reshape(-1, 1)))
    return np.array(found)

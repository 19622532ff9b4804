"""Second derivatives of the likelihood if each person has nodes of their own.

With x_i in working coordinates and z_r the nodes of a person in class l, the score t_ilr =
<v_l + F B z_r, x_i> has the derivatives c_ir = E' (x_i (x) [z_r, 1]) in v_l and the entries of B,
for a fixed E. Row i contributes sum_r r_lr (log f)''(t_ilr) c_ir c_ir', which is

    E' (x_i x_i' (x) A_i) E,   A_i = sum_r r_lr (log f)'' [z_r, 1] [z_r, 1]',

and a person sum_r r_lr s_r s_r', s_r = E' (sum_i (log f)' x_i (x) [z_r, 1]).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
from scipy.linalg import block_diag

from spectralmirror.mixture.group_scores import curvature_of_scores
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.person_pieces import PersonPosterior
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import Sums, reduce
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
    of = partial(_of_piece, likelihood=likelihood, parameters=parameters)
    return reduce(likelihood.rows, of)


def _directions(likelihood: Likelihood) -> AnyArray:
    """Return E, shape (p, 1 + q, p + n_entries)."""
    spread, F = likelihood.spread, likelihood.coordinates.from_standard
    assert spread is not None
    p, q = len(F), spread.nodes.shape[1]
    found = np.zeros((p, 1 + q, p + len(spread)))
    found[:, q, :p] = np.eye(p)
    for row, column, entry in zip(spread.rows, spread.columns, spread.entries, strict=True):
        found[:, column, p + entry] += F[:, row]
    return found


def _of_piece(block: Block, likelihood: Likelihood, parameters: Parameters) -> PersonCurvature:
    posterior = cast(PersonPosterior, likelihood.posterior(block, parameters))
    w = block.shares[0]
    classes = range(len(parameters))
    of_rows = [block.nodes.second_of_rows(posterior, c, likelihood.response, w) for c in classes]
    of_persons = [_of_persons(block, likelihood, posterior, c) for c in classes]
    return PersonCurvature(
        np.array(of_rows), np.array(of_persons),
        *curvature_of_scores(block, likelihood, parameters, posterior),
    )  # fmt: skip


def _of_persons(
    block: Block, likelihood: Likelihood, posterior: PersonPosterior, of_class: int
) -> Matrix:
    """Return sum_G sum_r r_lr s_r s_r' of one class."""
    spread, F, w = likelihood.spread, likelihood.coordinates.from_standard, block.shares[0]
    assert spread is not None
    entry = np.eye(len(spread))[spread.entries]
    s, z = block.nodes.scores_at_nodes(posterior, of_class), block.nodes.nodes(of_class)
    of_B = entry.T @ ((F.T @ s)[:, spread.rows] * z[:, spread.columns])
    both = np.concatenate([s, of_B], axis=1)
    weights = posterior.weights[of_class] if w is None else posterior.weights[of_class] * w[:, None]
    return np.asarray(((both * weights[:, None]) @ both.swapaxes(1, 2)).sum(axis=0))

"""Second derivatives if labels are of more than two kinds (:mod:`label_contrasts`).

With pi the probabilities of the labels of a row in class l, and g = [y = c] - pi,

    s_l = sum_i g_i (x) z_i,   H_l = -sum_i (diag pi_i - pi_i pi_i') (x) z_i z_i',

for each group; everything else is as in :class:`Curvature`. Sums over rows refer to the scores t
of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectralmirror.mixture.group_scores import quadratic
from spectralmirror.mixture.label_contrasts import LabelContrasts
from spectralmirror.mixture.parameters import Posterior
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.types import AnyArray, Matrix

__all__ = ["LabelDerivatives", "label_coupling", "label_sums"]

#: Numbers that a row may need at a time, relative to those of its derivatives.
SHARE = 8


class LabelDerivatives(NamedTuple):
    """g of all rows, and pi, each of shape (k, C - 1, n), times the shares of rows in groups."""

    g: AnyArray
    pi: AnyArray
    share: Matrix | float

    @classmethod
    def of(cls, labels: LabelContrasts, block: Block, posterior: Posterior) -> LabelDerivatives:
        """Return the derivatives of a block."""
        g = posterior.slopes.reshape(-1, len(labels), len(block))
        share = block.shares[1]
        pi = labels.one_hot(block.y) - g
        return cls(g if share is None else g * share, pi, 1.0 if share is None else share)

    def own(self, Z: AnyArray, c: int, q: Matrix) -> Matrix:
        """Return sum_i q_i H_i of class c; q is the same for rows of a group."""
        pi, q = self.pi[c], q * self.share
        means = (pi.T[:, :, None] * Z[:, None]).reshape(len(Z), -1)
        found = quadratic(means, q)
        width = Z.shape[1]
        for j, one in enumerate(pi):
            here = slice(j * width, (j + 1) * width)
            found[here, here] -= quadratic(Z, q * one)
        return found


def label_sums(
    labels: LabelContrasts,
    Z: AnyArray,
    block: Block,
    posterior: Posterior,
    weighted: Matrix,
    products: bool,
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return S_l and sum_G r_l r_m s_l s_m' of a block, and s_l, shape (k, n_groups, (C - 1) p).

    `weighted` is w_G r_l; the second result is empty unless `products` are requested.
    """
    found, r = LabelDerivatives.of(labels, block, posterior), posterior.responsibilities
    k, each = len(r), block.of_rows(weighted)
    s = np.array([_scores(Z, block, one) for one in found.g])
    splits = np.array(
        [(s[c] * weighted[c, :, None]).T @ s[c] + found.own(Z, c, each[c]) for c in range(k)]
    )
    across = np.zeros((k, k, *splits.shape[1:]) if products else (0, 0))
    for a in range(len(across)):
        for b in range(a + 1):
            across[a, b] = (s[a] * (weighted[a] * r[b])[:, None]).T @ s[b]
            across[b, a] = across[a, b].T
    return splits, across, s


def _scores(Z: AnyArray, block: Block, g: Matrix) -> AnyArray:
    """Return sum_i g_i (x) z_i of each group."""
    of_rows = (g.T[:, :, None] * Z[:, None]).reshape(len(Z), -1)
    return of_rows if block.starts is None else np.add.reduceat(of_rows, block.starts, axis=0)


def label_coupling(labels: LabelContrasts, block: Block, posterior: Posterior) -> Matrix:
    """Return what a block adds to the matrix J of all contrasts (:func:`coupling`)."""
    w, found = block.shares[0], LabelDerivatives.of(labels, block, posterior)
    r, m = block.of_rows(posterior.responsibilities), len(labels)
    weighted = r if w is None else r * block.of_rows(w)
    g = found.g.reshape(-1, len(block))
    J = (labels.of_labels(weighted) * g) @ (labels.of_labels(r) * g).T
    for c, (own, pi) in enumerate(zip(found.g, found.pi, strict=True)):
        here, q = slice(c * m, (c + 1) * m), weighted[c] * found.share
        J[here, here] -= (weighted[c] * own) @ own.T - np.diag(pi @ q) + (pi * q) @ pi.T
    T = np.kron(np.eye(len(r)), labels.differences)
    return np.asarray(T.T @ J @ T)

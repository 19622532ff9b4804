"""Probabilities of labels of several kinds, averaged over persons who differ."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from spectralmirror.mixture.persons import batches
from spectralmirror.mixture.spread import nodes_of
from spectralmirror.rows.types import AnyArray

__all__ = ["averaged_softmax"]

#: Nodes over which probabilities are averaged in more than two dimensions, and their seed.
N_NODES, SEED = 256, 11


def averaged_softmax(t: AnyArray, W: AnyArray) -> AnyArray:
    """Return E softmax(t_l + W z), z ~ N(0, I), for each row and class, shape (n, k, C).

    Only differences between labels count, which have C - 1 dimensions whatever q is: with
    W_c - W_1 = L_c zeta for a triangular L, zeta takes the place of z.

    Parameters
    ----------
    t : ndarray of shape (n, k, C)
        t_l of all labels.
    W : ndarray of shape (n, C, q)
        W.
    """
    n, k, C = t.shape
    apart = W[:, 1:] - W[:, :1]
    roots = np.asarray(np.linalg.qr(apart.swapaxes(1, 2))[1]).swapaxes(1, 2)  # (n, C - 1, r)
    nodes, log_weights = nodes_of(roots.shape[2], N_NODES, SEED)
    weights, found = np.exp(log_weights), np.empty((n, k, C))
    for part in batches(np.ones(n, dtype=np.intp), k * C * len(nodes)):
        steps = np.zeros((part.stop - part.start, 1, C, len(nodes)))
        steps[:, 0, 1:] = roots[part] @ nodes.T
        found[part] = softmax(t[part][..., None] + steps, axis=2) @ weights
    return found

"""How market shares change with a feature of one alternative.

For a set and a person with the coefficients u, let g_b = sum_m u_m x_bm over the features that grow
together. Then dP(a) / d log x_b = P(a) ([a = b] - P(b)) g_b.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from spectralmirror.mixture.persons import batches
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["Persons", "market_rates", "of_equal_size"]


class Persons(NamedTuple):
    """What persons of one class see in each row, at nodes z of their spread.

    Attributes
    ----------
    t : ndarray of shape (n,)
        Scores of the rows.
    W : ndarray of shape (n, q)
        A person at z has the scores t + W z.
    g : ndarray of shape (n,)
        sum_m u_m x_m over the features that grow.
    H : ndarray of shape (n, q)
        A person at z has g + H z.
    """

    t: Vector
    W: Matrix
    g: Vector
    H: Matrix


def of_equal_size(starts: NDArray[np.intp], sizes: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of all sets of each size J, shape (n_sets, J)."""
    for size in np.unique(sizes):
        yield starts[sizes == size][:, None] + np.arange(size)


def market_rates(
    rows: NDArray[np.intp], persons: Persons, nodes: Matrix, weights: Vector
) -> tuple[Matrix, AnyArray]:
    """Return P(a), shape (n_sets, J), and dP(a) / d log x_b, shape (n_sets, J, J), of some sets.

    Both are averages over the nodes. `rows` are those of the sets.
    """
    n, J = rows.shape
    P, rates = np.empty((n, J)), np.empty((n, J, J))
    for part in batches(np.full(n, J, dtype=np.intp), len(nodes)):
        here = rows[part]
        t = persons.t[here][:, None] + nodes @ persons.W[here].swapaxes(1, 2)  # (sets, nodes, J)
        pi = softmax(t, axis=2)
        pulled = pi * (persons.g[here][:, None] + nodes @ persons.H[here].swapaxes(1, 2))
        pulled *= weights[:, None]
        P[part] = weights @ pi
        rates[part] = -pi.swapaxes(1, 2) @ pulled
        rates[part][:, np.arange(J), np.arange(J)] += pulled.sum(axis=1)
    return P, rates

"""Traces of functions of a symmetric matrix from its products with random vectors.

For random signs z, E z' f(B) z = tr f(B) (Hutchinson 1990). Lanczos from z gives a small
tridiagonal matrix T with z' f(B) z close to |z|^2 e_1' f(T) e_1, which is Gauss's quadrature for
the spectrum of B as z sees it (Golub and Meurant 2010; Ubaru, Chen and Saad 2017).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh_tridiagonal

from spectralmirror.rows.types import Matrix, Vector

__all__ = ["Quadrature"]

#: Lanczos ends when a new vector is this small relative to the one before: z has seen everything.
EXHAUSTED = 1e-10


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Nodes and weights of each vector z: z' f(B) z is the sum of weights times f(nodes).

    Attributes
    ----------
    nodes, weights : list of ndarray
        Of each vector.
    """

    nodes: list[Vector]
    weights: list[Vector]

    @classmethod
    def of(cls, products: Callable[[Matrix], Matrix], Z: Matrix, n_steps: int) -> Quadrature:
        """Take `n_steps` of Lanczos from each line of Z, all of them side by side."""
        size = np.linalg.norm(Z, axis=1)
        q, before = Z / size[:, None], np.zeros_like(Z)
        beta = np.zeros(len(Z))
        alphas, betas = [], []
        for _ in range(n_steps):
            image = products(q) - beta[:, None] * before
            alpha = (image * q).sum(axis=1)
            image -= alpha[:, None] * q
            beta = np.linalg.norm(image, axis=1)
            alphas.append(alpha)
            betas.append(beta)
            before, q = q, image / np.maximum(beta, 1e-300)[:, None]
        return cls(*_rules(np.array(alphas).T, np.array(betas).T, size**2))

    def traces(self, function: Callable[[Vector], Vector]) -> Vector:
        """Return the estimate of z' f(B) z for each vector."""
        pairs = zip(self.nodes, self.weights, strict=True)
        return np.array([float(weights @ function(nodes)) for nodes, weights in pairs])


def _rules(alphas: Matrix, betas: Matrix, totals: Vector) -> tuple[list[Vector], list[Vector]]:
    """Return the eigenvalues of each T, and the squared first entries of its eigenvectors."""
    nodes, weights = [], []
    for alpha, beta, total in zip(alphas, betas, totals, strict=True):
        ended = np.flatnonzero(beta < EXHAUSTED * (np.abs(alpha[0]) + beta[0]))
        m = int(ended[0]) + 1 if len(ended) else len(alpha)
        found, vectors = eigh_tridiagonal(alpha[:m], beta[: m - 1])
        nodes.append(found)
        weights.append(total * vectors[0] ** 2)
    return nodes, weights

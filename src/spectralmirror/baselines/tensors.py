"""Symmetric tensors of order three, and their decomposition by the robust power method."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["SymmetricIndex", "power_decomposition"]


class SymmetricIndex:
    """The distinct entries of symmetric tensors of an order, as an isometric vector.

    A symmetric tensor M has (d + order - 1 choose order) distinct entries. Entry (i <= j <= ...)
    is multiplied by the square root of the number of times that it occurs, so that inner products
    of tensors are inner products of vectors: <M, x (x) x (x) x> = v(M)' features(x).

    Parameters
    ----------
    d : int
        Length of each side.
    order : int
        Number of sides.
    """

    def __init__(self, d: int, order: int):
        self.shape = (d,) * order
        entries = np.array(list(combinations_with_replacement(range(d), order)))
        self.columns: NDArray[np.intp] = entries.T
        self.roots: Vector = np.sqrt([_multiplicity(entry) for entry in entries])
        # where each entry of the full tensor stands among the distinct ones
        place = {tuple(entry): i for i, entry in enumerate(entries.tolist())}
        full = np.sort(np.indices(self.shape).reshape(order, -1), axis=0).T.tolist()
        self.places: NDArray[np.intp] = np.array([place[tuple(entry)] for entry in full])

    def __len__(self) -> int:
        return len(self.roots)

    def features(self, X: Matrix) -> Matrix:
        """Return the vector of x (x) ... (x) x for every row."""
        product = X[:, self.columns[0]] * self.roots
        for column in self.columns[1:]:
            product *= X[:, column]
        return product

    def tensor(self, vector: Vector) -> AnyArray:
        """Return the full tensor of a vector."""
        return np.asarray((vector / self.roots)[self.places].reshape(self.shape))

    def vector(self, tensor: AnyArray) -> Vector:
        """Return the vector of the symmetric part of a tensor."""
        sums = np.bincount(self.places, tensor.ravel(), minlength=len(self))
        return np.asarray(sums / self.roots)


def power_decomposition(
    T: AnyArray, k: int, rng: np.random.RandomState, *, n_starts: int = 20, n_iter: int = 100
) -> tuple[Vector, Matrix]:
    """Return lambda_l and unit v_l (rows) with T near sum_l lambda_l v_l (x) v_l (x) v_l.

    The robust tensor power method (Anandkumar et al. 2014, Algorithm 1): iterate v -> T(I, v, v),
    normalised, from random starts; iterate the best one further, subtract its term, and repeat.
    """
    T, values, vectors = T.copy(), np.empty(k), np.empty((k, len(T)))
    for i in range(k):
        v = rng.standard_normal((n_starts, len(T)))
        v = _iterate(T, v / np.linalg.norm(v, axis=1, keepdims=True), n_iter)
        best = v[[np.argmax(_values(T, v))]]
        vectors[i] = _iterate(T, best, n_iter)[0]
        values[i] = _values(T, vectors[[i]])[0]
        T -= values[i] * np.einsum("i,j,k->ijk", *[vectors[i]] * 3)
    return values, vectors


def _iterate(T: AnyArray, v: Matrix, n_iter: int) -> Matrix:
    for _ in range(n_iter):
        image = np.einsum("ijk,nj,nk->ni", T, v, v, optimize=True)
        length = np.linalg.norm(image, axis=1, keepdims=True)
        v = np.divide(image, length, out=v.copy(), where=length > 0)
    return v


def _values(T: AnyArray, v: Matrix) -> Vector:
    return np.asarray(np.einsum("ijk,ni,nj,nk->n", T, v, v, v, optimize=True))


def _multiplicity(entry: NDArray[np.intp]) -> float:
    """Return the number of distinct permutations of the indices of an entry."""
    _, counts = np.unique(entry, return_counts=True)
    ways = factorial(len(entry))
    for count in counts.tolist():
        ways //= factorial(count)
    return float(ways)

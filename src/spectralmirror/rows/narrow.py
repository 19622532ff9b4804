"""Products of rows with a few vectors: the two halves of a gradient.

X is tall, and the other matrix has a few columns only. Such products are limited by memory: BLAS
should neither pack X into buffers of its own, as OpenBLAS does for products of more than a million
multiplications, nor read it once for each vector.
"""

from __future__ import annotations

import numpy as np

from spectralmirror.rows.types import AnyArray, Matrix

__all__ = ["SMALL_PRODUCT", "narrow_product", "narrow_sums"]

#: Largest number of multiplications of a single product.
SMALL_PRODUCT = 1_000_000


def narrow_product(X: AnyArray, directions: AnyArray, offsets: AnyArray) -> AnyArray:
    """Return <v, x_i> + b for each line v of the directions and each row, shape (k, n).

    The products are computed in the precision of X, and the result has that of the offsets.
    """
    k, n = len(directions), len(X)
    found = np.empty((k, n), dtype=offsets.dtype)
    columns = np.ascontiguousarray(directions.T)
    for here in _pieces(n, directions.size):
        # X times columns is several times as fast as directions times X'
        np.add((X[here] @ columns).T, offsets[:, None], out=found[:, here])
    return found


def narrow_sums(coefficients: AnyArray, X: AnyArray) -> Matrix:
    """Return sum_i a_i x_i for each row a of the coefficients, shape (k, d)."""
    k, d = len(coefficients), X.shape[1]
    found = np.zeros((k, d))
    for here in _pieces(len(X), k * d):
        found += coefficients[:, here] @ X[here]
    return found


def _pieces(n: int, width: int) -> list[slice]:
    size = max(SMALL_PRODUCT // max(width, 1), 1)
    return [slice(first, first + size) for first in range(0, n, size)]

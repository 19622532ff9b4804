"""Regression on a few variables by a polynomial: E[y | u] and its gradient.

The basis is that of Hermite polynomials, which are nearly uncorrelated because u is nearly
standard normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.types import Matrix, Vector

__all__ = ["FIT_ROWS", "GROUPS_TO_FIT", "Polynomial", "largest_degree"]

#: Beyond this many standard deviations the polynomial continues as a constant.
REACH = 3.5
MOST_TERMS = 300
ROWS_PER_TERM = 20
#: Size of the sample that functions are fitted to; every row if there are at most twice as many.
FIT_ROWS = 30_000
#: Minimum number of groups in that sample, if there are groups.
GROUPS_TO_FIT = 1_000
_CHUNK = 8192


def largest_degree(k: int, n_rows: float) -> int:
    """Return degree 5, 3 or 1, the largest that n_rows determine in k variables."""
    for degree in (5, 3):
        terms = comb(k + degree, degree)
        if terms <= MOST_TERMS and terms * ROWS_PER_TERM <= n_rows:
            return degree
    return 1


@dataclass(frozen=True)
class Polynomial:
    """sum_a c_a prod_j He_{a_j}(u_j), over multi-indices a of total degree at most `degree`.

    Attributes
    ----------
    powers : ndarray of shape (terms, k)
        The multi-indices a.
    coefficients : ndarray of shape (terms, k + 1)
        Coefficients of the polynomial and of its k partial derivatives.
    """

    powers: NDArray[np.int64]
    coefficients: Matrix

    @classmethod
    def fit(cls, u: Matrix, y: Vector, weight: Vector | None, degree: int) -> Polynomial:
        """Fit y by least squares, with u of shape (n, k) in units of standard deviations."""
        k = u.shape[1]
        powers = np.array([a for a in product(range(degree + 1), repeat=k) if sum(a) <= degree])
        gram, moment = np.zeros((len(powers), len(powers))), np.zeros(len(powers))
        for i in range(0, len(u), _CHUNK):
            basis = _basis(u[i : i + _CHUNK], powers)
            weighted = basis if weight is None else basis * weight[i : i + _CHUNK, None]
            gram += weighted.T @ basis
            moment += weighted.T @ y[i : i + _CHUNK]
        coefficients = np.linalg.lstsq(gram, moment, rcond=1e-10)[0].astype(np.float64)
        return cls(powers, np.column_stack([coefficients, _derivatives(powers, coefficients)]))

    def __call__(self, u: Matrix) -> Matrix:
        """Return value and partial derivatives at each row of u, shape (n, k + 1)."""
        values = np.empty((len(u), self.coefficients.shape[1]))
        for i in range(0, len(u), _CHUNK):
            values[i : i + _CHUNK] = _basis(u[i : i + _CHUNK], self.powers) @ self.coefficients
        return values


def _basis(u: Matrix, powers: NDArray[np.int64]) -> Matrix:
    """Return prod_j He_{a_j}(u_j) for each row of u and each multi-index a."""
    degree = int(powers.max(initial=0))
    tables = [_hermite(np.clip(column, -REACH, REACH), degree) for column in u.T]
    basis = np.empty((len(powers), len(u)))
    for row, power in zip(basis, powers, strict=True):
        factors = [table[p] for table, p in zip(tables, power, strict=True) if p]
        row[:] = factors[0] if factors else 1.0
        for factor in factors[1:]:
            row *= factor
    return basis.T


def _hermite(x: Vector, degree: int) -> Matrix:
    """Return He_0(x) to He_degree(x), by He_(n+1) = x He_n - n He_(n-1)."""
    values = np.ones((degree + 1, len(x)))
    if degree:
        values[1] = x
    for n in range(1, degree):
        np.multiply(x, values[n], out=values[n + 1])
        values[n + 1] -= n * values[n - 1]
    return values


def _derivatives(powers: NDArray[np.int64], coefficients: Vector) -> Matrix:
    """Return the coefficients of the partial derivatives, by He_n' = n He_(n-1)."""
    place = {tuple(power): i for i, power in enumerate(powers)}
    derivatives = np.zeros((len(powers), powers.shape[1]))
    for power, c in zip(powers, coefficients, strict=True):
        for j in np.flatnonzero(power):
            lower = power.copy()
            lower[j] -= 1
            derivatives[place[tuple(lower)], j] += power[j] * c
    return derivatives

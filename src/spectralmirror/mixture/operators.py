"""Products of second derivatives with vectors, several at a time, and a sketch of the rows.

A product with m vectors costs m times what a gradient does, or less, because BLAS is faster at
products of matrices; no matrix of p x p numbers is formed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, qr

from spectralmirror.mixture.likelihood import Likelihood, rows_product
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.principal import Principal
from spectralmirror.rows.grouped import Block, InMemoryGroups
from spectralmirror.rows.kernels import shifted
from spectralmirror.rows.reduce import Sums, reduce
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["gram_products", "hessian_products", "leading_splits", "principal", "split_products"]

#: The sketch has this many directions, and as many more while it is computed.
RANK, OVERSAMPLING = 64, 10
#: It is computed from this many rows for each of them.
ROWS_PER_DIRECTION = 60
#: Directions are kept if their variance is this many times the mean of the others.
STANDS_OUT = 2.0
#: Size and number of the blocks of vectors from which splits are found.
BLOCK, N_BLOCKS = 8, 6


def _pulled(likelihood: Likelihood, block: Block, coefficients: AnyArray) -> Matrix:
    """Return sum_i a_i [x_i - o, 1] of a block for each row a of the coefficients."""
    part = shifted(block.X, likelihood.coordinates.shift)
    sums = rows_product(coefficients.astype(block.X.dtype, copy=False), part)
    return np.column_stack([sums, coefficients.sum(axis=1)])


def gram_products(likelihood: Likelihood, V: Matrix) -> Matrix:
    """Return sum_i w_i <v, z_i> z_i for each row v of V: one pass over the rows."""

    def of(block: Block) -> Matrix:
        t = likelihood.scores(block.X, V)
        return _pulled(likelihood, block, t if block.weight is None else t * block.weight)

    return np.asarray(reduce(likelihood.rows, of) @ likelihood.coordinates.of_rows.T)


@dataclass(frozen=True, eq=False)
class _Products(Sums):
    profiles: Matrix
    logits: Matrix


def hessian_products(likelihood: Likelihood, parameters: Parameters) -> Callable[[Matrix], Matrix]:
    """Return the product of minus the second derivatives of the log-likelihood with vectors.

    The vectors are lines of (v_1, ..., v_k, a_1, ..., a_k), for profiles and logits. With
    dt_l = <dv_l, z>, the derivatives of log p_l and of the posterior are

        dlog p_l = da_l - sum_m p_m da_m
        dr_l = r_l (e_l - sum_m r_m e_m),  e_l = dlog p_l + sum_i y_i (log f)'_il dt_il,

    and those of the gradient sum_i (dr_l y_i (log f)'_il + r_l (log f)''_il dt_il) z_i for v_l,
    sum_G (dr_l - p_l dlog p_l) for a_l.
    """
    k, p = parameters.profiles.shape

    def products(lines: Matrix) -> Matrix:
        m = len(lines)
        V, da = lines[:, : k * p].reshape(m * k, p), lines[:, k * p :]

        def of(block: Block) -> _Products:
            posterior = likelihood.posterior(block, parameters)
            r, g = posterior.responsibilities, posterior.slopes
            h = likelihood.response.curvature(posterior.signed, g)
            w, shares = block.shares
            gy = g * block.y
            if shares is not None:
                gy, h = gy * shares, h * shares
            dt = likelihood.scores(block.X, V).reshape(m, k, -1)
            weights = np.exp(likelihood.log_weights(block, parameters, possible=False))
            dlog = da[:, :, None] - np.einsum("kg,mk->mg", weights, da)[:, None]
            e = dlog + block.sums(gy * dt)
            e -= np.einsum("kg,mkg->mg", r, e)[:, None]
            e *= r if w is None else r * w
            rows = block.of_rows(r if w is None else r * w) * h
            dt *= rows
            dt += block.of_rows(e) * gy
            of_weights = np.broadcast_to(weights * dlog, e.shape)
            of_weights = of_weights if w is None else of_weights * w
            pulled = _pulled(likelihood, block, dt.reshape(m * k, -1))
            return _Products(pulled, (e - of_weights).sum(axis=2))

        sums = reduce(likelihood.rows, of)
        profiles = sums.profiles @ likelihood.coordinates.of_rows.T
        return -np.hstack([profiles.reshape(m, k * p), sums.logits])

    return products


def split_products(likelihood: Likelihood, parameters: Parameters, c: int, V: Matrix) -> Matrix:
    """Return S_c v for each row v of V, S_c = sum_G r_c (s_c s_c' + H_c) (:class:`Curvature`)."""

    def of(block: Block) -> Matrix:
        posterior = likelihood.posterior(block, parameters)
        r, g = posterior.responsibilities[c], posterior.slopes[c]
        h = likelihood.response.curvature(posterior.signed[c], g)
        w, shares = block.shares
        gy = g * block.y
        if shares is not None:
            gy, h = gy * shares, h * shares
        r = block.of_rows(r if w is None else r * w)
        t = likelihood.scores(block.X, V)
        return _pulled(likelihood, block, r * (block.of_rows(block.sums(gy * t)) * gy + h * t))

    return np.asarray(reduce(likelihood.rows, of) @ likelihood.coordinates.of_rows.T)


def principal(likelihood: Likelihood, total: float, seed: int) -> Principal:
    """Return the principal directions of the rows that stand out, by a randomised sketch.

    Halko, Martinsson and Tropp (2011): orthonormal Q that spans Z'Z Z'Z times random vectors, and
    the eigenvectors of Q' Z'Z Q, for half of a sample. The other half says how large the variances
    are: with fewer rows than features, those of the first half are mostly noise. `total` is the sum
    of the variances of all coordinates but the intercept.
    """
    coordinates, rng = likelihood.coordinates, np.random.RandomState(seed)
    p, n_intercepts = coordinates.size, int(coordinates.intercept)
    d = p - n_intercepts
    n_columns = min(RANK + OVERSAMPLING, d)
    drawn = likelihood.rows.draw(ROWS_PER_DIRECTION * n_columns, 1, seed)
    if drawn.n_groups < 2:  # a single group is halved, too
        drawn = InMemoryGroups(drawn.rows if drawn.order is None else drawn.rows[drawn.order])
    halves = [likelihood.on(drawn.take(np.arange(i, drawn.n_groups, 2))) for i in range(2)]

    def product(part: Likelihood, V: Matrix) -> Matrix:
        V = np.pad(V, ((0, 0), (0, n_intercepts)))
        return np.asarray(gram_products(part, V)[:, :d] / part.rows.row_weight)

    Q = rng.standard_normal((n_columns, d))
    for _ in range(2):
        Q = qr(product(halves[0], Q).T, mode="economic")[0].T
    vectors = eigh(product(halves[0], Q) @ Q.T)[1]
    U = vectors[:, ::-1].T @ Q
    s = np.maximum((product(halves[1], U) * U).sum(axis=1), 0)
    mean = total / d
    kept = s > STANDS_OUT * mean
    rest = (total - float(s[kept].sum())) / max(d - int(kept.sum()), 1)
    U = np.pad(U[kept], ((0, 0), (0, n_intercepts)))
    return Principal(U.T.copy(), s[kept], max(rest, 1e-6 * mean), total)


def leading_splits(
    likelihood: Likelihood, parameters: Parameters, c: int, n_directions: int = 1, seed: int = 0
) -> tuple[Vector, Matrix]:
    """Return the largest eigenvalues of S_c relative to C + l2 / n, and eigenvectors in lines.

    Block Lanczos from random vectors. Relative to the covariance C of the features, which whitened
    coordinates would take care of, noise is equally large in all directions.
    """
    coordinates, n = likelihood.coordinates, likelihood.rows.row_weight
    p, rng = coordinates.size, np.random.RandomState(seed)
    directions = coordinates.principal
    assert directions is not None

    def root(V: Matrix) -> Matrix:
        sizes = np.full(len(V), n)
        return directions.inverse_roots(V, sizes, likelihood.l2, intercept=coordinates.intercept)

    def product(V: Matrix) -> Matrix:
        return root(split_products(likelihood, parameters, c, root(V)))

    Q = np.empty((0, p))
    images = np.empty((0, p))
    block = rng.standard_normal((BLOCK, p))
    for _ in range(max(min(N_BLOCKS, p // BLOCK), 1)):
        for _ in range(2):  # twice is enough (Kahan and Parlett)
            block = block - (block @ Q.T) @ Q
        block = qr(block.T, mode="economic")[0].T
        image = product(block)
        Q, images, block = np.vstack([Q, block]), np.vstack([images, image]), image
    T = images @ Q.T
    eigenvalues, vectors = eigh((T + T.T) / 2)
    found = root((Q.T @ vectors[:, ::-1][:, :n_directions]).T)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return eigenvalues[::-1][:n_directions], found

"""Null distribution of the leading eigenvalue: parallel analysis by random sign flips.

Random signs on the residuals, or on the labels of groups, make them independent of the features and
leave the features as they are, heavy tails included. If there are many features, a smaller problem
with the same number of rows per feature takes the place of the whole: some of the rows, projected
onto a few random directions. Heavy tails need many rows, because the few longest rows make the
largest eigenvalue.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import qr

from spectralmirror.rows.grouped import Block, GroupedRows
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.sample import Sample
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.stacked.polynomial import FIT_ROWS, GROUPS_TO_FIT
from spectralmirror.subspace.stacked.scores import Frame, Scored, times
from spectralmirror.subspace.stacked.slices import Slices, mirrors
from spectralmirror.subspace.stacked.spectrum import stacked_gram

__all__ = ["Draws", "flipped_pairs", "flipped_slices", "noise_edge"]

#: Minimum number of flips to count components at a given rate, and to warn at a rate of 5 %.
N_FLIPS = 199
N_FLIPS_WARNING = 19
#: Size of the smaller problem: its number of directions, and the limit on its number of rows. This
#: is the larger of `ROWS_PER_DIRECTION` per direction and the number of rows that have
#: `MOST_PRODUCTS` products of features.
N_DIRECTIONS = 48
ROWS_PER_DIRECTION = 60
MOST_PRODUCTS = 6_000_000
#: Number of rows whose products are in memory at a time.
BLOCK = 512


#: n -> the leading eigenvalue under each of n random choices of signs.
Draws = Callable[[int], Vector]


def noise_edge(draws: Draws, rate: float | None) -> float:
    """Return the value that the leading eigenvalue of noise exceeds with probability `rate`.

    A rate of None is 5 %, with few draws. The edge is infinite if there is no noise to compare
    with, because of too few rows or labels that are predicted without error.
    """
    n_flips = N_FLIPS_WARNING if rate is None else max(N_FLIPS, int(np.ceil(1 / rate)) - 1)
    rank = 1 if rate is None else max(int(rate * (n_flips + 1)), 1)
    edge = float(np.sort(draws(n_flips))[-rank])
    return edge if edge > 0 else np.inf


def _directions(d: int, unit: Vector | None, rng: np.random.RandomState) -> Matrix:
    """Return random orthonormal directions, orthogonal to the unit vector if there is one."""
    columns = rng.standard_normal((d, max(min(d - (unit is not None), N_DIRECTIONS), 1)))
    if unit is not None:
        columns -= np.outer(unit, unit @ columns)
    return np.asarray(qr(columns, mode="economic")[0].T)


def _n_rows(n: float, d: int, size: int) -> int:
    """Return how many of n rows to take with `size` of d directions."""
    most = max(ROWS_PER_DIRECTION * size, 2 * MOST_PRODUCTS // (size * (size + 3)))
    return int(np.ceil(min(n * size / max(d, 1), most)))


def flipped_slices(
    source: Source,
    some: Sample,
    frame: Frame,
    scored: Scored,
    slices: Slices,
    rng: np.random.RandomState,
) -> Draws:
    """Return a function that draws the leading eigenvalue of the stacked mirrors under noise."""
    d = len(scored.unit)
    basis = _directions(d, scored.unit, rng)
    size = len(basis)
    n_rows = _n_rows(source.effective_rows, d - 1, size)
    few = some[np.sort(rng.permutation(len(some))[:n_rows])]
    W = times(frame.projection(basis)(few.X), frame.scale(few.X))
    s, e, _, _ = scored(few)
    index, e = slices.residuals(s, e)
    T = mirrors(slices)
    i, j = np.triu_indices(size)

    def draws(n: int) -> Vector:
        M, v = np.zeros((n, len(T), len(i))), np.zeros((n, size, T.shape[1]))
        for b in range(T.shape[1]):
            here = index == b
            noise = np.sqrt(e[here] @ e[here]) or 1.0
            v[:, :, b], products = _signed_sums(W[here], e[here] / noise, n, rng)
            M += T[:, b, None] * products[:, None, :]
        return np.array([leading(*one) for one in zip(M, v, strict=True)])

    def leading(triangles: Matrix, v: Matrix) -> float:
        M = np.empty((len(T), size, size))
        M[:, i, j] = M[:, j, i] = triangles
        gram = stacked_gram(list(M), slices.beside_turn(v), size + 1)
        return float(np.linalg.eigvalsh(gram)[-1])

    return draws


def _signed_sums(W: Matrix, e: Vector, n: int, rng: np.random.RandomState) -> tuple[Matrix, Matrix]:
    """Return the sums of z W, and of z W W' (upper triangle), for n random choices of z = +-e.

    Unlike e, z does not have mean 0 over the rows of a slice. This makes the simulated noise
    slightly larger than the real one, which leaves room for the error of r-hat.
    """
    size = W.shape[1]
    sums = np.zeros((size * (size + 3) // 2, n))
    for start in range(0, len(W), BLOCK):
        part = e[start : start + BLOCK]
        rows = W[start : start + BLOCK].T.astype(np.float32)
        values = np.concatenate([rows, *(rows[i] * rows[i:] for i in range(size))])
        values *= part.astype(np.float32)
        signs = rng.randint(0, 2, size=(len(part), n)) * 2 - 1
        sums += values @ signs.astype(np.float32)
    return sums[:size].T, sums[size:].T


def flipped_pairs(frame: Frame, grouped: GroupedRows, rng: np.random.RandomState) -> Draws:
    """Return a function that draws the leading eigenvalue of the cross moment of groups."""
    d = grouped.rows.n_features
    basis = _directions(d, None, rng)
    size = len(basis)
    n_rows = _n_rows(grouped.rows.effective_rows, d, size)
    some = grouped.select(FIT_ROWS, GROUPS_TO_FIT, seed=0)
    project = frame.projection(basis)

    def signed_rows(block: Block) -> Matrix:
        return times(project(block.X) * block.y[:, None], frame.scale(block.X))

    D, sizes = collect(some, signed_rows), some.sizes
    order = rng.permutation(len(sizes))
    taken = np.zeros(len(sizes), dtype=bool)
    taken[order[: np.searchsorted(np.cumsum(sizes[order]), n_rows) + 1]] = True
    D, counts = D[np.repeat(taken, sizes)], sizes[taken]
    starts, own = np.cumsum(counts) - counts, D.T @ D
    noise = np.sqrt(max((counts * (counts - 1)).sum(), 1))

    def leading(signs: Vector) -> float:
        sums = np.add.reduceat(D * signs[:, None], starts, axis=0)
        return float(np.linalg.eigvalsh((sums.T @ sums - own) / noise)[-1] / np.sqrt(size))

    return lambda n: np.array([leading(rng.choice([-1.0, 1.0], len(D))) for _ in range(n)])

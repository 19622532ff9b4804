"""How large the leading eigenvalue is where labels know nothing: parallel analysis by sign flips.

Random signs on the residuals, or on the labels of a group, take away what they know of the features
and leave the features as they are, with whatever tails they have. A few of the rows, projected onto
a few random directions, with as many rows a feature as the data has, stand in for the whole.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import qr

from spectralmirror.arrays import Matrix, Vector
from spectralmirror.blocks import Rows, Source
from spectralmirror.engines import collect
from spectralmirror.polynomial import FIT_ROWS, GROUPS_TO_FIT
from spectralmirror.rowset import Block, Rowset
from spectralmirror.scores import Frame, Scored, times
from spectralmirror.slices import Slices, mirrors

__all__ = ["flipped_pairs", "flipped_slices", "noise_edge"]

#: Flips, for a count with a false-positive rate and for a warning at a rate of 5 %.
N_FLIPS = 199
N_FLIPS_WARNING = 19
#: Size of the small problem: directions, and rows for each of them.
N_DIRECTIONS = 24
ROWS_PER_DIRECTION = 60


def noise_edge(draw: Callable[[], float], rate: float | None) -> float:
    """Return what the leading eigenvalue of noise exceeds with the given probability.

    Infinite where there is no noise to compare with, too few rows or labels without error.
    """
    n_flips = N_FLIPS_WARNING if rate is None else max(N_FLIPS, int(np.ceil(1 / rate)) - 1)
    rank = 1 if rate is None else max(int(rate * (n_flips + 1)), 1)
    edge = float(np.sort([draw() for _ in range(n_flips)])[-rank])
    return edge if edge > 0 else np.inf


def _directions(d: int, unit: Vector | None, rng: np.random.RandomState) -> Matrix:
    """Return a few random orthonormal directions, beside the unit vector if there is one."""
    columns = rng.standard_normal((d, max(min(d - (unit is not None), N_DIRECTIONS), 1)))
    if unit is not None:
        columns -= np.outer(unit, unit @ columns)
    return np.asarray(qr(columns, mode="economic")[0].T)


def _n_rows(source: Source, size: int) -> int:
    """Return how many rows go with so many directions."""
    available = source.effective_rows / source.n_features
    return int(np.ceil(min(available, ROWS_PER_DIRECTION) * size))


def flipped_slices(
    source: Source,
    some: Rows,
    frame: Frame,
    scored: Scored,
    slices: Slices,
    rng: np.random.RandomState,
) -> Callable[[], float]:
    """Return a function that draws the leading eigenvalue of the mirrors under random signs."""
    basis = _directions(len(scored.unit), scored.unit, rng)
    size = len(basis)
    few = some[np.sort(rng.permutation(len(some))[: _n_rows(source, size)])]
    W = times(frame.projection(basis)(few.X), frame.scale(few.X))
    s, e, _, _ = scored(few)
    index, T = slices.index(s), mirrors(slices)
    e = e - slices.means[index]

    def draw() -> float:
        signed = e * rng.choice([-1.0, 1.0], len(e))
        M, v = np.zeros((len(T), size, size)), np.zeros((size, T.shape[1]))
        for b in range(T.shape[1]):
            here = index == b
            z, rows = signed[here], W[here]
            noise = np.sqrt(z @ z) or 1.0
            M += T[:, b, None, None] * ((rows.T * z) @ rows / noise)
            v[:, b] = z @ rows / noise
        v = slices.beside_turn(v)
        gram = np.einsum("tij,tkj->ik", M, M) / 2 + v @ v.T
        return float(np.linalg.eigvalsh(gram)[-1] / (len(T) * (size + 1) / 2 + T.shape[1] - 1))

    return draw


def flipped_pairs(frame: Frame, rowset: Rowset, rng: np.random.RandomState) -> Callable[[], float]:
    """Return a function that draws the leading eigenvalue of the cross moment under random signs.

    The rows come in groups.
    """
    basis = _directions(rowset.rows.n_features, None, rng)
    size = len(basis)
    n_rows = _n_rows(rowset.rows, size)
    some = rowset.drawn(FIT_ROWS, GROUPS_TO_FIT, seed=0)
    project = frame.projection(basis)

    def signed_rows(block: Block) -> Matrix:
        return times(project(block.X) * block.y[:, None], frame.scale(block.X))

    D, sizes = collect(some, signed_rows), some.sizes
    order = rng.permutation(len(sizes))
    taken = np.zeros(len(sizes), dtype=bool)
    taken[order[: np.searchsorted(np.cumsum(sizes[order]), n_rows) + 1]] = True
    D, counts = D[np.repeat(taken, sizes)], sizes[taken]
    starts = np.cumsum(counts) - counts
    noise = np.sqrt(max((counts * (counts - 1)).sum(), 1))

    def draw() -> float:
        signed = D * rng.choice([-1.0, 1.0], len(D))[:, None]
        sums = np.add.reduceat(signed, starts, axis=0)
        C = (sums.T @ sums - signed.T @ signed) / noise
        return float(np.linalg.eigvalsh(C)[-1] / np.sqrt(size))

    return draw

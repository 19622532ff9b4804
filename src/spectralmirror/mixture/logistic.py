"""Binary labels with a logistic f: the posterior and the gradient without logarithms.

1 / f(t) = 1 + exp(-t), and a product of these over the rows of a group is one number, where a sum
of log f(t) would take a logarithm for each row. With few features this is most of the work of a
pass, so that each exponential is computed once, in place, on rows whose scores fit the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spectralmirror.mixture.parameters import Posterior
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.kernels import buffer, shifted
from spectralmirror.rows.narrow import SMALL_PRODUCT
from spectralmirror.rows.reduce import Sums
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["LogisticSums", "logistic_log_f", "logistic_posterior"]

#: f(t) underflows far below -FURTHEST.
FURTHEST = 600.0
#: log(1 + exp(-t)) is at most LOG_2 more than max(-t, 0).
LOG_2 = 0.7
#: Labels with a smaller probability need logarithms, in each precision.
RAREST = {np.dtype(np.float64): 1e-250, np.dtype(np.float32): 1e-30}
#: Bytes of the scores of rows that are treated at a time.
CACHE_BYTES = 400_000


def logistic_posterior(t: Matrix, block: Block, log_weights: Matrix) -> Posterior | None:
    """Return the posterior given y_i t_il, shape (k, n); None where it needs logarithms."""
    inverse = _inverse_likelihoods(t, block)
    if inverse is None:
        return None
    of_rows, of_groups = inverse
    joint = np.exp(log_weights) / of_groups
    total = joint.sum(axis=0)
    joint *= 1 / total
    slopes = np.subtract(1, np.divide(1, of_rows, out=of_rows), out=of_rows)
    return Posterior(np.log(total), joint, t, slopes)


def logistic_log_f(t: Matrix, block: Block) -> Matrix | None:
    """Return sum_i log f(y_i t_il) over each group of several rows; None where that may overflow.

    It takes one logarithm for each group.
    """
    inverse = None if block.starts is None else _inverse_likelihoods(t, block)
    return None if inverse is None else -np.log(inverse[1])


def _inverse_likelihoods(t: Matrix, block: Block) -> tuple[Matrix, Matrix] | None:
    """Return 1 / f(y_i t_il), and its products over groups; None if weighted, or too large."""
    furthest = -float(t.min(initial=0))
    grows = (furthest + LOG_2) * block.largest >= FURTHEST
    if furthest >= FURTHEST or (block.starts is not None and (block.weight is not None or grows)):
        return None
    inverse = np.negative(t)
    np.exp(inverse, out=inverse)  # SciPy's expit takes twice as long
    inverse += 1
    if block.starts is None:
        return inverse, inverse
    return inverse, np.multiply.reduceat(inverse, block.starts, axis=-1)


@dataclass(frozen=True, eq=False)
class LogisticSums(Sums):
    """Sums over a block for the value and the gradient of the likelihood.

    With t_il = <a_l, x_i - o> + b_l, a group has the likelihood F_G = sum_l p_l prod_i f(y_i t_il)
    and responsibilities r_Gl = p_l prod_i f(y_i t_il) / F_G.

    Attributes
    ----------
    value : float
        sum_G w_G log F_G.
    pulls : ndarray of shape (k, d + 1)
        sum_i w_i r_Gl y_i (1 - f(y_i t_il)) [x_i - o, 1].
    mass : ndarray of shape (k,)
        sum_G w_G r_Gl.
    """

    value: float
    pulls: Matrix
    mass: Vector

    @classmethod
    def of(
        cls, block: Block, origin: AnyArray | None, lines: Matrix, weights: Vector
    ) -> LogisticSums | None:
        """Return the sums for lines [a_l, b_l] and weights p_l; None where they need logarithms.

        Everything but the sums has the precision of the rows, and products over groups of rows are
        in double precision.
        """
        if block.starts is not None and block.weight is not None:
            return None
        dtype, d = block.X.dtype, lines.shape[1] - 1
        columns = np.ascontiguousarray(lines[:, :-1].T, dtype=dtype)
        of = _of_rows if block.starts is None else _of_groups
        value, pulls, mass = 0.0, np.zeros((len(lines), d + 1)), np.zeros(len(lines))
        for here, groups in _pieces(block, len(lines)):
            X, y = shifted(block.X[here], origin), block.y[here].astype(dtype, copy=False)
            inverse = _inverse(X, y, columns, lines[:, -1].astype(dtype))
            found = of(inverse, y, block, here, groups, weights)
            if found is None:
                return None
            gained, pull, responsible = found
            value += gained
            mass += responsible
            pulls[:, :-1] += pull @ X
            pulls[:, -1] += pull.sum(axis=1)
        if block.starts is None:
            pulls *= weights[:, None]
            mass *= weights
        return cls(value, pulls, mass)


def _inverse(X: AnyArray, y: AnyArray, columns: AnyArray, offsets: AnyArray) -> AnyArray:
    """Return 1 / f(y_i t_il) = 1 + exp(-y_i t_il), shape (k, n), in a buffer."""
    k = columns.shape[1]
    scores = np.matmul(X, columns, out=buffer(len(X), k, X.dtype, "scores"))
    inverse = buffer(k, len(X), X.dtype, "inverse")
    np.add(scores.T, offsets[:, None], out=inverse)
    inverse *= -y
    np.exp(inverse, out=inverse)
    inverse += 1
    return inverse


def _of_rows(
    inverse: AnyArray, y: AnyArray, block: Block, here: slice, _: slice, p: Vector
) -> tuple[float, AnyArray, Vector] | None:
    """Return the value, and pulls and responsibilities of rows alone, both divided by p_l."""
    f = np.divide(1, inverse, out=inverse)
    total = p.astype(f.dtype) @ f
    if not total.min(initial=1) > RAREST[f.dtype]:
        return None
    w = None if block.weight is None else block.weight[here]
    log = np.log(total)
    value = float(log.sum(dtype=np.float64) if w is None else log @ w)
    share = np.divide(1 if w is None else w.astype(f.dtype), total, out=total)
    mass = (f @ share).astype(np.float64)
    pull = np.subtract(1, f, out=buffer(len(f), f.shape[1], f.dtype, "pull"))
    pull *= f
    share *= y
    pull *= share
    return value, pull, mass


def _of_groups(
    inverse: AnyArray, y: AnyArray, block: Block, here: slice, groups: slice, p: Vector
) -> tuple[float, AnyArray, Vector] | None:
    """Return the value, pulls and responsibilities of groups of several rows."""
    assert block.starts is not None
    starts = block.starts[groups] - here.start
    joint = np.multiply.reduceat(inverse, starts, axis=-1, dtype=np.float64)
    np.divide(p[:, None], joint, out=joint)
    total = joint.sum(axis=0)
    if not total.min(initial=1) > RAREST[total.dtype]:
        return None
    joint *= 1 / total
    f = np.divide(1, inverse, out=inverse)
    pull = np.subtract(1, f, out=f)
    pull *= np.repeat(joint.astype(f.dtype, copy=False), block.sizes[groups], axis=-1)
    pull *= y
    return float(np.log(total).sum()), pull, joint.sum(axis=1)


def _pieces(block: Block, k: int) -> Iterator[tuple[slice, slice]]:
    """Yield consecutive rows, and the groups that they are, whose scores fit the cache."""
    size = min(SMALL_PRODUCT // (k * block.X.shape[1]), CACHE_BYTES // (k * block.X.dtype.itemsize))
    size, n = max(size, 1), len(block)
    if block.starts is None or n <= size:
        n_groups = n if block.starts is None else len(block.starts)
        for first in range(0, n, size):
            here = slice(first, min(first + size, n))
            yield here, here if block.starts is None else slice(0, n_groups)
        return
    firsts = np.unique(np.searchsorted(block.starts, np.arange(0, n, size)))
    firsts = firsts[firsts < len(block.starts)]
    ends = np.append(block.starts, n)
    for first, last in pairwise([*firsts.tolist(), len(block.starts)]):
        yield slice(int(ends[first]), int(ends[last])), slice(first, last)

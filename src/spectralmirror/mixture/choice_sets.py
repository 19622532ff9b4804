"""Labels that are choices: one alternative of each set is chosen.

P(alternative j of a set | class l) = exp t_lj / sum over the set of exp t_li, t = <v_l, z>. A row
is an alternative, and its label is +1 if it was chosen, otherwise -1. A binary label is a set of
two: then t_1 - t_2 is the score of the difference x_1 - x_2.

The derivative of log P(chosen) with respect to t_j is [j chosen] - pi_j = y_j s_j with the slope
s_j = 1 - pi_j of the chosen row and s_j = pi_j of the others, as for binary labels, and the second
derivatives of a set are -(diag pi - pi pi').
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.grouped import Block
from spectralmirror.rows.types import AnyArray, Matrix

__all__ = ["choice_probabilities", "log_chosen", "mean_of_sets", "slopes_of_choices"]


def choice_probabilities(t: Matrix, starts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
    """Return pi and log pi of each row, shape (k, n); `starts` is the first row of each set."""
    sizes = np.diff(starts, append=t.shape[1])
    largest = np.repeat(np.maximum.reduceat(t, starts, axis=1), sizes, axis=1)
    shifted = t - largest
    raised = np.exp(shifted)
    total = np.repeat(np.add.reduceat(raised, starts, axis=1), sizes, axis=1)
    return raised / total, shifted - np.log(total)


def log_chosen(log_pi: Matrix, y: AnyArray) -> Matrix:
    """Return log pi of the chosen rows, and 0 in the others: sums over sets, and over groups."""
    return np.where(y > 0, log_pi, 0.0)


def slopes_of_choices(pi: Matrix, y: AnyArray) -> Matrix:
    """Return the slopes s of rows."""
    return np.where(y > 0, 1 - pi, pi)


def mean_of_sets(Z: AnyArray, block: Block, slopes: Matrix) -> AnyArray:
    """Return sum_j pi_j z_j of each set, shape (k, n_sets, p)."""
    assert block.set_starts is not None
    pi = slopes_of_choices(slopes, block.y)  # it is its own inverse
    return np.array([np.add.reduceat(Z * one[:, None], block.set_starts, axis=0) for one in pi])

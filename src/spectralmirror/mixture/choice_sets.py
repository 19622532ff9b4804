"""Labels that are choices: one alternative of each set is chosen.

P(alternative j of a set | class l) = exp t_lj / sum over the set of exp t_li, t = <v_l, z>. A row
is an alternative, and its label is +1 if it was chosen, otherwise -1. A binary label is a set of
two: then t_1 - t_2 is the score of the difference x_1 - x_2.

The derivative of log P(chosen) with respect to t_j is [j chosen] - pi_j = y_j s_j with the slope
s_j = 1 - pi_j of the chosen row and s_j = pi_j of the others, as for binary labels, and the second
derivatives of a set are -(diag pi - pi pi').
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.grouped import Block
from spectralmirror.rows.set_layout import SetLayout
from spectralmirror.rows.types import AnyArray, Matrix

__all__ = [
    "ChoiceProbabilities", "choice_probabilities", "log_chosen", "mean_of_sets",
    "scores_of_sets", "slopes_of_choices",
]  # fmt: skip

#: exp t neither overflows nor underflows up to here, products of a few of them included.
FURTHEST = 200.0


@dataclass(frozen=True, eq=False)
class ChoiceProbabilities:
    """The probabilities of rows, for scores t.

    Attributes
    ----------
    t : ndarray of shape (k, n)
        The scores, less a number for each set.
    raised : ndarray of shape (k, n)
        exp t.
    total : ndarray of shape (k, n_sets)
        Their sums over sets.
    layout : SetLayout
        Which rows are a set.
    """

    t: Matrix
    raised: Matrix
    total: Matrix
    layout: SetLayout

    @classmethod
    def of(cls, t: Matrix, layout: SetLayout) -> ChoiceProbabilities:
        """Compute them; the largest score of each set is subtracted only if scores are far off."""
        if t.size and max(t.max(), -t.min()) > FURTHEST:
            t = t - layout.of_rows(layout.largest(t))
        raised = np.exp(t)
        return cls(t, raised, layout.sums(raised), layout)

    def pi(self) -> Matrix:
        """Return pi of each row, shape (k, n)."""
        found = self.layout.of_rows(1 / self.total)
        found *= self.raised
        return found

    def log_chosen(self, chosen: NDArray[np.int64]) -> Matrix:
        """Return log pi of the row of each set that was chosen, shape (k, n_sets)."""
        return np.asarray(np.take(self.t, chosen, axis=1) - np.log(self.total))


def choice_probabilities(t: Matrix, starts: NDArray[np.int64]) -> Matrix:
    """Return pi of each row, shape (k, n); `starts` is the first row of each set."""
    return ChoiceProbabilities.of(t, SetLayout(starts, t.shape[1])).pi()


def log_chosen(t: Matrix, y: AnyArray, starts: NDArray[np.int64]) -> Matrix:
    """Return log pi of the chosen rows, and 0 in the others: sums over sets, and over groups."""
    found, chosen = np.zeros_like(t), np.flatnonzero(y > 0)
    of = ChoiceProbabilities.of(t, SetLayout(starts, t.shape[1]))
    found[:, chosen] = of.log_chosen(chosen)
    return found


def slopes_of_choices(pi: Matrix, y: AnyArray) -> Matrix:
    """Return the slopes s of rows, |[chosen] - pi|."""
    found = np.asarray((y > 0) - pi)
    return np.abs(found, out=found)


def mean_of_sets(Z: AnyArray, block: Block, slopes: Matrix) -> AnyArray:
    """Return sum_j pi_j z_j of each set, shape (k, n_sets, p)."""
    assert block.set_starts is not None
    pi = slopes_of_choices(slopes, block.y).astype(Z.dtype, copy=False)  # it is its own inverse
    n, ends = len(block), np.append(block.set_starts, len(block))
    rows = [sparse.csr_array((one, np.arange(n), ends), (len(ends) - 1, n)) for one in pi]
    return np.array([one @ Z for one in rows])


def scores_of_sets(Z: AnyArray, block: Block, means: AnyArray) -> AnyArray:
    """Return the sums over sets of z_chosen - sum_j pi_j z_j for each group, (k, n_groups, p)."""
    apart, shares = Z[block.chosen] - means, block.shares[1]
    if shares is not None:
        apart *= shares[block.chosen, None]
    return np.asarray(np.add.reduceat(apart, block.first_sets, axis=1))

"""Classes that have numbers because the class of some groups is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import collect, reduce
from spectralmirror.rows.types import Matrix

__all__ = ["known_classes", "numbered"]


def known_classes(likelihood: Likelihood) -> NDArray[np.intp]:
    """Return the known class of each group of rows in memory, -1 if it is not known."""
    if not likelihood.has_known:
        return np.full(likelihood.rows.n_groups, -1)
    return collect(likelihood.rows, lambda block: block.group_traits[:, -1]).astype(np.intp)


def numbered(likelihood: Likelihood, start: Parameters) -> Parameters:
    """Return the components of a start in the order in which they fit the known groups best.

    The total over known groups of log P(labels | component) is maximised over all assignments of
    components to classes.
    """
    k = len(start)
    if not likelihood.has_known or k == 1:
        return start
    start = likelihood.admitted(start)

    def fits(block: Block) -> Matrix:
        t = likelihood.scores_of(block, start.profiles)
        of_groups = block.sums(likelihood.log_f(block, t))
        classes = block.group_traits[:, -1].astype(np.intp)
        found = np.zeros((k, k))
        np.add.at(found, classes[classes >= 0], of_groups.T[classes >= 0])
        return found

    return start[linear_sum_assignment(reduce(likelihood.rows, fits), maximize=True)[1]]

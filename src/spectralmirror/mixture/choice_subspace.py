"""The span of the profiles behind choices from sets, before the likelihood is climbed.

Given that somebody of class l chose x_1 or x_2, the choice between them is a binary label with the
score <u_l, x_1 - x_2> (independence of irrelevant alternatives): differences between the chosen
alternative and the others are rows of a mixture of linear classifiers with the same profiles. Their
sign is drawn at random, since every difference is that of the chosen one. The rows of a person
share their class, so that pairs of rows need no mirror.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from spectralmirror.rows.grouped import GroupedRows, InMemoryGroups
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.sample import SAMPLE_BYTES

__all__ = ["differences_of_sets"]


def differences_of_sets(grouped: GroupedRows, rng: np.random.RandomState) -> InMemoryGroups | None:
    """Return x_chosen - x_j, or minus that, for all j that were not chosen; None for sparse rows.

    If they would take more than `SAMPLE_BYTES`, those of some persons. Persons come in the order of
    their keys, so that signs do not depend on how the rows are stored.
    """
    n_rows = SAMPLE_BYTES // (grouped.rows.n_features * grouped.rows.dtype.itemsize)
    drawn = grouped.draw(n_rows, 1, int(rng.randint(2**31)))
    if sparse.issparse(drawn.rows.X):
        return None
    rows = drawn.rows[drawn.present_index()]
    assert rows.sets is not None
    chosen, others = np.flatnonzero(rows.y > 0), np.flatnonzero(rows.y < 0)
    of_set = np.argsort(rows.sets[chosen])
    found = np.searchsorted(rows.sets[chosen], rows.sets[others], sorter=of_set)
    signs = rng.choice([-1.0, 1.0], size=len(others)).astype(rows.dtype)
    X = rows.X[chosen[of_set[found]]]
    X -= rows.X[others]
    X *= signs[:, None]
    weight = None if rows.weight is None else rows.weight[others]
    keys = None if rows.keys is None else rows.keys[others]
    return InMemoryGroups.of(Rows(X, signs, weight, keys=keys))

"""Pairs of rows in a group, against a loop over all pairs."""

from functools import partial

import numpy as np
import pytest

from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.subspace.stacked.group_pairs import PairMoments
from spectralmirror.subspace.stacked.scores import Frame
from spectralmirror.subspace.whitening import Whitening
from tests.helpers.rows import in_groups


@pytest.mark.parametrize("shift", [0.0, 10.0])
def test_pairs_are_pairs(shift):
    """Against a loop over all pairs of different rows in a group, whatever their order."""
    rng = np.random.default_rng(0)
    n, mean = 40, np.array([0.9, 1.0, 1.2]) + shift
    X, y, groups = rng.standard_normal((n, 3)) + 1, rng.choice([-1.0, 1], n), rng.integers(0, 9, n)
    X += shift
    weight = rng.integers(0, 3, n).astype(float)
    frame = Frame(X.dtype, Whitening.known(mean, np.eye(3)))
    assert (frame.origin is None) == (shift == 0)
    rowset = in_groups(Rows(X, y, weight, block_bytes=240), groups)
    found = reduce(rowset, partial(PairMoments.of, frame=frame))
    D = (y * weight)[:, None] * (X - mean)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j and groups[i] == groups[j]]
    np.testing.assert_allclose(found.products, sum(np.outer(D[i], D[j]) for i, j in pairs))
    assert found.variance == pytest.approx(sum((weight[i] * weight[j]) ** 2 for i, j in pairs))


def test_entries_of_noise_have_variance_one():
    """Random labels in groups of 3: the variance of 1200 entries is 1 +- 0.04."""
    rng = np.random.default_rng(0)
    frame, groups = Frame(np.dtype(float), Whitening.known(np.zeros(3), np.eye(3))), np.arange(300)
    entries = []
    for _ in range(400):
        rows = Rows(rng.standard_normal((300, 3)), rng.choice([-1.0, 1], 300))
        pairs = PairMoments.of(next(in_groups(rows, groups // 3).blocks()), frame)
        entries.append(pairs.cross()[np.triu_indices(3, 1)])
    assert np.var(entries) == pytest.approx(1, abs=0.15)

"""Samples of rows: of the right size, the same however the rows are stored."""

import numpy as np
import pytest

from spectralmirror import scan
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.sample import reduce_and_sample, sample, select
from tests.helpers.scans import blocks_of

N = 20_000
X = np.random.default_rng(0).standard_normal((N, 2))
Y = np.where(np.arange(N) % 2, 1.0, -1.0)
WEIGHT = (np.arange(N) % 5 > 0).astype(float)


def streamed(weight=None):
    blocks = blocks_of([7000, 0, 1, N - 7001], X, Y, None, weight)
    return scan(blocks, block_bytes=4_000).grouped_rows()[0].rows


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("seed", [0, 5])
def test_the_sample_does_not_depend_on_the_storage(weight, seed):
    a = sample(Rows(X, Y, weight), 2000, seed)
    b = sample(streamed(weight), 2000, seed)
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.y, b.y)
    assert abs(len(a) - 2000) < 4 * np.sqrt(2000)


def test_every_row_if_half_of_them_are_asked_for():
    assert len(sample(Rows(X, Y), N // 2, 0)) == N
    assert len(sample(Rows(X, Y, WEIGHT), N, 0)) == int(WEIGHT.sum())
    assert len(sample(streamed(), N // 2 + 1, 0)) == N


def test_a_sample_is_bounded_by_memory(monkeypatch):
    monkeypatch.setattr("spectralmirror.rows.sample.SAMPLE_BYTES", 16_000)  # 1,000 rows
    for rows in (Rows(X, Y), streamed()):
        assert abs(len(sample(rows, N, 0)) - 1000) < 4 * np.sqrt(1000)


def test_the_sum_is_that_of_all_rows():
    for rows in (Rows(X, Y), streamed()):
        total, found = reduce_and_sample(rows, lambda block: block.X.sum(axis=0), 500, 1)
        np.testing.assert_allclose(total, X.sum(axis=0), atol=1e-9)
        expected = sample(rows, 500, 1)
        np.testing.assert_array_equal(np.vstack([b.X for b in found.blocks()]), expected.X)
        np.testing.assert_array_equal(found.y, expected.y)
        np.testing.assert_array_equal(found[np.arange(7)].X, expected.X[:7])


@pytest.mark.parametrize("n_rows", [500, N])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_a_selection_holds_no_rows(n_rows, weight):
    """Its blocks are the sample, and are made when they are read."""
    rows = Rows(X, Y, weight, block_bytes=1600)
    found, expected = select(rows, n_rows, 3), sample(rows, n_rows, 3)
    blocks = list(found.blocks())
    assert max(map(len, blocks)) == 100
    assert len(found) == sum(map(len, blocks)) == len(expected)
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), expected.X)
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), expected.y)
    assert found.rows is rows
    if weight is not None:
        np.testing.assert_array_equal(found.weight, expected.weight)
        assert (found.weight > 0).all()

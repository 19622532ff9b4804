"""Rows in memory in blocks of whole groups."""

import numpy as np
import pytest
from scipy import sparse

from spectralmirror.rows.grouped import Block, InMemoryGroups
from spectralmirror.rows.memory import Rows
from tests.helpers.agreement import mixture_rows
from tests.helpers.rows import in_groups


def test_a_sample_of_a_sample_of_groups():
    X, y, _, _ = mixture_rows(8000, 2)
    rowset = in_groups(Rows(X, np.where(y == "yes", 1.0, -1.0)), np.repeat(np.arange(2000), 4))
    large = rowset.sample(2000, 0, seed=0)
    small = large.sample(400, 0, seed=1)
    # 500 of 2,000 groups, and 100 of those: within four standard deviations
    assert abs(len(large.sizes) - 500) < 4 * np.sqrt(2000 * 0.25 * 0.75)
    assert abs(len(small.sizes) - 0.2 * len(large.sizes)) < 4 * np.sqrt(500 * 0.2 * 0.8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_pieces_are_the_block_in_whole_groups(grouped, sparse_rows, weighted, monkeypatch):
    monkeypatch.setattr("spectralmirror.rows.block.PIECE_BYTES", 8 * 2 * 10)  # 10 rows
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 2)), rng.choice([-1.0, 1.0], 100)
    sizes = [1, 9, 25, 3, 2, 30, 10, 10, 9, 1]
    block = Block(
        sparse.csr_array(X) if sparse_rows else X,
        y,
        rng.uniform(size=100) if weighted else None,
        np.cumsum([0, *sizes[:-1]]) if grouped else None,
    )
    pieces = list(block.pieces(2))
    together = [piece.X.toarray() if sparse_rows else piece.X for piece in pieces]
    np.testing.assert_array_equal(np.vstack(together), X)
    np.testing.assert_array_equal(np.concatenate([piece.y for piece in pieces]), y)
    np.testing.assert_array_equal(np.concatenate([piece.sizes for piece in pieces]), block.sizes)
    if weighted:
        shares = [piece.shares[0] for piece in pieces]
        np.testing.assert_array_equal(np.concatenate(shares), block.shares[0])
    assert [len(piece) for piece in pieces] == (
        [10, 25, 5, 30, 10, 10, 10] if grouped else [10] * 10
    )


def test_a_small_block_is_a_piece_even_without_rows():
    for n in (0, 3):
        block = Block(np.ones((n, 2)), np.ones(n), None, None)
        assert list(block.pieces(2)) == [block]


@pytest.mark.parametrize("grouped", [False, True])
def test_some_of_the_groups(grouped):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), rng.choice([-1.0, 1.0], 60)
    weight = rng.integers(0, 3, 60).astype(float)
    groups = rng.integers(0, 12, 60) if grouped else np.arange(60)
    rows = in_groups(Rows(X, y, weight), groups if grouped else None)
    some = np.array([4, 0, 7])
    found = rows.take(some)
    # groups are numbered in the order in which they are read; rows without weight are absent
    order = rows.present_index()
    names = groups[order]
    wanted = np.concatenate([order[names == list(dict.fromkeys(names))[g]] for g in some])
    taken = np.concatenate([block.X for block in found.blocks()])
    np.testing.assert_array_equal(taken, X[wanted])
    assert found.n_groups == 3
    np.testing.assert_array_equal(found.sizes, rows.sizes[some])


def test_rows_in_order_have_the_same_blocks():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 9, 60).astype(np.uint64)
    weight = rng.integers(0, 3, 60).astype(float)
    rows = Rows(rng.standard_normal((60, 2)), rng.choice([-1.0, 1.0], 60), weight, 160, keys=keys)
    scattered = InMemoryGroups.of(rows)
    ordered = scattered.in_order()
    assert ordered.in_order() is ordered
    found, expected = list(ordered.blocks()), list(scattered.blocks())
    assert len(found) == len(expected) > 2
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.X, theirs.X)
        np.testing.assert_array_equal(ours.weight, theirs.weight)
        np.testing.assert_array_equal(ours.starts, theirs.starts)
        assert ours.X.base is not None  # a view
    assert next(iter(ordered.blocks())) is found[0]
    assert ordered.total_weight == scattered.total_weight


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("contiguous", [False, True])
def test_a_selection_is_a_sample_that_was_not_copied(contiguous, size):
    rng = np.random.default_rng(0)
    keys = np.arange(600).astype(np.uint64) // np.uint64(size)
    keys = keys if contiguous else rng.permutation(keys)
    keys[:2] = keys[0]  # some group has two rows
    weight = rng.integers(0, 3, 600).astype(float)
    X, y = rng.standard_normal((600, 2)), rng.choice([-1.0, 1.0], 600)
    groups = InMemoryGroups.of(Rows(X, y, weight, 800, keys=keys))
    drawn, found = groups.draw(120, 3, seed=1), groups.select(120, 3, seed=1)
    assert 60 < drawn.n_present == len(drawn.rows) == found.n_present < 240
    np.testing.assert_array_equal(found.sizes, drawn.sizes)
    for name in ("X", "y", "weight"):
        ours, theirs = (
            np.concatenate([getattr(block, name) for block in one.blocks()])
            for one in (found, drawn)
        )
        np.testing.assert_array_equal(ours, theirs)
    assert (found.rows is groups.rows) == found.is_grouped == (size == 5)
    whole = np.bincount(keys[weight > 0].astype(int))
    drawn_keys = drawn.rows.keys[: drawn.n_present].astype(int)
    np.testing.assert_array_equal(np.bincount(drawn_keys)[drawn_keys], whole[drawn_keys])

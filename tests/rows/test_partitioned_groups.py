"""Whole groups from rows in parts, contiguous or scattered."""

import numpy as np
import pytest

from spectralmirror import scan
from spectralmirror.rows.hashing import group_keys
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.partitioned import StreamedRows
from spectralmirror.rows.partitioned_groups import ContiguousGroups, SpilledGroups
from spectralmirror.rows.weights import check_weights
from tests.helpers.agreement import assert_alike, mixture_rows
from tests.helpers.rows import in_groups
from tests.helpers.scans import blocks_of, mirror, mixture, scanned, table


def test_groups_that_follow_each_other_are_not_moved(rows, tmp_path):
    X, y, groups, weight = rows
    order = np.argsort(groups, kind="stable")
    for name, index, kind in (
        ("sorted", order, ContiguousGroups),
        ("mixed", slice(None), SpilledGroups),
    ):
        frame = table(X[index], y[index], groups[index], weight[index])
        frame.write_parquet(tmp_path / f"{name}.parquet")
        rowset, _ = scanned(tmp_path / f"{name}.parquet", groups="who").grouped_rows()
        assert isinstance(rowset.partitions, kind)
        sizes = [block.sizes for block in rowset.blocks()]
        assert len(sizes) > 3
        np.testing.assert_array_equal(np.concatenate(sizes), 4)


def test_groups_of_one_row_change_nothing(rows):
    X, y, _, _ = rows
    alone = scan(blocks_of([4000], X, y, np.arange(4000)))
    assert_alike(mirror().fit(alone), mirror().fit(X, y))


def assert_grouped_alike(groups, n=1500):
    """Fit rows in small blocks, and compare with memory."""
    X, y, _, _ = mixture_rows(n, 4, group_size=5)
    found = mixture().fit(scan(blocks_of([n // 3, n - n // 3], X, y, groups), block_bytes=2_000))
    np.testing.assert_allclose(found.coef_, mixture().fit(X, y, groups=groups).coef_, atol=1e-6)


@pytest.mark.parametrize("last", [0.5, 2.0**62, -0.0, 1e300])
def test_groups_named_by_floats(last):
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(300.0), 5))
    groups[-1] = last
    assert_grouped_alike(groups)


def test_groups_by_object_and_day():
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(300), 5))
    assert_grouped_alike(groups.astype(object))
    assert_grouped_alike(groups.astype("datetime64[D]"))
    assert_grouped_alike(np.array([f"{g}é" for g in groups], dtype=object))


def test_few_large_groups_stay_out_of_memory(monkeypatch):
    """However many groups are asked for, a sample is bounded, and never empty."""
    monkeypatch.setattr("spectralmirror.rows.grouped.SAMPLE_BYTES", 10_000)  # 625 rows
    X, y, _, _ = mixture_rows(8000, 2)
    groups = np.arange(8000) % 40
    rowset, _ = scan(blocks_of([3000, 5000], X, y, groups)).grouped_rows()
    drawn = rowset.draw(100, 1000, seed=0)
    assert 200 <= drawn.n_present <= 2000  # three of 40 groups are expected
    in_memory = in_groups(Rows(X, np.where(y == "yes", 1.0, -1.0)), group_keys(groups))
    np.testing.assert_array_equal(drawn.rows.keys, in_memory.draw(100, 1000, seed=0).rows.keys)


def test_groups_of_one_row_that_counts(rows):
    """A row whose only companion in its group has weight 0 counts as a single row."""
    X, y, _, _ = rows
    groups, weight = np.arange(4000), np.ones(4000)
    groups[1], weight[1] = 0, 0
    found = mixture().fit(scan([(X, y, groups, weight)]))
    assert_alike(found, mixture().fit(X, y, groups=groups, sample_weight=weight))


def test_a_group_that_is_longer_than_a_block():
    X, y, _, _ = mixture_rows(3000, 3)
    groups = np.repeat(np.arange(302), [1000, 500, *[5] * 300])
    blocks = blocks_of([900, 2100], X, y, groups)
    rowset, _ = scan(blocks, block_bytes=2_000).grouped_rows()
    assert isinstance(rowset.partitions, ContiguousGroups)
    sizes = np.concatenate([block.sizes for block in rowset.blocks()])
    assert sorted(sizes) == [*[5] * 300, 500, 1000]
    found = mixture().fit(scan(blocks_of([50] * 60, X, y, groups)))
    assert_alike(found, mixture().fit(X, y, groups=groups))


def grouped(X, y, groups, weight, sizes, block_bytes=2_000):
    """Return the same rows in groups, in memory and in parts."""
    source = scan(blocks_of(sizes, X, y, groups, weight), block_bytes=block_bytes)
    signs = np.where(y == "yes", 1.0, -1.0)
    scaled = None if weight is None else check_weights(weight, len(y), X.dtype)
    in_memory = in_groups(Rows(X, signs, scaled, block_bytes), group_keys(groups))
    return in_memory, source.grouped_rows()[0]


@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize("weighted", [None, "integer", "fractional"])
def test_both_kinds_of_groups_meet_the_protocol(is_sorted, weighted):
    """The same rows in memory and in parts agree in everything that GroupedRows promises."""
    X, y, _, weight = mixture_rows(2000, 3)
    groups = np.random.default_rng(0).integers(0, 500, 2000)
    groups = np.sort(groups) if is_sorted else groups
    weight = {None: None, "integer": weight, "fractional": weight + 0.25}[weighted]
    ours, theirs = grouped(X, y, groups, weight, [700, 1, 0, 1299])
    assert isinstance(theirs.partitions, ContiguousGroups if is_sorted else SpilledGroups)
    assert (ours.in_memory, theirs.in_memory) == (True, False)
    for name in ("is_remote", "is_grouped", "n_groups", "n_single", "n_present"):
        assert getattr(ours, name) == getattr(theirs, name), name
    for name in ("total_weight", "row_weight", "share_in_company"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-12), name
    for n_rows, n_groups in ((200, 20), (10, 100), (5000, 5000)):
        for method in ("sample", "draw"):
            a, b = (getattr(rows, method)(n_rows, n_groups, seed=3) for rows in (ours, theirs))
            assert (a.n_groups, a.n_present) == (b.n_groups, b.n_present)
            if a.in_memory and b.in_memory:
                for first, second in zip(a.blocks(), b.blocks(), strict=True):
                    np.testing.assert_array_equal(first.X, second.X)
                    np.testing.assert_array_equal(first.starts, second.starts)


def test_a_partition_in_which_every_row_is_its_own_group():
    """Other partitions have larger groups: a sample takes groups from all of them."""
    X, y, _, _ = mixture_rows(1200, 2)
    groups = np.r_[np.arange(600), 600 + np.arange(600) // 6]
    ours, theirs = grouped(X, y, groups, None, [600, 600])
    partitions = list(theirs.partitions.read())
    assert any(not part.is_grouped for part in partitions)
    assert any(part.is_grouped for part in partitions)
    assert (theirs.n_groups, theirs.n_single) == (700, 600)
    drawn, expected = theirs.draw(240, 0, seed=0), ours.draw(240, 0, seed=0)
    np.testing.assert_array_equal(drawn.rows.keys, expected.rows.keys)
    assert (drawn.sizes == 1).sum() > 50
    assert (drawn.sizes == 6).sum() > 5


def test_groups_are_counted_without_their_features(monkeypatch):
    """Counting the groups of a file reads their column, not the features."""
    X, y, _, weight = mixture_rows(600, 3)
    groups = np.arange(600) // 4
    source = scan(X, label=y, groups=groups, sample_weight=weight, block_bytes=2_000)
    monkeypatch.setattr(StreamedRows, "_read", None)
    found, _ = source.grouped_rows()
    assert found.n_groups == len(np.unique(groups[weight > 0]))

"""Resamples by Poisson counts, and passes that several threads share."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import poisson

from spectralmirror.rows.grouped import Block, InMemoryGroups
from spectralmirror.rows.hashing import group_keys
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.partitioned_groups import PartitionedGroups
from spectralmirror.rows.resampled import SharedPasses, counts_of


def block(n, weight=None, keys=None, first=0):
    starts = None if keys is None else np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return Block(np.ones((n, 1)), np.ones(n), weight, starts, keys=keys, first=first)


@pytest.mark.parametrize("weight", [None, 3.0])
def test_counts_have_a_poisson_distribution(weight):
    n = 200_000
    given = block(n, None if weight is None else np.full(n, weight))
    mean = 1.0 if weight is None else weight
    counts = counts_of(given, 7, counted=True) * mean
    for count in range(6):  # within 5 standard errors
        p = poisson.pmf(count, mean)
        assert np.isclose((counts == count).mean(), p, atol=5 * np.sqrt(p / n))
    other = counts_of(given, 8, counted=True) * mean
    assert abs(np.corrcoef(counts, other)[0, 1]) < 5 / np.sqrt(n)


def test_weights_that_are_no_counts_leave_groups_alike():
    weight = np.array([0.5, 2.5, 1.0])
    counts = counts_of(block(3, weight), 0, counted=False)
    np.testing.assert_array_equal(counts, counts_of(block(3), 0, counted=False))
    found, shares = replace(block(3, weight), counts=counts).shares
    np.testing.assert_array_equal(found, weight * counts)
    assert shares is None


def test_counts_depend_on_the_group_and_not_on_where_its_rows_are():
    people = np.repeat(np.arange(50), 4)
    keys = group_keys(people)
    whole = counts_of(block(200, keys=keys), 3, counted=True)
    part = block(200, keys=keys).part(slice(10, 30))
    np.testing.assert_array_equal(counts_of(part, 3, counted=True), whole[10:30])
    rows = counts_of(block(200), 3, counted=True)
    np.testing.assert_array_equal(counts_of(block(60, first=40), 3, counted=True), rows[40:100])
    sliced = block(200).part(slice(40, 100))
    np.testing.assert_array_equal(counts_of(sliced, 3, counted=True), rows[40:100])


def total(block):
    w = block.shares[0]
    return np.array([len(block.sizes), len(block.sizes) if w is None else w.sum()])


def groups(n=1_000, size=5):
    rng = np.random.default_rng(0)
    keys = group_keys(np.repeat(np.arange(n // size), size))
    rows = Rows(rng.standard_normal((n, 2)), np.ones(n), keys=keys, block_bytes=16 * 50)
    return InMemoryGroups.of(rows)


def test_threads_share_passes_and_each_has_its_own_resample():
    rows = groups()
    n_passes = []
    blocks = rows.blocks
    object.__setattr__(rows, "blocks", lambda factor=1: (n_passes.append(1), blocks(factor))[1])

    def task(resample, n_sums):
        return [resample.reduce(total) for _ in range(n_sums)]

    tasks = [lambda one, n=n: task(one, n) for n in (1, 4, 2)]
    found = SharedPasses(rows).run(tasks, [10, 11, 12])
    assert len(n_passes) == 4
    assert [len(one) for one in found] == [1, 4, 2]
    for one, seed in zip(found, (10, 11, 12), strict=True):
        counts = [counts_of(block, seed, counted=True).sum() for block in rows.blocks()]
        np.testing.assert_allclose(one, [[200, sum(counts)]] * len(one))
    assert len({one[0][1] for one in found}) > 1


def test_errors_end_all_threads():
    def fails(resample):
        resample.reduce(total)
        raise KeyError("mine")

    def asks(resample):
        return [resample.reduce(total) for _ in range(3)]

    before = threading.active_count()
    with pytest.raises(KeyError, match="mine"):
        SharedPasses(groups()).run([asks, fails], [0, 1])

    def broken(block):
        raise OSError("the disk")

    with pytest.raises(OSError, match="the disk"):
        SharedPasses(groups()).run([asks, lambda one: one.reduce(broken)], [0, 1])
    assert threading.active_count() == before


def test_an_interruption_ends_all_threads():
    def interrupted(block):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        SharedPasses(groups()).run([lambda one: one.reduce(interrupted)] * 3, [0, 1, 2])
    assert threading.active_count() == before


def test_a_resample_is_not_read():
    rows = PartitionedGroups(groups().rows)

    def reads(resample):
        assert resample.n_groups == rows.n_groups
        assert resample.is_remote
        with pytest.raises(NotImplementedError):
            resample.blocks()
        return True

    assert SharedPasses(rows).run([reads], [0]) == [True]

"""Sums over blocks: the same to the last bit whatever the number of threads."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import collect, one_blas_thread, reduce, sum_of

X = np.random.default_rng(0).standard_normal((5000, 3))
ROWS = Rows(X, np.ones(5000), block_bytes=2_400)  # 100 rows


def scatter(block):
    return block.X.T @ block.X


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_sum_does_not_depend_on_the_number_of_threads():
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(reduce(ROWS, scatter))
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0], sum_of(ROWS.blocks(), scatter))
    np.testing.assert_allclose(found[0], X.T @ X, rtol=1e-12)


def test_values_are_collected_in_order():
    np.testing.assert_array_equal(collect(ROWS, lambda block: block.X[:, 0]), X[:, 0])


def test_larger_blocks():
    sizes = [reduce(ROWS, lambda block: [len(block)], factor=f) for f in (1, 4)]
    assert sum(sizes[0]) == sum(sizes[1]) == 5000
    assert max(sizes[1]) == 4 * max(sizes[0])


def test_a_source_elsewhere_sums_itself():
    class Remote:
        is_remote = True

        def reduce(self, statistic, factor):
            return statistic("there"), factor

    assert reduce(Remote(), str.upper, factor=3) == ("THERE", 3)


def test_blas_gets_its_threads_back():
    before = blas_threads()
    with one_blas_thread(), one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == before

    def fails(_):
        raise RuntimeError("no sum")

    with pytest.raises(RuntimeError, match="no sum"):
        reduce(ROWS, fails)
    assert blas_threads() == before

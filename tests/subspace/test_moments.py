"""Block statistics: the order of merging does not matter, and extreme numbers do no harm."""

import functools
import itertools
import operator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from spectralmirror import FeatureMoments
from spectralmirror.rows.kernels import weighted_sums
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.subspace.moments import LabelledMoments, SignedMoments, labelled_moments


def data(n=200, d=4, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.standard_normal(d)
    return Rows(
        X.astype(dtype), rng.choice([-1, 1], n).astype(dtype), rng.integers(0, 4, n).astype(dtype)
    )


def merge(parts):
    return functools.reduce(operator.add, parts)


@settings(max_examples=50, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 200), max_size=12),
    shuffle=st.randoms(use_true_random=False),
    seed=st.integers(0, 100),
)
def test_any_blocks_in_any_order(cuts, shuffle, seed):
    """Empty blocks and blocks of one row are among them."""
    rows = data(seed=seed)
    edges = [0, *sorted(cuts), 200]
    blocks = [rows[a:b] for a, b in itertools.pairwise(edges)]
    shuffle.shuffle(blocks)

    whole, parts = LabelledMoments.of(rows), merge(map(LabelledMoments.of, blocks))
    scale = np.abs(whole.features.scatter).max()
    assert parts.features.weight == whole.features.weight
    np.testing.assert_allclose(parts.features.mean, whole.features.mean, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        parts.features.scatter, whole.features.scatter, rtol=0, atol=1e-13 * scale
    )
    np.testing.assert_allclose(parts.cross, whole.cross, rtol=0, atol=1e-13 * scale)
    assert parts.label_sum == whole.label_sum

    signed = [SignedMoments.of(block, block.y) for block in [rows, *blocks]]
    mean = whole.features.mean
    np.testing.assert_allclose(
        merge(signed[1:]).about(mean), signed[0].about(mean), atol=1e-13 * scale
    )


def test_against_plain_numpy():
    rows = data()
    w, y, X = rows.weight, rows.y, rows.X
    moments = LabelledMoments.of(rows)
    mean = np.average(X, axis=0, weights=w)
    np.testing.assert_allclose(moments.features.mean, mean)
    np.testing.assert_allclose(moments.features.covariance, np.cov(X.T, aweights=w, ddof=0))
    np.testing.assert_allclose(moments.cross, (w * y) @ (X - mean))
    centre = np.array([1.0, -2.0, 0.5, 3.0])
    expected = ((X - centre).T * (w * y)) @ (X - centre) / w.sum()
    signed = SignedMoments.of(rows, y)
    np.testing.assert_allclose(signed.about(centre), expected, atol=1e-12)
    positive = w[y > 0]
    assert signed.effective_rows[0] == pytest.approx(positive.sum() ** 2 / (positive**2).sum())
    np.testing.assert_allclose(signed.masses, [positive.sum(), w[y < 0].sum()])


@pytest.mark.parametrize("block", [50, 1000])
@pytest.mark.parametrize("mean", [0.0, 2.0, 10.0, 1e6])
@pytest.mark.parametrize("span", [0, 9])
def test_far_means_and_wild_scales(mean, span, block):
    """Unit variance beside a mean of 1e6, and columns scaled from 1e-9 to 1e9.

    The rows are whole multiples of 2^-20, so that adding the mean is exact and the covariance
    about it can be known to the last digit.
    """
    rng = np.random.default_rng(0)
    centred = np.round(rng.standard_normal((2000, 6)) * 2**20) / 2**20
    scale = np.logspace(-span, span, 6)
    rows = Rows((centred + mean) * scale, np.sign(centred[:, 0]))
    blocks = [rows[i : i + block] for i in range(0, 2000, block)]
    moments = merge(map(LabelledMoments.of, blocks))
    exact = np.cov(centred.T, ddof=0)
    found = moments.features.covariance / np.outer(scale, scale)
    # The mean is itself rounded by eps / 2 |mean|, and enters twice. A mean of more than 3
    # deviations (kernels.FAR_FROM_ZERO) is subtracted before summing; a smaller one is not, and
    # costs sqrt(block) eps mean^2, the random walk of the rounding of block products.
    eps = np.finfo(float).eps
    tolerance = 1e-14 + 2 * eps * mean + np.sqrt(block) * eps * mean**2 * (mean < 3)
    np.testing.assert_allclose(found, exact, rtol=0, atol=tolerance)
    cross = rows.y @ (centred - centred.mean(axis=0))
    np.testing.assert_allclose(moments.cross / scale, cross, rtol=0, atol=2000 * tolerance)

    origin = moments.features.mean
    signed = merge(SignedMoments.of(b, b.y, origin) for b in blocks)
    shifted = centred - centred.mean(axis=0)
    np.testing.assert_allclose(
        signed.about(origin) / np.outer(scale, scale),
        (shifted.T * rows.y) @ shifted / 2000,
        rtol=0,
        atol=tolerance,
    )


def test_rows_that_drift():
    """Rows sorted by a column: every block has a mean of its own, far from the others'."""
    X = np.column_stack([np.arange(40_000.0), np.random.default_rng(0).standard_normal(40_000)])
    X[:, 1] += 1e5
    rows = Rows(X, np.ones(len(X)))
    moments = merge(LabelledMoments.of(rows[i : i + 500]) for i in range(0, len(X), 500))
    centred = X - X.mean(axis=0)
    deviation = centred.std(axis=0)
    exact, found = np.cov(centred.T, ddof=0), moments.features.covariance
    assert np.abs((found - exact) / np.outer(deviation, deviation)).max() < 1e-10


def test_single_precision():
    """float32 rows are multiplied as float32; blocks of them are added in float64."""
    rows = data(100_000, 5, dtype=np.float32)
    found = reduce(rows, LabelledMoments.of).features
    exact = FeatureMoments.from_rows(rows.X.astype(np.float64), rows.weight)
    assert found.scatter.dtype == np.float64
    error = np.abs(found.covariance - exact.covariance).max() / np.abs(exact.covariance).max()
    assert error < 1e-6
    far = Rows(np.float32(3000) + rows.X, rows.y)
    exact = np.cov(far.X.T.astype(np.float64), ddof=0)
    error = np.abs(reduce(far, LabelledMoments.of).features.covariance - exact).max()
    assert error < 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize("density", [0.01, 0.3])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_sparse_rows(density, shift):
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 8), density=density, random_state=rng, format="csr").toarray()
    X[:, 2] += shift + rng.standard_normal(3000)
    rows = Rows(X, rng.choice([-1.0, 1.0], 3000))
    other = Rows(sparse.csr_array(X), rows.y)
    dense, csr = LabelledMoments.of(rows), LabelledMoments.of(other)
    np.testing.assert_allclose(csr.features.scatter, dense.features.scatter, atol=1e-9)
    np.testing.assert_allclose(csr.cross, dense.cross, atol=1e-9)
    z = rng.standard_normal(3000)
    at = dense.features.mean
    np.testing.assert_allclose(
        SignedMoments.of(other, z).about(at), SignedMoments.of(rows, z).about(at), atol=1e-4
    )


@pytest.mark.parametrize("order", ["C", "F"])
def test_kernel_takes_both_memory_orders_and_leaves_rows_alone(order):
    rows = data(50)
    X = np.array(rows.X, order=order)
    X.flags.writeable = False
    z = np.random.default_rng(1).standard_normal(50)
    z[::7] = 0
    linear = np.vstack([z, 2 * z])
    first, second = weighted_sums(X, z, linear, None)
    np.testing.assert_allclose(first, linear @ X, atol=1e-12)
    np.testing.assert_allclose(second, (X.T * z) @ X, atol=1e-11)
    np.testing.assert_array_equal(second, second.T)


def test_the_answer_does_not_depend_on_threads():
    rows = data(60_000, 30)
    sums = []
    for limit in (1, 2, 4):
        with threadpool_limits(limit):
            sums.append(reduce(rows, LabelledMoments.of))
    for other in sums[1:]:
        np.testing.assert_array_equal(other.features.scatter, sums[0].features.scatter)
        np.testing.assert_array_equal(other.cross, sums[0].cross)


def test_signed_moments_about_different_origins_do_not_add():
    rows = data()
    with pytest.raises(ValueError, match="same origin"):
        SignedMoments.of(rows, rows.y) + SignedMoments.of(rows, rows.y, np.ones(4))


def test_an_error_in_a_thread_is_the_callers_error():
    def broken(block):
        raise RuntimeError("no such block")

    with pytest.raises(RuntimeError, match="no such block"):
        reduce(data(), broken)


def test_concurrent_sums_restore_the_threads_of_blas():
    """The limit belongs to the process: whoever comes last restores what the first one found."""
    rows = data(20_000, 20)
    before = [pool["num_threads"] for pool in threadpool_info()]
    with ThreadPoolExecutor(4) as pool:
        sums = list(pool.map(lambda _: reduce(rows, LabelledMoments.of), range(20)))
    assert [pool["num_threads"] for pool in threadpool_info()] == before
    for other in sums[1:]:
        np.testing.assert_array_equal(other.features.scatter, sums[0].features.scatter)


def test_absent_rows_are_absent_whatever_stands_in_them():
    rows = data(3000, 4)
    weight = (np.arange(3000) % 3 > 0).astype(float)
    X = rows.X + 1e7
    X[weight == 0] = np.nan
    X[::6] = 0
    found = reduce(Rows(X, rows.y, weight), LabelledMoments.of)
    kept = weight > 0
    exact = reduce(Rows(X[kept], rows.y[kept]), LabelledMoments.of)
    np.testing.assert_allclose(found.features.covariance, exact.features.covariance, rtol=1e-8)


def test_moments_of_other_features_do_not_add():
    with pytest.raises(ValueError, match="same features"):
        FeatureMoments.from_rows(np.eye(5)) + FeatureMoments.from_rows(np.eye(5)[:, :1])


def test_labels_that_do_not_vary_have_no_direction():
    """Sums would leave rounding, which must not be taken for a direction."""
    rows = data(300)
    constant = labelled_moments(Rows(rows.X + 0.1, np.ones(300), rows.weight, block_bytes=1000))
    assert constant.cross.any()
    assert constant.label_mean == 1
    assert not constant.mean_cross.any()
    varied = labelled_moments(rows)
    np.testing.assert_allclose(varied.mean_cross, varied.cross / varied.features.weight)


def test_values_that_are_not_finite_are_reported():
    rows = data(300)
    rows.X[7, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        labelled_moments(replace(rows, weight=None))

"""Rows in parts: the fit does not depend on how they are divided."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectralmirror import LinearClassifierMixture, WeakSignalWarning, scan
from tests.helpers.agreement import assert_alike, mixture_rows
from tests.helpers.scans import SMALL, blocks_of, mirror, mixture


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=12), st.booleans(), st.booleans())
def test_any_partitioning(sizes, grouped, weighted):
    X, y, groups, weight = mixture_rows(600, 3)
    sizes = np.diff(np.minimum(np.cumsum([0, *sizes, 10_000]), 600))
    groups, weight = groups if grouped else None, weight if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        found = mirror().fit(scan(blocks_of(sizes, X, y, groups, weight), block_bytes=2_000))
        in_memory = mirror().fit(X, y, groups=groups, sample_weight=weight)
    assert_alike(found, in_memory)


@pytest.mark.parametrize("grouped", [False, True])
def test_parts_of_one_row_and_parts_of_one_class(grouped):
    X, y, groups, _ = mixture_rows(400, 3)
    order = np.argsort(y, kind="stable")
    X, y, groups = X[order], y[order], groups[order] if grouped else None
    in_memory = mixture().fit(X, y, groups=groups)
    for sizes in (np.ones(400, dtype=int), [100, 0, 200, 100]):
        assert_alike(mixture().fit(scan(blocks_of(sizes, X, y, groups))), in_memory)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_do_not_depend_on_the_partitioning(grouped, weighted):
    X, y, groups, weight = mixture_rows(12_000, 4, profile_norm=4.0)
    groups, weight = groups if grouped else None, weight if weighted else None
    for make in (mirror, mixture):
        in_memory = make().fit(X, y, groups=groups, sample_weight=weight)
        for sizes in ([12_000], [5000, 7000], [1, 999, 2000, 0, 3000, 5999, 1]):
            found = make().fit(scan(blocks_of(sizes, X, y, groups, weight), block_bytes=SMALL))
            assert_alike(found, in_memory)
            if make is mixture:
                assert [s.kind for s in found.starts_] == [s.kind for s in in_memory.starts_]


@pytest.mark.usefixtures("small_samples")
def test_samples_are_samples():
    """Starts and polynomials come from some of the rows, and another seed takes other rows."""
    X, y, _, _ = mixture_rows(12_000, 4)
    a, b = (LinearClassifierMixture(2, random_state=s).fit(X, y) for s in (0, 1))
    assert a.starts_[0].objective != b.starts_[0].objective
    assert a.starts_[0].objective > 0.5 * a.objective_  # both negative: of fewer rows
    np.testing.assert_allclose(a.coef_, b.coef_, atol=0.02 * np.abs(a.coef_).max())


@pytest.mark.parametrize("weight", [[1e-60, 1.5], [1e300, 2e300], [1e-300, 3e-300], [1e-9, 1e9]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_far_from_one(weight, dtype):
    X, y, groups, _ = mixture_rows(1500, 3)
    X, weight = X.astype(dtype), np.resize(weight, 1500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        in_memory = mirror().fit(X, y, groups=groups, sample_weight=weight)
        blocks = blocks_of([700, 800], X, y, groups, weight)
        found = mirror().fit(scan(blocks, block_bytes=2_000))
    tol = 1e-8 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found.components_, in_memory.components_, atol=tol)

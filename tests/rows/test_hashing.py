"""Keys of groups, and samples chosen by a hash."""

import numpy as np
import pytest
from scipy.stats import kstest

from spectralmirror.rows.hashing import chosen, group_keys, hashed
from tests.helpers.agreement import mixture_rows
from tests.helpers.scans import mirror

LAST = [0.5, 2.0**62, -0.0, 1e300]


@pytest.mark.parametrize("last", LAST)
def test_the_key_of_a_group_is_that_of_its_value(last):
    """Integers have the same key, whatever their type and whatever else is in their block."""
    keys = group_keys(np.array([3.0, last]))
    assert keys[0] == group_keys(np.array([3]))[0] == group_keys(np.array([3], dtype=object))[0]
    assert group_keys(np.array([0.0]))[0] == group_keys(np.array([-0.0]))[0]


def test_different_values_have_different_keys():
    for values in (
        np.arange(-50_000, 50_000),
        np.arange(100_000) / 7,
        np.arange(100_000).astype("datetime64[s]"),
        np.array([f"person {i}" for i in range(20_000)], dtype=object),
        np.array([2**70 + i for i in range(1000)], dtype=object),
    ):
        assert len(np.unique(group_keys(values))) == len(values)


def test_hashed_numbers_are_uniform_and_differ_by_seed():
    n = 100_000
    for seed in (0, 1, 12_345):
        u = hashed(np.arange(n), seed) / 2.0**64
        assert kstest(u, "uniform").pvalue > 1e-3
        assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 4 / np.sqrt(n)
    a, b = chosen(np.arange(n), 0.3, 0), chosen(np.arange(n), 0.3, 1)
    assert abs((a & b).sum() - 0.09 * n) < 4 * np.sqrt(n * 0.09 * 0.91)  # independent samples


def test_a_larger_share_contains_a_smaller_one():
    numbers = np.arange(5_000)
    small, large = chosen(numbers, 0.1, 3), chosen(numbers, 0.4, 3)
    assert (small <= large).all()
    assert chosen(numbers, 1.0, 3).all()
    assert not chosen(numbers, 0.0, 3).any()


@pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")
def test_whole_numbers_of_any_length_name_groups():
    X, y, _, _ = mixture_rows(600, 3)
    groups = np.arange(600) // 4
    names = [int(g) + 2**70 for g in groups]
    found, expected = mirror().fit(X, y, groups=names), mirror().fit(X, y, groups=groups)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-8)

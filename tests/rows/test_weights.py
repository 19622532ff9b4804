"""Weights: sums merge in any order; integers are frequencies, other weights have no scale."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spectralmirror.rows.weights import WeightSums, check_weights

WEIGHTS = st.lists(st.floats(0, 1e6, allow_subnormal=False), max_size=20)


def kish(weight):
    return weight.sum() ** 2 / (weight @ weight)


@given(WEIGHTS, WEIGHTS)
@example([1.0, 0.5], [8.0, 0.0])
@example([8.0], [1.0, 0.5])
def test_sums_of_parts_are_the_sums_of_the_whole(first, second):
    whole = WeightSums.of(np.array(first + second))
    parts = WeightSums.of(np.array(first)) + WeightSums.of(np.array(second))
    assert (parts.n_present, parts.unit, parts.least) == (whole.n_present, whole.unit, whole.least)
    assert parts.fractions == whole.fractions
    assert (parts.total, parts.squares) == pytest.approx((whole.total, whole.squares), rel=1e-12)


def test_integers_stay_as_they_are():
    weight = np.array([0.0, 3, 1, 2])
    sums = WeightSums.of(weight)
    np.testing.assert_array_equal(sums.scaled(weight, np.float64), weight)
    assert sums.total_scaled == 6
    assert not sums.has_fractions
    assert sums.effective == pytest.approx(kish(weight))


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 700.1, 1e300])
def test_fractions_sum_to_the_effective_number_of_rows(scale):
    weight = np.array([0.5, 0.0, 2.25, 1.0, 3.75])
    sums = WeightSums.of(weight * scale)
    found = sums.scaled(weight * scale, np.float64)
    np.testing.assert_allclose(found / found[0], weight / weight[0], rtol=1e-12)
    assert found.sum() == pytest.approx(kish(weight), rel=1e-12)
    assert sums.total_scaled == pytest.approx(found.sum(), rel=1e-12)
    assert sums.has_fractions


def test_equal_fractions_are_ones():
    weight = np.array([0.3, 0.0, 0.3])
    sums = WeightSums.of(weight)
    np.testing.assert_array_equal(sums.scaled(weight, np.float32), [1, 0, 1])
    assert (sums.total_scaled, sums.effective, sums.has_fractions) == (2, 2, False)


def test_no_positive_weight_vanishes_in_single_precision():
    weight = np.array([1e-60, 1.5, 0.0])
    found = WeightSums.of(weight).scaled(weight, np.float32)
    assert (found > 0).tolist() == [True, True, False]


def test_one_number_is_the_weight_of_every_row():
    np.testing.assert_array_equal(check_weights(2.0, 3, np.float64), [2, 2, 2])
    assert WeightSums.ones(3) == WeightSums.of(np.ones(3))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], "finite and not negative, but is -1.0 in row 1: use 0"),
        ([np.inf, 1.0], "but is inf in row 0"),
        ([0.0, 0.0], "sample_weight is zero in every row"),
        ([1.0], r"one number for each of 2 rows, got shape \(1,\)"),
        (["a", "b"], "sample_weight must hold numbers"),
        ([1e300, 1e-300], "so large in row 0 that all other rows vanish"),
    ],
)
def test_invalid_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weight, 2, np.float64)

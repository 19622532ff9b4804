"""Scores of new rows."""

import numpy as np
import pytest
from scipy import sparse

from spectralmirror.mixture.component_scores import FURTHEST, component_scores

PROFILES = np.array([[1.0, -2.0], [0.5, 3.0]])
INTERCEPTS = np.array([0.3, -1.0])


@pytest.mark.parametrize("origin", [None, np.array([5.0, -7.0])])
def test_scores_are_the_formula(origin):
    X = np.random.default_rng(0).standard_normal((50, 2)) + np.array([5, -7])
    expected = X @ PROFILES.T + INTERCEPTS
    for features in (X, sparse.csr_array(X)):
        found = component_scores(features, PROFILES, INTERCEPTS, origin)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_an_origin_saves_the_digits_of_single_precision():
    origin = np.array([1e6, -1e6], dtype=np.float32)
    # rows that single precision holds exactly
    X = (np.random.default_rng(0).integers(-64, 64, (50, 2)) / 16 + origin).astype(np.float32)
    profiles = 100 * PROFILES
    exact = X.astype(float) @ profiles.T
    near, far = (component_scores(X, profiles, np.zeros(2), o) for o in (origin, None))
    assert np.abs(near - exact).max() < 1e-3
    assert np.abs(far - exact).max() > 1


def test_huge_rows_have_scores_of_the_right_sign():
    """Partial sums overflow to the wrong side for some order of the features."""
    X = np.array([[1e308, 1e308, 1e308], [-1e308, -1e308, -1e308], [1.0, 1.0, 1.0]])
    for profile in ([1e3, -3e3, 1e3], [-3e3, 1e3, 1e3], [1e3, 1e3, -3e3]):
        found = component_scores(X, np.array([profile]), np.zeros(1), None)
        np.testing.assert_array_equal(found[:2, 0], [-FURTHEST, FURTHEST])
        np.testing.assert_allclose(found[2, 0], -1e3)

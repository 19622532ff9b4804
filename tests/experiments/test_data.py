"""The data are those of section 5."""

import numpy as np
import pytest
from scipy.stats import kstest

from spectralmirror.experiments.data import (
    LOGISTIC_NORM,
    REGRESSION_NOISE,
    at_angle,
    regression_mixture,
    section5,
)


def test_section5_draws_the_papers_data():
    X, y, truth = section5(4000, 20, 7)
    made_by = truth.profiles[truth.components]
    np.testing.assert_array_equal(y, np.sign((X * made_by).sum(axis=1)))
    other = section5(500, 5, 7)[2]
    np.testing.assert_array_equal(other.weights, truth.weights)  # a matter of the seed alone


def test_section5_draws_normal_profiles_and_uniform_weights():
    """By Kolmogorov-Smirnov tests over 200 seeds, which err once in 1,000 times."""
    truths = [section5(2, 20, seed)[2] for seed in range(200)]
    profiles = np.concatenate([truth.profiles.ravel() for truth in truths])
    assert kstest(profiles, "norm").pvalue > 1e-3
    assert kstest([truth.weights[0] for truth in truths], "uniform").pvalue > 1e-3


def test_logistic_profiles_have_a_norm_that_does_not_grow():
    for d in (5, 80):
        truth = section5(10, d, 0, "logistic")[2]
        np.testing.assert_allclose(np.linalg.norm(truth.profiles, axis=1), LOGISTIC_NORM)


def test_profiles_at_an_angle():
    u, v = at_angle(130, 3, 6)
    np.testing.assert_allclose([u @ u, v @ v], 9)
    assert np.degrees(np.arccos(u @ v / 9)) == pytest.approx(130)


def test_regressions_are_linear_but_for_their_noise():
    """The profile that explains a response better leaves the noise, or less by chance."""
    X, y, profiles = regression_mixture(4, 20_000, 0)
    assert profiles.shape == (2, 4)
    least = np.abs(y[:, None] - X @ profiles.T).min(axis=1)
    assert np.sqrt(np.mean(least**2)) < REGRESSION_NOISE
    assert np.quantile(least, 0.9) > REGRESSION_NOISE  # that of |N(0, 1)| is 1.64

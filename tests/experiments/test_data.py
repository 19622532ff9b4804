"""The data are those of section 5."""

import numpy as np

from spectralmirror.experiments.data import section5


def test_section5_draws_the_papers_data():
    X, y, truth = section5(4000, 20, 7)
    made_by = truth.profiles[truth.components]
    np.testing.assert_array_equal(y, np.sign((X * made_by).sum(axis=1)))
    assert np.linalg.norm(truth.profiles, axis=1).min() > 2  # u ~ N(0, I): about sqrt(20)
    other = section5(500, 5, 7)[2]
    np.testing.assert_array_equal(other.weights, truth.weights)  # a matter of the seed alone
    shares = [section5(2, 2, seed)[2].weights[0] for seed in range(200)]
    assert abs(np.mean(shares) - 0.5) < 4 * np.sqrt(1 / 12 / 200)
    assert abs(np.std(shares) - np.sqrt(1 / 12)) < 0.06

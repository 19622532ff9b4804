"""What estimates are compared with: the oracle, the information bound and the population's r."""

import numpy as np
import pytest

from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.experiments.data import at_angle, section5
from spectralmirror.experiments.references import (
    efficient_sine,
    inverse_information,
    maximum_likelihood,
    population_mirror,
    span_error,
)
from spectralmirror.metrics import subspace_error


def test_a_missing_component_counts_as_an_error_of_one():
    truth = section5(10, 4, 0)[2]
    assert span_error(truth.profiles, truth) < 1e-7
    assert span_error(truth.profiles[:1], truth) == 1


@pytest.mark.parametrize(("norm", "trace"), [(1, 401), (2, 33.6), (3, 12.2), (5, 4.8)])
def test_information_agrees_with_known_values(norm, trace):
    inverse = inverse_information(at_angle(90, norm, 6), [0.5, 0.5])
    assert np.isclose(np.trace(inverse), trace, rtol=0.01)


def test_maximum_likelihood_is_as_near_as_the_bound_says():
    """sin d_P over 12 data sets, relative to the bound: standard error about 0.06."""
    ratios = []
    for seed in range(12):
        X, y, truth = make_linear_classifier_mixture(
            40_000, profiles=at_angle(90, 5, 20), weights=[0.5, 0.5], random_state=seed
        )
        found = maximum_likelihood(X, y, truth).coef_
        ratios.append(subspace_error(found, truth.profiles) / efficient_sine(40_000, truth))
    assert 0.8 < np.mean(ratios) < 1.3


def test_population_mirror_is_the_mean_of_y_x():
    X, y, truth = section5(1_000_000, 4, 0)
    mean, r = y @ X / len(X), population_mirror(truth)
    np.testing.assert_allclose(mean, np.sqrt(2 / np.pi) * r, atol=5e-3)

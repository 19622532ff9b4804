"""The split test: maxima without a penalty, the average of both halves, and what follows."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.reopened import with_spread
from spectralmirror.selection.parts import ScoredPart
from spectralmirror.selection.split_test import at_least, largest_log_likelihood, log_ratios


def likelihood_of(X, y, k, groups=None):
    model = LinearClassifierMixture(k)
    rows, model.classes_ = model._accepted(X, y, groups, None, None)
    return model._opened(rows, k)


def test_a_single_class_has_the_maximum_of_logistic_regression():
    X, y, _ = make_linear_classifier_mixture(300, 3, 1, profile_norm=2, random_state=0)
    found = largest_log_likelihood(likelihood_of(X, y, 1), 1, [], 0)
    oracle = sm.Logit((y > 0) * 1.0, sm.add_constant(X)).fit(disp=0).llf
    assert found == pytest.approx(oracle, abs=1e-3)
    assert found > oracle - 1e-4  # never clearly below: the test would reject too often


def test_separable_labels_have_a_likelihood_of_one():
    X = np.random.default_rng(0).standard_normal((60, 2))
    found = largest_log_likelihood(likelihood_of(X, np.sign(X[:, 0]), 1), 1, [], 0)
    assert -0.1 < found <= 0


@pytest.mark.parametrize("deviation", [0.0, 1.5])
def test_a_single_class_with_random_intercepts_has_the_maximum_of_their_likelihood(deviation):
    """Against a general optimiser and a fixed quadrature of 61 nodes."""
    X, y, truth = make_linear_classifier_mixture(
        600, 2, 1, profile_norm=2, group_size=6, random_state=1
    )
    rng = np.random.default_rng(0)
    own = deviation * rng.standard_normal(100)[truth.groups]
    y = np.where(rng.uniform(size=600) < expit(X @ truth.profiles[0] + own), 1.0, -1.0)
    z, w = np.polynomial.hermite_e.hermegauss(61)

    def loss(theta):
        t = X @ theta[:2] + theta[2] + theta[3] * z[:, None]
        of_persons = np.add.reduceat(log_expit(y * t), np.arange(0, 600, 6), axis=1)
        return -logsumexp(of_persons + np.log(w / w.sum())[:, None], axis=0).sum()

    starts = ([0.5, 0.5, 0.0, s] for s in (0.2, 1.0))
    oracle = -min(minimize(loss, x0, tol=1e-10).fun for x0 in starts)
    likelihood = with_spread(likelihood_of(X, y, 1, truth.groups), "intercept", 64)
    start = Parameters(np.zeros((1, 3)), np.zeros(1), np.array([0.5]))
    found = largest_log_likelihood(likelihood, 1, [start], 0)
    assert found == pytest.approx(oracle, abs=2e-3)
    assert found > oracle - 5e-4


def test_more_classes_have_no_smaller_maximum():
    X, y, truth = make_linear_classifier_mixture(300, 2, 2, group_size=3, random_state=0)
    values = [
        largest_log_likelihood(likelihood_of(X, y, k, truth.groups), k, [], 0) for k in (1, 2, 3)
    ]
    assert values[0] < values[1] < values[2] + 1e-3


def part(total, evidence):
    return ScoredPart(np.full(2, total / 2), evidence)


def test_ratios_use_the_best_fit_of_enough_classes_and_the_best_of_fewer():
    fits = {1: part(-50.0, -60.0), 2: part(-40.0, -55.0), 3: part(-30.0, -50.0)}
    largest = {1: -38.0, 2: -35.0}
    # k = 3 has the most evidence; fewer than 2 and fewer than 3 classes have -38 and -35
    np.testing.assert_allclose(log_ratios([(fits, largest)]), [0.0, 8.0, 5.0])
    fits[3] = part(-30.0, -70.0)
    np.testing.assert_allclose(log_ratios([(fits, largest)]), [0.0, -2.0, 5.0])
    odd = {1: -34.0, 2: -35.0}  # a search that missed: one class cannot be better than two
    np.testing.assert_allclose(log_ratios([(fits, odd)])[2], 4.0)
    unknown = {k: part(one.log_likelihoods.sum(), np.nan) for k, one in fits.items()}
    np.testing.assert_allclose(log_ratios([(unknown, largest)]), [0.0, -2.0, 5.0])


def test_both_ways_are_averaged():
    fits, largest = {1: part(-9.0, 0.0), 2: part(-4.0, 1.0)}, {1: -8.0}
    other = {1: part(-9.0, 0.0), 2: part(-7.0, 1.0)}
    U = (np.exp(4.0) + np.exp(1.0)) / 2
    np.testing.assert_allclose(log_ratios([(fits, largest), (other, largest)])[1], np.log(U))


@pytest.mark.parametrize(
    ("log_ratio", "alpha", "expected"),
    [
        ([0.0, 2.9, 9.0], 0.05, 1),  # a smaller number that is not rejected comes first
        ([0.0, 3.1, 2.0], 0.05, 2),
        ([0.0, 3.1, 2.0], 0.2, 3),
        ([0.0, 50.0, 40.0], 0.05, 3),
        ([0.0], 0.05, 1),
    ],
)
def test_at_least(log_ratio, alpha, expected):
    assert at_least(np.array(log_ratio), alpha) == expected

"""Posteriors of the components, averaged over the parameters."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from spectralmirror.mixture.averaging import N_DRAWS, ParameterPosterior, normalised, row_variances
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.responses import RESPONSES
from tests.helpers.mixtures import drawn, fitted

K, Q = 3, 4


@pytest.fixture(scope="module")
def theta():
    rng = np.random.default_rng(0)
    parameters = Parameters(rng.standard_normal((K, Q)), np.array([0.5, 0.1, 0.0]))
    root = 0.3 * rng.standard_normal((K * Q + K - 1, K * Q + K - 1))
    return ParameterPosterior(parameters, root)


def test_variances_of_scores(theta):
    Z = np.random.default_rng(1).standard_normal((5, Q))
    C = theta.root @ theta.root.T
    expected = [[z @ C[c * Q : (c + 1) * Q, c * Q : (c + 1) * Q] @ z for z in Z] for c in range(K)]
    np.testing.assert_allclose(row_variances(Z, theta.variance_roots), expected)


def test_draws_have_the_mean_and_the_covariance(theta):
    draws = np.array([one.packed() for one in theta.draws()])
    assert len(draws) == N_DRAWS
    np.testing.assert_allclose(draws.mean(axis=0), theta.parameters.packed(), atol=1e-12)
    variances = np.square(theta.root).sum(axis=1)
    # 32 independent draws: a variance is good to a quarter, within four standard errors
    ratio = draws.var(axis=0)[:-1] / variances
    assert 0 < ratio.min() <= ratio.max() < 2
    assert abs(ratio.mean() - 1) < 0.25
    assert np.ptp(draws[:, -1]) == 0  # the last logit


def test_other_coordinates_have_the_same_scores(theta):
    rng = np.random.default_rng(2)
    matrix, Z = rng.standard_normal((Q, Q - 1)), rng.standard_normal((6, Q - 1))
    moved = theta.mapped(matrix, np.empty((0, 0)))
    for one, other in zip(theta.draws(), moved.draws(), strict=True):
        np.testing.assert_allclose(other.profiles @ Z.T, one.profiles @ matrix @ Z.T)
        np.testing.assert_allclose(other.logits, one.logits)
    np.testing.assert_allclose(
        row_variances(Z, moved.variance_roots),
        row_variances(Z @ matrix.T, theta.variance_roots),
    )


@pytest.mark.parametrize(("name", "error"), [("probit", 1e-9), ("logistic", 0.02)])
def test_the_average_over_normal_scores(theta, name, error):
    """Exact for the probit; MacKay's formula for the logistic is within 0.02."""
    response, (nodes, masses) = RESPONSES[name], hermegauss(60)
    mean, variance = np.linspace(-4, 4, 9), np.array([0.1, 1.0, 4.0])
    grid = mean[:, None] + np.sqrt(variance) * nodes[:, None, None]
    exact = np.tensordot(masses / masses.sum(), np.exp(response.log_f(grid)), axes=1)
    for c, v in enumerate(variance):
        signed = np.tile(mean, (K, 1))
        log_p = theta.parameters.log_weights[:, None]
        found = theta.joint_of_rows(signed, np.full_like(signed, v), response, log_p)
        found = np.exp(found - theta.parameters.log_weights[:, None])
        np.testing.assert_allclose(found, np.tile(exact[:, c], (K, 1)), atol=error)


def test_without_uncertainty_nothing_is_averaged(theta):
    certain = ParameterPosterior(theta.parameters, np.zeros_like(theta.root))
    joint = np.log(np.random.default_rng(0).uniform(size=(K, 7)))
    np.testing.assert_allclose(certain.joint_of_groups(lambda _: joint), joint)


def test_the_average_over_draws_is_of_probabilities(theta):
    """Not of logarithms, and before they are normalised."""
    joint = {id(one): one for one in theta.draws()}  # the draws are the same each time

    def of(parameters):
        return parameters.profiles[:, :2]

    expected = np.mean([np.exp(of(one)) for one in joint.values()], axis=0)
    found = theta.joint_of_groups(of)
    np.testing.assert_allclose(np.exp(found), expected)
    np.testing.assert_allclose(normalised(found).sum(axis=0), 1)


@pytest.mark.parametrize("size", [1, 4])
def test_averaged_posteriors_are_less_sure(size):
    X, y, _ = drawn(800, 8, group_size=size, profile_norm=4.0)
    groups = np.arange(800) // size if size > 1 else None
    mixture = fitted(X, y, groups=groups)
    averaged = mixture.component_proba(X, y, groups=groups)
    plain = mixture.component_proba(X, y, groups=groups, averaged=False)
    assert averaged.max(axis=1).mean() < plain.max(axis=1).mean()
    np.testing.assert_allclose(averaged.sum(axis=1), 1)
    assert mixture.expected_accuracy_ == pytest.approx(averaged.max(axis=1).mean(), abs=1e-9)


def test_with_many_rows_averaging_changes_nothing_that_matters():
    X, y, _ = drawn(20_000, 3, profile_norm=3.0)
    mixture = fitted(X, y)
    averaged = mixture.component_proba(X, y)
    plain = mixture.component_proba(X, y, averaged=False)
    # v is of the order of 10 parameters / 20,000 rows times z'z times 1 / f(1 - f)
    assert np.abs(averaged - plain).max() < 0.02

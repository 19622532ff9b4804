"""The spread in the units of x, and standard errors by the delta method."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from spectralmirror.mixture.spread import KINDS
from spectralmirror.mixture.spread_units import SpreadUnits
from spectralmirror.subspace.whitening import Whitening
from tests.helpers.mixtures import fitted, gradient_by_differences
from tests.helpers.spreads import spread_problem

CASES = [(kind, True) for kind in KINDS] + [(kind, False) for kind in KINDS[1:]]


def problem(kind, intercept=True):
    """Return something like a fit, the whitening of its features, and these."""
    likelihood, parameters, _ = spread_problem(kind, intercept=intercept)
    X = likelihood.rows.rows.X
    whitening = Whitening.of(X.mean(axis=0), np.cov(X.T), X.dtype)
    fit = SimpleNamespace(likelihood=likelihood, ascent=SimpleNamespace(parameters=parameters))
    return fit, whitening, X


@pytest.mark.parametrize(("kind", "intercept"), CASES)
def test_scores_are_the_same_in_all_units(kind, intercept):
    """B' x in the units of x is what the likelihood computes in its coordinates."""
    fit, whitening, X = problem(kind, intercept)
    likelihood, parameters = fit.likelihood, fit.ascent.parameters
    found = SpreadUnits.of(likelihood, parameters.spread, whitening.mean, whitening.scale)
    expected = likelihood.scores(X, likelihood.of_spread(parameters).T).T
    np.testing.assert_allclose(X @ found.coef + found.intercept, expected, atol=1e-12)
    np.testing.assert_allclose(
        found.coef_deviation, np.sqrt(np.diagonal(found.coef @ found.coef.T)), atol=1e-14
    )
    at_mean = np.linalg.norm(found.intercept + X.mean(axis=0) @ found.coef)
    if intercept:
        np.testing.assert_allclose(found.intercept_deviation, at_mean)
    else:
        assert found.intercept_deviation == 0
        np.testing.assert_array_equal(found.intercept, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_entries_in_units(kind):
    """For scores of [x - mean, 1]."""
    fit, whitening, X = problem(kind)
    b = fit.ascent.parameters.spread
    found = SpreadUnits.of(fit.likelihood, b, whitening.mean, whitening.scale)
    B = (SpreadUnits.of_entries(fit, whitening) @ b).reshape(3, -1)
    np.testing.assert_allclose(B[:2], found.coef, atol=1e-14)
    np.testing.assert_allclose(B[2], found.intercept + X.mean(axis=0) @ found.coef, atol=1e-12)


@pytest.mark.parametrize(("kind", "intercept"), CASES)
def test_errors_by_finite_differences(kind, intercept):
    fit, whitening, _ = problem(kind, intercept)
    parameters, rng = fit.ascent.parameters, np.random.default_rng(0)
    b, first = parameters.spread, parameters.profiles.size
    root = rng.standard_normal((len(parameters.packed()) - 1,) * 2)
    theta = root @ root.T

    def deviations(b):
        B = fit.likelihood.spread.matrix(b)
        found = np.linalg.norm(B, axis=1)
        found[:2] /= whitening.scale
        return found

    jacobian = gradient_by_differences(deviations, b)
    here = slice(first, first + len(b))
    expected = np.sqrt(np.diagonal(jacobian.T @ theta[here, here] @ jacobian))
    coef, at_mean = SpreadUnits.errors(fit, whitening, theta)
    np.testing.assert_allclose(coef, expected[:2], rtol=1e-6, atol=1e-9)
    if intercept:
        np.testing.assert_allclose(at_mean, expected[2], rtol=1e-6)
    else:
        assert at_mean == 0


def test_errors_without_a_covariance_or_a_spread():
    fit, whitening, _ = problem("diagonal")
    coef, at_mean = SpreadUnits.errors(fit, whitening, None)
    assert np.isnan([*coef, at_mean]).all()
    fit.likelihood = SimpleNamespace(spread=None, labels=None)
    coef, at_mean = SpreadUnits.errors(fit, whitening, np.eye(3))
    np.testing.assert_array_equal([*coef, at_mean], 0)
    assert SpreadUnits.of_entries(fit, whitening.scale).shape == (0, 0)


def test_errors_are_the_scatter_of_fits():
    """50 data sets: the mean error is the standard deviation within 35 %, 10 % of which is its own.

    The rest is that errors are cluster-robust, and that deviations are skewed.
    """
    found, errors = [], []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X, g = rng.standard_normal((800, 1)), np.repeat(np.arange(100), 8)
        t = X[:, 0] + rng.standard_normal(100)[g]
        y = np.where(rng.uniform(size=800) < expit(t), 1, -1)
        mixture = fitted(X, y, k=1, groups=g, spread="intercept", l2=0.1)
        found.append(mixture.intercept_deviation_)
        errors.append(mixture.intercept_deviation_standard_error_)
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.35)
    # the truth is 1; four standard errors of the mean, and what the prior adds to 100 persons
    assert abs(np.mean(found) - 1) < 4 * np.std(found) / np.sqrt(50) + 0.03

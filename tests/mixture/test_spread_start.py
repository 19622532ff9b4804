"""The covariance within persons, and the start that it gives."""

from dataclasses import replace

import numpy as np
import pytest

from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.spread import KINDS, Spread
from spectralmirror.mixture.spread_start import (
    LEAST_VARIANCE,
    MOST_VARIANCE,
    covariance_within,
    initial_entries,
    stretched,
)
from tests.helpers.mixtures import likelihood_of
from tests.helpers.spreads import in_blocks, of_rows_alone, spread_problem

#: A small covariance of two coefficients and the intercept.
SMALL = np.array([[0.09, 0.04, 0.0], [0.04, 0.09, -0.02], [0.0, -0.02, 0.06]])


def found_within(seed, C, n=1_000, size=8, response="logistic"):
    """Simulate persons with covariance C, fit without spread, and estimate C."""
    rng = np.random.default_rng(seed)
    X, groups = rng.standard_normal((n * size, 2)), np.repeat(np.arange(n), size)
    root = np.linalg.cholesky(C) if C.any() else C
    own = np.array([0.6, -0.4, 0.2]) + rng.standard_normal((n, 3)) @ root.T
    t = (np.column_stack([X, np.ones(n * size)]) * own[groups]).sum(axis=1)
    likelihood = likelihood_of(X, np.ones(len(t)), groups, response=response)
    y = np.where(rng.uniform(size=len(t)) < likelihood.response.f(t), 1.0, -1.0)
    likelihood = likelihood_of(X, y, groups, response=response)
    top = climb(likelihood, Parameters.equal(np.zeros((1, 3))), tol=1e-6, max_iter=100)
    return covariance_within(likelihood, top.parameters)


@pytest.mark.parametrize("response", ["logistic", "probit"])
@pytest.mark.parametrize("C", [SMALL, np.zeros((3, 3))], ids=["small", "none"])
def test_a_small_covariance_is_recovered(response, C):
    """Within 4 standard errors of the mean of 24 data sets, and 15 % that the expansion leaves out.

    It is of second order in the spread: |C| is about 0.1, and the largest moments of x are 3.
    """
    found = np.array([found_within(seed, C, response=response) for seed in range(24)])
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert error.max() < 0.01  # or the test would not say much
    allowed = 4 * error + 0.15 * np.abs(C)
    assert (np.abs(found.mean(axis=0) - C) < allowed).all(), found.mean(axis=0)


def test_blocks_of_any_size_and_order():
    likelihood, parameters, groups = spread_problem(n=200)
    none, plain = (
        replace(likelihood, spread=None),
        Parameters(parameters.profiles, parameters.logits),
    )
    expected = covariance_within(none, plain)
    np.testing.assert_allclose(expected, expected.T, rtol=1e-8)
    order = np.random.default_rng(0).permutation(200)
    for size in (500, 3_000, 100_000):
        moved = in_blocks(none, groups, size, order)
        np.testing.assert_allclose(covariance_within(moved, plain), expected, rtol=1e-8)


def test_entries_have_the_covariance():
    C = np.diag([0.5, 1.0, 2.0])
    for kind in KINDS:
        spread = Spread.of(kind, 3, 16, 0)
        B = spread.matrix(initial_entries(spread, C))
        expected = np.diag([0, 0, 2.0]) if kind == "intercept" else C
        if kind == "factor":  # the factor has the least variance
            assert np.abs(B @ B.T - C).max() < 2 * LEAST_VARIANCE
        else:
            np.testing.assert_allclose(B @ B.T, expected)


def test_one_factor_is_found():
    c = np.array([1.0, -0.8, 0.9])
    spread = Spread.of("factor", 3, 16, 0)
    B = spread.matrix(initial_entries(spread, np.diag([0.5, 0.4, 0.3]) + np.outer(c, c)))
    direction = B[:, -1] / np.linalg.norm(B[:, -1])
    # the diagonal of c c' is not known: the direction is that of the others, within 5 degrees
    assert abs(direction @ c) / np.linalg.norm(c) > np.cos(np.radians(5))


def test_variances_stay_within_bounds():
    spread = Spread.of("diagonal", 3, 16, 0)
    b = initial_entries(spread, np.diag([-1.0, 0.0, 1e6]))
    np.testing.assert_allclose(b**2, [LEAST_VARIANCE, LEAST_VARIANCE, MOST_VARIANCE])


def test_stretched_profiles_predict_the_same():
    """Exact for the probit if rows stand alone and intercepts differ: E Phi(c t + b z) = Phi(t)."""
    likelihood, parameters, groups = spread_problem("intercept", "probit")
    alone = in_blocks(likelihood, np.arange(len(groups)), 10_000)
    plain = Parameters(parameters.profiles, parameters.logits)
    expected = of_rows_alone(replace(alone, spread=None), plain)
    for b in (0.2, 1.0, 2.0):
        start = stretched(alone, plain, np.array([b]))
        np.testing.assert_allclose(of_rows_alone(alone, start), expected, rtol=1e-5)
        np.testing.assert_allclose(start.profiles, np.sqrt(1 + b * b) * plain.profiles)
        np.testing.assert_array_equal(start.logits, plain.logits)

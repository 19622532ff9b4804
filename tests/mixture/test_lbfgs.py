"""Preconditioned L-BFGS."""

import numpy as np
import pytest

from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.newton import information
from spectralmirror.mixture.starts import random_start
from tests.helpers.mixtures import drawn, likelihood_of, with_intercepts


@pytest.fixture(scope="module")
def unequal():
    """A likelihood with components of very different weight, and a start near its maximum."""
    X, y, truth = drawn(5000, 20, weights=[0.9, 0.1])
    return likelihood_of(X, y), with_intercepts(truth.profiles)


def test_ends_where_the_gradient_vanishes(unequal):
    likelihood, start = unequal
    found = climb(likelihood, start, tol=1e-9, max_iter=500)
    value, gradient = likelihood.evaluate(found.parameters)
    assert found.converged
    np.testing.assert_allclose(found.value, value, rtol=1e-12)
    assert value > likelihood.evaluate(start)[0] + 1
    step = information(likelihood, found.parameters, 0).inverse @ gradient[:-1]
    assert abs(step @ gradient[:-1]) < 1e-5  # of log-likelihood


def test_the_coupling_makes_climbs_short(unequal, monkeypatch):
    likelihood, start = unequal
    with_coupling = climb(likelihood, start, tol=1e-6, max_iter=500)
    monkeypatch.setattr("spectralmirror.mixture.lbfgs.coupling", lambda *_: np.eye(2))
    without = climb(likelihood, start, tol=1e-6, max_iter=500)
    np.testing.assert_allclose(with_coupling.value, without.value, atol=1e-3)
    assert with_coupling.n_passes < 0.9 * without.n_passes


def test_the_inverse_information_makes_them_shorter(unequal):
    likelihood, start = unequal
    top = climb(likelihood, start, tol=1e-6, max_iter=500)
    inverse = information(likelihood, top.parameters, 0).inverse
    known = climb(likelihood, start, tol=1e-6, max_iter=500, inverse=inverse)
    np.testing.assert_allclose(known.value, top.value, atol=1e-3)
    assert known.n_passes < top.n_passes


def test_limits_are_kept_and_mean_not_converged(unequal):
    likelihood, start = unequal
    few_steps = climb(likelihood, start, tol=1e-9, max_iter=3)
    assert few_steps.n_iter == 3
    few_passes = climb(likelihood, start, tol=1e-9, max_iter=500, max_passes=5)
    assert few_passes.n_passes < 15  # SciPy counts after each line search, which takes a few
    assert not few_steps.converged
    assert not few_passes.converged


def test_passes_are_counted(monkeypatch):
    X, y, _ = drawn()
    counted, plain = [], Likelihood.evaluate

    def evaluate(self, parameters):
        counted.append(1)
        return plain(self, parameters)

    monkeypatch.setattr(Likelihood, "evaluate", evaluate)
    likelihood = likelihood_of(X, y)
    start = random_start(likelihood, 2, np.random.RandomState(0))
    ascent = climb(likelihood, start, tol=1e-3, max_iter=100)
    assert ascent.n_passes == len(counted) + 1  # and one for the coupling

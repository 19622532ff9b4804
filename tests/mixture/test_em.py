"""EM step by step."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp

from spectralmirror.mixture.em import em, em_step
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.parameters import Parameters
from tests.helpers.mixtures import KINDS, D, K, random_problem


@pytest.mark.parametrize("kind", KINDS)
def test_no_step_decreases_the_likelihood(kind):
    likelihood, parameters, _ = random_problem(**kind)
    values = []
    for _ in range(25):
        parameters, value, _ = em_step(likelihood, parameters)
        values.append(value)
    assert (np.diff(values) > -1e-9 * np.abs(values[0])).all()
    assert values[-1] - values[0] > 1


@pytest.mark.parametrize("kind", KINDS[:3])
def test_a_step_maximises_the_expected_likelihood(kind):
    """The M step leaves no gradient of Q, computed here by finite differences."""
    likelihood, old, groups = random_problem(**kind)
    new, _, _ = em_step(likelihood, old)
    rows, f = likelihood.rows.rows, likelihood.response.log_f
    groups = np.arange(len(rows)) if groups is None else groups
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    Z = np.column_stack([rows.X, np.ones(len(rows))]) @ likelihood.coordinates.matrix.T
    joint = f(rows.y[:, None] * (Z @ old.profiles.T))
    sums = np.array([joint[groups == g].sum(axis=0) for g in range(groups.max() + 1)])
    sums += old.log_weights
    r = np.exp(sums - logsumexp(sums, axis=1, keepdims=True))[groups] * weight[:, None]

    def q(v, c):
        return r[:, c] @ f(rows.y * (Z @ v)) - v @ likelihood.penalty @ v / 2

    for c in range(K):
        gradient = approx_fprime(new.profiles[c], lambda v, c=c: q(v, c), 1e-6)
        assert np.abs(gradient).max() < 2e-3  # the error of the difference quotient
    first = np.unique(groups, return_index=True)[1]
    np.testing.assert_allclose(new.weights, r[first].sum(axis=0) / r[first].sum(), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_em_and_lbfgs_reach_the_same_maximum(kind):
    likelihood, _, groups = random_problem(**kind, n=1000, seed=3)
    rows, rng = likelihood.rows.rows, np.random.default_rng(0)
    component = rng.integers(0, 2, len(rows))  # labels that two classifiers made
    component = component if groups is None else component[groups]
    rows.y[:] = np.where(rows.X[np.arange(len(rows)), component] > 0.3, 1, -1)
    start = Parameters.equal(2 * np.eye(2, D + 1))
    slow = em(likelihood, start, tol=1e-9, max_iter=5000)
    fast = climb(likelihood, start, tol=1e-9, max_iter=500)
    assert slow.converged
    assert fast.converged
    np.testing.assert_allclose(slow.value, fast.value, atol=1e-5)
    np.testing.assert_allclose(slow.parameters.profiles, fast.parameters.profiles, atol=0.02)
    assert fast.n_passes <= slow.n_passes  # two small steps end a climb, one ends EM


def test_limits_are_kept_and_mean_not_converged():
    likelihood, start, _ = random_problem()
    few_steps = em(likelihood, start, tol=1e-9, max_iter=2)
    few_passes = em(likelihood, start, tol=1e-9, max_iter=500, max_passes=1)
    assert few_steps.n_iter == 2
    assert few_passes.n_iter == 1
    for found in (few_steps, few_passes):
        assert not found.converged
        np.testing.assert_allclose(found.value, likelihood.evaluate(found.parameters)[0])

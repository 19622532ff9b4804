"""The likelihood against its formula and finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import logsumexp

from spectralmirror.mixture import logistic
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.problem import INTERCEPT_L2
from spectralmirror.rows.memory import Rows
from tests.helpers.mixtures import (
    KINDS,
    K,
    drawn,
    fitted,
    gradient_by_differences,
    likelihood_of,
    random_problem,
)
from tests.helpers.rows import in_groups


def by_formula(likelihood, parameters, groups):
    """L(theta) in the units of x, as the docstring of the module gives it."""
    rows = likelihood.rows.rows
    coef, intercept = likelihood.coordinates.in_units(parameters.profiles)
    log_f = np.log(likelihood.response.f(rows.y[:, None] * (rows.X @ coef.T + intercept)))
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    groups = np.arange(len(rows)) if groups is None else groups
    total = 0.0
    for g in np.unique(groups):
        inside = groups == g
        mean = weight[inside].mean()
        shares = weight[inside] / mean
        joint = (shares[:, None] * log_f[inside]).sum(axis=0) + np.log(parameters.weights)
        total += mean * logsumexp(joint)
    deviations = rows.X.std(axis=0, ddof=1)
    return total - likelihood.l2 / 2 * np.square(coef * deviations).sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("origin", [None, np.array([0.3, -0.5, 2.0])])
def test_value_is_the_formula(kind, intercept, origin):
    likelihood, parameters, groups = random_problem(**kind, intercept=intercept, origin=origin)
    value, _ = likelihood.evaluate(parameters)
    np.testing.assert_allclose(value, by_formula(likelihood, parameters, groups), rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_by_finite_differences(kind):
    likelihood, parameters, _ = random_problem(**kind, origin=np.array([0.3, -0.5, 2.0]))
    theta = parameters.packed()
    numerical = gradient_by_differences(
        lambda x: likelihood.evaluate(Parameters.unpacked(x, K))[0], theta
    )
    np.testing.assert_allclose(likelihood.evaluate(parameters)[1], numerical, atol=1e-6)


@pytest.mark.parametrize("response", ["logistic", "probit"])
@pytest.mark.parametrize("grouped", [False, True])
def test_value_and_gradient_agree_far_out(response, grouped):
    X = np.array([[1.0], [2.0], [-1.0], [0.5], [-3.0], [2.5]])
    groups = np.array([0, 0, 1, 1, 2, 2]) if grouped else None
    likelihood = likelihood_of(X, [1, -1, 1, -1, 1, -1], groups, l2=0.0, response=response)
    for size in (3.0, 300.0, 700.0, 1e4):
        theta = np.array([size, 0.1, -0.7 * size, 0.0, 0.1, 0.0])

        def at(x):
            return likelihood.evaluate(Parameters.unpacked(x, 2))

        slope = gradient_by_differences(lambda x: at(x)[0], theta, 1e-6 * size)
        np.testing.assert_allclose(at(theta)[1], slope, rtol=1e-4, atol=1e-4 * size)


@pytest.mark.parametrize("cache_bytes", [1_000, 400_000])
@pytest.mark.parametrize(("grouped", "weighted"), [(False, False), (False, True), (True, False)])
def test_the_path_without_logarithms_is_the_general_one(
    monkeypatch, cache_bytes, grouped, weighted
):
    monkeypatch.setattr(logistic, "CACHE_BYTES", cache_bytes)
    likelihood, parameters, _ = random_problem(grouped=grouped, weighted=weighted)
    block = next(iter(likelihood.rows.blocks()))
    lines = parameters.profiles @ likelihood.coordinates.of_rows
    shift, weights = likelihood.coordinates.shift, parameters.weights
    assert logistic.LogisticSums.of(block, shift, lines, weights) is not None
    general = replace(likelihood, response=replace(likelihood.response, canonical=False))
    found, expected = likelihood.evaluate(parameters), general.evaluate(parameters)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-10)


def test_labels_that_are_too_rare_are_left_to_logarithms():
    likelihood = likelihood_of(np.array([[1.0], [2.0]]), [1, -1], None, l2=0.0)
    block = next(iter(likelihood.rows.blocks()))
    weights = np.array([0.5, 0.5])
    for size, simple in ((100.0, True), (1e4, False)):
        lines = np.array([[size, 0.0], [size, 1.0]])
        with np.errstate(
            over="ignore", divide="ignore", invalid="ignore"
        ):  # as in any sum over rows
            found = logistic.LogisticSums.of(block, None, lines, weights)
        assert (found is not None) == simple


@pytest.mark.parametrize("response", ["logistic", "probit"])
def test_far_tails_stay_finite(response):
    likelihood, parameters, _ = random_problem(response)
    far = Parameters(parameters.profiles * 1e6, np.array([0.0, -2000.0]))
    value, gradient = likelihood.evaluate(far)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(500, 50_000), st.booleans(), st.booleans())
def test_blocks_of_any_size_give_the_same(block_bytes, grouped, weighted):
    likelihood, parameters, groups = random_problem(grouped=grouped, weighted=weighted)
    rows = likelihood.rows.rows
    other = in_groups(Rows(rows.X, rows.y, rows.weight, block_bytes), groups)
    moved = Likelihood(other, likelihood.response, likelihood.coordinates, likelihood.l2)
    for one, two in zip(likelihood.evaluate(parameters), moved.evaluate(parameters), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
def test_sparse_and_single_precision(grouped):
    likelihood, parameters, groups = random_problem(grouped=grouped)
    rows = likelihood.rows.rows
    value, gradient = likelihood.evaluate(parameters)

    def with_features(X):
        other = in_groups(Rows(X, rows.y.astype(X.dtype)), groups)
        return Likelihood(other, likelihood.response, likelihood.coordinates, likelihood.l2)

    thin = with_features(sparse.csr_array(rows.X))
    np.testing.assert_allclose(thin.evaluate(parameters)[1], gradient, rtol=1e-10, atol=1e-10)
    single = with_features(rows.X.astype(np.float32)).evaluate(parameters)
    np.testing.assert_allclose(single[0], value, rtol=1e-6)
    np.testing.assert_allclose(single[1], gradient, atol=1e-4)


@pytest.mark.parametrize("grouped", [False, True])
def test_inside_a_subspace_it_is_the_same_function(grouped):
    likelihood, _, _ = random_problem(grouped=grouped, weighted=True)
    inside = likelihood.inside(np.random.default_rng(1).standard_normal((2, 3)))
    narrow = Parameters(np.random.default_rng(2).standard_normal((K, 3)), np.array([0.3, 0.0]))
    lifted = inside.coordinates.lift(narrow.profiles, likelihood.coordinates)
    value = likelihood.evaluate(Parameters(lifted, narrow.logits))[0]
    np.testing.assert_allclose(inside.evaluate(narrow)[0], value, rtol=1e-10)
    assert inside.rows.rows.n_features == 2


def test_a_sample_has_the_same_penalty_per_row():
    X, y, _ = drawn(4000)
    likelihood = likelihood_of(X, y, l2=8.0)
    part = likelihood.on(likelihood.rows.sample(1000, 0, seed=0))
    n = part.rows.n_present
    assert abs(n - 1000) < 4 * np.sqrt(750)  # every row is in it with probability 1/4
    assert part.l2 == pytest.approx(8.0 * n / 4000)
    assert len({tuple(row) for row in part.rows.rows.X}) == n  # none drawn twice


def test_the_objective_of_a_fit_is_the_formula():
    X, y, _ = drawn()
    for l2, concentration in ((0.1, 0.0), ("auto", 5.0)):
        mixture = fitted(X, y, l2=l2)
        penalty = mixture.l2_ / 2 * np.square(mixture.coef_ * X.std(axis=0)).sum()
        prior = concentration * np.log(2 * mixture.weights_).sum()
        if concentration:
            at_the_mean = mixture.intercept_ + mixture.coef_ @ X.mean(axis=0)
            penalty += INTERCEPT_L2 / 2 * np.square(at_the_mean).sum()
        total = mixture.score_samples(X, y).sum()
        np.testing.assert_allclose(mixture.objective_, total - penalty + prior, rtol=1e-10)
        np.testing.assert_allclose(mixture.log_likelihood_, total, rtol=1e-10)

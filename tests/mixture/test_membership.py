"""Weights that depend on covariates of groups, and classes that are known."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from spectralmirror.mixture.curvature import curvature
from spectralmirror.mixture.group_scores import score_products
from spectralmirror.mixture.membership import Membership
from spectralmirror.mixture.tied_curvature import tied_hessian
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.traits import TraitColumns, check_traits
from tests.helpers.mixtures import KINDS, gradient_by_differences, random_problem
from tests.helpers.spreads import spread_problem

Q = 2


def with_traits(likelihood, parameters, groups, *, known=False, seed=3):
    """Give the groups of a problem covariates, and one in three of them a known class."""
    rng = np.random.default_rng(seed)
    rows, k = likelihood.rows.rows, len(parameters)
    numbers = np.arange(len(rows)) if groups is None else groups
    traits = rng.standard_normal((numbers.max() + 1, Q)) * [1.0, 10.0] + [0.0, 50.0]
    if known:
        classes = np.where(np.arange(len(traits)) % 3 == 0, rng.integers(0, k, len(traits)), -1)
        traits = np.column_stack([traits, classes])
    rows = replace(rows, traits=traits[numbers])
    grouped = replace(likelihood.rows, rows=rows)
    columns = TraitColumns(("age", "income"), known)
    membership = Membership.of(check_traits(grouped, columns), columns)
    likelihood = replace(
        likelihood, rows=grouped, membership=replace(membership, n_classes=k), concentration=5.0
    )
    return likelihood, replace(parameters, membership=rng.standard_normal((k, Q))), traits


def by_formula(likelihood, parameters, traits, groups):
    """The log-likelihood with a loop over groups."""
    rows, coordinates = likelihood.rows.rows, likelihood.coordinates
    coef, intercept = coordinates.in_units(parameters.profiles)
    numbers = np.arange(len(rows)) if groups is None else groups
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    shares = np.array([weight[numbers == g].mean() for g in range(len(traits))])
    z = traits[:, :Q]
    mean = np.average(z, axis=0, weights=shares)
    scale = np.sqrt(np.average((z - mean) ** 2, axis=0, weights=shares))
    total = 0.0
    for g in range(len(traits)):
        here = numbers == g
        eta = parameters.membership @ ((z[g] - mean) / scale) + parameters.logits
        joint = np.log(softmax(eta))
        t = rows.X[here] @ coef.T + intercept
        log_f = np.log(likelihood.response.f(rows.y[here, None] * t))
        joint = joint + weight[here] / shares[g] @ log_f
        c = int(traits[g, Q]) if traits.shape[1] > Q else -1
        total += shares[g] * (logsumexp(joint) if c < 0 else joint[c])
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", [False, True])
def test_value_gradient_and_curvature(kind, known):
    likelihood, parameters, groups = random_problem(**kind, origin=np.array([0.3, -0.5, 2.0]))
    likelihood, parameters, traits = with_traits(likelihood, parameters, groups, known=known)
    theta = parameters.packed()
    value, gradient = likelihood.evaluate(parameters)
    expected = by_formula(likelihood, parameters, traits, groups)
    np.testing.assert_allclose(value - likelihood.log_prior(parameters), expected, rtol=1e-12)
    numerical = gradient_by_differences(lambda x: likelihood.evaluate(parameters.at(x))[0], theta)
    np.testing.assert_allclose(gradient, numerical, atol=1e-6)
    hessian = curvature(likelihood, parameters).hessian()
    hessian -= likelihood.curvature_of_prior(parameters)
    numerical = gradient_by_differences(lambda x: likelihood.evaluate(parameters.at(x))[1], theta)
    np.testing.assert_allclose(hessian, numerical, atol=1e-5)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_a_spread(known, weighted):
    likelihood, parameters, groups = spread_problem("factor", k=3, weighted=weighted, n=40)
    likelihood, parameters, _ = with_traits(likelihood, parameters, groups, known=known)
    theta = parameters.packed()
    numerical = gradient_by_differences(lambda x: likelihood.evaluate(parameters.at(x))[0], theta)
    np.testing.assert_allclose(likelihood.evaluate(parameters)[1], numerical, atol=1e-6)
    hessian = tied_hessian(likelihood, parameters) - likelihood.curvature_of_prior(parameters)
    numerical = gradient_by_differences(lambda x: likelihood.evaluate(parameters.at(x))[1], theta)
    np.testing.assert_allclose(hessian, numerical, atol=1e-5)


@pytest.mark.parametrize("grouped", [False, True])
def test_score_products_are_those_of_single_groups(grouped):
    likelihood, parameters, groups = random_problem(grouped=grouped, n=40)
    likelihood, parameters, traits = with_traits(likelihood, parameters, groups, known=True)
    alone = replace(likelihood, l2=0.0, concentration=0.0)
    expected = np.zeros((len(parameters.packed()),) * 2)
    for g in range(len(traits)):
        one = likelihood.rows.take(np.array([g]))
        gradient = replace(alone, rows=one).evaluate(parameters)[1]
        expected += np.outer(gradient, gradient)
    np.testing.assert_allclose(score_products(alone, parameters), expected, atol=1e-9)


def test_covariates_of_a_large_mean_and_a_tiny_scale():
    likelihood, parameters, groups = random_problem(grouped=True)
    plain, parameters, traits = with_traits(likelihood, parameters, groups)
    far = traits * 1e-9 + 1e3
    rows = replace(likelihood.rows.rows, traits=far[groups])
    grouped = InMemoryGroups(rows, likelihood.rows.order, likelihood.rows.starts)
    columns = TraitColumns(("age", "income"), False)
    membership = Membership.of(check_traits(grouped, columns), columns)
    found = replace(plain, rows=grouped, membership=membership).evaluate(parameters)[0]
    # a value near 1e3 is stored to 1e-13, which is 1e-4 of the standard deviation of 1e-9
    np.testing.assert_allclose(found, plain.evaluate(parameters)[0], rtol=1e-4)

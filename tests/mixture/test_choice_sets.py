"""Labels that are choices from sets, against the formula and finite differences."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax

from spectralmirror.mixture.choice_sets import choice_probabilities, log_chosen
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.curvature import curvature
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.spread import Spread
from spectralmirror.mixture.tied_curvature import tied_hessian
from spectralmirror.responses import LOGISTIC
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.whitening import Whitening
from tests.helpers.mixtures import gradient_by_differences

D = 3


def choice_problem(*, weighted=False, persons=True, spread=None, k=2, n_sets=40, seed=0):
    """Return a likelihood of sets of 2 to 5 alternatives, parameters, and sets and persons."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, n_sets)
    sets = np.repeat(np.arange(n_sets), sizes)
    person = np.sort(rng.integers(0, n_sets // 4, n_sets)) if persons else np.arange(n_sets)
    X = rng.standard_normal((len(sets), D)) * [1.0, 3.0, 0.1] + 2.0
    y = np.full(len(sets), -1.0)
    y[np.cumsum(sizes) - sizes + rng.integers(0, sizes)] = 1.0
    weight = rng.uniform(0.5, 2, n_sets)[sets] if weighted else None
    keys = person[sets].astype(np.uint64)
    rows = InMemoryGroups.of(Rows(X, y, weight, block_bytes=500, keys=keys, sets=sets))
    whitening = Whitening.of(X.mean(axis=0), np.cov(X.T), X.dtype)
    coordinates = Coordinates.whitened(whitening, None, intercept=False)
    b = np.empty(0)
    if spread is not None:
        spread = Spread.of(spread, D, 16, seed)
        b = rng.standard_normal(len(spread))
    likelihood = Likelihood(rows, LOGISTIC, coordinates, 0.7, 5.0, spread)
    parameters = Parameters(rng.standard_normal((k, D)), rng.standard_normal(k), b)
    return likelihood, parameters, sets, person


def by_formula(likelihood, parameters, sets, person):
    """The log-likelihood with loops over persons and sets."""
    rows, total = likelihood.rows.rows, 0.0
    parameters = likelihood.expanded(parameters)
    coef, _ = likelihood.coordinates.in_units(parameters.profiles)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    for g in np.unique(person):
        own = np.flatnonzero(person == g)
        w = weight[np.isin(sets, own)].mean()
        joint = parameters.log_weights.copy()
        for s in own:
            here = sets == s
            log_pi = log_softmax(rows.X[here] @ coef.T, axis=0)[rows.y[here] > 0][0]
            joint += weight[here][0] / w * log_pi
        total += w * logsumexp(joint)
    return total


@pytest.mark.parametrize("spread", [None, "diagonal", "factor"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("persons", [False, True])
def test_value_gradient_and_curvature(spread, weighted, persons):
    likelihood, parameters, sets, person = choice_problem(
        weighted=weighted, persons=persons, spread=spread
    )
    theta = parameters.packed()
    value, gradient = likelihood.evaluate(parameters)
    expected = by_formula(likelihood, parameters, sets, person)
    np.testing.assert_allclose(value - likelihood.log_prior(parameters), expected, rtol=1e-12)
    numerical = gradient_by_differences(lambda x: likelihood.evaluate(parameters.at(x))[0], theta)
    np.testing.assert_allclose(gradient, numerical, atol=1e-6)
    tied = spread is not None
    hessian = (
        tied_hessian(likelihood, parameters)
        if tied
        else curvature(likelihood, parameters).hessian()
    )
    hessian -= likelihood.curvature_of_prior(parameters)
    numerical = gradient_by_differences(lambda x: likelihood.evaluate(parameters.at(x))[1], theta)
    np.testing.assert_allclose(hessian, numerical, atol=2e-5)


@pytest.mark.parametrize("starts", [[0, 3], [0, 2]])
def test_far_scores_do_not_overflow(starts):
    """Sets of equal size, and of different sizes."""
    t, starts = np.array([[1e4, 0.0, -1e4, 5.0, 5.0, -2e4]]), np.array(starts)
    parts = np.split(t[0], starts[1:])
    pi = choice_probabilities(t, starts)
    np.testing.assert_allclose(pi[0], np.concatenate([softmax(part) for part in parts]))
    y = np.where(np.isin(np.arange(6), [1, 5]), 1.0, -1.0)
    expected = np.concatenate([log_softmax(part) for part in parts])
    found = log_chosen(t, y, starts)[0]
    np.testing.assert_allclose(found, np.where(y > 0, expected, 0))


def test_sets_of_equal_size_are_as_sets_of_any_size():
    t, starts = np.random.default_rng(0).standard_normal((3, 40)), np.arange(0, 40, 4)
    for scale in (1.0, 1e3):
        equal = choice_probabilities(scale * t, starts)
        expected = softmax((scale * t).reshape(3, 10, 4), axis=2).reshape(3, 40)
        np.testing.assert_allclose(equal, expected, rtol=1e-10)
        other = choice_probabilities(scale * t[:, 1:], np.append(0, starts[1:] - 1))
        np.testing.assert_allclose(other[:, 3:], expected[:, 4:], rtol=1e-10)

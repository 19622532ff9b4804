"""The evidence, against integrals, and the penalty that maximises it."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln, logsumexp
from scipy.stats import norm

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.evidence import (
    CONCENTRATION,
    LEAST_L2,
    _triangular,
    choose_l2,
    initial_l2,
    laplace,
)
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.newton import information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.preprocessing import whiten
from spectralmirror.responses import RESPONSES
from spectralmirror.rows.memory import Rows
from tests.helpers.mixtures import drawn, fitted, likelihood_of, sharp, with_intercepts
from tests.helpers.rows import in_groups

climber = partial(climb, max_iter=500)


def line(n=200, size=1, profiles=(2.0,), seed=0, intercept=False):
    """Return the likelihood of rows with a single feature."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    groups = np.arange(n) // size
    u = np.asarray(profiles)[rng.integers(len(profiles), size=n)[groups]]
    y = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-u * x)), 1.0, -1.0)
    rows = Rows(x[:, None], y)
    coordinates = Coordinates.whitened(whiten(rows).whitening, None, intercept=intercept)
    return Likelihood(
        in_groups(rows, groups if size > 1 else None),
        RESPONSES["logistic"], coordinates, 0.5, CONCENTRATION,
    )  # fmt: skip


def evidence_at(likelihood, start, tol=1e-9):
    """Return Laplace's approximation at the maximum that a start leads to."""
    top = climber(likelihood, start, tol=tol)
    return laplace(likelihood, top, information(likelihood, top.parameters, 0))


def of_rows(likelihood, profiles):
    """Return sum_i log f(y_i v z_i) for each group, for each of many profiles v."""
    (block,) = likelihood.rows.blocks()
    z = likelihood.working(block)[:, 0]
    return block.sums(RESPONSES["logistic"].log_f(np.outer(profiles, z * block.y)))


def test_the_evidence_of_one_component_is_an_integral():
    likelihood = line()
    sd = likelihood.penalty[0, 0] ** -0.5

    def joint(v):
        return np.exp(of_rows(likelihood, [v]).sum() - top - v * v / sd**2 / 2)

    found = evidence_at(likelihood, Parameters.equal(np.zeros((1, 1))))
    top = of_rows(likelihood, [1.5]).sum()
    exact = np.log(quad(joint, -10, 10, points=[1, 3])[0] / (sd * np.sqrt(2 * np.pi))) + top
    # Laplace's error is of the order 1 / (number of rows)
    assert found.log_evidence == pytest.approx(exact, abs=0.01)


def test_intercepts_have_a_prior_of_standard_deviation_3():
    """An integral over the profile and the intercept, which is near 0."""
    likelihood = line(1000, intercept=True)
    (block,) = likelihood.rows.blocks()
    z = likelihood.working(block)[:, 0]
    v, b = np.linspace(0, 5, 101), np.linspace(-2, 2, 81)
    t = (v[:, None, None] * z + b[None, :, None]) * block.y
    joint = RESPONSES["logistic"].log_f(t).sum(axis=2)
    sd = likelihood.penalty[0, 0] ** -0.5
    joint += norm.logpdf(v, scale=sd)[:, None] + norm.logpdf(b, scale=3)
    exact = logsumexp(joint) + np.log((v[1] - v[0]) * (b[1] - b[0]))
    found = evidence_at(likelihood, Parameters.equal(np.zeros((1, 2))))
    assert found.log_evidence == pytest.approx(exact, abs=0.02)


def test_the_evidence_of_two_components_is_an_integral():
    """Over both profiles and the weights, in any order of the components."""
    likelihood = line(400, size=8, profiles=(2.0, -1.5))
    sd = likelihood.penalty[0, 0] ** -0.5
    v, p = np.linspace(-6, 6, 121), (np.arange(60) + 0.5) / 60
    each = of_rows(likelihood, v)
    log_prior = -((v / sd) ** 2) / 2 - np.log(sd * np.sqrt(2 * np.pi)) + np.log(v[1] - v[0])
    found = []
    for weight in p:
        both = np.logaddexp(np.log(weight) + each[:, None], np.log1p(-weight) + each[None])
        joint = both.sum(axis=2) + log_prior[:, None] + log_prior
        a = CONCENTRATION
        of_weight = (a - 1) * np.log(weight * (1 - weight)) - betaln(a, a) - np.log(len(p))
        found.append(logsumexp(joint) + of_weight)
    start = Parameters.equal(np.array([[2.0], [-2.0]]))
    approximate = evidence_at(likelihood, start).log_evidence
    # 50 groups: Laplace's error is of the order 1 / 50 for each of three parameters
    assert approximate == pytest.approx(logsumexp(found), abs=0.1)


def test_like_components_are_not_counted_twice():
    """Two components of the same profile are one: k! does not count their order."""
    likelihood = line(400, profiles=(2.0,)).with_l2(50.0)
    far = Parameters.equal(np.array([[1.0], [-1.0]]))
    same = evidence_at(likelihood, Parameters.equal(np.ones((2, 1))))
    one = evidence_at(likelihood, Parameters.equal(np.ones((1, 1))))
    # a second component adds a posterior as wide as its prior: at most log(2) / 2 of k! is left
    assert same.log_evidence < one.log_evidence + np.log(2)
    assert np.isfinite(evidence_at(likelihood, far).log_evidence)


@pytest.fixture(scope="module")
def chosen():
    X, y, truth = drawn(1500, 6, profile_norm=3.0)
    likelihood = replace(likelihood_of(X, y), concentration=CONCENTRATION)
    likelihood = likelihood.with_l2(initial_l2(likelihood))
    return choose_l2(likelihood, with_intercepts(truth.profiles), climber, 0)


def test_the_penalty_is_a_fixed_point(chosen):
    likelihood, ascent = chosen
    V = ascent.parameters.profiles
    size = (V * (V @ likelihood.coordinates.precision)).sum()
    found = laplace(likelihood, ascent, information(likelihood, ascent.parameters, 0))
    # three digits are kept
    assert likelihood.l2 * size == pytest.approx(found.n_determined, rel=0.01)
    assert 0 < found.n_determined < V[:, :-1].size
    assert likelihood.l2 == float(f"{likelihood.l2:.3g}")


def test_the_penalty_has_the_largest_evidence(chosen):
    """Laplace's H depends on l2 through theta, too: MacKay's point is near the largest evidence."""
    likelihood, ascent = chosen
    l2 = likelihood.l2 * np.array([1 / 8, 1 / 2, 1, 2, 8])
    found = [evidence_at(likelihood.with_l2(x), ascent.parameters).log_evidence for x in l2]
    assert found[2] > max(found[0], found[4]) + 1
    assert found[2] > max(found[1], found[3]) - 0.1


def test_the_penalty_does_not_depend_on_where_the_choice_begins(chosen):
    likelihood, ascent = chosen
    again, _ = choose_l2(likelihood.with_l2(20.0), ascent.parameters, climber, 0)
    assert again.l2 == pytest.approx(likelihood.l2, rel=0.01)


def test_the_penalty_of_hard_labels_is_small():
    """The labels of a hard classifier want a long profile."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    likelihood = likelihood_of(X, X[:, 0], l2=1.0)
    found, _ = choose_l2(likelihood, with_intercepts(np.eye(1, 3)), climber, 0)
    assert LEAST_L2 <= found.l2 < 0.02


def test_labels_without_signal_have_a_large_penalty():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1000, 10)), rng.choice([-1, 1], 1000)
    found, _ = choose_l2(likelihood_of(X, y), with_intercepts(np.zeros((1, 10))), climber, 0)
    # a profile as long as noise makes it: gamma / |u|^2 with |u|^2 of about 4 d / n each
    assert found.l2 > 100


@pytest.mark.parametrize("groups", [None, np.arange(900) // 3])
def test_the_penalty_does_not_depend_on_units_order_and_signs(groups):
    size = 1 if groups is None else 3
    X, y, _ = sharp(900, group_size=size)
    first = fitted(X, y, groups=groups)
    order = np.random.default_rng(0).permutation(len(y))
    moved = X * [1e3, 1e-3, -1, 1] + [1e4, 0, 0, 5]
    again = fitted(moved[order], y[order], groups=None if groups is None else groups[order])
    assert again.l2_ == first.l2_
    assert again.log_evidence_ == pytest.approx(first.log_evidence_, abs=1e-5)
    turned = fitted(X, -y, groups=groups)
    assert turned.l2_ == first.l2_


def test_a_root_does_not_depend_on_the_signs_and_order_of_eigenvectors():
    rng = np.random.default_rng(0)
    R = rng.standard_normal((5, 5))
    other = R[:, rng.permutation(5)] * [1, -1, -1, 1, -1]
    L = _triangular(R)
    np.testing.assert_allclose(_triangular(other), L, atol=1e-12)
    np.testing.assert_allclose(L, np.linalg.cholesky(R @ R.T), atol=1e-12)

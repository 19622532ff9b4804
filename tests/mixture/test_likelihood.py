"""The likelihood against its formula and finite differences; EM step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import logsumexp

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.curvature import coupling, curvature, split_matrices
from spectralmirror.mixture.em import em, em_step
from spectralmirror.mixture.inference import score_products
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood, Parameters
from spectralmirror.mixture.links import LINKS
from spectralmirror.responses import RESPONSES
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.whitening import Whitening
from tests.helpers.rows import in_groups

D, K = 3, 2
SMALL = 2_000  # bytes a block: many blocks


def problem(
    link="logistic", grouped=False, weighted=False, intercept=True, origin=None, n=200, seed=0
):
    """Return a likelihood over random rows, and parameters somewhere."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) + 0.3
    y = rng.choice([-1.0, 1.0], n)
    weight = rng.uniform(0.5, 2, n) if weighted else None
    groups = np.unique(rng.integers(0, n // 4, n), return_inverse=True)[1] if grouped else None
    covariance = np.cov(X.T)
    whitening = Whitening.of(X.mean(axis=0), covariance, X.dtype)
    coordinates = Coordinates.whitened(whitening, origin, intercept=intercept)
    rowset = in_groups(Rows(X, y, weight, block_bytes=SMALL), groups)
    parameters = Parameters(rng.standard_normal((K, D + intercept)), rng.standard_normal(K))
    return Likelihood(rowset, LINKS[link], coordinates, 0.7), parameters, groups


KINDS = [
    {"link": link, "grouped": grouped, "weighted": weighted}
    for link in ("logistic", "probit")
    for grouped in (False, True)
    for weighted in (False, True)
]


def by_formula(likelihood, parameters, groups):
    """L(theta) in the units of x, as the module's docstring says it."""
    rows = likelihood.rows.rows
    coef, intercept = likelihood.coordinates.in_units(parameters.profiles)
    log_f = np.log(
        RESPONSES[likelihood.link.name].f(rows.y[:, None] * (rows.X @ coef.T + intercept))
    )
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
    likelihood, parameters, groups = problem(**kind, intercept=intercept, origin=origin)
    value, _ = likelihood.evaluate(parameters)
    np.testing.assert_allclose(value, by_formula(likelihood, parameters, groups), rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_and_hessian_are_the_derivatives(kind):
    likelihood, parameters, _ = problem(**kind, origin=np.array([0.3, -0.5, 2.0]))
    theta = parameters.packed()

    def at(x):
        return likelihood.evaluate(Parameters.unpacked(x, K))

    numerical = [(at(theta + e)[0] - at(theta - e)[0]) / 2e-5 for e in 1e-5 * np.eye(len(theta))]
    np.testing.assert_allclose(at(theta)[1], numerical, atol=1e-6)
    hessian = curvature(likelihood, parameters).hessian(parameters, likelihood.penalty)
    numerical = [(at(theta + e)[1] - at(theta - e)[1]) / 2e-5 for e in 1e-5 * np.eye(len(theta))]
    np.testing.assert_allclose(hessian, numerical, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_groups_add_up_to_the_gradient_and_their_products_to_k(kind):
    likelihood, parameters, _ = problem(**kind, n=60)
    free = likelihood.with_l2(0.0)
    rows, groups = free.rows.rows, free.rows.starts
    n_groups = len(rows) if groups is None else len(groups)
    products = np.zeros((len(parameters.packed()),) * 2)
    for g in range(n_groups):
        index = np.array([g])
        if groups is not None:
            ends = np.append(groups[1:], len(rows))
            index = free.rows.order[groups[g] : ends[g]]
        one = in_groups(rows[index], None if groups is None else np.zeros(len(index), dtype=int))
        score = Likelihood(one, free.link, free.coordinates, 0.0).evaluate(parameters)[1]
        products += np.outer(score, score)
    np.testing.assert_allclose(score_products(free, parameters), products, atol=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
def test_splitting_gains_what_the_split_matrix_says(grouped):
    likelihood, parameters, _ = problem(grouped=grouped)
    likelihood = likelihood.with_l2(0.0)
    for c, S in enumerate(split_matrices(likelihood, parameters)):
        e = 1e-3 * np.random.default_rng(c).standard_normal(D + 1)
        profiles = np.vstack([parameters.profiles, parameters.profiles[c] - e])
        profiles[c] += e
        log_p = np.append(parameters.log_weights, parameters.log_weights[c])
        log_p[[c, -1]] -= np.log(2)
        gained = likelihood.evaluate(Parameters(profiles, log_p))[0]
        gained -= likelihood.evaluate(parameters)[0]
        np.testing.assert_allclose(gained, e @ S @ e / 2, rtol=2e-3, atol=1e-10)


def test_outside_the_span_the_information_is_the_coupling():
    # margin: entries of the d x d blocks average 20,000 rows, a standard error below 0.02
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 6))
    U = np.zeros((2, 6))
    U[0, 0], U[1, 1] = 3, 2
    y = np.where(rng.uniform(size=len(X)) < 0.5, X @ U[0], X @ U[1]) > 0
    coordinates = Coordinates.whitened(
        Whitening.known(np.zeros(6), np.eye(6)), None, intercept=False
    )
    likelihood = Likelihood(
        in_groups(Rows(X, np.where(y, 1.0, -1.0))), LINKS["logistic"], coordinates, 0.0
    )
    parameters = Parameters.equal(U)
    hessian = -curvature(likelihood, parameters).hessian(parameters, 0 * np.eye(6)) / len(X)
    outside = hessian[:12, :12].reshape(2, 6, 2, 6)[:, 2:, :, 2:]
    J = coupling(likelihood, parameters) / len(X)
    np.testing.assert_allclose(outside, np.einsum("lm,ij->limj", J, np.eye(4)), atol=0.02)


@settings(max_examples=25, deadline=None)
@given(st.integers(500, 50_000), st.booleans(), st.booleans())
def test_blocks_of_any_size_give_the_same(block_bytes, grouped, weighted):
    likelihood, parameters, groups = problem(grouped=grouped, weighted=weighted)
    rows = likelihood.rows.rows
    other = in_groups(Rows(rows.X, rows.y, rows.weight, block_bytes), groups)
    moved = Likelihood(other, likelihood.link, likelihood.coordinates, likelihood.l2)
    for one, two in zip(likelihood.evaluate(parameters), moved.evaluate(parameters), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
def test_sparse_and_single_precision(grouped):
    likelihood, parameters, groups = problem(grouped=grouped)
    rows = likelihood.rows.rows
    value, gradient = likelihood.evaluate(parameters)

    def with_features(X):
        rowset = in_groups(Rows(X, rows.y.astype(X.dtype)), groups)
        return Likelihood(rowset, likelihood.link, likelihood.coordinates, likelihood.l2)

    thin = with_features(sparse.csr_array(rows.X))
    np.testing.assert_allclose(thin.evaluate(parameters)[1], gradient, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        split_matrices(thin, parameters), split_matrices(likelihood, parameters), atol=1e-9
    )
    single = with_features(rows.X.astype(np.float32)).evaluate(parameters)
    np.testing.assert_allclose(single[0], value, rtol=1e-6)
    np.testing.assert_allclose(single[1], gradient, atol=1e-4)


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_far_tails_stay_finite(link):
    likelihood, parameters, _ = problem(link)
    far = Parameters(parameters.profiles * 1e6, np.array([0.0, -2000.0]))
    value, gradient = likelihood.evaluate(far)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("kind", KINDS)
def test_em_never_goes_downhill(kind):
    likelihood, parameters, _ = problem(**kind)
    values = []
    for _ in range(25):
        parameters, value, _ = em_step(likelihood, parameters)
        values.append(value)
    assert (np.diff(values) > -1e-9 * np.abs(values[0])).all()
    assert values[-1] - values[0] > 1


@pytest.mark.parametrize("kind", KINDS[:3])
def test_an_em_step_maximises_the_expected_likelihood(kind):
    """The M step leaves no gradient of Q, computed here by finite differences."""
    likelihood, old, groups = problem(**kind)
    new, _, _ = em_step(likelihood, old)
    rows = likelihood.rows.rows
    groups = np.arange(len(rows)) if groups is None else groups
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    f = RESPONSES[likelihood.link.name].log_f
    Z = np.column_stack([rows.X, np.ones(len(rows))]) @ likelihood.coordinates.matrix.T
    joint = f(rows.y[:, None] * (Z @ old.profiles.T))
    sums = np.array([joint[groups == g].sum(axis=0) for g in range(groups.max() + 1)])
    sums += old.log_weights
    r = np.exp(sums - logsumexp(sums, axis=1, keepdims=True))[groups] * weight[:, None]

    def q(v, c):
        fitted = r[:, c] @ f(rows.y * (Z @ v))
        return fitted - v @ likelihood.penalty @ v / 2

    for c in range(K):
        gradient = approx_fprime(new.profiles[c], lambda v, c=c: q(v, c), 1e-6)
        assert np.abs(gradient).max() < 2e-3  # the error of the difference quotient
    first = np.unique(groups, return_index=True)[1]
    np.testing.assert_allclose(new.weights, r[first].sum(axis=0) / r[first].sum(), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_em_and_lbfgs_climb_the_same_hill(kind):
    likelihood, _, groups = problem(**kind, n=1000, seed=3)
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
    assert fast.n_passes < slow.n_passes


def test_a_sample_keeps_groups_whole():
    likelihood, _, groups = problem(grouped=True, n=400)
    sample = likelihood.rows.sample(100, 5, seed=0)
    assert 60 <= sample.n_present <= 140  # groups are in it or not: 100 rows up to four deviations
    kept = {tuple(row) for row in sample.rows.X}
    for g in np.unique(groups):
        rows = likelihood.rows.rows.X[groups == g]
        assert len({tuple(row) in kept for row in rows}) == 1
    sizes = sorted(np.bincount(groups).tolist())
    assert set(sample.sizes.tolist()) <= set(sizes)


def test_coordinates_go_there_and_back():
    rng = np.random.default_rng(0)
    covariance = np.cov(rng.standard_normal((4, 50)))
    whitening = Whitening.of(np.array([1e6, 0.0, -3.0, 2.0]), covariance, np.dtype(float))
    for intercept in (True, False):
        coordinates = Coordinates.whitened(whitening, whitening.mean, intercept=intercept)
        coef, b = rng.standard_normal((2, 4)), intercept * rng.standard_normal(2)
        there = coordinates.seen(coef, b)
        np.testing.assert_allclose(coordinates.in_units(there)[0], coef, rtol=1e-10)
        np.testing.assert_allclose(coordinates.in_units(there)[1], b, atol=1e-8)
        basis = rng.standard_normal((2, 4))
        inside = coordinates.inside(basis)
        lifted = inside.lift(rng.standard_normal((3, 2 + intercept)), coordinates)
        profiles = coordinates.in_units(lifted)[0]
        assert np.linalg.matrix_rank(np.vstack([basis, profiles]), tol=1e-8) == 2

"""Nodes, shapes and priors of a spread, and the likelihood of persons who differ."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import sqrtm
from scipy.special import logsumexp
from scipy.stats import chi, norm

from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.spread import KINDS, Spread, node_sets, nodes_of
from spectralmirror.rows.memory import Rows
from tests.helpers.mixtures import gradient_by_differences
from tests.helpers.rows import in_groups
from tests.helpers.spreads import (
    ORIGIN,
    at,
    by_formula,
    in_blocks,
    of_rows_alone,
    spread_problem,
)

ALL = [(kind, response, k) for kind in KINDS for response in ("logistic", "probit") for k in (1, 2)]


@pytest.mark.parametrize("q", [1, 2])
def test_moments_of_the_quadrature(q):
    """Exact but for nodes of 1e-9 of the largest weight, which are left out: 1e-4 of a moment."""
    nodes, log_weights = nodes_of(q, 99, 0)
    w = np.exp(log_weights)
    assert logsumexp(log_weights) == pytest.approx(0, abs=1e-12)
    for a in range(7):
        for b in range(7 - a if q == 2 else 1):
            found = w @ (nodes[:, 0] ** a * nodes[:, -1] ** b)
            expected = norm.moment(a) * norm.moment(b)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("q", [3, 7])
@pytest.mark.parametrize("n_nodes", [64, 512])
def test_moments_of_sobol_points(q, n_nodes):
    nodes, log_weights = nodes_of(q, n_nodes, 3)
    assert nodes.shape == (n_nodes, q)
    np.testing.assert_allclose(log_weights, -np.log(n_nodes))
    np.testing.assert_allclose(nodes.T @ nodes / n_nodes, np.eye(q), atol=1e-12)
    np.testing.assert_allclose((nodes**3).mean(axis=0), 0, atol=1e-12)  # mirror images
    # half of them are independent; a plain sample of these has this standard error
    error = np.sqrt(96 / (n_nodes / 2))
    np.testing.assert_allclose((nodes**4).mean(axis=0), 3, atol=4 * error)
    np.testing.assert_array_equal(nodes, nodes_of(q, n_nodes, 3)[0])
    assert not np.allclose(nodes, nodes_of(q, n_nodes, 4)[0])


def test_too_few_nodes_for_a_covariance_have_variances_of_1():
    nodes, _ = nodes_of(20, 16, 0)
    np.testing.assert_allclose((nodes**2).mean(axis=0), 1)
    np.testing.assert_allclose(nodes.mean(axis=0), 0, atol=1e-15)


def test_shapes():
    b = np.arange(1.0, 7.0)
    B = {kind: Spread.of(kind, 3, 16, 0) for kind in KINDS}
    assert [len(B[kind]) for kind in KINDS] == [1, 3, 6, 6]
    np.testing.assert_array_equal(B["intercept"].matrix(b[:1]), [[0], [0], [1]])
    np.testing.assert_array_equal(B["diagonal"].matrix(b[:3]), np.diag([1, 2, 3]))
    factor = np.column_stack([np.diag([1, 2, 3]), [4, 5, 6]])
    np.testing.assert_array_equal(B["factor"].matrix(b), factor)
    np.testing.assert_array_equal(B["full"].matrix(b), [[1, 4, 5], [4, 2, 6], [5, 6, 3]])
    n_deviations = [B[kind].is_deviation.sum() for kind in KINDS]
    assert n_deviations == [1, 3, 3, 3]


def test_full_is_any_covariance():
    root = np.random.default_rng(0).standard_normal((4, 4))
    C = root @ root.T
    symmetric = np.real(sqrtm(C))
    b = np.append(np.diagonal(symmetric), symmetric[np.triu_indices(4, 1)])
    B = Spread.of("full", 4, 16, 0).matrix(b)
    np.testing.assert_allclose(B @ B.T, C, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_pulled_and_directions_belong_to_the_matrix(kind):
    spread, rng = Spread.of(kind, 3, 16, 0), np.random.default_rng(0)
    b = rng.standard_normal(len(spread))
    B = spread.matrix(b)
    slopes = rng.standard_normal(B.shape)
    np.testing.assert_allclose(spread.pulled(slopes) @ b, (slopes * B).sum())
    np.testing.assert_allclose(spread.directions() @ b, spread.nodes @ B.T, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_prior_and_shrinkage_by_finite_differences(kind):
    rng = np.random.default_rng(0)
    spread = Spread.of(kind, 3, 16, 0)
    spread = spread.with_penalty(rng.uniform(0.1, 2, len(spread)))
    b = rng.standard_normal(len(spread))
    by_differences = partial(gradient_by_differences, x=b)
    np.testing.assert_allclose(
        spread.prior_slope(b), by_differences(spread.log_prior), rtol=1e-7, atol=1e-8
    )
    np.testing.assert_allclose(
        -spread.prior_curvature(b), by_differences(spread.prior_slope), rtol=1e-7, atol=1e-8
    )
    share, slope, second = spread.shrinkage(b, 2.5)
    assert share == pytest.approx(1 / (1 + np.square(spread.matrix(b)).sum() / 2.5))
    np.testing.assert_allclose(
        slope, by_differences(lambda x: spread.shrinkage(x, 2.5)[0]), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(
        second, by_differences(lambda x: spread.shrinkage(x, 2.5)[1]), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_prior_is_normalised(kind):
    """The mean of |b| under N(0, I / l2) is that of a chi distribution."""
    spread = Spread.of(kind, 3, 16, 0)
    l2 = 0.3
    expected = np.log(chi(len(spread)).mean() / np.sqrt(l2))
    assert spread.with_penalty(np.full(len(spread), l2)).log_mean_norm == pytest.approx(expected)


def test_no_spread_at_all_is_finite():
    likelihood, parameters, _ = spread_problem()
    nothing = replace(parameters, spread=np.zeros(3))
    value, gradient = likelihood.evaluate(nothing)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("response", ["logistic", "probit"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("origin", [None, ORIGIN])
def test_value_is_the_formula(kind, response, weighted, origin):
    for k, concentration in ((1, 0.0), (2, 5.0)):
        likelihood, parameters, groups = spread_problem(
            kind, response, k, weighted=weighted, origin=origin, concentration=concentration
        )
        expected = by_formula(likelihood, parameters, groups)
        np.testing.assert_allclose(likelihood.evaluate(parameters)[0], expected, rtol=1e-10)


@pytest.mark.parametrize("kind", ["diagonal", "factor", "full"])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_without_intercept_is_the_formula(kind, weighted):
    likelihood, parameters, groups = spread_problem(
        kind, intercept=False, weighted=weighted, origin=ORIGIN
    )
    expected = by_formula(likelihood, parameters, groups)
    np.testing.assert_allclose(likelihood.evaluate(parameters)[0], expected, rtol=1e-10)


@pytest.mark.parametrize(("kind", "response", "k"), ALL)
def test_gradient_by_finite_differences(kind, response, k):
    likelihood, parameters, _ = spread_problem(
        kind, response, k, weighted=True, origin=ORIGIN, concentration=5.0
    )
    slope = gradient_by_differences(lambda x: at(likelihood, parameters, x)[0], parameters.packed())
    np.testing.assert_allclose(likelihood.evaluate(parameters)[1], slope, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tiny_spread_is_none(kind):
    likelihood, parameters, _ = spread_problem(kind, weighted=True)
    tiny = replace(parameters, spread=1e-6 * parameters.spread)
    none = replace(likelihood, spread=None)
    plain = Parameters(parameters.profiles, parameters.logits)
    # nodes have mean 0: what is left is of second order
    np.testing.assert_allclose(
        of_rows_alone(likelihood, tiny), of_rows_alone(none, plain), rtol=1e-10
    )


def test_scaled_nodes_and_signs():
    """B z is the same if B is twice as large and z half, or if both change their signs."""
    likelihood, parameters, _ = spread_problem("factor")
    value = of_rows_alone(likelihood, parameters)
    half = replace(likelihood.spread, nodes=likelihood.spread.nodes / 2)
    double = replace(parameters, spread=2 * parameters.spread)
    moved = of_rows_alone(replace(likelihood, spread=half), double)
    np.testing.assert_allclose(moved, value, rtol=1e-12)
    turned = replace(parameters, spread=-parameters.spread)
    np.testing.assert_allclose(of_rows_alone(likelihood, turned), value, rtol=1e-12)


def test_more_nodes_come_closer_to_the_integral():
    """Against 16,384 nodes: the error of Sobol points falls faster than that of random ones."""
    likelihood, parameters, _ = spread_problem("diagonal", n_nodes=2**14)
    exact = of_rows_alone(likelihood, parameters)

    def error(n_nodes):
        found = [
            of_rows_alone(
                replace(likelihood, spread=likelihood.spread.with_nodes(n_nodes, seed)), parameters
            )
            for seed in range(8)
        ]
        return np.sqrt(np.mean(np.square(np.array(found) - exact)))

    # random points would have a quarter of the error; allow for a factor of 2 in its estimate
    assert error(1024) < error(64) / 4 * 2
    assert error(512) < 0.1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1_000, 20_000])
def test_blocks_and_pieces_of_any_size_and_order(weighted, size, monkeypatch):
    likelihood, parameters, groups = spread_problem("factor", weighted=weighted, n=200)
    expected = likelihood.evaluate(parameters)
    order = np.random.default_rng(0).permutation(200)
    renamed = np.random.default_rng(1).permutation(groups.max() + 1)[groups]
    for names in (groups, renamed):
        moved = in_blocks(likelihood, names, 50 * size, order)
        monkeypatch.setattr("spectralmirror.rows.block.PIECE_BYTES", size)
        for one, two in zip(moved.evaluate(parameters), expected, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


def without_shortcuts(likelihood):
    return replace(likelihood, response=replace(likelihood.response, canonical=False))


def test_the_path_of_products_is_the_general_one():
    likelihood, parameters, _ = spread_problem("full")
    found, expected = (x.evaluate(parameters) for x in (likelihood, without_shortcuts(likelihood)))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("length", [0.01, 0.3, 3.0, 100.0])
def test_persons_of_2000_rows_do_not_overflow(length):
    rng = np.random.default_rng(0)
    likelihood, parameters, _ = spread_problem("diagonal")
    X, y = rng.standard_normal((4003, 2)), rng.choice([-1.0, 1.0], 4003)
    groups = np.repeat([0, 1, 2], [2000, 2000, 3])
    likelihood = replace(likelihood, rows=in_groups(Rows(X, y), groups))
    far = replace(parameters, profiles=length * parameters.profiles)
    found, expected = (x.evaluate(far) for x in (likelihood, without_shortcuts(likelihood)))
    assert np.isfinite(found[0])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-8, atol=1e-8)


def test_persons_twice_are_persons_of_weight_2():
    likelihood, parameters, groups = spread_problem("full")
    rows = likelihood.rows.rows
    copies = in_groups(
        Rows(np.vstack([rows.X] * 2), np.tile(rows.y, 2)), np.append(groups, groups + 1000)
    )
    heavy = in_groups(Rows(rows.X, rows.y, np.full(len(rows), 2.0)), groups)
    found = [replace(likelihood, rows=one).evaluate(parameters) for one in (copies, heavy)]
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9, atol=1e-10)


def test_sparse_and_single_precision():
    likelihood, parameters, groups = spread_problem("diagonal")
    rows = likelihood.rows.rows
    value, gradient = likelihood.evaluate(parameters)

    def with_features(X):
        other = in_groups(Rows(X, rows.y.astype(X.dtype)), groups)
        return replace(likelihood, rows=other).evaluate(parameters)

    thin = with_features(sparse.csr_array(rows.X))
    np.testing.assert_allclose(thin[0], value, rtol=1e-12)
    np.testing.assert_allclose(thin[1], gradient, rtol=1e-9, atol=1e-10)
    single = with_features(rows.X.astype(np.float32))
    np.testing.assert_allclose(single[0], value, rtol=1e-6)
    np.testing.assert_allclose(single[1], gradient, atol=1e-4)


def test_rows_in_working_coordinates_are_the_same_function():
    likelihood, parameters, _ = spread_problem("factor", weighted=True, origin=ORIGIN)
    for one, two in zip(
        likelihood.projected().evaluate(parameters), likelihood.evaluate(parameters), strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("q", "n_nodes"), [(3, 64), (15, 128), (15, 16)])
def test_several_sets_of_nodes(q, n_nodes):
    sets, log_weights = node_sets(q, n_nodes, 3, 20)
    assert sets.shape == (20, n_nodes, q)
    assert np.exp(log_weights).sum() == pytest.approx(1)
    np.testing.assert_allclose(sets.mean(axis=1), 0, atol=1e-12)
    covariances = sets.swapaxes(1, 2) @ sets / n_nodes
    if n_nodes > 4 * q:
        np.testing.assert_allclose(covariances - np.eye(q), 0, atol=1e-9)
    np.testing.assert_allclose(np.diagonal(covariances, axis1=1, axis2=2), 1, atol=1e-9)
    assert len(np.unique(sets[:, 0, 0].round(9))) == 20
    again = node_sets(q, n_nodes, 3, 20)[0]
    np.testing.assert_array_equal(again, sets)
    assert np.abs(node_sets(q, n_nodes, 4, 20)[0] - sets).max() > 0.1

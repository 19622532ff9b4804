"""Nodes of each person's own: what they integrate, and what must not change it."""

from dataclasses import replace

import numpy as np
import pytest

from spectralmirror.mixture.membership import Membership
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.person_nodes import (
    N_SETS,
    may_have_person_nodes,
    of_classes,
    with_person_nodes,
)
from spectralmirror.mixture.spread import KINDS
from spectralmirror.rows.memory import Rows
from tests.helpers.mixtures import gradient_by_differences
from tests.helpers.rows import in_groups
from tests.helpers.spreads import ORIGIN, at, in_blocks, of_rows_alone, spread_problem


def near(parameters, step=0.2, seed=1):
    """Return other parameters: nodes stay where they are while parameters move."""
    theta = parameters.packed()
    return parameters.at(theta + step * np.random.default_rng(seed).standard_normal(len(theta)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("response", ["logistic", "probit"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_by_finite_differences(kind, response, weighted):
    likelihood, parameters, _ = spread_problem(
        kind, response, weighted=weighted, origin=ORIGIN, concentration=5.0
    )
    own = with_person_nodes(likelihood, parameters, 16, 0)
    here = near(parameters)
    numerical = gradient_by_differences(lambda x: at(own, here, x)[0], here.packed())
    np.testing.assert_allclose(own.evaluate(here)[1], numerical, atol=1e-6)


@pytest.mark.parametrize(("kind", "error"), [("intercept", 1e-9), ("diagonal", 0.05)])
def test_the_integral_is_that_of_many_shared_nodes(kind, error):
    likelihood, parameters, _ = spread_problem(kind, n=120, weighted=True)
    many = replace(likelihood, spread=likelihood.spread.with_nodes(2**14, 0))
    own = with_person_nodes(likelihood, parameters, 256, 0)
    assert own.has_person_nodes
    assert of_rows_alone(own, parameters) == pytest.approx(
        of_rows_alone(many, parameters), abs=error
    )


def test_a_quadrature_follows_persons_who_are_far_away():
    """An intercept of 40 rows has a posterior that few of the shared nodes reach."""
    rng = np.random.default_rng(0)
    likelihood, _, _ = spread_problem("intercept")
    groups = np.repeat(np.arange(20), 40)
    X = rng.standard_normal((800, 2)) * [1.0, 3.0] + [0.4, -2.0]
    y = np.where(rng.uniform(size=800) < 0.2 + 0.6 * (groups % 2), 1.0, -1.0)
    likelihood = replace(likelihood, rows=in_groups(Rows(X, y), groups))
    far = Parameters(np.zeros((2, 3)), np.zeros(2), np.array([3.0]))
    own = with_person_nodes(likelihood, far, 16, 0)
    z = np.linspace(-8, 8, 4001)
    ups = np.add.reduceat((y > 0).astype(float), np.arange(0, 800, 40))  # all scores are 3 z
    log_f = -np.outer(ups, np.logaddexp(0, -3 * z)) - np.outer(40 - ups, np.logaddexp(0, 3 * z))
    density = np.exp(log_f - z**2 / 2) / np.sqrt(2 * np.pi)
    expected = np.log(density.sum(axis=1) * (z[1] - z[0])).sum()
    assert of_rows_alone(own, far) == pytest.approx(expected, abs=1e-4)
    assert abs(of_rows_alone(likelihood, far) - expected) > 1e-3


@pytest.mark.parametrize("block_bytes", [10**6, 300])
def test_order_of_rows_and_size_of_blocks(block_bytes):
    likelihood, parameters, groups = spread_problem("diagonal", weighted=True)
    order = np.random.default_rng(3).permutation(len(groups))
    other = in_blocks(likelihood, groups, block_bytes, order)
    found = with_person_nodes(other, parameters, 16, 0).evaluate(near(parameters))
    expected = with_person_nodes(likelihood, parameters, 16, 0).evaluate(near(parameters))
    assert found[0] == pytest.approx(expected[0], abs=1e-9)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-8)


def test_persons_twice_are_persons_of_weight_2():
    likelihood, parameters, groups = spread_problem("diagonal")
    rows = likelihood.rows.rows
    twice = in_groups(
        Rows(np.tile(rows.X, (2, 1)), np.tile(rows.y, 2)),
        np.concatenate([groups, groups + groups.max() + 1]),
    )
    weighted = in_groups(Rows(rows.X, rows.y, np.full(len(rows), 2.0)), groups)
    found, expected = (
        with_person_nodes(replace(likelihood, rows=one), parameters, 16, 0).evaluate(parameters)
        for one in (twice, weighted)
    )
    assert found[0] == pytest.approx(expected[0], abs=1e-8)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-8)


def test_persons_have_several_sets():
    likelihood, parameters, _ = spread_problem("diagonal", n=400)
    rows = with_person_nodes(likelihood, parameters, 16, 0).rows
    assert len(rows.placed.sets) == N_SETS
    assert len(np.unique(rows.of_set)) > N_SETS / 2
    assert len(rows.of_set) == rows.n_groups


def test_classes_take_their_nodes_along():
    likelihood, parameters, _ = spread_problem("factor", k=3)
    own = with_person_nodes(likelihood, parameters, 16, 0)
    order = np.array([2, 0, 1])
    other = replace(own, rows=of_classes(own.rows, order))
    assert other.evaluate(near(parameters)[order])[0] == pytest.approx(
        own.evaluate(near(parameters))[0], abs=1e-9
    )


def test_centres_of_similar_parameters_are_a_start_only():
    likelihood, parameters, _ = spread_problem("diagonal", n=120)
    direct = with_person_nodes(likelihood, near(parameters), 16, 0)
    own = with_person_nodes(likelihood, parameters, 16, 0)
    again = with_person_nodes(own, near(parameters), 16, 0)
    assert again.evaluate(parameters)[0] == pytest.approx(direct.evaluate(parameters)[0], abs=0.05)


@pytest.mark.parametrize("q", [0, 2])
def test_membership_and_known_classes(q):
    likelihood, parameters, groups = spread_problem("diagonal", weighted=True, n=40)
    rng = np.random.default_rng(5)
    n_groups = groups.max() + 1
    traits = np.column_stack([rng.standard_normal((n_groups, q)), rng.integers(-1, 2, n_groups)])[
        groups
    ]
    rows = replace(likelihood.rows.rows, traits=traits)
    membership = Membership(np.zeros(q), np.ones(q), has_known=True, n_classes=2)
    likelihood = replace(likelihood, rows=in_groups(rows, groups), membership=membership)
    parameters = replace(parameters, membership=rng.standard_normal((2, q)))
    own = with_person_nodes(likelihood, parameters, 16, 0)
    numerical = gradient_by_differences(lambda x: at(own, parameters, x)[0], parameters.packed())
    np.testing.assert_allclose(own.evaluate(parameters)[1], numerical, atol=1e-6)


def test_where_persons_share_their_nodes():
    likelihood, _, _ = spread_problem("diagonal")
    assert may_have_person_nodes(likelihood, 2)
    assert not may_have_person_nodes(replace(likelihood, spread=None), 2)
    assert not may_have_person_nodes(likelihood, 10**6)


def test_some_of_the_persons_keep_their_nodes():
    """Their log-likelihoods are parts of that of all, and weights of 0 leave persons out."""
    likelihood, parameters, _ = spread_problem("full")
    own = with_person_nodes(likelihood, parameters, 16, 0)
    n = own.rows.n_groups
    some = np.flatnonzero(np.random.default_rng(0).uniform(size=n) < 0.6)
    here, parts = near(parameters), []
    for persons in (some, np.setdiff1d(np.arange(n), some)):
        part = replace(own, rows=own.rows.take(persons))
        assert part.has_person_nodes
        assert part.rows.n_groups == len(persons)
        parts.append(part.evaluate(here)[0] - part.log_prior(here))
    whole = own.evaluate(here)[0] - own.log_prior(here)
    assert sum(parts) == pytest.approx(whole, rel=1e-12)

"""Persons of equally many rows side by side: against loops over persons, nodes and rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from spectralmirror.mixture.person_nodes import with_person_nodes
from spectralmirror.mixture.person_pieces import padded_sizes, piece_slices
from tests.helpers.rows import in_groups
from tests.helpers.spreads import ORIGIN, of_rows_alone, spread_problem

SIZES = [1, 9, 17, 9, 3, 11, 18]


def unequal(response="logistic", *, weighted=False):
    """Return a likelihood of persons of very different numbers of rows, and parameters."""
    likelihood, parameters, _ = spread_problem(
        "factor", response, weighted=weighted, n=sum(SIZES), origin=ORIGIN, concentration=5.0
    )
    groups = np.repeat(np.arange(len(SIZES)), SIZES)
    return replace(likelihood, rows=in_groups(likelihood.rows.rows, groups)), parameters


def by_loops(likelihood, parameters):
    """Return the log-likelihood at the nodes of a likelihood, one person and node at a time."""
    rows, placed, total = likelihood.rows, likelihood.rows.placed, 0.0
    B, R = likelihood.of_spread(parameters), placed.sets.shape[2]
    blocks = [one for block in replace(rows, placed=None).blocks() for one in each_person(block)]
    assert len(blocks) == len(SIZES)
    for g, block in enumerate(blocks):
        X, w = likelihood.working(block), np.ones(len(block))
        w = w if block.weight is None else block.weight
        zeta, joint = placed.sets[rows.of_set[g]], []
        for c, log_p in enumerate(parameters.log_weights):
            L = placed.roots[c, g]
            for r in range(R):
                z = placed.modes[c, g] + L @ zeta[:, r]
                log_f = likelihood.response.log_f(block.y * (X @ (parameters.profiles[c] + B @ z)))
                ratio = np.linalg.slogdet(L)[1] + (zeta[:, r] @ zeta[:, r] - z @ z) / 2
                joint.append(log_p + placed.log_weights[r] + ratio + w / w.mean() @ log_f)
        total += w.mean() * logsumexp(joint)
    return total


def each_person(block):
    return [block.part(slice(g, g + 1)) for g in range(len(block.sizes))]


@pytest.mark.parametrize("response", ["logistic", "probit"])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_by_loops(response, weighted):
    likelihood, parameters = unequal(response, weighted=weighted)
    own = with_person_nodes(likelihood, parameters, 8, 0)
    assert of_rows_alone(own, parameters) == pytest.approx(by_loops(own, parameters), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "value"),
    [("person_nodes.STORED", 0), ("person_pieces.FURTHEST", 0.0), ("person_pieces.PIECE", 1)],
)
def test_nodes_in_every_pass_sums_of_logarithms_and_pieces_of_one_person(name, value, monkeypatch):
    likelihood, parameters = unequal()
    expected = with_person_nodes(likelihood, parameters, 16, 0).evaluate(parameters)
    monkeypatch.setattr(f"spectralmirror.mixture.{name}", value)
    found = with_person_nodes(likelihood, parameters, 16, 0).evaluate(parameters)
    assert found[0] == pytest.approx(expected[0], abs=1e-9)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-9)


def test_far_scores_stay_finite():
    likelihood, parameters = unequal()
    far = replace(parameters, profiles=1e3 * parameters.profiles)
    value, gradient = with_person_nodes(likelihood, parameters, 16, 0).evaluate(far)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_at_most_a_fifth_of_the_rows_is_empty():
    sizes = np.arange(1, 1_000)
    padded = padded_sizes(sizes)
    assert (padded[:8] == sizes[:8]).all()
    assert (padded >= sizes).all()
    assert (padded <= 1.25 * sizes).all()
    assert (np.diff(padded) >= 0).all()
    np.testing.assert_array_equal(padded_sizes(padded), padded)


@pytest.mark.parametrize("width", [1, 300, 10**6])
def test_pieces_hold_every_person_once(width):
    sizes = np.sort(padded_sizes(np.random.default_rng(0).integers(1, 40, 200)))
    found = list(piece_slices(sizes, width))
    numbers = np.concatenate([np.arange(200)[here] for here in found])
    np.testing.assert_array_equal(numbers, np.arange(200))
    assert all(len(np.unique(sizes[here])) == 1 for here in found)
    assert all(here.stop - here.start == 1 for here in found) == (width == 10**6)

"""The gradient of each person's log-likelihood, and the sum of its outer products."""

from dataclasses import replace

import numpy as np
import pytest

from spectralmirror.mixture.group_scores import group_scores, score_products
from spectralmirror.mixture.spread import KINDS
from tests.helpers.mixtures import gradient_by_differences, random_problem
from tests.helpers.rows import in_groups
from tests.helpers.spreads import ORIGIN, in_blocks, of_rows_alone, spread_problem

PROBLEMS = [
    {"kind": kind, "response": response, "k": k, "weighted": weighted}
    for kind in KINDS
    for response in ("logistic", "probit")
    for k in (1, 2)
    for weighted in (False, True)
]


def scores_and_weights(likelihood, parameters):
    """Return the gradients of all groups, and the weights of these."""
    expanded, scores, weights = likelihood.expanded(parameters), [], []
    for block in likelihood.rows.blocks():
        posterior = likelihood.posterior(block, expanded)
        scores.append(group_scores(likelihood, parameters, block, posterior))
        w = block.shares[0]
        weights.append(np.ones(len(scores[-1])) if w is None else w)
    return np.vstack(scores), np.concatenate(weights)


@pytest.mark.parametrize("options", PROBLEMS)
def test_scores_sum_to_the_gradient(options):
    likelihood, parameters, _ = spread_problem(**options, origin=ORIGIN)
    scores, w = scores_and_weights(likelihood, parameters)
    of_prior = gradient_by_differences(
        lambda x: likelihood.log_prior(parameters.at(x)), parameters.packed()
    )
    gradient = likelihood.evaluate(parameters)[1]
    np.testing.assert_allclose(w @ scores + of_prior, gradient, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_gradients_of_single_persons(kind):
    likelihood, parameters, groups = spread_problem(kind, weighted=True, n=24)
    scores, w = scores_and_weights(likelihood, parameters)
    _, first = np.unique(groups, return_index=True)
    for number, g in enumerate(groups[np.sort(first)]):  # in the order of their first rows
        own = likelihood.rows.rows[np.flatnonzero(groups == g)]
        one = replace(likelihood, rows=in_groups(own, np.zeros(len(own), dtype=int)))

        def value(x, one=one):
            return of_rows_alone(one, parameters.at(x))

        slope = gradient_by_differences(value, parameters.packed())
        np.testing.assert_allclose(w[number] * scores[number], slope, atol=1e-7)


@pytest.mark.parametrize("options", PROBLEMS[::3])
def test_products_are_those_of_the_scores(options):
    likelihood, parameters, _ = spread_problem(**options)
    scores, w = scores_and_weights(likelihood, parameters)
    for counts, power in ((False, 2), (True, 1)):
        found = score_products(likelihood, parameters, counts=counts)
        expected = (scores.T * w**power) @ scores
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_without_spread_and_without_groups():
    likelihood, parameters, _ = random_problem(weighted=True)
    scores, w = scores_and_weights(likelihood, parameters)
    gradient = likelihood.with_l2(0.0).evaluate(parameters)[1]
    np.testing.assert_allclose(w @ scores, gradient, atol=1e-9)


@pytest.mark.parametrize("size", [1_000, 20_000])
def test_products_of_blocks_and_pieces_of_any_size_and_order(size, monkeypatch):
    likelihood, parameters, groups = spread_problem("full", weighted=True, n=200)
    expected = score_products(likelihood, parameters)
    moved = in_blocks(likelihood, groups, 50 * size, np.random.default_rng(0).permutation(200))
    monkeypatch.setattr("spectralmirror.rows.block.PIECE_BYTES", size)
    np.testing.assert_allclose(score_products(moved, parameters), expected, rtol=1e-9, atol=1e-9)


def test_scores_sum_to_0_over_the_classes():
    """A constant that is added to all logits changes nothing."""
    likelihood, parameters, _ = spread_problem("factor", k=2)
    scores, _ = scores_and_weights(likelihood, parameters)
    np.testing.assert_allclose(scores[:, -2:].sum(axis=1), 0, atol=1e-12)

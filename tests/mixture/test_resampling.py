"""Resamples of groups as weights, against copies of the groups; and classes matched to others."""

from dataclasses import replace

import numpy as np
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.newton import information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.reopened import fitted_parameters
from spectralmirror.mixture.resampling import (
    Refits,
    drawn,
    in_batches,
    matched,
)

X, Y, TRUTH = make_linear_classifier_mixture(
    600, 3, 2, profile_norm=4, group_size=6, random_state=0
)


def refits(weight=None, groups=TRUTH.groups):
    model = LinearClassifierMixture(2, random_state=0)
    rows, classes = model._accepted(X, Y, groups, weight, None)
    model._fit_grouped(rows, classes)
    likelihood = model._opened(rows, 2).with_l2(model.l2_)
    theta = fitted_parameters(model, likelihood)
    inverse = information(likelihood, theta, seed=0).inverse
    return model, Refits(rows, likelihood, theta, inverse, 0, 500)


def group_counts(part, whole):
    """Return the weight of each group of `whole`, by the features of its first row."""
    firsts = whole.rows.X[whole.order[whole.starts]]
    weight = np.add.reduceat(part.rows.weight, part.starts) / part.sizes
    found = np.zeros(whole.n_groups)
    for x, w in zip(part.rows.X[part.order[part.starts]], weight, strict=True):
        found[np.flatnonzero((firsts == x).all(axis=1))] = w
    return found


def test_the_estimates_of_a_fit_are_the_maximum_of_its_likelihood():
    model, made = refits()
    value, gradient = made.likelihood.evaluate(made.parameters)
    assert value == pytest.approx(model.objective_, abs=1e-8)
    assert np.abs(gradient).max() < 1e-4


def test_a_resample_is_fitted_as_copies_of_its_groups():
    _, made = refits()
    counts = group_counts(drawn(made.rows, np.random.default_rng([0, 4])), made.rows).astype(int)
    copies = made.rows.take(np.repeat(np.arange(made.rows.n_groups), counts))
    oracle = climb(replace(made.likelihood, rows=copies), made.parameters, tol=1e-10, max_iter=500)
    ascent, weights = made.refit(4)
    assert counts.max() > 1  # otherwise there would be nothing to see
    assert len(copies.rows) == len(Y)
    assert ascent.value == pytest.approx(oracle.value, abs=1e-3)
    # a climb that ends 1e-4 below the maximum is 0.014 standard errors from it
    error = np.sqrt(np.diagonal(made.inverse)[:8]).reshape(2, 4)
    assert (np.abs(ascent.parameters.profiles - oracle.parameters.profiles) < 0.05 * error).all()
    np.testing.assert_allclose(weights, oracle.parameters.weights, atol=1e-3)


@pytest.mark.parametrize("kind", ["none", "counts", "fractions"])
def test_how_often_groups_are_drawn(kind):
    of_groups = np.tile([1.0, 3.0], 50) * (0.5 if kind == "fractions" else 1)
    weight = None if kind == "none" else np.repeat(of_groups, 6)
    rows = LinearClassifierMixture(2)._accepted(X, Y, TRUTH.groups, weight, None)[0]
    rng = np.random.default_rng(0)
    draws = np.array([group_counts(drawn(rows, rng), rows) for _ in range(400)])
    own = np.ones(100) if weight is None else rows.rows.weight[rows.order[rows.starts]]
    # the weight of a group is its own on average, to within 4 standard errors of 400 draws
    spread = own if kind == "fractions" else np.sqrt(own)
    assert (np.abs(draws.mean(axis=0) - own) < 4 * spread / 20).all()
    if kind != "fractions":
        assert (draws.sum(axis=1) == own.sum()).all()
    else:
        assert np.allclose((draws / own).sum(axis=1), 100)


def test_rows_without_groups_are_drawn_one_by_one():
    rows = LinearClassifierMixture(2)._accepted(X, Y, None, None, None)[0]
    part = drawn(rows, np.random.default_rng(0))
    assert part.rows.weight.sum() == len(Y)
    assert 0.58 < len(part.rows) / len(Y) < 0.68  # 1 - 1/e = 0.632, with a standard error of 0.01


def test_classes_are_matched_whatever_their_order():
    rng = np.random.default_rng(0)
    reference = Parameters(5 * rng.standard_normal((4, 3)), np.log([0.4, 0.3, 0.2, 0.1]))
    near = replace(reference, profiles=reference.profiles + 0.1 * rng.standard_normal((4, 3)))
    found = matched(near[rng.permutation(4)], reference)
    np.testing.assert_array_equal(found.profiles, near.profiles)
    np.testing.assert_allclose(found.weights, near.weights)


def test_batches_come_in_order():
    found = in_batches(lambda numbers: [2 * b for b in numbers], 25, None, "number")
    assert found == list(range(0, 50, 2))

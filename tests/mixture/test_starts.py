"""Starts: how components are grown, annealed and counted."""

from functools import partial

import numpy as np
import pytest

from spectralmirror.mixture import starts
from spectralmirror.mixture.lbfgs import Ascent, climb
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.starts import Start
from tests.helpers.mixtures import drawn, likelihood_of, with_intercepts

climber = partial(climb, max_iter=500)


@pytest.mark.parametrize(("l2", "n_relaxed"), [(0.01, 3), (0.2, 1), (5.0, 0)])
def test_annealing_relaxes_the_penalty_step_by_step(l2, n_relaxed):
    X, y, _ = drawn()
    likelihood, seen = likelihood_of(X, y, l2=l2), []

    def spy(part, start, *, tol, beat=-np.inf):
        seen.append((part.l2, tol))
        return Ascent(start, -10.0, 2, 3, converged=True)

    start = starts.random_start(likelihood, 2, np.random.RandomState(0))
    found = starts.anneal(likelihood, start, spy, starts.RELAXATION)
    penalties, tolerances = np.transpose(seen)
    assert len(penalties) == n_relaxed + 1
    assert (np.diff(penalties) < 0).all()
    assert penalties[-1] == l2
    assert (tolerances[:-1] > 10 * tolerances[-1]).all()  # only the last climb is fine
    assert (found.n_iter, found.n_passes) == (2 * len(seen), 3 * len(seen))


def test_growing_finds_the_classifiers():
    X, y, truth = drawn(6000, 5, 3, weights=[0.4, 0.3, 0.3], profile_norm=8.0)
    likelihood = likelihood_of(X, y)
    grown = starts.grow(likelihood, 3, climber)
    assert len(grown) == 3
    top = climber(likelihood, with_intercepts(truth.profiles), tol=0.01)
    assert climber(likelihood, grown, tol=0.01).value > top.value - 0.5


def test_a_split_replaces_one_component_by_two_of_half_its_weight():
    X, y, _ = drawn()
    likelihood = likelihood_of(X, y)
    one = climber(likelihood, Parameters.equal(np.zeros((1, 5))), tol=0.01).parameters
    two = starts.split(likelihood, one)
    np.testing.assert_allclose(two.weights, [0.5, 0.5])
    np.testing.assert_allclose(two.profiles.mean(axis=0), one.profiles[0])
    assert climber(likelihood, two, tol=0.01).value > likelihood.evaluate(one)[0] + 10


def test_random_starts_have_one_norm_and_no_intercepts():
    X, y, _ = drawn()
    start = starts.random_start(likelihood_of(X, y), 3, np.random.RandomState(0))
    np.testing.assert_allclose(np.linalg.norm(start.profiles, axis=1), starts.NORM)
    assert (start.profiles[:, -1] == 0).all()
    assert np.linalg.matrix_rank(start.profiles) == 3
    np.testing.assert_allclose(start.weights, 1 / 3)


@pytest.mark.parametrize(("n_agree", "n_climbed"), [(1, 1), (2, 4), (3, 5), (9, 6)])
def test_starts_end_when_enough_of_them_agree(n_agree, n_climbed):
    X, y, _ = drawn()
    likelihood = likelihood_of(X, y)
    parameters = Parameters.equal(np.zeros((1, 5)))
    values = iter([-30.0, -20.0, -10.0, -10.2, -10.4, -50.0])

    def to_next_value(_, start, *, tol, beat):
        return Ascent(start, next(values), 1, 1, converged=True)

    candidates = [("random", parameters)] * 6
    found = starts.multi_start(likelihood, candidates, to_next_value, n_agree=n_agree)
    assert len(found) == n_climbed
    objectives = [one.start.objective for one in found]
    assert objectives == sorted(objectives, reverse=True)


def test_agreement_is_counted_from_the_best():
    found = [Start("random", value, 1) for value in (-12.0, -10.0, -10.4, -10.6)]
    assert starts.n_agreeing(found) == 2

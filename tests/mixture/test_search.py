"""Where the fit looks for maxima."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from spectralmirror import MixtureWarning
from spectralmirror.mixture import search
from spectralmirror.mixture.kinds import KINDS
from spectralmirror.mixture.lbfgs import Ascent, climb
from spectralmirror.mixture.search import N_AGREE, adapt_penalty, find_maxima
from spectralmirror.mixture.starts import Maximum
from spectralmirror.mixture.task import Subspace, Task
from tests.helpers.mixtures import drawn, fitted, likelihood_of, with_intercepts

climber = partial(climb, max_iter=500)


@pytest.fixture(scope="module")
def clear():
    """A task with two clear classifiers, and their maximum."""
    X, y, truth = drawn(3000, 5, profile_norm=8.0)
    likelihood = likelihood_of(X, y)
    rng = np.random.RandomState(0)
    space = Subspace(truth.profiles, 9.0)
    task = Task(2, likelihood, space, True, "spectral", 44, 500, 1e-3, climb, rng)
    top = climb(likelihood, with_intercepts(truth.profiles), tol=0.01, max_iter=500)
    return task, top


@pytest.mark.parametrize("separation", [9.0, 0.5, None])
def test_starts_lie_in_a_clear_subspace_or_in_the_whole_space(clear, separation):
    task, top = clear
    space = None if separation is None else Subspace(task.subspace.basis, separation)
    found = find_maxima(task, task.likelihood, space)
    kinds = {one.start.kind for one in found}
    assert ("random" in kinds) == (separation == 9.0)  # random starts lie inside only
    assert ("grown in the subspace" in kinds) == (separation == 0.5)
    assert kinds & set(KINDS)  # whole space or not, some start outside of the subspace
    assert found[0].ascent.parameters.profiles.shape == (2, 6)  # whatever space it was found in
    assert found[0].ascent.value > top.value - 0.1
    best = found[0].start.objective
    assert sum(one.start.objective > best - 0.5 for one in found) >= N_AGREE > 1
    values = [one.ascent.value for one in found]
    assert values == sorted(values, reverse=True)


def test_binary_features_are_not_searched_inside_their_subspace():
    rng = np.random.default_rng(0)
    X = (rng.uniform(size=(3000, 5)) < 0.2).astype(float)
    _, y, truth = drawn(3000, 5)
    task = Task(2, likelihood_of(X, y), None, True, "spectral", 44, 500, 1e-3, climb,
                np.random.RandomState(0))  # fmt: skip
    found = find_maxima(task, task.likelihood, Subspace(truth.profiles, 9.0))
    assert "random" not in {one.start.kind for one in found}


def test_a_start_that_leads_higher_reopens_the_search(clear, monkeypatch):
    """If the subspace has led to a poor maximum, starts outside of it say so."""
    task, top = clear
    poor = replace(top, value=top.value - 50)
    monkeypatch.setattr(search, "_search_subspace", lambda *_: [Maximum.of("grown", poor)])
    found = find_maxima(task, task.likelihood, task.subspace)
    assert found[0].ascent.value > top.value - 0.1
    assert "grown in the subspace" in {one.start.kind for one in found}


def test_a_given_start_is_used_as_it_is(clear):
    task, _ = clear
    start = with_intercepts(3 * np.eye(2, 5))
    found = find_maxima(replace(task, init=start), task.likelihood, task.subspace)
    assert [one.start.kind for one in found] == ["given"]
    assert found[0].ascent.parameters is start
    inside = task.likelihood.inside(task.subspace.basis)
    found = find_maxima(replace(task, init=start), inside, None)
    assert found[0].ascent.parameters.profiles.shape == (2, 3)


def test_plain_random_starts_are_all_climbed(clear):
    task, _ = clear
    found = find_maxima(replace(task, init="random", n_init=5), task.likelihood, None)
    assert [one.start.kind for one in found] == ["random"] * 5


def test_crossing_frees_a_component_that_is_stuck():
    """One maximum lacks the third classifier, another has it and lacks the first."""
    X, y, truth = drawn(3000, 5, 3, weights=[0.4, 0.3, 0.3], profile_norm=8.0)
    likelihood = likelihood_of(X, y)
    poor = climber(likelihood, with_intercepts(truth.profiles[[0, 1, 1]]), tol=0.01)
    other = Ascent(with_intercepts(truth.profiles[[2, 2, 1]]), poor.value - 9, 1, 1, converged=True)
    top = climber(likelihood, with_intercepts(truth.profiles), tol=0.01)
    assert poor.value < top.value - 10
    task = Task(3, likelihood, None, True, "spectral", 44, 500, 1e-3, climb,
                np.random.RandomState(0))  # fmt: skip
    maxima = [Maximum.of("grown", poor), Maximum.of("partition", other)]
    crossed = search.cross(task, likelihood, maxima, 20)
    assert max(one.ascent.value for one in crossed) > top.value - 1
    assert {one.start.kind for one in crossed} == {"crossed"}


@pytest.mark.parametrize(("n_agreeing", "rounds"), [(1, search.ROUNDS), (8, search.EASY_ROUNDS)])
def test_crossing_ends_when_every_round_was_in_vain(n_agreeing, rounds):
    X, y, truth = drawn(500)
    likelihood, start = likelihood_of(X, y), with_intercepts(truth.profiles)
    best = Ascent(start, 0.0, 1, 1, converged=True)
    donor = Ascent(with_intercepts(-truth.profiles), -9.0, 1, 1, converged=True)
    tried = []

    def lost(_, start, *, tol, max_iter, beat=-np.inf):
        tried.append(start.profiles)
        return Ascent(start, -100.0, 1, 1, converged=True)

    task = Task(2, likelihood, None, True, "spectral", 400, 500, 1e-3, lost,
                np.random.RandomState(0))  # fmt: skip
    maxima = [Maximum.of("grown", best)] * n_agreeing + [Maximum.of("around", donor)] * 4
    crossed = search.cross(task, likelihood, maxima, 400)
    assert len(crossed) == 2 * rounds
    for profiles in tried:  # one at a time
        assert (profiles != start.profiles).any(axis=1).sum() == 1


def test_a_penalty_far_from_the_first_one_moves_all_maxima(clear):
    """Norms of 8 ask for a penalty far below 40."""
    task, _ = clear
    strong = task.likelihood.with_l2(40.0)
    maxima = find_maxima(replace(task, likelihood=strong), strong, None)
    chosen, found = adapt_penalty(task, strong, maxima)
    assert chosen.l2 < 10
    independent = [one for one in found if one.start.kind != "crossed"]
    assert len(independent) >= 4
    best = found[0].ascent
    assert chosen.evaluate(best.parameters)[0] == pytest.approx(best.value)
    assert best.value == pytest.approx(climber(chosen, best.parameters, tol=1e-6).value, abs=0.1)


def test_three_indistinct_components_are_crossed():
    X, y, _ = drawn(3000, 20, 3, weights=[0.4, 0.3, 0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)
        kinds = [start.kind for start in fitted(X, y, k=3, l2=0.1).starts_]
    assert "grown in the subspace" in kinds  # the subspace is not clear here
    assert len(set(kinds)) > 5
    assert kinds.count("crossed") >= 3


def test_a_clear_subspace_is_searched_alone():
    X, y, _ = drawn(20_000, 10, profile_norm=8.0)
    kinds = {start.kind for start in fitted(X, y).starts_}
    assert kinds == {"grown", "random", *search.CHECKS}


def test_a_search_goes_on_where_it_ended():
    X, y, _ = drawn(600, 4, profile_norm=2.0)
    task = Task(2, likelihood_of(X, y), None, True, "spectral", 4, 500, 1e-3, climb,
                np.random.RandomState(0))  # fmt: skip
    first = find_maxima(task, task.likelihood, None)
    more = replace(task, n_init=12, rng=np.random.RandomState(0), found=tuple(first))
    again = find_maxima(more, task.likelihood, None)
    kinds = [one.start.kind for one in again]
    assert len(first) == 4 < len(again) <= 12
    assert kinds.count("grown") == 1  # it was made before, and is not made again
    assert again[0].ascent.value > first[0].ascent.value - 0.02

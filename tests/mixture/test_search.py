"""Where the fit looks for maxima."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from spectralmirror import MixtureWarning
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.search import N_AGREE, find_maxima
from spectralmirror.mixture.task import Subspace, Task
from tests.helpers.mixtures import drawn, fitted, likelihood_of, with_intercepts


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


@pytest.mark.parametrize(
    ("separation", "kinds"),
    [
        (9.0, {"grown", "random"}),
        (0.5, {"grown in the subspace", "grown", "random"}),
        (None, {"grown", "random"}),
    ],
)
def test_starts_lie_in_a_clear_subspace_or_in_the_whole_space(clear, separation, kinds):
    task, top = clear
    space = None if separation is None else Subspace(task.subspace.basis, separation)
    found = find_maxima(task, task.likelihood, space)
    assert {one.start.kind for one in found} == kinds
    assert found[0].ascent.parameters.profiles.shape == (2, 6)  # whatever space it was found in
    assert found[0].ascent.value > top.value - 0.1
    best = found[0].start.objective
    assert sum(one.start.objective > best - 0.5 for one in found) == N_AGREE > 1


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


def test_three_indistinct_components_are_replaced_one_by_one():
    X, y, _ = drawn(3000, 20, 3, weights=[0.4, 0.3, 0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)
        kinds = [start.kind for start in fitted(X, y, k=3).starts_]
    assert "grown in the subspace" in kinds  # the subspace is not clear here
    assert kinds.count("one replaced") >= 3


def test_a_clear_subspace_is_searched_alone():
    X, y, _ = drawn(20_000, 10, profile_norm=8.0)
    kinds = {start.kind for start in fitted(X, y).starts_}
    assert kinds == {"grown", "random"}

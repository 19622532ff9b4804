"""Whether fewer components explain the labels as well."""

from functools import partial

import numpy as np
import pytest

from spectralmirror.mixture import fewer, newton
from spectralmirror.mixture.evidence import choose_l2, laplace
from spectralmirror.mixture.fewer import evidence_of_fewer
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.newton import information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.task import Task
from tests.helpers.mixtures import drawn, likelihood_of

climber = partial(climb, max_iter=500)


def problem(k, k_true, n=3000, d=3):
    """Return a task, the likelihood with the penalty from the data, and the maximum of k."""
    weights = np.full(k_true, 1 / k_true)
    X, y, truth = drawn(n, d, k_true, weights=weights, profile_norm=4.0)
    likelihood = likelihood_of(X, y, l2=1.0)
    task = Task(k, likelihood, None, True, "spectral", 44, 500, 1e-3, climb,
                np.random.RandomState(0))  # fmt: skip
    start = np.zeros((k, d + 1))
    start[:, :-1] = np.random.default_rng(0).standard_normal((k, d))
    start[:k_true, :-1] = truth.profiles
    return task, *choose_l2(likelihood, Parameters.equal(start), climber, 0)


def compared(k, k_true):
    """Return the evidence of fewer components than k."""
    return evidence_of_fewer(*problem(k, k_true))


@pytest.mark.parametrize(("k", "k_true"), [(2, 1), (2, 2), (3, 2)])
def test_the_true_number_has_the_largest_evidence(k, k_true):
    found = compared(k, k_true)
    assert set(found) == {k, k - 1, 1}
    assert max(found, key=found.get) == k_true


def test_each_number_has_a_penalty_of_its_own(monkeypatch):
    task, likelihood, top = problem(2, 2)
    start = Parameters.equal(np.zeros((1, 4)))
    own, single = choose_l2(likelihood, start, climber, 0)
    assert own.l2 > 1.2 * likelihood.l2  # the mean of two profiles is shorter than these
    expected = laplace(own, single, information(own, single.parameters, 0)).log_evidence
    # chosen roughly where one component has far less evidence than two, as here
    found = evidence_of_fewer(task, likelihood, top)
    assert found[1] < found[2] - fewer.FAR_WORSE
    assert found[1] == pytest.approx(expected, abs=0.1)
    monkeypatch.setattr(fewer, "FAR_WORSE", np.inf)
    assert evidence_of_fewer(task, likelihood, top)[1] == pytest.approx(expected, abs=1e-4)


def test_too_many_parameters_are_not_compared(monkeypatch):
    monkeypatch.setattr(newton, "MOST_PARAMETERS", 2)
    assert compared(2, 1) == {}

"""The bootstrap likelihood-ratio test, against its formula and independent searches."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit, logsumexp

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.reopened import fitted_parameters
from spectralmirror.mixture.search import find_maxima
from spectralmirror.mixture.task import Task
from spectralmirror.selection.ratio_test import maxima, p_value, ratio_test
from spectralmirror.selection.simulation import with_labels


def made(k, n, d, group_size=1, norm=3.0, seed=0, true_k=None):
    X, y, truth = make_linear_classifier_mixture(
        n, d, true_k or k - 1, profile_norm=norm, group_size=group_size, random_state=seed
    )
    groups = truth.groups if group_size > 1 else None
    likelihoods, thetas = [], []
    for number in (k - 1, k):
        model = LinearClassifierMixture(number, random_state=0)
        rows, classes = model._accepted(X, y, groups, None, None)
        model._chosen(rows, classes)
        likelihoods.append(model._opened(rows, number))
        thetas.append(fitted_parameters(model, likelihoods[-1]))
    return X, y, ratio_test(*likelihoods, *thetas, seed=seed)


X, Y, TEST = made(2, 300, 2)
_, _, OF_TWO = made(3, 600, 2, group_size=5)


def objective(theta, X, y, l2, k):
    """Q_k in the units of x; theta holds (u_l, b_l) for each class, and logits."""
    A, a = theta[: 3 * k].reshape(k, 3), theta[3 * k :]
    log_p = a - logsumexp(a)
    log_f = log_expit(y[:, None] * (X @ A[:, :2].T + A[:, 2]))
    u = A[:, :2] * X.std(axis=0)
    weak = 1e-4 / 2 * np.square(A[:, 2] + A[:, :2] @ X.mean(axis=0)).sum()
    prior = 5 * (log_p + np.log(k)).sum() - l2 / 2 * np.square(u).sum() - weak
    return float(logsumexp(log_f + log_p, axis=1).sum() + prior)


def test_statistic_is_twice_the_gain_over_a_class_in_halves():
    rng, l2 = np.random.default_rng(0), TEST.null.l2

    def largest(k, n_starts):
        starts = rng.normal(scale=2, size=(n_starts, 4 * k))
        found = [minimize(lambda x: -objective(x, X, Y, l2, k), x0) for x0 in starts]
        best = min(found, key=lambda one: one.fun)
        return best.x, -best.fun

    single, _ = largest(1, 1)
    halves = np.concatenate([np.tile(single[:3], 2), [0.0, 0.0]])
    T = 2 * (largest(2, 10)[1] - objective(halves, X, Y, l2, 2))
    assert TEST.observed.statistic == pytest.approx(T, abs=1e-3)
    assert T > 0.5  # or there would be nothing to compare


@pytest.mark.parametrize("test", [TEST, OF_TWO], ids=["1 against 2", "2 against 3"])
def test_resamples_reach_their_maxima(test):
    for b in range(4):
        found = test.resample(b)
        rng = np.random.default_rng([test.seed, test.k, b])
        y = test._simulator.labels(rng)
        assert found.statistic >= 0
        for likelihood, ascent in ((test.null, found.null), (test.more, found.more)):
            whole = with_labels(replace(likelihood, rows=test.rows), y)
            k = len(ascent.parameters)
            task = Task(k, whole, None, True, "spectral", 60, 500, 1e-3, climb,
                        np.random.RandomState(b))  # fmt: skip
            best = max(one.ascent.value for one in find_maxima(task, whole, None))
            assert ascent.value > best - 0.02


def test_resamples_do_not_depend_on_how_many_there_are():
    both = TEST.resampled(range(6))
    np.testing.assert_array_equal(both[3:], TEST.resampled(range(3, 6)))
    assert len(set(both)) == 6


def test_other_processes_find_the_same():
    sent = pickle.loads(pickle.dumps(TEST))
    assert sent.null.rows is None  # rows are sent once
    np.testing.assert_array_equal(sent.resampled(range(2)), TEST.resampled(range(2)))


def test_data_have_the_same_statistic_as_a_resample_with_their_labels():
    likelihoods = (replace(one, rows=TEST.rows) for one in (TEST.null, TEST.more))
    fits = TEST.observed.null.parameters, TEST.observed.more.parameters
    again = maxima(*likelihoods, *fits, np.random.RandomState(3))
    assert again.statistic == pytest.approx(TEST.observed.statistic, abs=1e-2)


def test_two_classes_are_told_from_one():
    test = made(2, 600, 2, group_size=5, norm=5.0, true_k=2)[2]
    assert test.observed.statistic > 5 * test.resampled(range(9)).max()


def test_a_bad_start_of_fewer_classes_is_left():
    null = replace(OF_TWO.null, rows=OF_TWO.rows)
    more = replace(OF_TWO.more, rows=OF_TWO.rows)
    start = Parameters.equal(np.zeros((1, null.profile_size)))
    single = climb(null.with_l2(2 * null.l2), start, tol=1e-10, max_iter=500).parameters
    alike = Parameters.equal(single.profiles[[0, 0]])  # a saddle: both classes the same
    of_more = OF_TWO.observed.more.parameters
    found = maxima(null, more, alike, of_more, np.random.RandomState(0))
    assert found.null.value == pytest.approx(OF_TWO.observed.null.value, abs=0.01)
    assert climb(null, alike, tol=1e-4, max_iter=500).value < found.null.value - 1


def test_p_value():
    assert p_value(3.0, np.array([1.0, 2.0, 4.0])) == 0.5
    assert p_value(5.0, np.zeros(19)) == 0.05
    assert p_value(0.0, np.zeros(4)) == 1.0  # equal ones count as large

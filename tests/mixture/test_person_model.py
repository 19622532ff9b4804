"""Persons of a whole model: batches, predictions and profiles."""

import numpy as np
import pytest
from scipy.special import log_expit, logsumexp

from spectralmirror.mixture.labels import Labels
from spectralmirror.mixture.person_model import History, PersonModel
from spectralmirror.responses import RESPONSES
from tests.helpers.spreads import known

COEF, INTERCEPT, WEIGHTS = np.array([[1.5, -1.0], [-1.0, 0.5]]), np.array([0.3, -0.2]), [0.6, 0.4]
#: B for two coefficients and the intercept, in two dimensions.
B = np.array([[0.8, 0.0], [0.3, 0.6], [-0.4, 0.5]])
MODEL = PersonModel(
    lambda X: (X @ COEF.T + INTERCEPT, X @ B[:2] + B[2]), np.log([WEIGHTS]), RESPONSES["logistic"]
)


def simulated(n=300, size=12, seed=0, coef=COEF, intercept=INTERCEPT, weights=WEIGHTS, spread=B):
    """Return a history of persons, and their true coefficients and intercepts."""
    rng = np.random.default_rng(seed)
    classes = rng.choice(len(weights), n, p=weights)
    own = np.column_stack([coef, intercept])[classes]
    own = own + rng.standard_normal((n, spread.shape[1])) @ spread.T
    numbers = rng.permutation(np.repeat(np.arange(n), size))
    X = rng.standard_normal((n * size, 2))
    t = (np.column_stack([X, np.ones(len(X))]) * own[numbers]).sum(axis=1)
    y = np.where(rng.uniform(size=len(t)) < 1 / (1 + np.exp(-t)), 1.0, -1.0)
    return History(X, Labels(y, RESPONSES["logistic"]), numbers), own


def by_brute_force(history, number):
    """Return profiles on a grid of z for each class, and their posterior, of a single person."""
    x = np.linspace(-7, 7, 141)
    z = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    own = np.column_stack([COEF, INTERCEPT])[:, None] + z @ B.T  # (k, grid, 3)
    rows = history.numbers == number
    design = np.column_stack([history.X[rows], np.ones(rows.sum())])
    log_p = (
        log_expit(history.labels.signs[rows] * (own @ design.T)).sum(axis=2)
        - (z**2).sum(axis=1) / 2
    )
    log_p += np.log(WEIGHTS)[:, None] + 2 * np.log(x[1] - x[0]) - np.log(2 * np.pi)
    return own.reshape(-1, 3), log_p.ravel()


@pytest.fixture(scope="module")
def few():
    return simulated(n=5)[0]


def test_log_likelihood_by_brute_force(few):
    found = logsumexp(MODEL.log_likelihood(few) + np.log(WEIGHTS), axis=1)
    exact = [logsumexp(by_brute_force(few, g)[1]) for g in range(5)]
    np.testing.assert_allclose(found, exact, atol=1e-4)


def test_probabilities_by_brute_force(few):
    rng = np.random.default_rng(1)
    X, numbers = rng.standard_normal((7, 2)), np.array([0, 1, 2, 3, 4, 2, 0])
    found = MODEL.probabilities(X, numbers, few)
    for x, g, p in zip(X, numbers, found, strict=True):
        own, log_p = by_brute_force(few, g)
        posterior = np.exp(log_p - logsumexp(log_p))
        exact = posterior @ (1 / (1 + np.exp(-own @ np.append(x, 1))))
        np.testing.assert_allclose(p, [1 - exact, exact], atol=1e-4)


def test_moments_by_brute_force(few):
    mean, deviation = MODEL.moments(few, np.column_stack([COEF, INTERCEPT]), B)
    for g in range(5):
        own, log_p = by_brute_force(few, g)
        posterior = np.exp(log_p - logsumexp(log_p))
        exact = posterior @ own
        np.testing.assert_allclose(mean[g], exact, atol=1e-4)
        square = posterior @ np.square(own - exact)
        np.testing.assert_allclose(deviation[g], np.sqrt(square), atol=1e-4)


@pytest.mark.parametrize("batch", [1, 40_000, 10**9])
def test_batches_of_any_size_give_the_same(batch, monkeypatch):
    history, _ = simulated(n=40)
    rng = np.random.default_rng(1)
    X, numbers = rng.standard_normal((60, 2)), rng.integers(0, 40, 60)
    coef = np.column_stack([COEF, INTERCEPT])

    def everything():
        yield MODEL.log_likelihood(history)
        yield MODEL.probabilities(X, numbers, history)
        yield from MODEL.moments(history, coef, B)

    expected = list(everything())
    monkeypatch.setattr("spectralmirror.mixture.persons.BATCH", batch)
    for ours, theirs in zip(everything(), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_the_order_of_rows_does_not_matter():
    history, _ = simulated(n=20)
    order = np.random.default_rng(0).permutation(len(history.labels))
    moved = History(history.X[order], history.labels[order], history.numbers[order])
    np.testing.assert_allclose(
        MODEL.log_likelihood(moved), MODEL.log_likelihood(history), rtol=1e-9
    )


def test_a_row_alone_is_a_stranger():
    """The adaptive nodes of one label, and the plain ones along the direction of its row."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.choice([-1.0, 1.0], 30)
    found = MODEL.log_likelihood(History(X, Labels(y, RESPONSES["logistic"]), np.arange(30)))
    t, W = MODEL.scores(X)
    expected = MODEL.log_f_of_rows(y[:, None] * t, y[:, None] * W)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_nearly_certain_classes_have_no_negative_variance():
    """Profiles far from 0 that hardly differ: their variance is a small difference."""
    coef = np.array([[1e4, 0.0, 0.0], [1e4, 1e-7, 0.0]])
    history, _ = simulated(n=3)
    small = 1e-9 * B
    _, deviation = MODEL.moments(history, coef, small)
    assert np.isfinite(deviation).all()
    assert (deviation < 1e-7).all()
    assert (deviation[:, 1] > 0).all()


@pytest.mark.parametrize("k", [1, 2])
def test_profiles_cover_the_truth(k):
    """300 persons, with the true parameters: intervals of mean -+ 1.645 sd.

    A coverage of 90 % has a standard error of 1.7 % over 300 persons; posteriors that are not
    normal cost up to 2 %. The mean square of (truth - mean) / sd is 1 exactly.
    """
    chosen = slice(0, k)
    weights = np.array([1.0]) if k == 1 else np.array(WEIGHTS)
    history, own = simulated(
        coef=COEF[chosen], intercept=INTERCEPT[chosen], weights=weights, seed=2
    )
    mixture = known(COEF[chosen], INTERCEPT[chosen], weights, B[:2], B[2])
    names = np.char.add("p", np.char.zfill(history.numbers.astype(str), 3))
    found = mixture.person_profiles(history.X, history.labels.signs, names)
    assert found.groups.tolist() == [f"p{g:03d}" for g in range(300)]
    mean = np.column_stack([found.coef, found.intercept])
    sd = np.column_stack([found.coef_standard_deviation, found.intercept_standard_deviation])
    z = (own - mean) / sd
    covered = (np.abs(z) < 1.645).mean(axis=0)
    assert (np.abs(covered - 0.9) < 4 * 0.017 + 0.02).all(), covered
    error = (z**2).std(axis=0) / np.sqrt(300)
    assert (np.abs((z**2).mean(axis=0) - 1) < 4 * error).all()
    # and labels say something: persons are nearer to their means than to those of everybody
    everybody = np.column_stack([COEF, INTERCEPT])[chosen].T @ weights
    assert (
        np.square(own - mean).mean(axis=0) < 0.9 * np.square(own - everybody).mean(axis=0)
    ).all()

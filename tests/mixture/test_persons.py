"""Posteriors of persons against quadrature, fine grids and simulation."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm

from spectralmirror.mixture.labels import Labels
from spectralmirror.mixture.persons import Persons, batches
from spectralmirror.responses import RESPONSES

ONE = np.zeros(1, dtype=int)


def person(n, q, seed=0, response="logistic", labels="drawn", size=1.0):
    """Return t, W and labels of a person of two classes."""
    rng = np.random.default_rng(seed)
    t, W = rng.standard_normal((n, 2)), size * rng.standard_normal((n, q))
    f = RESPONSES[response].f(t[:, 0] + W @ rng.standard_normal(q))
    drawn = np.where(rng.uniform(size=n) < f, 1.0, -1.0)
    return t, W, np.ones(n) if labels == "equal" else drawn


def log_joint(z, t, W, y, response):
    """Return log P(labels | z) for many z, one class."""
    return RESPONSES[response].log_f(y * (t + z @ W.T)).sum(axis=1)


def on_a_grid(t, W, y, response, width=8.0, n=401):
    """Return the logarithm of the integral over two dimensions, nodes and their probabilities."""
    x = np.linspace(-width, width, n)
    z = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    log_p = log_joint(z, t, W, y, response) + norm.logpdf(z).sum(axis=1)
    total = logsumexp(log_p)
    return total + 2 * np.log(x[1] - x[0]), z, np.exp(log_p - total)


def by_quadrature(t, W, y, response, mode, sd):
    """Return the logarithm of the integral over one dimension, and the first two moments of z."""

    def log_p(z):
        return log_joint(np.array([[z]]), t, W, y, response)[0] - z * z / 2

    def integral(power):
        def of(z):
            return z**power * np.exp(log_p(z) - log_p(mode))

        return quad(of, mode - 12 * sd, mode + 12 * sd, epsabs=0, limit=200)[0]

    area = integral(0)
    total = np.log(area) + log_p(mode) - np.log(2 * np.pi) / 2
    return total, integral(1) / area, integral(2) / area


@pytest.mark.parametrize("response", ["logistic", "probit"])
@pytest.mark.parametrize("labels", ["drawn", "equal"])
@pytest.mark.parametrize("n", [1, 8, 200])
def test_one_dimension_by_quadrature(response, labels, n):
    t, W, y = person(n, 1, response=response, labels=labels)
    found = Persons.of(t, W, Labels(y, RESPONSES[response]), ONE)
    for c in range(2):
        mean, second = (part[0, c].item() for part in found.moments())
        sd = np.sqrt(second - mean**2)
        exact = by_quadrature(t[:, c], W, y, response, mean, sd)
        np.testing.assert_allclose(found.log_likelihood[0, c], exact[0], atol=1e-6)
        np.testing.assert_allclose([mean, second], exact[1:], atol=1e-5)


@pytest.mark.parametrize("response", ["logistic", "probit"])
@pytest.mark.parametrize("labels", ["drawn", "equal"])
def test_two_dimensions_on_a_grid(response, labels):
    t, W, y = person(8, 2, response=response, labels=labels)
    found = Persons.of(t, W, Labels(y, RESPONSES[response]), ONE)
    new_t, new_W = np.array([[0.5, -1.0], [2.0, 0.0]]), np.array([[1.0, 2.0], [-0.5, 0.3]])
    expected = found.expected(new_t, new_W, np.zeros(2, dtype=int), RESPONSES[response])
    for c in range(2):
        exact, z, p = on_a_grid(t[:, c], W, y, response)
        np.testing.assert_allclose(found.log_likelihood[0, c], exact, atol=1e-4)
        mean, second = (part[0, c] for part in found.moments())
        np.testing.assert_allclose(mean, p @ z, atol=1e-4)
        np.testing.assert_allclose(second, (z.T * p) @ z, atol=1e-4)
        of_rows = p @ RESPONSES[response].f(new_t[:, c] + z @ new_W.T)
        np.testing.assert_allclose(expected[:, c], of_rows, atol=1e-4)


@pytest.mark.parametrize("labels", ["drawn", "equal"])
def test_five_dimensions_by_simulation(labels):
    """4 standard errors of 400,000 draws, and 0.02 for the 256 nodes that each person has."""
    t, W, y = person(6, 5, labels=labels)
    found = Persons.of(t, W, Labels(y, RESPONSES["logistic"]), ONE)
    z = np.random.default_rng(1).standard_normal((400_000, 5))
    for c in range(2):
        likelihood = np.exp(log_joint(z, t[:, c], W, y, "logistic"))
        error = likelihood.std() / likelihood.mean() / np.sqrt(len(z))
        assert error < 0.01
        exact = np.log(likelihood.mean())
        assert abs(found.log_likelihood[0, c] - exact) < 4 * error + 0.02
        mean = likelihood @ z / likelihood.sum()
        np.testing.assert_allclose(found.moments()[0][0, c], mean, atol=0.06)


def test_200_rows_in_many_dimensions_are_nearly_normal():
    """The posterior of many labels is normal: Laplace's approximation, to the order q^2 / n."""
    t, W, y = person(200, 5)
    found = Persons.of(t, W, Labels(y, RESPONSES["logistic"]), ONE)
    mean, second = (part[0, 0] for part in found.moments())
    covariance = second - np.outer(mean, mean)
    s = y * (t[:, 0] + W @ mean)
    f = RESPONSES["logistic"].f(s)
    H = np.eye(5) + (W.T * (f * (1 - f))) @ W
    np.testing.assert_allclose(covariance @ H, np.eye(5), atol=0.25)
    laplace = np.log(f).sum() - mean @ mean / 2 - np.linalg.slogdet(H)[1] / 2
    assert abs(found.log_likelihood[0, 0] - laplace) < 0.1


@pytest.mark.parametrize("q", [1, 2, 4])
def test_persons_do_not_depend_on_each_other(q):
    sizes = [1, 200, 8, 3]
    each = [
        person(n, q, seed, labels=labels)
        for seed, (n, labels) in enumerate(
            zip(sizes, ["drawn", "equal", "drawn", "equal"], strict=True)
        )
    ]
    t, W, y = (np.concatenate(parts) for parts in zip(*each, strict=True))
    starts = np.cumsum(sizes) - sizes
    f = RESPONSES["logistic"]
    together = Persons.of(t, W, Labels(y, f), starts)
    np.testing.assert_allclose(together.weights.sum(axis=2), 1)
    for g, one in enumerate(each):
        alone = Persons.of(*one[:2], Labels(one[2], f), ONE)
        np.testing.assert_allclose(
            together.log_likelihood[g], alone.log_likelihood[0], rtol=1e-8, atol=1e-8
        )
        for ours, theirs in zip(together.moments(), alone.moments(), strict=True):
            np.testing.assert_allclose(ours[g], theirs[0], atol=1e-5)


def test_turned_axes_change_nothing():
    """z is as well any rotation of it: up to the error of the nodes."""
    t, W, y = person(8, 2)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    f = RESPONSES["logistic"]
    one, two = Persons.of(t, W, Labels(y, f), ONE), Persons.of(t, W @ turn, Labels(y, f), ONE)
    np.testing.assert_allclose(one.log_likelihood, two.log_likelihood, atol=1e-4)
    np.testing.assert_allclose(one.moments()[0], two.moments()[0] @ turn.T, atol=1e-4)


@pytest.mark.parametrize("response", ["logistic", "probit"])
@pytest.mark.parametrize("q", [1, 2, 3])
def test_very_large_scores_stay_finite(response, q):
    t, W, y = person(20, q, response=response, size=100.0)
    found = Persons.of(1000 * t, W, Labels(y, RESPONSES[response]), ONE)
    assert np.isfinite(found.log_likelihood).all()
    assert np.isfinite(found.nodes).all()
    np.testing.assert_allclose(found.weights.sum(axis=2), 1)


@pytest.mark.parametrize("response", ["logistic", "probit"])
def test_a_spread_of_0_leaves_the_prior(response):
    t, _, y = person(8, 1)
    f = RESPONSES[response]
    for q in (1, 2, 3):
        found = Persons.of(t, np.zeros((8, q)), Labels(y, f), ONE)
        expected = f.log_f(y[:, None] * t).sum(axis=0)
        np.testing.assert_allclose(found.log_likelihood[0], expected, atol=0.01 if q > 2 else 1e-6)
        mean, second = found.moments()
        np.testing.assert_allclose(mean, 0, atol=1e-9)
        np.testing.assert_allclose(second[0, 0], np.eye(q), atol=0.02 if q > 2 else 1e-6)


@pytest.mark.parametrize(("width", "least", "most"), [(1, 1, 1), (1_000, 8, 20), (10**9, 50, 50)])
def test_batches_hold_every_person_once(width, least, most, monkeypatch):
    monkeypatch.setattr("spectralmirror.mixture.persons.BATCH", 20_000)
    sizes = np.random.default_rng(0).integers(1, 9, 50)
    found = list(batches(sizes, width))
    assert np.concatenate([np.arange(50)[here] for here in found]).tolist() == list(range(50))
    for here in found:
        assert here.stop - here.start == 1 or sizes[here].sum() * width <= 20_000
    assert least <= len(found) <= most

"""Persons with two labels each, who hardly ever change their mind."""

import numpy as np
import pytest
from scipy.special import logsumexp

from spectralmirror import LinearClassifierMixture


@pytest.fixture(scope="module")
def panel():
    """A random intercept of standard deviation 5, far more than other effects."""
    rng = np.random.default_rng(3)
    n = 1500
    groups = np.repeat(np.arange(n), 2)
    X = rng.standard_normal((2 * n, 2))
    scores = X @ [0.5, -0.3] - 3 + 5 * rng.standard_normal(n)[groups]
    return X, np.where(rng.random(2 * n) < 1 / (1 + np.exp(-scores)), 1, -1), groups


def integrated(mixture, X, y, groups):
    """Return the log-likelihood by the midpoint rule with 4,001 points."""
    z = np.linspace(-9, 9, 4001)
    log_phi = -0.5 * z**2 - logsumexp(-0.5 * z**2)
    classes = []
    for p, u, b in zip(mixture.weights_, mixture.coef_, mixture.intercept_, strict=True):
        t = (X @ u + b)[:, None] + mixture.intercept_deviation_ * z
        of_rows = -np.logaddexp(0, -y[:, None] * t)
        of_persons = np.add.reduceat(of_rows, np.flatnonzero(np.diff(groups, prepend=-1)))
        classes.append(np.log(p) + logsumexp(of_persons + log_phi, axis=1))
    return logsumexp(classes, axis=0).sum()


@pytest.mark.filterwarnings("ignore:One classifier explains")
@pytest.mark.parametrize("k", [1, 2])
def test_no_fit_lives_on_the_errors_of_its_nodes(panel, k):
    X, y, groups = panel
    mixture = LinearClassifierMixture(k, spread="intercept", random_state=0)
    mixture.fit(X, y, groups=groups)
    assert mixture.log_likelihood_ == pytest.approx(integrated(mixture, X, y, groups), abs=0.5)
    assert 3 < mixture.intercept_deviation_ < 8


def test_one_class_with_a_random_intercept_is_chosen(panel):
    X, y, groups = panel
    mixture = LinearClassifierMixture("auto", spread="auto", random_state=0)
    mixture.fit(X, y, groups=groups)
    assert mixture.n_components_ == 1
    assert mixture.spread_kind_ == "intercept"

"""A regression that knows the mean of a group's known labels."""

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from spectralmirror import LinearClassifierMixture
from spectralmirror.report import collect
from spectralmirror.report.group_means import mean_labels


def test_means_of_known_labels():
    known, positive = np.array([0, 0, 0, 2]), np.array([True, True, False, False])
    of, share = np.array([2, 0, 1, 0, 3]), 0.4
    expected = [(0 + 0.4) / 2, (2 + 0.4) / 4, 0.4, (2 + 0.4) / 4, 0.4]
    np.testing.assert_allclose(mean_labels(positive, known, of, share), np.array(expected) - 0.4)


def test_persons_with_habits_need_no_classes():
    """Where persons differ in how often they say yes, their mean label says what classes say."""
    rng = np.random.default_rng(0)
    n, m = 200, 12
    who, X = np.repeat(np.arange(n), m), rng.normal(size=(n * m, 2))
    habit = rng.normal(scale=2.0, size=n)
    y = rng.uniform(size=n * m) < expit(X[:, 0] + habit[who])
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=who)
    history = collect(mixture, X, y, groups=who)["held_out"]["history"]
    assert history["rival"] == "mean"
    assert history["mean"]["log_loss"] < history["single"]["log_loss"] - 0.1
    gain = history["mean"]["log_loss"] - history["mixture"]["log_loss"]
    np.testing.assert_allclose(history["gain"], gain, atol=1e-4)
    # the oracle: half of each person's labels known, persons in two halves, plain scikit-learn
    first = np.tile(np.arange(m) < m // 2, n)
    share = np.array([y[first & (who == i)].mean() for i in range(n)])[who]
    Z, fitted, held = np.column_stack([X, share]), ~first & (who < n // 2), ~first & (who >= n // 2)
    plain = LogisticRegression().fit(Z[fitted], y[fitted]).predict_proba(Z[held])[:, 1]
    assert abs(history["mean"]["log_loss"] - log_loss(y[held], plain)) < 0.05

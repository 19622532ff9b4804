"""The three errors of EM, and those of somebody who knows the truth."""

import numpy as np
import pytest
from scipy.stats import norm

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.experiments import figure4 as em
from spectralmirror.experiments.data import section5


@pytest.mark.parametrize("labels", ["hard", "logistic"])
def test_errors_of_em_are_those_of_the_best_at_many_rows(labels):
    X, y, truth = section5(60_000, 4, 1, labels)
    new = X[40_000:], y[40_000:], truth.components[40_000:]
    mixture = LinearClassifierMixture(2, fit_intercept=False, random_state=0)
    found = em.errors(mixture.fit(X[:40_000], y[:40_000]), truth, *new)
    best = em.best_possible(truth, *new)
    if labels == "logistic":
        assert found["expected"] < 0.025  # 9 parameters, 40,000 rows: sqrt(9 / 40,000) is 0.015
    else:  # steps are fitted by logistic curves of length L: 8 phi(0) (log 2 - 1/2) / L is lost
        lost = 8 * norm.pdf(0) * (np.log(2) - 0.5) / np.linalg.norm(mixture.coef_, axis=1)
        assert np.isclose(found["expected"] ** 2, np.square(mixture.weights_) @ lost, rtol=0.3)
    # on 20,000 new rows; where 1 in 200 is decided otherwise, 4 standard errors are 0.002
    assert abs(found["label"] - best["label"]) < 0.003
    assert abs(found["component"] - best["component"]) < 0.003
    near = em.near(truth, 0)
    length = np.linalg.norm(truth.profiles, axis=1, keepdims=True)
    scale = em.SHARP if labels == "hard" else length
    off = np.linalg.norm(near / scale - truth.profiles / length, axis=1)
    np.testing.assert_allclose(off, em.OFF)


def test_who_made_a_label_cannot_be_known_where_classifiers_agree():
    """Hard labels, p = 1/2, 90 degrees: they agree on half of x, and there a guess is right half
    of the time, so a quarter is wrong.
    """
    X, y, truth = make_linear_classifier_mixture(
        100_000, profiles=np.eye(2, 5), weights=[0.5, 0.5], response="hard", random_state=0
    )
    assert abs(em.best_possible(truth, X, y, truth.components)["component"] - 0.25) < 0.006

"""Predictions of labels and of the classifiers behind them."""

import numpy as np
from scipy.special import expit

from spectralmirror.metrics import component_error
from tests.helpers.mixtures import drawn, fitted, sharp


def test_probabilities():
    X, y, truth = sharp(20_000)
    mixture = fitted(X, y)
    proba = mixture.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(mixture.decision_function(X), proba[:, 1] - proba[:, 0])
    np.testing.assert_array_equal(mixture.predict(X), np.where(proba[:, 1] > 0.5, 1, -1))
    # the error of E[y | x] is that of a few hundredths in each parameter
    error = mixture.decision_function(X) - truth.expected_label(X)
    assert np.sqrt(np.mean(error**2)) < 0.06
    f = 1 / (1 + np.exp(-(X @ mixture.coef_.T + mixture.intercept_)))
    np.testing.assert_allclose(proba[:, 1], f @ mixture.weights_)


def test_probabilities_are_at_most_1():
    """Even if the weights sum to slightly more, as sums of rounded numbers do."""
    X, y, _ = sharp()
    mixture = fitted(X, y)
    mixture.weights_ = np.array([0.5, 0.5 + 4e-16])
    assert mixture.weights_.sum() > 1
    far = 1e3 * mixture.coef_.sum(axis=0)
    assert mixture.predict_proba([far, -far]).max() == 1


def test_rows_are_judged_one_by_one():
    X, y, _ = sharp()
    mixture, order = fitted(X, y), np.random.default_rng(0).permutation(50)
    for method in (mixture.predict, mixture.predict_proba, mixture.decision_function):
        np.testing.assert_allclose(method(X[:50])[order], method(X[:50][order]))
        np.testing.assert_allclose(
            method(X[:50]), np.concatenate([method(x[None]) for x in X[:50]])
        )
    for method in (mixture.score_samples, mixture.component_proba):
        np.testing.assert_allclose(method(X[:50], y[:50])[order], method(X[order], y[order]))
        single = [method(X[i : i + 1], y[i : i + 1]) for i in range(50)]
        np.testing.assert_allclose(method(X[:50], y[:50]), np.concatenate(single))


def test_components_by_bayes():
    X, y, _ = sharp()
    mixture = fitted(X, y)
    f = 1 / (1 + np.exp(-y[:, None] * (X @ mixture.coef_.T + mixture.intercept_)))
    joint = f * mixture.weights_
    r = joint / joint.sum(axis=1, keepdims=True)
    plain = mixture.component_proba(X, y, averaged=False)
    np.testing.assert_allclose(plain, r, rtol=1e-9)
    assigned = mixture.predict_component(X, y, averaged=False)
    np.testing.assert_array_equal(assigned, r.argmax(axis=1))
    np.testing.assert_allclose(mixture.score_samples(X, y), np.log(joint.sum(axis=1)))


def test_groups_pool_their_evidence():
    X, y, truth = sharp(6000, group_size=20)
    mixture = fitted(X, y, groups=truth.groups)
    shuffled = np.random.default_rng(0).permutation(len(y))
    names = np.char.add("g", truth.groups.astype(str))[shuffled]
    r = mixture.component_proba(X[shuffled], y[shuffled], groups=names)
    alone = mixture.predict_component(X, y)
    pooled = mixture.predict_component(X, y, groups=truth.groups)
    np.testing.assert_array_equal(r.argmax(axis=1), pooled[shuffled])
    assert component_error(truth.components, pooled) < 0.01
    assert component_error(truth.components, alone) > 0.2
    # what the fit expected of itself, within three standard errors of 300 groups
    assert abs(mixture.expected_accuracy_ - 1) < 0.01
    log_p = mixture.score_samples(X, y, groups=truth.groups)
    assert log_p.shape == (300,)
    np.testing.assert_allclose(log_p.sum(), mixture.log_likelihood_)


def test_a_member_with_a_history():
    X, y, truth = sharp(6000, group_size=20)
    mixture = fitted(X, y, groups=truth.groups)
    new_X, new_y, new = sharp(4000, seed=1, group_size=20)
    old = np.arange(4000) % 20 < 10
    history = mixture.component_proba(new_X[old], new_y[old], groups=new.groups[old])
    posterior = history[np.unique(new.groups[old], return_index=True)[1]]
    weights = posterior[new.groups[~old]]
    knowing = (mixture.predict(new_X[~old], component_weights=weights) == new_y[~old]).mean()
    unknowing = (mixture.predict(new_X[~old]) == new_y[~old]).mean()
    assert knowing > unknowing + 0.1
    one = mixture.predict_proba(new_X[:1], component_weights=posterior[0])
    np.testing.assert_allclose(one.sum(), 1)


def test_sample_looks_like_the_data():
    X, y, _ = sharp(20_000, mean=1.0, covariance=np.diag([1.0, 4, 9, 1]))
    mixture = fitted(X, np.where(y > 0, "yes", "no"))
    Z, labels, components = mixture.sample(50_000, random_state=0)
    np.testing.assert_allclose(Z.mean(axis=0), X.mean(axis=0), atol=0.06)
    np.testing.assert_allclose(np.cov(Z.T), np.cov(X.T), atol=0.25)
    np.testing.assert_allclose(np.mean(components == 0), mixture.weights_[0], atol=0.01)
    assert abs(np.mean(labels == "yes") - np.mean(y > 0)) < 0.015
    again = mixture.sample(50_000, random_state=0)
    np.testing.assert_array_equal(again[0], Z)


def test_far_means_in_single_precision():
    X, y, _ = drawn()
    X = (X + 1e5).astype(np.float32)
    mixture = fitted(X, y)
    np.testing.assert_allclose(
        mixture.score_samples(X, y).sum(), mixture.log_likelihood_, rtol=1e-5
    )
    np.testing.assert_allclose(
        mixture.predict_proba(X), mixture.predict_proba(X.astype(float)), atol=1e-4
    )


def test_hard_labels_are_predicted_by_their_surrogate():
    X, y, _ = sharp(response="hard")
    mixture = fitted(X, y, response="hard")
    t = mixture.sharpness_ * (X @ mixture.coef_.T + mixture.intercept_)
    np.testing.assert_allclose(mixture.predict_proba(X)[:, 1], expit(t) @ mixture.weights_)

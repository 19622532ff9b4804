"""Predictions for persons with and without a history, against brute force."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import log_expit, logsumexp
from scipy.stats import norm

from tests.helpers.mixtures import fitted
from tests.helpers.spreads import known, persons

COEF, INTERCEPT, WEIGHTS = np.array([[1.5, -1.0], [-1.0, 0.5]]), np.array([0.3, -0.2]), [0.6, 0.4]
SPREAD, AT_0 = np.array([[0.8, 0.0], [0.3, 0.6]]), np.array([-0.4, 0.5])
MIXTURE = known(COEF, INTERCEPT, WEIGHTS, SPREAD, AT_0, mean=[0.5, -1.0])


def profiles_and_prior():
    """Return coefficients and intercepts on a grid of classes and z, and their log prior."""
    x = np.linspace(-7, 7, 141)
    z = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    own = np.column_stack([COEF, INTERCEPT])[:, None] + z @ np.vstack([SPREAD, AT_0]).T
    prior = norm.logpdf(z).sum(axis=1) + 2 * np.log(x[1] - x[0]) + np.log(WEIGHTS)[:, None]
    return own, prior


def log_labels(own, X, y):
    """Return log P(labels) of one person for each of many profiles."""
    design = np.column_stack([X, np.ones(len(X))])
    return log_expit(y * (own @ design.T)).sum(axis=-1)


@pytest.fixture(scope="module")
def rows():
    """Twelve persons: X, y, groups."""
    return persons(12, 6, profiles=COEF, spread=0.7, seed=1)


@pytest.fixture(scope="module")
def fit():
    """A fit of two classes, whose parameters are not known well."""
    X, y, groups = persons(80, 8, profiles=3 * COEF, spread=0.5, seed=3, mean=[1.0, 0.0])
    return fitted(X, y, groups=groups, spread="diagonal"), X, y, groups


def test_history_by_brute_force(rows):
    X, y, groups = rows
    own, prior = profiles_and_prior()
    new = np.array([[0.3, 1.0], [-2.0, 0.5]])
    found = MIXTURE.predict_proba(new, groups=[4, 7], history=(X, y, groups))
    for x, g, p in zip(new, (4, 7), found, strict=True):
        log_p = prior + log_labels(own, X[groups == g], y[groups == g])
        posterior = np.exp(log_p - logsumexp(log_p))
        exact = (posterior / (1 + np.exp(-own @ np.append(x, 1)))).sum()
        np.testing.assert_allclose(p, [1 - exact, exact], atol=1e-4)


def test_strangers_by_brute_force():
    own, prior = profiles_and_prior()
    new = np.array([[0.3, 1.0], [-2.0, 0.5]])
    for x, p in zip(new, MIXTURE.predict_proba(new), strict=True):
        exact = (np.exp(prior) / (1 + np.exp(-own @ np.append(x, 1)))).sum()
        np.testing.assert_allclose(p, [1 - exact, exact], atol=1e-6)
    first = MIXTURE.predict_proba(new, component_weights=[1, 0])
    exact = (np.exp(prior[0]) / 0.6 / (1 + np.exp(-own[0] @ np.append(new[0], 1)))).sum()
    np.testing.assert_allclose(first[0, 1], exact, atol=1e-6)


def test_scores_and_classes_of_persons_by_brute_force(rows):
    X, y, groups = rows
    own, prior = profiles_and_prior()
    scores = MIXTURE.score_samples(X, y, groups)
    classes = MIXTURE.component_proba(X, y, groups)
    assert scores.shape == (12,)
    for g in range(12):
        joint = prior + log_labels(own, X[groups == g], y[groups == g])
        np.testing.assert_allclose(scores[g], logsumexp(joint), atol=1e-4)
        posterior = np.exp(logsumexp(joint, axis=1) - logsumexp(joint))
        np.testing.assert_allclose(classes[groups == g], np.tile(posterior, (6, 1)), atol=1e-4)
    np.testing.assert_array_equal(MIXTURE.predict_component(X, y, groups), classes.argmax(axis=1))


def test_rows_without_groups_are_strangers(rows):
    X, y, _ = rows
    p = MIXTURE.predict_proba(X)
    expected = np.log(np.where(y > 0, p[:, 1], p[:, 0]))
    np.testing.assert_allclose(MIXTURE.score_samples(X, y), expected, rtol=1e-9)
    alone = MIXTURE.score_samples(X, y, np.arange(len(y)))
    np.testing.assert_allclose(alone, expected, atol=1e-4)
    np.testing.assert_allclose(MIXTURE.component_proba(X, y).sum(axis=1), 1)


def test_persons_without_a_history_are_strangers(rows):
    X, y, groups = rows
    strangers = MIXTURE.predict_proba(X)
    np.testing.assert_array_equal(
        MIXTURE.predict_proba(X, groups=groups + 100, history=(X, y, groups)), strangers
    )
    old = groups < 5
    some = MIXTURE.predict_proba(X, groups=groups, history=(X[old], y[old], groups[old]))
    np.testing.assert_array_equal(some[~old], strangers[~old])
    assert (np.abs(some[old] - strangers[old]) > 1e-3).any(axis=1).all()
    everything = MIXTURE.predict_proba(X, groups=groups, history=(X, y, groups))
    np.testing.assert_allclose(some[old], everything[old], atol=1e-9)


def test_the_order_of_the_history_does_not_matter(rows):
    X, y, groups = rows
    expected = MIXTURE.predict_proba(X, groups=groups, history=(X, y, groups))
    order = np.random.default_rng(0).permutation(len(y))
    other = np.random.default_rng(1).permutation(len(y))
    found = MIXTURE.predict_proba(
        X[other], groups=groups[other], history=[X[order], y[order], groups[order]]
    )
    np.testing.assert_allclose(found, expected[other], atol=1e-9)


def test_names_of_persons_may_have_any_type(rows):
    X, y, g = rows
    expected = MIXTURE.predict_proba(X, groups=g, history=(X, y, g))
    names = np.char.add("person ", g.astype(str))
    for now, before in (
        (g.astype(float), g),
        (g, g.astype(float)),
        (g.astype(np.uint8), g.astype(np.int64)),
        (g.astype(object), g),
        (g.tolist(), g.astype(np.float32)),
        (pd.Series(g), g),
        (names, names),
        (names.tolist(), names),
        (names.astype(object), names),
        (pd.Series(names), names.tolist()),
        (pd.Categorical(names), names),
        (g + 0.5, g + 0.5),
        (np.datetime64("2020-01-01") + g, np.datetime64("2020-01-01") + g),
    ):
        found = MIXTURE.predict_proba(X, groups=now, history=(X, y, before))
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_text_and_numbers_are_not_the_same_persons(rows):
    X, y, g = rows
    found = MIXTURE.predict_proba(X, groups=g.astype(str), history=(X, y, g))
    np.testing.assert_array_equal(found, MIXTURE.predict_proba(X))


def test_kinds_of_features(rows):
    X, y, g = rows
    expected = MIXTURE.predict_proba(X, groups=g, history=(X, y, g))
    thin = sparse.csr_array(X)
    for now, before in ((thin, X), (X, thin), (thin, thin), (X.tolist(), X)):
        found = MIXTURE.predict_proba(now, groups=g, history=(before, y, g))
        np.testing.assert_allclose(found, expected, atol=1e-9)
    single = X.astype(np.float32)
    found = MIXTURE.predict_proba(single, groups=g, history=(single, y, g))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_strangers_on_dask(rows):
    da = pytest.importorskip("dask.array")
    X, y, _ = rows
    lazy, labels = da.from_array(X, chunks=(20, 2)), da.from_array(y, chunks=20)
    np.testing.assert_allclose(MIXTURE.predict_proba(lazy).compute(), MIXTURE.predict_proba(X))
    np.testing.assert_allclose(
        MIXTURE.component_proba(lazy, labels).compute(), MIXTURE.component_proba(X, y)
    )


def test_labels_and_decisions_follow_the_probabilities(rows):
    X, y, g = rows
    known_persons = {"groups": g, "history": (X, y, g)}
    p = MIXTURE.predict_proba(X, **known_persons)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    decisions = MIXTURE.decision_function(X, **known_persons)
    np.testing.assert_allclose(decisions, p[:, 1] - p[:, 0])
    labels = MIXTURE.predict(X, **known_persons)
    np.testing.assert_array_equal(labels, np.where(p[:, 1] > 0.5, 1, -1))
    assert (labels == y).mean() > (MIXTURE.predict(X) == y).mean()


def test_far_from_the_origin_it_is_the_same(rows):
    """Features and intercepts that are moved together change nothing."""
    X, y, g = rows
    shift = np.array([1e4, -3e3])
    moved = known(
        COEF, INTERCEPT - COEF @ shift, WEIGHTS, SPREAD, AT_0 - shift @ SPREAD,
        mean=np.array([0.5, -1.0]) + shift,
    )  # fmt: skip
    Z = X + shift
    np.testing.assert_allclose(
        moved.predict_proba(Z, groups=g, history=(Z, y, g)),
        MIXTURE.predict_proba(X, groups=g, history=(X, y, g)),
        atol=1e-6,
    )
    ours, theirs = moved.person_profiles(Z, y, g), MIXTURE.person_profiles(X, y, g)
    np.testing.assert_allclose(ours.coef, theirs.coef, atol=1e-6)
    np.testing.assert_allclose(
        ours.coef_standard_deviation, theirs.coef_standard_deviation, atol=1e-6
    )


def test_without_spread_a_history_is_the_posterior_of_the_classes():
    X, y, g = persons(60, 8, profiles=3 * COEF, spread=0.0)
    mixture = fitted(X, y, groups=g)
    assert mixture.spread_.shape == (2, 0)
    weights = mixture.component_proba(X, y, g)
    expected = mixture.predict_proba(X, component_weights=weights)
    order = np.random.default_rng(0).permutation(len(y))
    found = mixture.predict_proba(X[order], groups=g[order], history=(X, y, g))
    np.testing.assert_allclose(found, expected[order], atol=1e-9)


def test_what_is_not_known_about_the_parameters_is_averaged_over(fit):
    mixture, X, y, g = fit
    assert mixture._parameter_root is not None
    few = np.arange(len(y)) % 8 < 2
    averaged = mixture.component_proba(X[few], y[few], g[few])
    plain = mixture.component_proba(X[few], y[few], g[few], averaged=False)
    np.testing.assert_allclose(averaged.sum(axis=1), 1)
    assert 1e-3 < np.abs(averaged - plain).max() < 0.5
    assert averaged.max(axis=1).mean() < plain.max(axis=1).mean()
    models = list(mixture._person_models())
    middle = sum(model.scores(X)[0] for model in models) / len(models)
    np.testing.assert_allclose(middle, mixture._t(X), atol=1e-9)  # draws come in pairs
    middle = sum(model.scores(X)[1] for model in models) / len(models)
    np.testing.assert_allclose(middle, mixture._scatter(X), atol=1e-9)


def test_draws_of_the_parameters_have_their_covariance(fit):
    """Deviations of scores, within 4 standard errors of 400 draws."""
    mixture, X, _, _ = fit
    x = X[:1]
    draws = list(mixture._parameter_posterior.draws(400))
    t = np.array([mixture._centred_scores(x, one.profiles)[0] for one in draws])
    roots = mixture._parameter_posterior.variance_roots
    z = np.append(x[0] - mixture.feature_mean_, 1)
    expected = np.sqrt(np.square(np.einsum("q,kqr->kr", z, roots)).sum(axis=1))
    np.testing.assert_allclose(t.std(axis=0), expected, rtol=4 / np.sqrt(400))


def test_a_history_helps_new_labels(fit):
    """200 new persons: the log loss falls by more than 4 standard errors of the difference."""
    mixture = fit[0]
    X, y, g = persons(200, 12, profiles=3 * COEF, spread=0.5, seed=9, mean=[1.0, 0.0])
    old = np.arange(len(y)) % 12 < 8
    p = mixture.predict_proba(X[~old], groups=g[~old], history=(X[old], y[old], g[old]))
    q = mixture.predict_proba(X[~old])
    column = (y[~old] > 0).astype(int)
    gained = np.log(p[np.arange(len(p)), column] / q[np.arange(len(q)), column])
    per_person = gained.reshape(200, 4).mean(axis=1)
    assert per_person.mean() > 4 * per_person.std() / np.sqrt(200)


def test_a_restored_mixture_predicts_the_same(fit):
    mixture, X, y, g = fit
    again = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(
        again.predict_proba(X, groups=g, history=(X, y, g)),
        mixture.predict_proba(X, groups=g, history=(X, y, g)),
    )
    for ours, theirs in zip(
        again.person_profiles(X, y, g), mixture.person_profiles(X, y, g), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_criteria_of_the_rows_that_were_fitted():
    """The adaptive quadrature of persons and the nodes of the fit: one dimension, so both exact."""
    X, y, g = persons(60, 8)
    mixture = fitted(X, y, k=1, groups=g, spread="intercept")
    np.testing.assert_allclose(
        mixture.score_samples(X, y, g).sum(), mixture.log_likelihood_, rtol=1e-6
    )
    np.testing.assert_allclose(mixture.bic(X, y, g), mixture.bic_, rtol=1e-6)
    np.testing.assert_allclose(mixture.aic(X, y, g), mixture.aic_, rtol=1e-6)
    m = 3 + 1  # two coefficients, an intercept, and its deviation
    assert mixture.n_parameters_ == m
    assert mixture.bic_ == pytest.approx(-2 * mixture.log_likelihood_ + m * np.log(60))

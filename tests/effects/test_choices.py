"""Effects of a feature of an alternative on its own probability, against finite differences."""

import copy

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.special import softmax

from spectralmirror import ChoiceMixture, LinearClassifierMixture, scan
from spectralmirror.datasets import make_choice_mixture, make_linear_classifier_mixture
from spectralmirror.effects import average_effects
from spectralmirror.mixture.spread import Spread
from tests.helpers.refusals import assert_refused

SPREADS = [(2, None), (2, "diagonal"), (1, "full")]


def survey(n=150, seed=0):
    """Return rows of three alternatives, the last feature 0 or 1."""
    rng = np.random.default_rng(seed)
    X, _, truth = make_choice_mixture(
        n, 3, 2, n_choices=4, n_alternatives=3, random_state=seed, profile_norm=2
    )
    X[:, 2] = rng.integers(0, 2, len(X))
    u = np.array([[1.5, -1.0, 0.8], [-1.0, -1.5, -0.5]])[(truth.groups % 2).astype(int)]
    utility = (X * (u + 0.7 * rng.standard_normal((n, 3))[truth.groups])).sum(axis=1)
    utility += rng.gumbel(size=len(X))
    best = np.repeat(np.maximum.reduceat(utility, np.arange(0, len(X), 3)), 3)
    return X, utility == best, truth.choices, truth.groups


X, CHOSEN, CHOICES, GROUPS = survey()


@pytest.fixture(scope="module", params=SPREADS, ids=str)
def mixture(request):
    model = ChoiceMixture(request.param[0], spread=request.param[1], random_state=0)
    return model.fit(X, CHOSEN, choices=CHOICES, groups=GROUPS)


def probabilities(model, X):
    return model.predict_proba(X, choices=CHOICES)


def changed(values, feature, position, value=None, step=0.0):
    """Return X with a feature of one alternative in every set at another value."""
    found = values.copy()
    here = np.arange(len(X)) % 3 == position
    found[here, feature] = found[here, feature] + step if value is None else value
    return found, here


def test_overall_effects_by_finite_differences_of_predictions(mixture):
    found = average_effects(mixture, X, choices=CHOICES)
    assert found.change == ["per unit", "per unit", "0 to 1"]
    for j in range(3):
        total = 0.0
        for position in range(3):
            if j < 2:
                up, here = changed(X, j, position, step=1e-5)
                down, _ = changed(X, j, position, step=-1e-5)
                size = 2e-5
            else:
                up, here = changed(X, j, position, value=1.0)
                down, _ = changed(X, j, position, value=0.0)
                size = 1.0
            total += ((probabilities(mixture, up) - probabilities(mixture, down))[here]).sum()
        np.testing.assert_allclose(found.estimate[-1, j], total / size / len(X), rtol=1e-6)


def test_effects_on_each_class_without_a_spread():
    model = ChoiceMixture(2, random_state=0).fit(X, CHOSEN, choices=CHOICES, groups=GROUPS)
    found = average_effects(model, X, choices=CHOICES)
    for u, line in zip(model.coef_, found.estimate, strict=False):
        P = softmax((X @ u).reshape(-1, 3), axis=1).ravel()
        np.testing.assert_allclose(line[:2], u[:2] * (P * (1 - P)).mean())


def test_errors_by_finite_differences_of_the_estimates(mixture):
    k, d, kind = mixture.n_components_, 3, mixture.spread_kind_
    b = mixture._spread_entries[0]
    shape = None if kind is None else Spread.of(kind, d, 1, 0)

    def estimate(theta):
        model = copy.copy(mixture)
        profiles = theta[: k * (d + 1)].reshape(k, d + 1)
        model.coef_, model.weights_ = profiles[:, :-1], theta[k * (d + 1) : k * (d + 2)]
        if shape is not None:
            B = shape.matrix(theta[k * (d + 2) :])
            model.spread_ = B / model.feature_scale_[:, None]
        return average_effects(model, X, choices=CHOICES).estimate

    profiles = np.column_stack([mixture.coef_, mixture.intercept_])
    theta = np.concatenate([profiles.ravel(), mixture.weights_, b])
    found = average_effects(mixture, X, choices=CHOICES)
    np.testing.assert_allclose(estimate(theta), found.estimate, rtol=1e-12)
    slopes = [(estimate(theta + e) - estimate(theta - e)) / 2e-5 for e in 1e-5 * np.eye(len(theta))]
    slopes = np.array(slopes)
    variances = np.einsum("icj,ih,hcj->cj", slopes, mixture.covariance_, slopes)
    np.testing.assert_allclose(found.standard_error, np.sqrt(variances), rtol=1e-5)
    assert (found.standard_error > 0).all()


def test_some_alternatives_rows_in_any_order_and_sparse_rows(mixture):
    first = (np.arange(len(X)) % 3 == 0).astype(float)
    one = average_effects(mixture, X, choices=CHOICES, sample_weight=first, features=[1])
    up, here = changed(X, 1, 0, step=1e-5)
    down, _ = changed(X, 1, 0, step=-1e-5)
    slopes = (probabilities(mixture, up) - probabilities(mixture, down))[here] / 2e-5
    np.testing.assert_allclose(one.estimate[-1, 0], slopes.mean(), rtol=1e-6)
    order = np.random.default_rng(0).permutation(len(X))
    for rows in (X[order], sparse.csr_matrix(X[order])):
        again = average_effects(
            mixture, rows, choices=CHOICES[order], sample_weight=first[order], features=[1]
        )
        np.testing.assert_allclose(again.estimate, one.estimate)
        np.testing.assert_allclose(again.standard_error, one.standard_error)


def test_levels_are_compared_with_the_one_left_out():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, len(X))
    A = np.column_stack([X[:, :2], level == 1, level == 2]).astype(float)
    model = ChoiceMixture(1, random_state=0).fit(A, CHOSEN, choices=CHOICES)
    found = average_effects(model, A, choices=CHOICES, features=[2], exclusive=[[2, 3]])
    total = 0.0
    for position in range(3):
        without, _ = changed(A, 3, position, value=0.0)
        up, here = changed(without, 2, position, value=1.0)
        down, _ = changed(without, 2, position, value=0.0)
        total += (probabilities(model, up) - probabilities(model, down))[here].sum()
    np.testing.assert_allclose(found.estimate[1, 0], total / len(X), rtol=1e-6)


def test_certain_choices_have_finite_effects():
    model = ChoiceMixture(1, random_state=0).fit(X, CHOSEN, choices=CHOICES)
    model.coef_ = model.coef_ * 1e3
    found = average_effects(model, X, choices=CHOICES)
    assert np.isfinite(found.estimate).all()
    assert np.isfinite(found.standard_error).all()
    assert np.abs(found.estimate[0, 2]) <= 1


def test_text():
    model = ChoiceMixture(1, random_state=0).fit(X, CHOSEN, choices=CHOICES)
    assert "Average effects on P(chosen = True)" in str(average_effects(model, X, choices=CHOICES))


def test_bad_input(tmp_path):
    model = ChoiceMixture(1, random_state=0).fit(X, CHOSEN, choices=CHOICES)
    assert_refused(lambda: average_effects(model, X), "choices is missing: the choice set of each")
    assert_refused(lambda: average_effects(model, X, choices=CHOICES[:5]), "choices")
    pl.DataFrame(X, schema=list("abc")).write_parquet(tmp_path / "rows.parquet")
    source = scan(tmp_path / "rows.parquet", label="c")
    assert_refused(lambda: average_effects(model, source, choices=CHOICES), "takes rows in memory")
    A, y, _ = make_linear_classifier_mixture(300, 2, 1, random_state=0)
    binary = LinearClassifierMixture(1).fit(A, y)
    assert_refused(
        lambda: average_effects(binary, A, choices=np.arange(300)), "choices is for a ChoiceMixture"
    )

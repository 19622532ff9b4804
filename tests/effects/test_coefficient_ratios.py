"""Ratios against brute force, statsmodels' covariance and simulated data."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from statsmodels.discrete.conditional_models import ConditionalLogit

from spectralmirror import ChoiceMixture, LinearClassifierMixture
from spectralmirror.datasets import make_choice_mixture, make_linear_classifier_mixture
from spectralmirror.effects import ratios
from spectralmirror.effects.coefficient_ratios import fieller
from tests.helpers.mixtures import fitted

PROFILES = np.array([[3.0, -1.0, 0.5], [-1.0, -3.0, 1.0]])
Q = norm.isf(0.025)


def drawn(n=1500, seed=0, profiles=PROFILES):
    X, y, truth = make_linear_classifier_mixture(
        n, profiles=profiles, weights=[0.6, 0.4], group_size=5, random_state=seed
    )
    return X, y, truth.groups


def accepted(top, bottom, V, r):
    """Return which ratios a test of top - r bottom = 0 does not reject."""
    return (top - r * bottom) ** 2 <= Q**2 * (V[0, 0] - 2 * r * V[0, 1] + r * r * V[1, 1])


@pytest.mark.parametrize(
    ("top", "bottom", "bounded"), [(1.0, 2.0, True), (-1.0, 0.5, True), (1.0, 0.2, False)]
)
def test_fiellers_interval_holds_what_is_not_rejected(top, bottom, bounded):
    V = np.array([[0.04, -0.01], [-0.01, 0.02]])
    (low, high), found = fieller(top, bottom, V, Q)
    assert found == bounded
    r = np.linspace(-50, 50, 100_001)
    inside = (low <= r) & (r <= high)
    np.testing.assert_array_equal(accepted(top, bottom, V, r), inside if bounded else ~inside)


def test_the_whole_line_if_nothing_is_known():
    V = np.eye(2)
    assert accepted(0.5, 0.2, V, np.linspace(-50, 50, 1001)).all()
    ends, bounded = fieller(0.5, 0.2, V, Q)
    assert np.isnan(ends).all()
    assert not bounded


def test_estimates_and_errors_of_classes_and_overall():
    X, y, groups = drawn()
    mixture = fitted(X, y, groups=groups)
    u, p, C = mixture.coef_, mixture.weights_, mixture.covariance_
    delta = ratios(mixture, "x0", 1, method="delta")
    expected = u[:, 0] / u[:, 1]
    np.testing.assert_allclose(delta.estimate, [*expected, p @ expected])

    def overall(theta, p_of=lambda theta: theta[8:10]):
        A = theta[:8].reshape(2, 4)
        return np.append(A[:, 0] / A[:, 1], p_of(theta) @ (A[:, 0] / A[:, 1]))

    theta = np.concatenate([np.column_stack([u, mixture.intercept_]).ravel(), p])
    for weights in (None, [0.5, 0.5]):
        given = overall if weights is None else lambda t: overall(t, lambda _: np.array([0.5, 0.5]))
        slopes = np.array([(given(theta + e) - given(theta - e)) / 2e-6 for e in 1e-6 * np.eye(10)])
        errors = np.sqrt(np.einsum("ir,ij,jr->r", slopes, C, slopes))
        found = ratios(mixture, 0, 1, component_weights=weights)
        np.testing.assert_allclose(found.standard_error, errors, rtol=1e-5)
    plain = ratios(mixture, 0, 1)
    assert plain.bounded.all()
    np.testing.assert_array_equal(plain.estimate, delta.estimate)
    for c in range(2):
        V = C[np.ix_([4 * c, 4 * c + 1], [4 * c, 4 * c + 1])]
        from scipy.stats import t

        q = t.isf(0.025, mixture.degrees_of_freedom_)
        interval = fieller(u[c, 0], u[c, 1], V, q)[0]
        np.testing.assert_allclose([plain.lower[c], plain.upper[c]], interval, rtol=1e-12)
    # where the denominator is well known, both methods agree
    np.testing.assert_allclose(plain.lower, delta.lower, atol=0.35)


def test_a_denominator_near_0_is_pointed_out():
    X, y, groups = drawn(profiles=np.array([[3.0, 0.0, 0.5], [-1.0, -3.0, 1.0]]))
    mixture = fitted(X, y, groups=groups)
    found = ratios(mixture, 0, 1)
    weak = int(np.argmin(np.abs(mixture.coef_[:, 1])))
    assert not found.bounded[weak]
    assert (found.lower[weak], found.upper[weak]) == (-np.inf, np.inf)
    assert not found.bounded[-1]
    text = str(found)
    assert f"Class {'AB'[weak]}: the coefficient of x1 is not clearly different from 0" in text
    assert "do not trust" in text
    assert "do not trust" not in str(ratios(mixture, 1, 0))


def test_ratios_do_not_depend_on_units():
    X, y, groups = drawn()
    one = ratios(fitted(X, y, groups=groups, l2=0.1), 0, 1)
    other = ratios(fitted(X * [1, 0.01, 1], y, groups=groups, l2=0.1), 0, 1)
    np.testing.assert_allclose(other.lower, one.lower * 0.01, rtol=1e-4)


def test_without_errors_and_bad_input():
    X, y, _ = drawn()
    hard = ratios(fitted(X, y, response="hard"), 0, 1)
    assert np.isfinite(hard.estimate).all()
    assert np.isnan([hard.lower, hard.upper]).all()
    assert "no standard errors" in str(hard)
    mixture = LinearClassifierMixture(2, init=PROFILES, subspace=None).fit(X, y)
    with pytest.raises(ValueError, match="method must be 'fieller' or 'delta'"):
        ratios(mixture, 0, 1, method="bootstrap")
    with pytest.raises(ValueError, match="There is no feature 'price'"):
        ratios(mixture, 0, "price")


def test_fiellers_intervals_cover_a_ratio_with_a_weak_denominator():
    """200 data sets: those of both classes hold the truth in 91 to 99 %.

    The denominator of the first class is two standard errors from 0, so that about half of its
    intervals are unbounded. A coverage of 95 % has a standard error of 1.5 %.
    """
    profiles = np.array([[2.0, -0.3, 0.0], [-1.0, -3.0, 0.0]])
    true, hits, unbounded = profiles[:, 0] / profiles[:, 1], [], []
    for seed in range(200):
        X, y, groups = drawn(1000, seed, profiles)
        mixture = LinearClassifierMixture(2, init=profiles, subspace=None, l2=0.01)
        found = ratios(mixture.fit(X, y, groups=groups), 0, 1)
        gap = found.excluded[:2]
        inside = (found.lower[:2] <= true) & (true <= found.upper[:2])
        outside_gap = ~((gap[:, 0] < true) & (true < gap[:, 1]))
        hits.append(inside & outside_gap)
        unbounded.append(not found.bounded[0])
    assert 0.2 < np.mean(unbounded) < 0.8
    assert np.mean(hits, axis=0).min() > 0.91
    assert np.mean(hits, axis=0).max() < 0.99


def test_willingness_to_pay_of_one_class_is_that_of_a_conditional_logit():
    X, chosen, truth = make_choice_mixture(
        150, profiles=[[1.0, -0.8, 0.5]], n_alternatives=3, n_choices=4, random_state=0
    )
    theirs = ConditionalLogit(chosen.astype(int), X, groups=truth.choices).fit(disp=0)
    u, C = theirs.params[:2], theirs.cov_params()[:2, :2]
    frame = pd.DataFrame(X, columns=["time", "price", "comfort"])
    ours = ChoiceMixture(1, l2=0.0).fit(frame, chosen, choices=truth.choices)
    found = ratios(ours, "time", "price", method="delta")
    # theirs stops at a gradient of 0.01, ours at 1e-11
    np.testing.assert_allclose(found.estimate, u[0] / u[1], rtol=2e-4)
    slope = np.array([1 / u[1], -u[0] / u[1] ** 2])
    np.testing.assert_allclose(found.standard_error, np.sqrt(slope @ C @ slope), rtol=2e-4)


def test_willingness_to_pay_covers_the_truth():
    """60 data sets of 100 persons: intervals of two classes and overall hold it in 89 to 99.5 %.

    A coverage of 95 % has a standard error of 2.8 % over 60 data sets, 1.6 % over three intervals.
    """
    profiles = np.array([[2.0, -1.0], [-0.5, -2.0]])
    true, hits = profiles[:, 0] / profiles[:, 1], []
    true = np.append(true, [0.6, 0.4] @ true)
    for seed in range(60):
        X, chosen, truth = make_choice_mixture(
            100, profiles=profiles, weights=[0.6, 0.4], n_choices=6, random_state=seed
        )
        mixture = ChoiceMixture(2, init=profiles, l2=0.01)
        found = ratios(mixture.fit(X, chosen, choices=truth.choices, groups=truth.groups), 0, 1)
        hits.append((found.lower <= true) & (true <= found.upper))
    assert 0.89 < np.mean(hits) < 0.995


def test_a_price_that_its_sign_holds_at_0_has_no_ratio():
    X, chosen, truth = make_choice_mixture(
        120, profiles=[[-1, -1.5, 0.5], [1.5, 0.4, 0.6]], weights=[0.6, 0.4], random_state=0
    )
    mixture = ChoiceMixture(2, signs={1: -1}, random_state=0)
    mixture.fit(X, chosen, choices=truth.choices, groups=truth.groups)
    for method in ("fieller", "delta"):
        found = ratios(mixture, 0, 1, method=method)
        assert np.isfinite([found.estimate[0], found.lower[0], found.upper[0]]).all()
        assert np.isnan(found.estimate[1:]).all()
        assert np.isnan([found.lower[1:], found.upper[1:], found.standard_error[1:]]).all()
        assert found.bounded.tolist() == [True, False, False]
        text = str(found)
        assert "Class B: the coefficient of x1 is held at 0 by its sign; there is no ratio." in text
        assert "Overall: the coefficient of x1 is held at 0 by its sign in some class" in text
    other = ratios(mixture, 1, 0)
    assert other.estimate[1] == 0
    assert np.isnan([other.standard_error[1], other.lower[1], other.upper[1]]).all()
    assert other.estimate[2] == pytest.approx(mixture.weights_[0] * other.estimate[0])
    assert np.isfinite(other.standard_error[2])


def test_the_same_feature_twice_and_a_label_that_is_not_needed():
    X, y, groups = drawn(300)
    mixture = fitted(X, y, groups=groups)
    with pytest.raises(ValueError, match="the same feature, 'x1', whose ratio is always 1"):
        ratios(mixture, "x1", 1)
    with pytest.raises(ValueError, match="label is for more than two labels: leave it out"):
        ratios(mixture, 0, 1, label="yes")

"""What is computed from a fitted mixture of choices, against formulas and finite differences."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logsumexp, softmax

from spectralmirror import ChoiceMixture
from spectralmirror.datasets import make_choice_mixture
from spectralmirror.effects import ratios

PROFILES = np.array([[1.5, -1.0, 0.5], [-1.0, -2.0, 1.5]])


@pytest.fixture(scope="module", params=[None, "diagonal"])
def fit(request):
    X, chosen, truth = make_choice_mixture(
        120, profiles=PROFILES, weights=[0.6, 0.4], n_choices=5, random_state=0,
        spread=0.0 if request.param is None else 0.8,
    )  # fmt: skip
    X[:, 1] += 5  # a price: a constant changes no choice
    mixture = ChoiceMixture(2, spread=request.param, random_state=0)
    mixture.fit(X, chosen, choices=truth.choices, groups=truth.groups)
    return mixture, X, chosen, truth


def test_elasticities_by_finite_differences(fit):
    mixture, X, _, truth = fit
    kept = np.random.default_rng(0).permutation(np.flatnonzero(np.arange(len(X)) % 20 != 3))
    X, choices = X[kept], truth.choices[kept]  # sets of three and of four
    names = np.array(["a", "b", "c", "a"])[kept % 4]
    found = mixture.elasticities(X, 1, choices=choices, alternatives=names)
    assert found.alternatives.tolist() == ["a", "b", "c"]

    def log_shares(name, step):
        changed = X.copy()
        changed[names == name, 1] *= np.exp(step)
        shares = mixture.shares(changed, choices=choices, alternatives=names)
        return np.log(shares.overall), np.log(shares.by_class)

    for b, name in enumerate(found.alternatives):
        up, down = log_shares(name, 1e-4), log_shares(name, -1e-4)
        np.testing.assert_allclose(found.overall[:, b], (up[0] - down[0]) / 2e-4, atol=1e-6)
        np.testing.assert_allclose(found.by_class[:, :, b], (up[1] - down[1]) / 2e-4, atol=1e-6)
    assert (np.diagonal(found.overall) < 0).all()


def test_elasticities_of_one_set_by_formula():
    X, chosen, truth = make_choice_mixture(100, profiles=PROFILES, random_state=1)
    mixture = ChoiceMixture(2, random_state=0)
    mixture.fit(pd.DataFrame(X, columns=["x", "price", "z"]), chosen, choices=truth.choices)
    one = pd.DataFrame(X[:4], columns=["x", "price", "z"])
    found = mixture.elasticities(one, "price", choices=np.zeros(4))
    P = softmax(X[:4] @ mixture.coef_.T, axis=0)
    for c, u in enumerate(mixture.coef_):  # McFadden (1974): u x (1 - P), and -u x P of others
        pull = u[1] * X[:4, 1]
        expected = np.where(np.eye(4), pull * (1 - P[:, c]), -pull * P[:, c])
        np.testing.assert_allclose(found.by_class[c], expected)
        off = found.by_class[c][~np.eye(4, dtype=bool)].reshape(4, 3)
        assert np.ptp(found.by_class[c][1:, 0]) < 1e-12  # independence of irrelevant alternatives
        assert off.shape == (4, 3)
    assert np.ptp(found.overall[1:, 0]) > 1e-3
    both = mixture.elasticities(one, ["x", "price"], choices=np.zeros(4))
    apart = [mixture.elasticities(one, j, choices=np.zeros(4)).overall for j in (0, 1)]
    np.testing.assert_allclose(both.overall, sum(apart))
    with pytest.raises(ValueError, match="did you mean 'price'"):
        mixture.elasticities(one, "prise", choices=np.zeros(4))
    with pytest.raises(ValueError, match="an index below 3, got 7"):
        mixture.elasticities(one, 7, choices=np.zeros(4))
    with pytest.raises(ValueError, match="alternatives must name"):
        mixture.elasticities(one, 1, choices=np.zeros(4), alternatives=["a"])


def test_criteria(fit):
    mixture, X, chosen, truth = fit
    options = {"choices": truth.choices, "groups": truth.groups}
    total = mixture.score_samples(X, chosen, **options).sum()
    assert mixture.aic(X, chosen, **options) == pytest.approx(
        -2 * total + 2 * mixture.n_parameters_
    )
    for name in ("aic", "bic", "icl"):
        found = getattr(mixture, name)(X, chosen, **options)
        tolerance = 2.0 if mixture.spread else 1e-6  # with a spread, nodes of persons' own
        assert found == pytest.approx(getattr(mixture, f"{name}_"), abs=tolerance)


def test_person_profiles(fit):
    mixture, X, chosen, truth = fit
    order = np.random.default_rng(1).permutation(len(X))
    groups = np.array([f"p{g:03}" for g in truth.groups])
    found = mixture.person_profiles(
        X[order], chosen[order], choices=truth.choices[order], groups=groups[order]
    )
    assert found.groups.tolist() == [f"p{g:03}" for g in range(120)]
    own = truth.person_profiles
    assert (found.coef_standard_deviation > 0).all()
    assert np.corrcoef(found.coef.ravel(), own.ravel())[0, 1] > 0.8
    assert not found.intercept.any()
    if mixture.spread is None:
        t = X @ mixture.coef_.T
        log_pi = t - np.repeat(logsumexp(t.reshape(-1, 4, 2), axis=1), 4, axis=0)
        joint = log_pi[chosen].reshape(120, 5, 2).sum(axis=1) + np.log(mixture.weights_)
        expected = softmax(joint, axis=1) @ mixture.coef_
        error = np.abs(found.coef - expected)  # averaged over the parameters
        assert np.quantile(error, 0.9) < 0.1
    with pytest.raises(ValueError, match="needs groups"):
        mixture.person_profiles(X, chosen, choices=truth.choices, groups=None)


def test_drawn_choices_follow_the_fit(fit):
    mixture, X, _, _ = fit
    n = 40  # one person with 40 choices from the same set, 2,000 times
    one = np.tile(X[:4], (2_000 * n, 1))
    choices, groups = np.repeat(np.arange(2_000 * n), 4), np.repeat(np.arange(2_000), 4 * n)
    drawn, classes = mixture.sample(one, choices=choices, groups=groups, random_state=0)
    again, _ = mixture.sample(one, choices=choices, groups=groups, random_state=0)
    np.testing.assert_array_equal(drawn, again)
    assert (drawn.reshape(-1, 4).sum(axis=1) == 1).all()
    assert (classes.reshape(2_000, -1) == classes.reshape(2_000, -1)[:, :1]).all()
    p = mixture.weights_
    # three standard errors of a share of 2,000 persons: 0.034
    np.testing.assert_allclose(np.bincount(classes[:: 4 * n]) / 2_000, p, atol=0.034)
    expected = mixture.predict_proba(X[:4], choices=np.zeros(4))
    np.testing.assert_allclose(drawn.reshape(-1, 4).mean(axis=0), expected, atol=0.034)


def test_drawn_choices_and_membership():
    X, chosen, truth = make_choice_mixture(300, profiles=PROFILES, random_state=2)
    z = truth.components + np.random.default_rng(0).standard_normal(300)[truth.groups]
    mixture = ChoiceMixture(2, random_state=0)
    mixture.fit(X, chosen, choices=truth.choices, groups=truth.groups, membership=z)
    for low, high in ((-9.0, 9.0), (9.0, -9.0)):
        given = np.where(truth.groups < 150, low, high)
        _, classes = mixture.sample(
            X, choices=truth.choices, groups=truth.groups, membership=given, random_state=0
        )
        p = mixture.membership_proba(np.array([[low], [high]]))
        np.testing.assert_allclose((classes == 1)[truth.groups < 150].mean(), p[0, 1], atol=0.05)
        np.testing.assert_allclose((classes == 1)[truth.groups >= 150].mean(), p[1, 1], atol=0.05)


def test_sparse_rows_give_the_same(fit):
    mixture, X, chosen, truth = fit
    rows, options = sparse.csr_array(X), {"choices": truth.choices}
    np.testing.assert_allclose(
        mixture.elasticities(rows, 1, **options).overall,
        mixture.elasticities(X, 1, **options).overall,
        rtol=1e-8,
    )
    np.testing.assert_allclose(
        mixture.person_profiles(rows, chosen, groups=truth.groups, **options).coef,
        mixture.person_profiles(X, chosen, groups=truth.groups, **options).coef,
        rtol=1e-6,
    )


def test_willingness_to_pay(fit):
    mixture, _, _, _ = fit
    found = ratios(mixture, 2, 1)
    np.testing.assert_allclose(found.estimate[:2], mixture.coef_[:, 2] / mixture.coef_[:, 1])
    assert np.isfinite(found.standard_error).all()

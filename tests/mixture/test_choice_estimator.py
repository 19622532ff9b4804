"""Mixtures of choices: against binary labels, other packages, the truth, and formulas."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.base import clone

from spectralmirror import ChoiceMixture, LinearClassifierMixture
from spectralmirror.datasets import make_choice_mixture
from spectralmirror.metrics import profile_error

PROFILES = np.array([[1.5, -1.0, 0.5], [-1.0, 1.0, 1.5]])


def data(n_persons=200, seed=0, **options):
    options = {"profiles": PROFILES, "weights": [0.6, 0.4], "n_alternatives": 4, **options}
    return make_choice_mixture(n_persons, random_state=seed, **options)


@pytest.fixture(scope="module")
def fit():
    X, chosen, truth = data()
    mixture = ChoiceMixture(2, random_state=0)
    return mixture.fit(X, chosen, choices=truth.choices, groups=truth.groups), X, chosen, truth


def differing_sizes(X, chosen, truth, seed=0):
    """Leave out some alternatives that were not chosen, and shuffle the rows."""
    rng = np.random.default_rng(seed)
    position = np.arange(len(X)) % 4
    kept = chosen | (position == 0) | (rng.uniform(size=len(X)) < 0.6)
    several = np.bincount(truth.choices[kept])[truth.choices] > 1
    return rng.permutation(np.flatnonzero(kept & several))


@pytest.mark.parametrize("options", [{"l2": 1.0}, {}, {"l2": 0.5, "spread": "diagonal"}])
def test_sets_of_two_are_binary_labels(options):
    X, chosen, truth = data(80, n_alternatives=2)
    choices = ChoiceMixture(2, random_state=0, **options)
    choices.fit(X, chosen, choices=truth.choices, groups=truth.groups)
    binary = LinearClassifierMixture(2, random_state=0, fit_intercept=False, **options)
    binary.fit(X[::2] - X[1::2], chosen[::2], groups=truth.groups[::2])
    for name in ("coef_", "weights_", "coef_standard_error_", "log_likelihood_", "l2_"):
        np.testing.assert_allclose(getattr(choices, name), getattr(binary, name), rtol=1e-8)
    found = choices.predict_proba(X, choices=truth.choices)[::2]
    expected = binary.predict_proba(X[::2] - X[1::2])[:, 1]
    # with a spread, shared nodes stand for an integral of one dimension
    np.testing.assert_allclose(found, expected, atol=2e-3 if "spread" in options else 1e-12)


def test_one_class_against_statsmodels():
    conditional = pytest.importorskip("statsmodels.discrete.conditional_models")
    X, chosen, truth = data(100)
    rows = differing_sizes(X, chosen, truth)
    mixture = ChoiceMixture(1, l2=0.0).fit(X[rows], chosen[rows], choices=truth.choices[rows])
    in_sets = rows[np.argsort(truth.choices[rows], kind="stable")]
    model = conditional.ConditionalLogit(
        chosen[in_sets].astype(int), X[in_sets], groups=truth.choices[in_sets]
    )
    result = model.fit(disp=0, method="newton")
    np.testing.assert_allclose(mixture.coef_[0], result.params, rtol=1e-5)
    np.testing.assert_allclose(mixture.log_likelihood_, result.llf, rtol=1e-8)
    np.testing.assert_allclose(mixture.coef_standard_error_[0], result.bse, rtol=1e-4)


def test_the_truth_is_found(fit):
    mixture, _, _, truth = fit
    assert mixture.converged_
    assert profile_error(truth.profiles, mixture.coef_) < 0.15  # about 3 standard errors
    error = np.abs(mixture.coef_ - truth.profiles) / mixture.coef_standard_error_
    assert error.max() < 4
    assert mixture.n_choices_ == 1600
    assert mixture.n_groups_ == 200


def test_predictions_by_formula(fit):
    mixture, X, chosen, truth = fit
    t = (X @ mixture.coef_.T).reshape(-1, 4, 2)
    pi = softmax(t, axis=1)
    expected = pi @ mixture.weights_
    found = mixture.predict_proba(X, choices=truth.choices)
    np.testing.assert_allclose(found, expected.ravel())
    predicted = mixture.predict(X, choices=truth.choices).reshape(-1, 4)
    np.testing.assert_array_equal(predicted.argmax(axis=1), expected.argmax(axis=1))
    np.testing.assert_array_equal(predicted.sum(axis=1), 1)
    right = predicted[chosen.reshape(-1, 4)]
    assert mixture.score(X, chosen, choices=truth.choices) == pytest.approx(right.mean())
    shares = mixture.shares(X, choices=truth.choices)
    np.testing.assert_allclose(shares.overall, expected.mean(axis=0))
    np.testing.assert_allclose(shares.by_class, pi.mean(axis=0).T)
    names = np.array(["a", "b", "a", "c"])[np.arange(len(X)) % 4]
    named = mixture.shares(X, choices=truth.choices, alternatives=names)
    assert named.alternatives.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(named.overall[0], shares.overall[[0, 2]].sum())


def test_classes_and_likelihoods_by_formula(fit):
    mixture, X, chosen, truth = fit
    t = (X @ mixture.coef_.T).reshape(-1, 4, 2)
    log_pi = (t - logsumexp(t, axis=1, keepdims=True))[chosen.reshape(-1, 4)]
    joint = log_pi.reshape(200, 8, 2).sum(axis=1) + np.log(mixture.weights_)
    options = {"choices": truth.choices, "groups": truth.groups}
    np.testing.assert_allclose(
        mixture.score_samples(X, chosen, **options), logsumexp(joint, axis=1)
    )
    assert mixture.score_samples(X, chosen, **options).sum() == pytest.approx(
        mixture.log_likelihood_
    )
    plain = mixture.component_proba(X, chosen, averaged=False, **options)
    np.testing.assert_allclose(plain[::32], softmax(joint, axis=1), atol=1e-12)
    averaged = mixture.component_proba(X, chosen, **options)
    assert 0 < np.abs(averaged - plain).max() < 0.3
    right = mixture.predict_component(X, chosen, **options) == truth.components
    assert right.mean() > 0.9


@pytest.mark.parametrize("spread", [None, "diagonal"])
def test_a_history_helps(spread):
    X, chosen, truth = data(150, spread=0.0 if spread is None else 1.0)
    past = truth.choices % 8 < 4
    mixture = ChoiceMixture(2, spread=spread, random_state=0)
    options = {"choices": truth.choices[past], "groups": truth.groups[past]}
    mixture.fit(X[past], chosen[past], **options)
    history = X[past], chosen[past], truth.choices[past], truth.groups[past]
    asked = {"choices": truth.choices[~past], "groups": truth.groups[~past]}
    strangers = mixture.predict_proba(X[~past], **asked)
    known = mixture.predict_proba(X[~past], history=history, **asked)
    np.testing.assert_allclose(known.reshape(-1, 4).sum(axis=1), 1)
    loss = [-np.log(p[chosen[~past]]).mean() for p in (known, strangers)]
    assert loss[0] < loss[1] - 0.05
    if spread is None:
        posterior = mixture.component_proba(X[past], chosen[past], averaged=False, **options)
        pi = softmax((X[~past] @ mixture.coef_.T).reshape(-1, 4, 2), axis=1).reshape(-1, 2)
        expected = (pi * np.repeat(posterior[::16], 16, axis=0)).sum(axis=1)
        np.testing.assert_allclose(known, expected, atol=0.1)  # averaged over parameters
    assert "intercept" not in mixture.summary()  # choices have none


@pytest.mark.parametrize("change", ["order", "shifted", "scaled", "sparse", "names", "twice"])
def test_invariances(fit, change):
    mixture, X, chosen, truth = fit
    choices, groups, weight, factor = truth.choices, truth.groups, None, 1.0
    if change == "order":
        order = np.random.default_rng(0).permutation(len(X))
        X, chosen, choices, groups = X[order], chosen[order], choices[order], groups[order]
    elif change == "shifted":
        X = X + 1e6 * (choices[:, None] % 7)  # another constant for each set
    elif change == "scaled":
        factor = np.array([1e-6, 1e3, 1.0])
        X = X * factor
    elif change == "sparse":
        X = sparse.csr_array(X)
    elif change == "names":
        choices, groups = np.array([f"s{c}" for c in choices]), groups.astype(str)
    else:
        weight = np.full(len(chosen), 2.0)
    again = clone(mixture).fit(X, chosen, choices=choices, groups=groups, sample_weight=weight)
    tolerance = {"rtol": 1e-5, "atol": 1e-6}
    if change == "twice":
        assert again.log_likelihood_ / 2 == pytest.approx(mixture.log_likelihood_, rel=1e-3)
        tolerance = {"rtol": 0.05, "atol": 0.02}  # the penalty is chosen anew
    np.testing.assert_allclose(again.coef_ * factor, mixture.coef_, **tolerance)


def test_what_is_known_about_classes():
    X, chosen, truth = data(300)
    rng = np.random.default_rng(0)
    person_class = truth.components[::32]
    z = person_class + rng.standard_normal(300)
    known = np.where(np.arange(300) % 3 == 0, 1 - person_class, -1)
    g = truth.groups
    mixture = ChoiceMixture(2, shared=[2], random_state=0)
    mixture.fit(X, chosen, choices=truth.choices, groups=g, membership=z[g], known=known[g])
    assert mixture.coef_[0, 2] == pytest.approx(mixture.coef_[1, 2])
    np.testing.assert_allclose(mixture.coef_[:, :2], PROFILES[::-1, :2], atol=0.5)
    assert mixture.membership_coef_[1, 0] == pytest.approx(-1.0, abs=0.5)  # log odds per unit of z
    signed = ChoiceMixture(2, signs={0: 1}, random_state=0)
    signed.fit(X, chosen, choices=truth.choices, groups=g)
    assert (signed.coef_[:, 0] >= -1e-12).all()


def test_the_number_of_classes():
    X, chosen, truth = data(200)
    mixture = ChoiceMixture("auto", random_state=0)
    mixture.fit(X, chosen, choices=truth.choices, groups=truth.groups)
    assert mixture.n_components_ == 2
    assert "class" in mixture.summary() or "component" in mixture.summary()


def test_bad_choices(fit):
    mixture, X, chosen, truth = fit
    X, chosen, choices, groups = X[:16], chosen[:16], truth.choices[:16], truth.groups[:16]

    def refused(match, **changed):
        given = {"X": X, "chosen": chosen, "choices": choices, "groups": groups, **changed}
        with pytest.raises(ValueError, match=match):
            ChoiceMixture(1).fit(
                given["X"], given["chosen"], choices=given["choices"], groups=given["groups"]
            )

    none = chosen.copy()
    none[4:8] = False
    two = chosen.copy()
    two[4:8] = True
    alone = choices.copy()
    alone[3] = 99
    stranger = groups.copy()
    stranger[5] = 7
    nan = X.copy()
    nan[2, 1] = np.nan
    flat = X.copy()
    flat[:, 1] = choices
    refused("Set 1 of choices has no chosen row", chosen=none)
    refused("Set 1 of choices has 4 chosen rows", chosen=two)
    refused("Set 99 of choices has a single alternative", choices=alone)
    refused("groups changes inside set 1 of choices", groups=stranger)
    refused("True or False", chosen=chosen.astype(int) * 3)
    refused("choices must name the set of each of 16 rows", choices=choices[:5])
    refused("NaN", X=nan)
    refused("the same for all alternatives of each set in column 1", X=flat)
    refused("choices is missing", choices=None)
    with pytest.raises(ValueError, match="history must be a tuple"):
        mixture.predict_proba(X, choices=choices, groups=groups, history=(X, chosen))


def test_weights_are_copies_of_persons():
    X, chosen, truth = data(80)
    twice = truth.groups % 3 == 0
    options = {"choices": truth.choices, "groups": truth.groups}
    weighted = ChoiceMixture(2, l2=1.0, random_state=0)
    weighted.fit(X, chosen, sample_weight=np.where(twice, 2.0, 1.0), **options)
    copied = ChoiceMixture(2, l2=1.0, random_state=0).fit(
        np.vstack([X, X[twice]]),
        np.append(chosen, chosen[twice]),
        choices=np.append(truth.choices, truth.choices[twice] + 10_000),
        groups=np.append(truth.groups, truth.groups[twice] + 10_000),
    )
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-6)
    np.testing.assert_allclose(weighted.log_likelihood_, copied.log_likelihood_, rtol=1e-9)
    left = truth.groups >= 20
    without = clone(weighted).fit(X, chosen, sample_weight=left.astype(float), **options)
    fewer = clone(weighted).fit(
        X[left], chosen[left], choices=truth.choices[left], groups=truth.groups[left]
    )
    np.testing.assert_allclose(without.coef_, fewer.coef_, rtol=1e-9)
    assert without.n_groups_ == fewer.n_groups_ == 60


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(frame):
    X, chosen, truth = data(60)
    rows = frame(dict(zip(["price", "speed", "range"], X.T, strict=True)))
    options = {"choices": truth.choices, "groups": truth.groups}
    mixture = ChoiceMixture(2, shared=["speed"], l2=1.0, random_state=0)
    mixture.fit(rows, chosen, **options)
    assert mixture.coef_[0, 1] == pytest.approx(mixture.coef_[1, 1])
    terms = mixture.summary(as_frame=True).index.get_level_values("term")[:4]
    assert list(terms) == ["(weight)", "price", "speed", "range"]
    plain = ChoiceMixture(2, shared=[1], l2=1.0, random_state=0).fit(X, chosen, **options)
    np.testing.assert_allclose(plain.coef_, mixture.coef_)
    with pytest.raises(ValueError, match="names"):
        mixture.predict_proba(rows[["speed", "price", "range"]], choices=truth.choices)


def test_single_precision():
    X, chosen, truth = data(60)
    fits = [
        ChoiceMixture(2, l2=1.0, random_state=0).fit(
            X.astype(kind), chosen, choices=truth.choices, groups=truth.groups
        )
        for kind in (np.float64, np.float32)
    ]
    np.testing.assert_allclose(fits[1].coef_, fits[0].coef_, atol=1e-4)

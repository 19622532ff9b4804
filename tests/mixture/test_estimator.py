"""LinearClassifierMixture: the right answer, however the same data are written down."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from spectralmirror import LinearClassifierMixture, MixtureWarning, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import component_error, profile_error, subspace_error

PROFILES = np.array([[4.0, 0, 0, 0], [0, 4.0, 0, 0]])


def data(n=3000, seed=0, weights=(0.6, 0.4), profiles=PROFILES, **options):
    return make_linear_classifier_mixture(
        n, profiles=profiles, weights=weights, random_state=seed, **options
    )


def fitted(X, y, k=2, groups=None, sample_weight=None, **options):
    options = {"random_state": 0, **options}
    mixture = LinearClassifierMixture(k, **options)
    return mixture.fit(X, y, groups=groups, sample_weight=sample_weight)


def assert_alike(one, other, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=rtol, atol=atol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=rtol, atol=atol)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=rtol, atol=atol)


@pytest.mark.parametrize("response", ["logistic", "probit", "hard"])
def test_finds_the_profiles(response):
    profiles = PROFILES / 2 if response == "probit" else PROFILES
    X, y, truth = data(20_000, response=response, profiles=profiles, mean=0.2)
    mixture = fitted(X, y, response=response)
    # errors: about sqrt(p / (n I)) = 0.05 of the length; four times that
    assert profile_error(truth.profiles, mixture.coef_, scale_free=response == "hard") < 0.2
    np.testing.assert_allclose(mixture.weights_, [0.6, 0.4], atol=0.06)
    assert mixture.converged_
    assert (np.diff(mixture.weights_) <= 0).all()
    if response == "hard":
        np.testing.assert_allclose(np.linalg.norm(mixture.coef_, axis=1), 1)
        assert (mixture.sharpness_ > 5).all()
    else:
        assert (mixture.sharpness_ == 1).all()


def test_intercepts():
    X, _, _ = data(20_000)
    rng = np.random.default_rng(0)
    first = rng.uniform(size=len(X)) < 0.6
    t = np.where(first, X @ PROFILES[0] + 2, X @ PROFILES[1] - 1)
    y = rng.uniform(size=len(X)) < 1 / (1 + np.exp(-t))
    mixture = fitted(X, y)
    np.testing.assert_allclose(mixture.intercept_, [2, -1], atol=0.5)
    assert (fitted(X, y, fit_intercept=False).intercept_ == 0).all()


def test_one_component_is_logistic_regression():
    X, y, _ = data(2000)
    X = X * [1, 10, 0.1, 3] + [0, 5, 1, -2]
    for intercept in (True, False):
        ours = fitted(X, y, k=1, l2=0.7, fit_intercept=intercept)
        scale = X.std(axis=0)
        # without an intercept their features must not be centred either
        theirs = LogisticRegression(C=1 / 0.7, fit_intercept=intercept, tol=1e-10, max_iter=5000)
        theirs.fit(X / scale, y)
        np.testing.assert_allclose(ours.coef_ * scale, theirs.coef_, atol=1e-4)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
        np.testing.assert_allclose(
            ours.predict_proba(X), theirs.predict_proba(X / scale), atol=1e-4
        )
        assert ours.weights_.tolist() == [1.0]


class TestInvariance:
    def test_permuted_rows(self):
        X, y, _ = data()
        order = np.random.default_rng(0).permutation(len(y))
        assert_alike(fitted(X, y), fitted(X[order], y[order]))

    def test_rescaled_and_shifted_columns(self):
        X, y, _ = data()
        scale, shift = np.array([1e-9, 1e3, 1, 0.5]), np.array([1e-3, 1e9, 0, -7])
        one, other = fitted(X, y), fitted(X * scale + shift, y)
        np.testing.assert_allclose(one.coef_, other.coef_ * scale, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(
            one.predict_proba(X), other.predict_proba(X * scale + shift), atol=1e-4
        )
        np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-7)

    def test_rotated_features_without_penalty(self):
        X, y, _ = data()
        Q = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
        one, other = fitted(X, y, l2=0.0), fitted(X @ Q, y, l2=0.0)
        np.testing.assert_allclose(one.coef_ @ Q, other.coef_, rtol=1e-4, atol=1e-5)

    def test_flipped_labels_flip_the_profiles(self):
        X, y, _ = data()
        one, other = fitted(X, y), clone(fitted(X, y)).fit(X, -y)
        np.testing.assert_allclose(one.coef_, -other.coef_, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(one.intercept_, -other.intercept_, rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize("grouped", [False, True])
    def test_weight_zero_is_absence_and_weight_two_is_twice(self, grouped):
        X, y, truth = data(1500, group_size=3)
        groups = truth.groups if grouped else None
        weight = np.repeat(np.random.default_rng(0).integers(0, 3, 500), 3)
        one = fitted(X, y, groups=groups, sample_weight=weight)
        twice = np.repeat(np.arange(1500), weight)
        # a group that counts twice is two groups
        again = None
        if grouped:
            copy = np.concatenate([np.arange(w) for w in weight]).astype(int)
            again = truth.groups[twice] * 2 + copy
        assert_alike(one, fitted(X[twice], y[twice], groups=again), rtol=1e-4, atol=1e-4)

    def test_groups_of_one_row_are_no_groups(self):
        X, y, _ = data()
        assert_alike(fitted(X, y), fitted(X, y, groups=np.arange(len(y))[::-1]), rtol=0, atol=0)

    def test_the_same_answer_on_any_number_of_threads(self):
        X, y, _ = data(40_000)
        found = []
        for n_threads in (1, 2):
            with threadpool_limits(n_threads, user_api="blas"):
                found.append(fitted(X, y))
        assert_alike(*found, rtol=0, atol=0)
        assert found[0].starts_ == found[1].starts_

    def test_sparse_single_precision_and_frames(self):
        X, y, _ = data()
        X[np.abs(X) < 0.5] = 0
        dense = fitted(X, y)
        assert_alike(dense, fitted(sparse.csr_array(X), y))
        assert_alike(dense, fitted(pd.DataFrame(X, columns=list("abcd")), pd.Series(y)))
        assert_alike(dense, fitted(X.astype(np.float32), y), rtol=1e-3, atol=1e-3)
        named = fitted(X, np.where(y > 0, "yes", "no"))
        assert_alike(dense, named, rtol=0, atol=0)
        assert set(named.predict(X)) <= {"yes", "no"}


class TestOptions:
    def test_em_reaches_the_same_maximum(self):
        X, y, _ = data()
        assert_alike(fitted(X, y), fitted(X, y, solver="em"), rtol=1e-4, atol=1e-4)

    def test_ambient_and_random_starts(self):
        X, y, _ = data()
        plain = fitted(X, y)
        for options in ({"subspace": None}, {"subspace": None, "init": "random", "n_init": 4}):
            other = fitted(X, y, **options)
            np.testing.assert_allclose(other.objective_, plain.objective_, atol=1e-4)
        assert [start.kind for start in other.starts_] == ["random"] * 4

    @pytest.mark.parametrize("solver", ["lbfgs", "em"])
    def test_without_refinement_profiles_stay_in_the_subspace(self, solver):
        X, y, _ = data()
        mirror = SpectralMirror(2, method="paper").fit(X, y)
        for subspace in (mirror, SpectralMirror(2, method="paper"), 3 * mirror.components_):
            mixture = fitted(X, y, subspace=subspace, refine=False, solver=solver)
            assert subspace_error(mixture.coef_, mirror.components_) < 1e-6
            assert mixture.objective_ < fitted(X, y).objective_
        refined = fitted(X, y, subspace=mirror, solver=solver)
        assert_alike(refined, fitted(X, y), rtol=1e-4, atol=1e-4)

    def test_starts_from_given_profiles(self):
        X, y, truth = data()
        mixture = fitted(X, y, init=truth.profiles)
        assert_alike(mixture, fitted(X, y))
        assert [start.kind for start in mixture.starts_] == ["given"]
        inside = fitted(X, y, init=truth.profiles, subspace=truth.profiles, refine=False)
        assert subspace_error(inside.coef_, truth.profiles) < 1e-6

    def test_large_data_start_on_a_sample(self):
        X, y, _ = data(30_000)
        mixture, truth = fitted(X, y), fitted(X, y, init=PROFILES)
        np.testing.assert_allclose(mixture.objective_, truth.objective_, atol=1e-5)
        assert mixture.starts_[0].objective > mixture.objective_ / 2  # of fewer rows
        assert mixture.n_agreed_ >= 3


class TestNumberOfComponents:
    @pytest.mark.parametrize("k", [1, 2, 3])
    def test_auto(self, k):
        X, y, _ = data(6000, profiles=5 * np.eye(k, 5), weights=np.full(k, 1 / k))
        mixture = fitted(X, y, k="auto")
        assert mixture.n_components_ == k
        assert min(mixture.bic_path_, key=mixture.bic_path_.get) == k
        np.testing.assert_allclose(mixture.bic_path_[k], mixture.bic_)
        np.testing.assert_allclose(mixture.bic(X, y), mixture.bic_, rtol=1e-9)

    def test_auto_with_groups(self):
        X, y, truth = data(3000, profiles=5 * np.eye(4, 8), weights=np.full(4, 0.25), group_size=10)
        assert fitted(X, y, k="auto", groups=truth.groups).n_components_ == 4

    def test_labels_that_know_nothing_have_one_component(self):
        X, _, _ = data()
        y = np.random.default_rng(0).choice(["a", "b"], len(X))
        assert fitted(X, y, k="auto").n_components_ == 1

    def test_criteria(self):
        X, y, _ = data()
        mixture = fitted(X, y)
        total = mixture.score_samples(X, y).sum()
        np.testing.assert_allclose(total, mixture.log_likelihood_)
        np.testing.assert_allclose(mixture.aic(X, y), -2 * total + 2 * 11)
        np.testing.assert_allclose(mixture.bic(X, y), -2 * total + 11 * np.log(len(y)))
        r = mixture.component_proba(X, y)
        entropy = -(r * np.log(r)).sum()
        np.testing.assert_allclose(mixture.icl(X, y), mixture.bic_ + 2 * entropy)
        np.testing.assert_allclose(
            mixture.assignment_entropy_, entropy / len(y) / np.log(2), rtol=1e-9
        )
        np.testing.assert_allclose(mixture.icl_, mixture.icl(X, y))

    def test_held_out_likelihood(self):
        X, y, _ = data(4000)
        scores = {
            k: cross_val_score(
                LinearClassifierMixture(k, random_state=0), X, y, cv=3, scoring="neg_log_loss"
            ).mean()
            for k in (1, 2)
        }
        assert scores[2] > scores[1]
        search = GridSearchCV(
            LinearClassifierMixture(random_state=0),
            {"n_components": [1, 2]},
            scoring="neg_log_loss",
            cv=3,
        ).fit(X, y)
        assert search.best_params_ == {"n_components": 2}


class TestPrediction:
    def test_probabilities(self):
        X, y, truth = data(20_000)
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

    def test_rows_are_judged_one_by_one(self):
        X, y, _ = data()
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

    def test_components_by_bayes(self):
        X, y, _ = data()
        mixture = fitted(X, y)
        f = 1 / (1 + np.exp(-y[:, None] * (X @ mixture.coef_.T + mixture.intercept_)))
        joint = f * mixture.weights_
        r = joint / joint.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(mixture.component_proba(X, y), r, rtol=1e-9)
        np.testing.assert_array_equal(mixture.predict_component(X, y), r.argmax(axis=1))
        np.testing.assert_allclose(mixture.score_samples(X, y), np.log(joint.sum(axis=1)))

    def test_groups_pool_their_evidence(self):
        X, y, truth = data(6000, group_size=20)
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

    def test_expected_accuracy_is_what_is_seen(self):
        X, y, truth = data(20_000)
        mixture = fitted(X, y)
        seen = 1 - component_error(truth.components, mixture.predict_component(X, y))
        assert abs(mixture.expected_accuracy_ - seen) < 0.02  # six standard errors

    def test_a_member_with_a_history(self):
        X, y, truth = data(6000, group_size=20)
        mixture = fitted(X, y, groups=truth.groups)
        new_X, new_y, new = data(4000, seed=1, group_size=20)
        old = np.arange(4000) % 20 < 10
        history = mixture.component_proba(new_X[old], new_y[old], groups=new.groups[old])
        posterior = history[np.unique(new.groups[old], return_index=True)[1]]
        weights = posterior[new.groups[~old]]
        knowing = (mixture.predict(new_X[~old], component_weights=weights) == new_y[~old]).mean()
        unknowing = (mixture.predict(new_X[~old]) == new_y[~old]).mean()
        assert knowing > unknowing + 0.1
        one = mixture.predict_proba(new_X[:1], component_weights=posterior[0])
        np.testing.assert_allclose(one.sum(), 1)

    def test_sample_looks_like_the_data(self):
        X, y, _ = data(20_000, mean=1.0, covariance=np.diag([1.0, 4, 9, 1]))
        mixture = fitted(X, np.where(y > 0, "yes", "no"))
        Z, labels, components = mixture.sample(50_000, random_state=0)
        np.testing.assert_allclose(Z.mean(axis=0), X.mean(axis=0), atol=0.06)
        np.testing.assert_allclose(np.cov(Z.T), np.cov(X.T), atol=0.25)
        np.testing.assert_allclose(np.mean(components == 0), mixture.weights_[0], atol=0.01)
        assert abs(np.mean(labels == "yes") - np.mean(y > 0)) < 0.015
        again = mixture.sample(50_000, random_state=0)
        np.testing.assert_array_equal(again[0], Z)


class TestHardCases:
    def test_separable_labels_stay_finite(self):
        X, _, _ = data(500)
        y = X[:, 0] > 0
        for k in (1, 2):
            with pytest.warns(MixtureWarning) if k == 2 else np.errstate():
                mixture = fitted(X, y, k=k)
            assert np.isfinite(mixture.coef_).all()
            assert np.isfinite(mixture.log_likelihood_)
            assert (mixture.predict(X) == y).mean() > 0.99

    def test_more_components_than_the_data_support(self):
        X, y, _ = data(400, profiles=np.array([[1.0, 0, 0, 0]]), weights=[1.0])
        with pytest.warns(MixtureWarning, match="fewer components|Use fewer"):
            mixture = fitted(X, y, k=6)
        assert np.isfinite(mixture.coef_).all()
        assert np.isfinite(mixture.predict_proba(X)).all()
        assert mixture.weights_.sum() == pytest.approx(1)

    def test_identical_starts_do_not_divide_by_zero(self):
        X, y, _ = data()
        mixture = LinearClassifierMixture(2, init=np.zeros((2, 4)), random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MixtureWarning)
            mixture.fit(X, y)
        assert np.isfinite(mixture.coef_).all()
        assert mixture.objective_ > fitted(X, y, k=1).objective_ - 1e-6

    def test_fewer_rows_than_features(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((30, 50))
        y = X[:, 0] > 0
        with pytest.warns(MixtureWarning) as said:
            mixture = fitted(X, y, k=2, l2=1.0)
        assert any("too few rows for its features" in str(warning.message) for warning in said)
        assert (mixture.predict(X) == y).mean() > 0.9

    def test_collinear_columns(self):
        X, y, _ = data()
        with pytest.warns(MixtureWarning, match="computed from others"):
            mixture = fitted(np.column_stack([X, X[:, 0] + X[:, 1]]), y)
        np.testing.assert_allclose(
            mixture.predict_proba(np.column_stack([X, X[:, 0] + X[:, 1]])),
            fitted(X, y).predict_proba(X),
            atol=0.01,
        )

    def test_more_components_than_features(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((8000, 2))
        U = 6 * np.array([[1, 0], [-0.5, 0.866], [-0.5, -0.866]])
        component = rng.choice(3, 8000, p=[0.5, 0.3, 0.2])
        y = rng.uniform(size=8000) < 1 / (1 + np.exp(-(X * U[component]).sum(axis=1)))
        mixture = fitted(X, y, k=3)
        assert profile_error(U, mixture.coef_) < 0.3

    def test_a_single_feature(self):
        X, y, _ = data(3000, profiles=np.array([[3.0], [-3.0]]), weights=[0.8, 0.2])
        assert fitted(X, y).n_components_ == 2

    def test_too_few_steps(self):
        X, y, _ = data()
        with pytest.warns(MixtureWarning, match="max_iter"):
            mixture = fitted(X, y, max_iter=1, n_init=1, init="random", subspace=None)
        assert not mixture.converged_
        assert "max_iter" in mixture.status_


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(5, 60), st.integers(1, 4), st.integers(1, 4))
@example(117, 53, 1, 4)  # two components of equal weight
def test_never_breaks_on_small_data(seed, n, d, k):
    """Whatever the rows are, the fit ends, is finite, and its weights are probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, d)
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    groups = rng.integers(0, n, n) if seed % 2 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)
        mixture = LinearClassifierMixture(k, random_state=0).fit(X, y, groups=groups)
    for value in (mixture.coef_, mixture.intercept_, mixture.weights_, mixture.log_likelihood_):
        assert np.isfinite(value).all()
    assert mixture.weights_.sum() == pytest.approx(1)
    assert (np.diff(mixture.weights_) <= 1e-12).all()
    r = mixture.component_proba(X, y)
    np.testing.assert_allclose(r.sum(axis=1), 1)


def test_scaler_in_front_changes_nothing():
    X, y, _ = data()
    X = X * [1, 10, 100, 1000]
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(
        fitted(X, y).predict_proba(X), fitted(scaled, y).predict_proba(scaled), atol=1e-6
    )


@pytest.mark.parametrize("seed", [0, 3])
def test_data_of_the_same_seed_do_not_return_as_starts(seed):
    """Both draw from a generator; the first numbers of the data are their profiles."""
    _, _, truth = make_linear_classifier_mixture(10, 6, random_state=seed)
    drawn = LinearClassifierMixture(2, random_state=seed)._rng().standard_normal((2, 6))
    assert profile_error(truth.profiles, drawn, scale_free=True) > 0.5

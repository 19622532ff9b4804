"""LinearClassifierMixture: the right answer, however the same data are written down."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from spectralmirror import LinearClassifierMixture, MixtureWarning, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import profile_error, subspace_error
from tests.helpers.mixtures import PROFILES, drawn, fitted, sharp


def assert_alike(one, other, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=rtol, atol=atol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=rtol, atol=atol)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=rtol, atol=atol)


@pytest.mark.parametrize("response", ["logistic", "probit", "hard"])
def test_finds_the_profiles(response):
    profiles = PROFILES / 2 if response == "probit" else PROFILES
    X, y, truth = sharp(20_000, response=response, profiles=profiles, mean=0.2)
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
    X, _, _ = sharp(20_000)
    rng = np.random.default_rng(0)
    first = rng.uniform(size=len(X)) < 0.6
    t = np.where(first, X @ PROFILES[0] + 2, X @ PROFILES[1] - 1)
    y = rng.uniform(size=len(X)) < 1 / (1 + np.exp(-t))
    mixture = fitted(X, y)
    np.testing.assert_allclose(mixture.intercept_, [2, -1], atol=0.5)
    assert (fitted(X, y, fit_intercept=False).intercept_ == 0).all()


def test_one_component_is_logistic_regression():
    X, y, _ = sharp(2000)
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
        X, y, _ = sharp()
        order = np.random.default_rng(0).permutation(len(y))
        assert_alike(fitted(X, y), fitted(X[order], y[order]))

    def test_rescaled_and_shifted_columns(self):
        X, y, _ = sharp()
        scale, shift = np.array([1e-9, 1e3, 1, 0.5]), np.array([1e-3, 1e9, 0, -7])
        one, other = fitted(X, y), fitted(X * scale + shift, y)
        np.testing.assert_allclose(one.coef_, other.coef_ * scale, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(
            one.predict_proba(X), other.predict_proba(X * scale + shift), atol=1e-4
        )
        np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-7)

    def test_rotated_features_without_penalty(self):
        X, y, _ = sharp()
        Q = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
        one, other = fitted(X, y, l2=0.0), fitted(X @ Q, y, l2=0.0)
        np.testing.assert_allclose(one.coef_ @ Q, other.coef_, rtol=1e-4, atol=1e-5)

    def test_flipped_labels_flip_the_profiles(self):
        X, y, _ = sharp()
        one, other = fitted(X, y), clone(fitted(X, y)).fit(X, -y)
        np.testing.assert_allclose(one.coef_, -other.coef_, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(one.intercept_, -other.intercept_, rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize("grouped", [False, True])
    def test_weight_zero_is_absence_and_weight_two_is_twice(self, grouped):
        X, y, truth = sharp(1500, group_size=3)
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

    def test_groups_of_one_row_are_the_same_as_no_groups(self):
        X, y, _ = sharp()
        assert_alike(fitted(X, y), fitted(X, y, groups=np.arange(len(y))[::-1]), rtol=0, atol=0)

    def test_the_same_answer_on_any_number_of_threads(self):
        X, y, _ = sharp(40_000)
        found = []
        for n_threads in (1, 2):
            with threadpool_limits(n_threads, user_api="blas"):
                found.append(fitted(X, y))
        assert_alike(*found, rtol=0, atol=0)
        assert found[0].starts_ == found[1].starts_

    def test_sparse_single_precision_and_frames(self):
        X, y, _ = sharp()
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
        X, y, _ = sharp()
        assert_alike(fitted(X, y), fitted(X, y, solver="em"), rtol=1e-4, atol=1e-4)

    def test_ambient_and_random_starts(self):
        X, y, _ = sharp()
        plain = fitted(X, y)
        for options in ({"subspace": None}, {"subspace": None, "init": "random", "n_init": 4}):
            other = fitted(X, y, **options)
            np.testing.assert_allclose(other.objective_, plain.objective_, atol=1e-4)
        assert [start.kind for start in other.starts_] == ["random"] * 4

    @pytest.mark.parametrize("solver", ["lbfgs", "em"])
    def test_without_refinement_profiles_stay_in_the_subspace(self, solver):
        X, y, _ = sharp()
        mirror = SpectralMirror(2, method="paper").fit(X, y)
        for subspace in (mirror, SpectralMirror(2, method="paper"), 3 * mirror.components_):
            mixture = fitted(X, y, subspace=subspace, refine=False, solver=solver)
            assert subspace_error(mixture.coef_, mirror.components_) < 1e-6
            assert mixture.objective_ < fitted(X, y).objective_
        refined = fitted(X, y, subspace=mirror, solver=solver)
        assert_alike(refined, fitted(X, y), rtol=1e-4, atol=1e-4)

    def test_starts_from_given_profiles(self):
        X, y, truth = sharp()
        mixture = fitted(X, y, init=truth.profiles)
        assert_alike(mixture, fitted(X, y))
        assert [start.kind for start in mixture.starts_] == ["given"]
        inside = fitted(X, y, init=truth.profiles, subspace=truth.profiles, refine=False)
        assert subspace_error(inside.coef_, truth.profiles) < 1e-6


class TestHardCases:
    def test_separable_labels_stay_finite(self):
        X, _, _ = sharp(500)
        y = X[:, 0] > 0
        for k in (1, 2):
            with pytest.warns(MixtureWarning) if k == 2 else np.errstate():
                mixture = fitted(X, y, k=k)
            assert np.isfinite(mixture.coef_).all()
            assert np.isfinite(mixture.log_likelihood_)
            assert (mixture.predict(X) == y).mean() > 0.99

    def test_more_components_than_the_data_support(self):
        X, y, _ = sharp(400, profiles=np.array([[1.0, 0, 0, 0]]), weights=[1.0])
        with pytest.warns(MixtureWarning, match="explains these labels as well as 6"):
            mixture = fitted(X, y, k=6)
        assert np.isfinite(mixture.coef_).all()
        assert np.isfinite(mixture.predict_proba(X)).all()
        assert mixture.weights_.sum() == pytest.approx(1)

    def test_identical_starts_do_not_divide_by_zero(self):
        X, y, _ = sharp()
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
        X, y, _ = sharp()
        with pytest.warns(MixtureWarning, match="can be computed from"):
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
        X, y, _ = sharp(3000, profiles=np.array([[3.0], [-3.0]]), weights=[0.8, 0.2])
        assert fitted(X, y).n_components_ == 2


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
    X, y, _ = sharp()
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


class TestRowsAndGroups:
    def test_rows_and_groups_are_counted(self):
        X, y, truth = drawn(1500, group_size=5)
        weight = np.ones(1500)
        weight[:7] = 0  # one group and a part of another
        plain, grouped = fitted(X, y), fitted(X, y, groups=truth.groups, sample_weight=weight)
        assert (plain.n_rows_, plain.n_groups_, plain.grouped_) == (1500, 1500, False)
        assert (grouped.n_rows_, grouped.n_groups_, grouped.grouped_) == (1493, 299, True)
        assert type(plain.n_rows_) is type(grouped.n_groups_) is int

    def test_groups_and_weights_are_named(self):
        X, y, truth = drawn(500, group_size=5)
        with pytest.raises(TypeError, match="positional"):
            LinearClassifierMixture().fit(X, y, truth.groups)

    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            ([pd.NA, *range(1999)], "missing values"),
            ([1, "1"] * 1000, "cannot be compared"),
            (pd.Series([pd.NA, *range(1999)], dtype="Int64"), "missing values"),
        ],
    )
    def test_groups_that_make_no_sense(self, groups, message):
        X, y, _ = drawn()
        with pytest.raises(ValueError, match=message):
            fitted(X, y, groups=groups)

    def test_more_components_than_rows(self):
        X, _, _ = drawn()
        with pytest.raises(ValueError, match="`n_components=7` exceeds the number of rows, 6"):
            fitted(X[:6], [-1, 1] * 3, k=7)


def test_a_failed_fit_leaves_the_old_one_or_none():
    X, y, _ = drawn()
    mixture, bad = fitted(X, y), X.copy()
    bad[:, 0] = 1
    before = mixture.predict(X)
    with pytest.raises(ValueError, match="constant"):
        mixture.fit(bad, np.where(y > 0, "a", "b"))
    np.testing.assert_array_equal(mixture.predict(X), before)
    fresh = LinearClassifierMixture()
    with pytest.raises(ValueError, match="constant"):
        fresh.fit(bad, y)
    for call in (fresh.summary, fresh.sample, lambda: fresh.predict(X)):
        with pytest.raises(NotFittedError):
            call()


def test_documented_attributes_are_those_of_a_fit():
    X, y, _ = drawn(500)
    lines = LinearClassifierMixture.__doc__.split("Attributes\n")[1].split("See Also")[0]
    named = re.findall(r"^    (\w+_(?:, \w+_)*) :", lines, re.M)
    documented = {name for line in named for name in line.split(", ")}
    found = {name for name in vars(fitted(X, y)) if name.endswith("_") and name[0] != "_"}
    of_other_data = {"n_scans_", "feature_names_in_", "membership_names_in_"}
    assert documented - found == {*of_other_data, "resamples_"}
    assert found <= documented

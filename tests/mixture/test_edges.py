"""Edges of the mixture: what once went wrong, or would not have been noticed."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from spectralmirror import LinearClassifierMixture, MixtureWarning, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.mixture import fitting, inference, starts
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood, Parameters
from spectralmirror.mixture.links import LINKS
from spectralmirror.mixture.preprocessing import whiten
from spectralmirror.rows.memory import Rows
from tests.helpers.rows import in_groups


def fitted(X, y, k=2, groups=None, sample_weight=None, **options):
    options = {"random_state": 0, **options}
    mixture = LinearClassifierMixture(k, **options)
    return mixture.fit(X, y, groups=groups, sample_weight=sample_weight)


def data(n=2000, d=4, k=2, seed=0, **options):
    options = {"weights": [0.6, 0.4], **options}
    return make_linear_classifier_mixture(n, d, k, random_state=seed, **options)


def whole(X, y, groups=None, l2=0.1, link="logistic", block_bytes=4_000_000):
    rows = Rows(X, np.where(np.asarray(y) > 0, 1.0, -1.0), block_bytes=block_bytes)
    coordinates = Coordinates.whitened(whiten(rows).whitening, None, intercept=True)
    return Likelihood(in_groups(rows, groups), LINKS[link], coordinates, l2)


class TestObjective:
    @pytest.mark.parametrize("response", ["logistic", "probit"])
    @pytest.mark.parametrize("grouped", [False, True])
    def test_value_and_gradient_agree_far_out(self, response, grouped):
        X = np.array([[1.0], [2.0], [-1.0], [0.5], [-3.0], [2.5]])
        groups = np.array([0, 0, 1, 1, 2, 2]) if grouped else None
        likelihood = whole(X, [1, -1, 1, -1, 1, -1], groups, l2=0.0, link=response)
        for size in (3.0, 300.0, 700.0, 1e4):
            theta = np.array([size, 0.1, -0.7 * size, 0.0, 0.1, 0.0])

            def at(x):
                return likelihood.evaluate(Parameters.unpacked(x, 2))

            steps = 1e-6 * size * np.eye(6)
            slope = [(at(theta + e)[0] - at(theta - e)[0]) / (2 * e.max()) for e in steps]
            np.testing.assert_allclose(at(theta)[1], slope, rtol=1e-4, atol=1e-4 * size)

    def test_probit_curvature_tends_to_minus_one(self):
        t = -np.array([1e2, 1e4, 1e6])
        link = LINKS["probit"]
        np.testing.assert_allclose(link.curvature(t, link.slope(t)), -1, rtol=1e-3)

    def test_an_outlier_on_the_wrong_side(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((5000, 1))
        y = rng.uniform(size=5000) < expit(8 * X[:, 0])
        X[0], y[0] = 100.0, False
        ours = fitted(X, y, k=1)
        theirs = LogisticRegression(C=10, tol=1e-10, max_iter=1000).fit(X / X.std(), y)
        np.testing.assert_allclose(ours.coef_ * X.std(), theirs.coef_, rtol=1e-4)

    def test_objective_is_the_formula(self):
        X, y, _ = data()
        mixture = fitted(X, y)
        penalty = 0.05 * np.square(mixture.coef_ * X.std(axis=0)).sum()
        total = mixture.score_samples(X, y).sum()
        np.testing.assert_allclose(mixture.objective_, total - penalty, rtol=1e-10)
        np.testing.assert_allclose(mixture.log_likelihood_, total, rtol=1e-10)

    def test_grouped_blocks(self):
        X, y, truth = data(1200, group_size=3)
        parameters = Parameters.equal(np.random.default_rng(0).standard_normal((2, 5)))
        one = whole(X, y, truth.groups)
        many = whole(X, y, truth.groups, block_bytes=1500)
        assert len(list(many.rows.blocks())) > 20
        for a, b in zip(one.evaluate(parameters), many.evaluate(parameters), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        K, other = (inference.score_products(x, parameters) for x in (one, many))
        np.testing.assert_allclose(K, other, rtol=1e-9, atol=1e-9)


class TestConvergence:
    @pytest.mark.parametrize("seed", range(6))
    def test_standard_errors_belong_to_a_maximum(self, seed):
        """Labels that know nothing make ridges: the fit ends at a top, or says that it did not."""
        rng = np.random.default_rng(20 + seed)
        X = rng.standard_normal((600, 2))
        y = np.where(rng.uniform(size=600) < 0.05, 1.0, -1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MixtureWarning)
            mixture = fitted(X, y)

        def loss(theta):
            U, b, a = theta[:4].reshape(2, 2), theta[4:6], theta[6:]
            joint = log_expit(y[:, None] * (X @ U.T + b)) + a - logsumexp(a)
            return -logsumexp(joint, axis=1).sum() + 0.05 * np.square(U * X.std(axis=0)).sum()

        if mixture.covariance_ is None:
            assert "no sharp maximum" in mixture.status_ or not mixture.converged_
        elif mixture.n_components_ == 2:
            at = np.concatenate(
                [mixture.coef_.ravel(), mixture.intercept_, np.log(mixture.weights_)]
            )
            np.testing.assert_allclose(-loss(at), mixture.objective_, rtol=1e-9)
            assert loss(at) - minimize(loss, at).fun < 5e-3

    def test_rounds_off_no_component_that_owns_a_group(self):
        for seed in range(4):
            rng = np.random.default_rng(seed)
            groups = np.repeat(np.arange(10), 200)
            X = rng.standard_normal((2000, 3))
            U = np.where((groups == 0)[:, None], [0, -2, 1], [2, 0, 0])
            y = rng.uniform(size=2000) < expit((X * U).sum(axis=1))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MixtureWarning)
                assert fitted(X, y, groups=groups).n_components_ == 2

    def test_few_large_groups_are_all_sampled(self):
        X, y, truth = data(120_000, 3, 3, weights=[0.4, 0.3, 0.3], group_size=4000)
        mixture = fitted(X, y, k=3, groups=truth.groups)
        best = fitted(X, y, k=3, groups=truth.groups, init=truth.profiles)
        assert mixture.objective_ > best.objective_ - 0.5

    def test_far_means_without_an_intercept(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((1000, 4))
        y = rng.uniform(size=1000) < expit(X @ [2, -2, 1, 0])
        one, two = (fitted(X + 1000, y, k=k, fit_intercept=False) for k in (1, 2))
        theirs = LogisticRegression(C=10, fit_intercept=False, tol=1e-12, max_iter=100_000)
        theirs.fit((X + 1000) / X.std(axis=0), y)
        ours = one.predict_proba(X + 1000)
        np.testing.assert_allclose(
            ours, theirs.predict_proba((X + 1000) / X.std(axis=0)), atol=1e-2
        )
        assert two.objective_ > one.objective_ - 0.1

    def test_a_start_in_dollars(self):
        X, y, _ = data()
        near = fitted(X, y, init=np.eye(2, 4))
        far = fitted(X * 1e5, y, init=np.eye(2, 4))
        np.testing.assert_allclose(far.objective_, near.objective_, atol=1e-5)
        np.testing.assert_allclose(
            far.score_samples(X * 1e5, y).sum(), far.log_likelihood_, rtol=1e-9
        )

    def test_separable_labels_without_a_penalty_warn(self):
        X, _, _ = data()
        with pytest.warns(MixtureWarning, match="aise l2|or l2"):
            fitted(X, X[:, 0] > 0, k=1, l2=0.0)


class TestStarts:
    def test_the_penalty_of_a_sample_is_as_weak_as_the_sample_is_small(self):
        X, y, _ = data(4000)
        likelihood = whole(X, y, l2=8.0)
        part = likelihood.on(likelihood.rows.sample(1000, 0, seed=0))
        n = part.rows.n_present
        assert abs(n - 1000) < 4 * np.sqrt(750)  # every row is in it with probability 1/4
        assert part.l2 == pytest.approx(8.0 * n / 4000)
        assert len({tuple(row) for row in part.rows.rows.X}) == n  # none drawn twice

    def test_shaking_frees_a_component_that_is_stuck(self):
        """From a maximum with two components alike, replacements find the third classifier."""
        X, y, truth = data(6000, 5, 3, weights=[0.4, 0.3, 0.3], profile_norm=8.0)
        likelihood = whole(X, y)
        profiles = np.column_stack([truth.profiles[[0, 1, 1]], np.zeros(3)])
        poor = climb(likelihood, Parameters.equal(profiles), tol=0.01, max_iter=500)
        found = [starts.Found(poor, starts.Start("given", poor.value, 0))]
        after = starts.shake(
            likelihood, found, climb, np.random.RandomState(0), n_most=12, max_iter=500
        )
        top = climb(
            likelihood,
            Parameters.equal(np.column_stack([truth.profiles, np.zeros(3)])),
            tol=0.01,
            max_iter=500,
        )
        assert poor.value < top.value - 10
        assert after[0].ascent.value > top.value - 1
        assert [one.start.kind for one in after].count("one replaced") >= 1

    def test_default_fits_of_three_indistinct_components_are_shaken(self):
        X, y, _ = data(3000, 20, 3, weights=[0.4, 0.3, 0.3])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MixtureWarning)
            kinds = [start.kind for start in fitted(X, y, k=3).starts_]
        assert "grown in the subspace" in kinds  # the subspace is not clear here
        assert kinds.count("one replaced") >= 3

    def test_a_clear_subspace_is_searched_alone(self):
        X, y, _ = data(20_000, 10, profile_norm=8.0)
        kinds = {start.kind for start in fitted(X, y).starts_}
        assert kinds == {"grown", "random"}

    def test_relaxing_the_penalty_takes_every_level(self):
        X, y, _ = data()
        likelihood, seen = whole(X, y), []

        def spy(part, start, *, tol, max_iter):
            seen.append((part.l2, tol))
            return climb(part, start, tol=tol, max_iter=max_iter)

        start = starts.random_profiles(likelihood, 2, np.random.RandomState(0))
        starts.relaxed(likelihood, start, spy, starts.RELAXATION, 0.01, 100)
        levels = [level * 2000 for level in starts.RELAXATION if level * 2000 > 0.1]
        np.testing.assert_allclose([l2 for l2, _ in seen], [*levels, 0.1])
        assert seen[-1][1] == 0.01

    def test_the_coupling_makes_climbs_short(self, monkeypatch):
        X, y, truth = data(5000, 20, weights=[0.9, 0.1])
        likelihood = whole(X, y)
        start = Parameters.equal(np.column_stack([truth.profiles, np.zeros(2)]))
        with_coupling = climb(likelihood, start, tol=1e-6, max_iter=500)
        monkeypatch.setattr("spectralmirror.mixture.lbfgs.coupling", lambda *_: np.eye(2))
        without = climb(likelihood, start, tol=1e-6, max_iter=500)
        np.testing.assert_allclose(with_coupling.value, without.value, atol=1e-3)
        assert with_coupling.n_passes < 0.9 * without.n_passes

    def test_passes_are_counted(self, monkeypatch):
        X, y, _ = data()
        counted, plain = [], Likelihood.evaluate

        def evaluate(self, parameters):
            counted.append(1)
            return plain(self, parameters)

        monkeypatch.setattr(Likelihood, "evaluate", evaluate)
        likelihood = whole(X, y)
        start = starts.random_profiles(likelihood, 2, np.random.RandomState(0))
        ascent = climb(likelihood, start, tol=1e-3, max_iter=100)
        assert ascent.n_passes == len(counted) + 1  # and one for the coupling


class TestErrors:
    def test_counts_with_groups_are_copies_of_groups(self):
        X, y, truth = data(1500, group_size=5)
        g = truth.groups
        one = fitted(X, y, groups=g, sample_weight=np.full(1500, 2))
        other = fitted(np.vstack([X, X]), np.r_[y, y], groups=np.r_[g, g + 300])
        np.testing.assert_allclose(one.coef_standard_error_, other.coef_standard_error_, rtol=1e-3)
        assert one.bic_ == pytest.approx(other.bic_, rel=1e-9)

    def test_equal_weights_of_any_size_are_no_weights(self):
        X, y, _ = data(1500)
        plain = fitted(X, y)
        for weight in (0.3, 0.5, 0.7, 1 / 3, 2.5):
            other = fitted(X, y, sample_weight=np.full(1500, weight))
            np.testing.assert_allclose(
                other.coef_standard_error_, plain.coef_standard_error_, rtol=1e-6
            )

    def test_fractional_weights_have_a_sandwich(self):
        X, y, _ = data(1500)
        weight = np.random.default_rng(0).uniform(0.2, 3, 1500)
        mixture = fitted(X, y, k=1, l2=0.0, sample_weight=weight)
        Z = np.column_stack([X, np.ones(1500)])
        f = mixture.predict_proba(X)[:, 1]
        bread = np.linalg.inv((Z * (weight * f * (1 - f))[:, None]).T @ Z)
        scores = Z * (weight * ((y > 0) - f))[:, None]
        n = weight.sum() ** 2 / (weight @ weight)  # rows of equal weight that they are worth
        expected = n / (n - 5) * bread @ (scores.T @ scores) @ bread
        np.testing.assert_allclose(mixture.covariance_, expected, rtol=1e-6, atol=1e-9)

    def test_without_an_intercept(self):
        X, y, _ = data(1500)
        mixture = fitted(X + 1, y, k=1, l2=0.0, fit_intercept=False)
        f = mixture.predict_proba(X + 1)[:, 1]
        information = ((X + 1) * (f * (1 - f))[:, None]).T @ (X + 1)
        expected = np.sqrt(np.diagonal(np.linalg.inv(information)))
        np.testing.assert_allclose(mixture.coef_standard_error_[0], expected, rtol=1e-5)
        assert mixture.intercept_standard_error_.tolist() == [0.0]
        assert mixture.n_parameters_ == 4

    @pytest.mark.parametrize("grouped", [False, True])
    def test_a_sample_of_the_rows_gives_nearly_the_same(self, monkeypatch, grouped):
        # margin: 4,500 of 12,000 rows; an information of 11 parameters is good to a few per cent
        X, y, truth = data(12_000, group_size=3, profile_norm=6.0)
        groups = truth.groups if grouped else None
        full = fitted(X, y, groups=groups)
        monkeypatch.setattr(inference, "MOST_ROWS", 4500)
        monkeypatch.setattr(inference, "GROUPS_A_COMPONENT", 10)
        part = fitted(X, y, groups=groups)
        ratio = part.coef_standard_error_ / full.coef_standard_error_
        assert 0.8 < ratio.min() <= ratio.max() < 1.25
        assert (ratio != 1).any()

    def test_single_precision(self):
        X, y, _ = data(1500, 5, seed=1)
        X = X.astype(np.float32)
        one, other = fitted(X, y), fitted(X.astype(np.float64), y)
        np.testing.assert_allclose(one.coef_standard_error_, other.coef_standard_error_, rtol=3e-3)


class TestReport:
    def test_groups_of_unequal_size_and_weight(self):
        X, y, _ = data(3000, group_size=1)
        sizes = np.random.default_rng(0).integers(1, 9, 1000)
        groups = np.repeat(np.arange(1000), sizes)[:3000]
        mixture = fitted(X, y, groups=groups)
        r = mixture.component_proba(X, y, groups=groups)
        np.testing.assert_allclose(mixture.expected_accuracy_, r.max(axis=1).mean())
        assert mixture.bic_ == pytest.approx(
            -2 * mixture.log_likelihood_ + mixture.n_parameters_ * np.log(3000)
        )
        assert mixture.bic(X, y, groups=groups) == pytest.approx(mixture.bic_)

    def test_criteria_inside_a_subspace(self):
        X, y, truth = data()
        mixture = fitted(X, y, refine=False, subspace=truth.profiles)
        assert mixture.n_parameters_ == 2 * 3 + 1
        assert mixture.bic(X, y) == pytest.approx(mixture.bic_)

    def test_sample_of_collinear_columns(self):
        X, y, _ = data()
        with pytest.warns(MixtureWarning, match="computed from others"):
            mixture = fitted(np.column_stack([X, X[:, 0]]), y)
        drawn = mixture.sample(2000, random_state=0)[0]
        np.testing.assert_allclose(drawn[:, 0], drawn[:, 4], atol=1e-6)
        for n in (0, -1, 2.5):
            with pytest.raises(ValueError, match="n_samples must be a whole number"):
                mixture.sample(n)

    def test_features_named_like_our_own_terms(self):
        X, y, _ = data()
        frame = pd.DataFrame(X, columns=["weight", "intercept", "c", "d"])
        mixture = fitted(frame, y)
        assert mixture.summary().count("Component 0") == 1
        assert mixture.summary(as_frame=True).index.is_unique

    def test_far_means_in_single_precision(self):
        X, y, _ = data()
        X = (X + 1e5).astype(np.float32)
        mixture = fitted(X, y)
        np.testing.assert_allclose(
            mixture.score_samples(X, y).sum(), mixture.log_likelihood_, rtol=1e-5
        )
        np.testing.assert_allclose(
            mixture.predict_proba(X), mixture.predict_proba(X.astype(float)), atol=1e-4
        )


class TestState:
    def test_a_failed_fit_leaves_the_old_one_or_none(self):
        X, y, _ = data()
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

    def test_warnings_come_when_everything_is_set(self):
        X, y, _ = data()
        mixture = LinearClassifierMixture(max_iter=1, n_init=1, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(MixtureWarning):
                mixture.fit(X, y)
        assert "max_iter" in mixture.summary()

    def test_the_path_belongs_to_the_last_fit(self):
        X, y, _ = data()
        mixture = fitted(X, y, k="auto")
        assert set(mixture.bic_path_) >= {1, 2, 3}
        assert set(mixture.set_params(n_components=2).fit(X, y).bic_path_) == {2}

    def test_auto_does_not_warn_of_what_it_did_not_choose(self):
        for seed in range(3):
            X = np.random.default_rng(seed).standard_normal((200, 3))
            mixture = fitted(X, X[:, 0] > 0, k="auto")  # warnings are errors here
            assert mixture.n_components_ == 1

    def test_a_mirror_of_other_columns(self):
        X, y, _ = data()
        frame = pd.DataFrame(X, columns=list("abcd"))
        mirror = SpectralMirror(2).fit(frame[list("dcba")], y)
        with pytest.raises(ValueError, match="other feature names, or in another order"):
            fitted(frame, y, subspace=mirror)

    @pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")
    def test_an_unfitted_mirror_takes_our_seed(self):
        X, y, _ = data(1000, 6)
        for k in (2, 3):
            found = [
                fitted(X, y, subspace=SpectralMirror(k), refine=False).objective_ for _ in range(2)
            ]
            assert found[0] == found[1]

    def test_tiny_and_huge_vectors_span_the_same(self):
        X, y, truth = data()
        for size in (1e-300, 1e300):
            basis = size * truth.profiles / np.abs(truth.profiles).max()
            mixture = fitted(X, y, subspace=basis, refine=False)
            plain = fitted(X, y, subspace=truth.profiles, refine=False)
            np.testing.assert_allclose(mixture.objective_, plain.objective_, atol=1e-6)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([pd.NA, *range(1999)], "missing values"),
        ([1, "1"] * 1000, "cannot be compared"),
        (pd.Series([pd.NA, *range(1999)], dtype="Int64"), "missing values"),
    ],
)
def test_groups_that_make_no_sense(groups, message):
    X, y, _ = data()
    with pytest.raises(ValueError, match=message):
        fitted(X, y, groups=groups)


def test_constants_of_the_fit_are_in_order():
    assert list(starts.RELAXATION) == sorted(starts.RELAXATION, reverse=True)
    assert starts.FINE < starts.ROUGH
    assert fitting.N_AGREE > 1


def test_rows_that_cannot_determine_the_profiles_are_told():
    """Three binary columns take eight values, and two classifiers have nine parameters."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (6_000, 3)).astype(float)
    U = np.array([[3.0, 0, 1], [0, -3, 1]])
    y = rng.logistic(size=6_000) < (X * U[rng.integers(0, 2, 6_000)]).sum(axis=1)
    with pytest.warns(MixtureWarning, match="only 8 different rows, which cannot determine 9 par"):
        LinearClassifierMixture(2, random_state=0).fit(X, y)
    with pytest.warns(MixtureWarning, match="only 8 different rows"):
        LinearClassifierMixture(2, random_state=0).fit(sparse.csr_array(X), y)
    # one classifier has four parameters; labels of a group tell more than those of single rows
    LinearClassifierMixture(1).fit(X, y)
    LinearClassifierMixture(2, random_state=0).fit(X, y, groups=np.arange(6_000) // 5)

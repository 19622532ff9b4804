"""Variants of Algorithm 1: known features, r-hat as a direction, components counted."""

import warnings
from functools import partial

import numpy as np
import pytest

from spectralmirror import FeatureMoments, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import subspace_error
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.algorithm1 import algorithm1
from spectralmirror.subspace.interface import KnownFeatures
from spectralmirror.subspace.variants import Mirror, spectrum_beside
from tests.subspace.test_algorithm1 import assert_same_spectrum, mixture

paper = partial(SpectralMirror, method="paper")


@pytest.mark.parametrize("n", [600, 601])
def test_nothing_known_is_algorithm_1(n):
    X, y, _ = mixture(n, 5, mean=0.7)
    rows = Rows(X, y.astype(float))
    mirror, plain = Mirror.of(rows, KnownFeatures()), algorithm1(rows, 2)
    np.testing.assert_array_equal(mirror.direction, plain.direction)
    np.testing.assert_array_equal(mirror.whitening.cholesky, plain.whitening.cholesky)
    assert (mirror.mean_rows, mirror.covariance_rows) == (300, 299)


def test_spectrum_beside_an_axis():
    rng = np.random.default_rng(0)
    A, axis = rng.standard_normal((6, 6)), rng.standard_normal(6)
    Q = A + A.T
    found = spectrum_beside(axis, Q)
    P = np.eye(6) - np.outer(axis, axis) / (axis @ axis)
    np.testing.assert_allclose(axis @ found.vectors, 0, atol=1e-12)
    np.testing.assert_allclose(P @ Q @ found.vectors, found.vectors * found.eigenvalues, atol=1e-10)
    assert found.bulk == pytest.approx(np.median(found.eigenvalues))


def test_moments_stand_for_mean_and_covariance():
    X, y, _ = mixture(900, 6)
    moments = FeatureMoments.from_rows(X)
    reused = paper(2, moments=moments).fit(X, y)
    given = paper(2, mean=X.mean(axis=0), covariance=np.cov(X.T, ddof=0)).fit(X, y)
    assert subspace_error(reused.components_, given.components_) < 1e-10
    assert_same_spectrum(reused, given)


def test_only_the_mean_known():
    """Differences phi(A) - phi(B) have mean 0 by construction; their covariance is estimated."""
    X, y, _ = mixture(600, 5, mean=0.3)
    mirror = paper(2, mean=0.0).fit(X, y)
    Sigma = X[:300].T @ X[:300] / 300
    r = np.linalg.solve(Sigma, y[:300] @ X[:300] / 300)
    np.testing.assert_allclose(mirror.mirror_direction_, r, rtol=1e-10)
    np.testing.assert_array_equal(mirror.mean_, np.zeros(5))
    # ... and the other way round
    mirror = paper(2, covariance=Sigma).fit(X, y)
    np.testing.assert_allclose(mirror.mean_, X[:300].mean(axis=0))


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_mirror_direction_in_the_span(solver):
    X, y, _ = mixture(40_000, 20, 3, response="hard", weights=[0.3, 0.3, 0.4])
    known = {"mean": X.mean(axis=0), "covariance": np.cov(X.T)}
    mirror = paper(
        3, include_mirror_direction=True, eigen_solver=solver, tol=0.0, random_state=0, **known
    ).fit(X, y)
    assert mirror.components_.shape == (3, 20)
    assert subspace_error(mirror.mirror_direction_[None, :], mirror.components_) < 1e-12
    alone = paper(1, include_mirror_direction=True).fit(X, y)
    assert subspace_error(alone.mirror_direction_[None, :], alone.components_) < 1e-12
    if solver == "lanczos":
        dense = paper(3, include_mirror_direction=True, **known).fit(X, y)
        assert subspace_error(dense.components_, mirror.components_) < 1e-7


def test_one_feature():
    X, y, _ = make_linear_classifier_mixture(100, 1, 1, random_state=0)
    for k in (1, "auto"):
        mirror = paper(k, include_mirror_direction=True, random_state=0).fit(X, y)
        assert mirror.components_.tolist() == [[1.0]]
        assert mirror.eigenvalues_.size == mirror.n_outliers_ == 0
        assert np.isfinite(mirror.bulk_)


def test_mirror_direction_helps_where_its_eigenvalue_is_weak():
    """Hard labels of one classifier: Z is constant, Q shows nothing, but r-hat points at u."""
    X, y, truth = make_linear_classifier_mixture(4000, 10, 1, response="hard", random_state=0)
    plain = paper(1).fit(X, y)
    helped = paper(1, include_mirror_direction=True).fit(X, y)
    assert subspace_error(plain.components_, truth.profiles) > 0.5
    assert subspace_error(helped.components_, truth.profiles) < 0.1


# ---------------------------------------------------------------- how many


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_counts_the_components(k):
    """Where signals are strong only false positives are left: 2 of 10 have probability 0.004."""
    right = 0
    for seed in range(10):
        X, y, _ = make_linear_classifier_mixture(
            60_000,
            12,
            profiles=np.eye(k, 12),
            weights=np.full(k, 1 / k),
            response="hard",
            random_state=seed,
        )
        right += paper("auto", random_state=seed).fit(X, y).n_components_ == k
    assert right >= 9


@pytest.mark.parametrize(
    ("case", "options"),
    {
        "plain": {},
        "few rows": {"n": 80},
        "mean known": {"mean": 0.0},
        "all known": {"mean": np.zeros(15), "covariance": np.eye(15)},
        "shifted, unbalanced": {"shift": 1.0, "share": 0.8},
        "moments of other rows": {"moments": 150},
        "weights": {"weights": 0.3},
    }.items(),
)
def test_false_positives_for_labels_independent_of_the_features(case, options):
    """At a rate of 5 %, 300 data sets give 15 +- 3.8 false alarms: 27 is 3.2 deviations out.

    The noise of unequal weights is approximate. For these (log-normal, deviation 0.3) the rate is
    7.1 +- 0.8 % over 1000 data sets, so 300 give 21 +- 4.5: 35 is 3.1 deviations out.
    """
    options = dict(options)
    n, shift, share = options.pop("n", 400), options.pop("shift", 0.0), options.pop("share", 0.5)
    others, spread = options.pop("moments", None), options.pop("weights", None)
    d, alarms = 15, 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((n, d)) + shift, rng.random(n) < share
        if others:
            options["moments"] = FeatureMoments.from_rows(rng.standard_normal((others, d)))
        weight = None if spread is None else np.exp(spread * rng.standard_normal(n))
        mirror = paper("auto", false_positive_rate=0.05, random_state=seed, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            alarms += mirror.fit(X, y, sample_weight=weight).n_outliers_ > 0
    assert alarms <= (27 if case != "weights" else 35)
    if case in ("plain", "mean known"):  # too few alarms would be wrong as well
        assert alarms >= 4


@pytest.mark.parametrize("d", [20, 150])
def test_no_false_positives_beside_true_components(d):
    """P(count > k) is 1 % per data set: 3 or more of 30 have probability 0.003."""
    over = 0
    for seed in range(30):
        X, y, _ = make_linear_classifier_mixture(
            60 * d, d, profiles=np.eye(2, d), weights=[0.5, 0.5], response="hard", random_state=seed
        )
        over += paper("auto", random_state=seed).fit(X, y).n_components_ > 2
    assert over <= 2


def test_says_when_it_sees_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, 10)), rng.choice([-1, 1], 500)
    with pytest.warns(UserWarning, match="No eigenvalue stands out"):
        mirror = paper("auto", random_state=0).fit(X, y)
    assert mirror.n_components_ == 1


def test_one_hard_classifier_is_its_mirror_direction():
    """No eigenvalue stands out, but r-hat does: one component and no warning."""
    X, y, truth = make_linear_classifier_mixture(5000, 10, 1, response="hard", random_state=0)
    mirror = paper("auto", random_state=0).fit(X, y)
    assert mirror.n_components_ == 1
    assert subspace_error(mirror.components_, truth.profiles) < 0.1


def test_auto_is_the_same_for_the_same_seed():
    X, y, _ = make_linear_classifier_mixture(20_000, 10, random_state=0)
    first, second = (paper("auto", random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)

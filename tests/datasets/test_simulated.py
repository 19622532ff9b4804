import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from spectralmirror.datasets import make_linear_classifier_mixture


def test_shapes_and_kinds():
    X, y, truth = make_linear_classifier_mixture(
        n_samples=100, n_features=7, n_components=3, group_size=8, random_state=0
    )
    assert X.shape == (100, 7)
    assert set(y) == {-1, 1}
    assert truth.profiles.shape == (3, 7)
    assert truth.weights.sum() == pytest.approx(1)
    assert truth.components.shape == truth.groups.shape == (100,)
    np.testing.assert_array_equal(truth.groups, np.arange(100) // 8)
    for group in range(13):
        assert len(set(truth.components[truth.groups == group])) == 1


@pytest.mark.parametrize("response", ["logistic", "probit", "hard"])
def test_labels_follow_the_model(response):
    """Rows at one point: the share of +1 is sum p f(<u, x>), within 4 standard errors."""
    n, point = 40_000, np.array([0.4, -0.1])
    _, y, truth = make_linear_classifier_mixture(
        n,
        profiles=[[2.0, 1.0], [-1.0, 3.0]],
        weights=[0.7, 0.3],
        response=response,
        mean=point,
        covariance=np.full(2, 1e-20),
        random_state=0,
    )
    expected = truth.expected_label(point[None, :])[0]
    assert abs(y.mean() - expected) < 4 * np.sqrt((1 - expected**2) / n) + 1e-12
    assert abs((truth.components == 0).mean() - 0.7) < 4 * np.sqrt(0.7 * 0.3 / n)


def test_hard_labels_are_the_sign_of_their_own_component():
    X, y, truth = make_linear_classifier_mixture(500, 5, 3, response="hard", random_state=0)
    scores = np.einsum("ij,ij->i", X, truth.profiles[truth.components])
    np.testing.assert_array_equal(y, np.sign(scores))


def test_mean_and_covariance():
    mean, covariance = np.array([1.0, -2.0, 3.0]), np.array([[2, 1, 0], [1, 3, -1], [0, -1, 1.0]])
    X, _, _ = make_linear_classifier_mixture(
        200_000, 3, mean=mean, covariance=covariance, random_state=0
    )
    np.testing.assert_allclose(X.mean(axis=0), mean, atol=5 * np.sqrt(3 / 200_000))
    np.testing.assert_allclose(np.cov(X.T), covariance, atol=5 * np.sqrt(2 * 9 / 200_000))


def test_profiles_of_a_norm_or_of_the_paper():
    _, _, truth = make_linear_classifier_mixture(10, 50, 4, profile_norm=3.0, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(truth.profiles, axis=1), 3)
    _, _, truth = make_linear_classifier_mixture(10, 50, 40, profile_norm=None, random_state=0)
    assert stats.kstest(truth.profiles.ravel(), "norm").pvalue > 0.01


def test_drawn_weights_are_uniform_on_the_simplex():
    """For k = 2 the first weight is then uniform on [0, 1]."""
    draws = [
        make_linear_classifier_mixture(1, 1, random_state=seed)[2].weights[0] for seed in range(300)
    ]
    assert stats.kstest(draws, "uniform").pvalue > 0.01


def test_expected_label_is_the_mean_over_components():
    X, _, truth = make_linear_classifier_mixture(50, 4, 3, response="probit", random_state=0)
    by_hand = sum(
        p * (2 * stats.norm.cdf(X @ u) - 1)
        for p, u in zip(truth.weights, truth.profiles, strict=True)
    )
    np.testing.assert_allclose(truth.expected_label(X), by_hand, atol=1e-14)


def test_same_seed_same_data_on_any_number_of_threads():
    program = (
        "import hashlib, numpy as np\n"
        "from spectralmirror.datasets import make_linear_classifier_mixture as make\n"
        "X, y, t = make(3001, 301, 5, mean=1.0, covariance=np.eye(301) + 1, random_state=7)\n"
        "print(hashlib.sha256(X.tobytes() + y.tobytes() + t.weights.tobytes()).hexdigest())\n"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "OPENBLAS_NUM_THREADS": str(n), "MKL_NUM_THREADS": str(n)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for n in (1, 2, 3)
    }
    assert len(hashes) == 1


def test_expected_label_very_far_out():
    _, _, truth = make_linear_classifier_mixture(10, 5, random_state=0)
    far = truth.expected_label(np.eye(5) * 1e300)
    np.testing.assert_allclose(far, np.sign(truth.profiles.T) @ truth.weights)


def test_persons_have_profiles_of_their_own():
    """Deviations of 20,000 groups: standard deviations within 4 standard errors, uncorrelated."""
    n, sizes = 20_000, np.array([0.5, 0.0, 2.0])
    _, _, truth = make_linear_classifier_mixture(
        2 * n - 1, 3, group_size=2, spread=sizes, random_state=0
    )
    assert truth.person_profiles.shape == (n, 3)
    np.testing.assert_array_equal(truth.spread, sizes)
    own = truth.person_profiles - truth.profiles[truth.components[::2]]
    np.testing.assert_array_equal(own[:, 1], 0)
    np.testing.assert_allclose(own.std(axis=0), sizes, rtol=4 / np.sqrt(2 * n))
    assert abs(np.corrcoef(own[:, 0], own[:, 2])[0, 1]) < 4 / np.sqrt(n)
    assert stats.kstest(own[:, 2] / 2, "norm").pvalue > 0.01


def test_a_spread_is_one_number_or_one_for_each_feature():
    rows = [
        make_linear_classifier_mixture(60, 3, group_size=4, spread=spread, random_state=0)
        for spread in (0.7, [0.7], [0.7, 0.7, 0.7])
    ]
    for X, y, truth in rows[1:]:
        np.testing.assert_array_equal(X, rows[0][0])
        np.testing.assert_array_equal(y, rows[0][1])
        np.testing.assert_array_equal(truth.person_profiles, rows[0][2].person_profiles)


def test_a_spread_changes_neither_features_nor_components():
    X, y, truth = make_linear_classifier_mixture(300, 3, group_size=3, random_state=0)
    Z, labels, other = make_linear_classifier_mixture(
        300, 3, group_size=3, spread=1.5, random_state=0
    )
    np.testing.assert_array_equal(X, Z)
    np.testing.assert_array_equal(truth.components, other.components)
    np.testing.assert_array_equal(truth.person_profiles, truth.profiles[truth.components[::3]])
    assert not truth.spread.any()
    assert (y != labels).any()


@pytest.mark.parametrize("response", ["logistic", "probit", "hard"])
def test_labels_follow_the_profiles_of_persons(response):
    """Groups of 400 rows: z values of their numbers of +1 have mean 0 and variance 1."""
    n, size = 300, 400
    X, y, truth = make_linear_classifier_mixture(
        n * size, 2, group_size=size, spread=1.0, response=response, random_state=0
    )
    t = np.einsum("ij,ij->i", X, truth.person_profiles[truth.groups])
    f = truth.response.f(t)
    if response == "hard":
        np.testing.assert_array_equal(y, np.sign(t))
        return
    excess = np.bincount(truth.groups, (y > 0) - f)
    z = excess / np.sqrt(np.bincount(truth.groups, f * (1 - f)))
    assert abs(z.mean()) < 4 / np.sqrt(n)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / n)


@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_expected_labels_of_strangers(spread):
    """For the probit, E Phi(t + s z) = Phi(t / sqrt(1 + s^2)) exactly."""
    X, _, truth = make_linear_classifier_mixture(
        50, 3, response="probit", spread=spread, profile_norm=2.0, random_state=0
    )
    s = spread * np.linalg.norm(X, axis=1)
    by_hand = sum(
        p * (2 * stats.norm.cdf(X @ u / np.sqrt(1 + s**2)) - 1)
        for p, u in zip(truth.weights, truth.profiles, strict=True)
    )
    # 41 nodes are exact to 0.002 for deviations of up to 3
    np.testing.assert_allclose(truth.expected_label(X), by_hand, atol=2e-3)


def test_expected_labels_are_the_shares_of_labels_of_many_strangers():
    """Rows at one point: the mean label within 4 standard errors."""
    n, point = 40_000, np.array([0.4, -0.8])
    _, y, truth = make_linear_classifier_mixture(
        n,
        profiles=[[2.0, 1.0], [-1.0, 3.0]],
        weights=[0.7, 0.3],
        spread=[1.0, 2.0],
        mean=point,
        covariance=np.full(2, 1e-20),
        random_state=0,
    )
    expected = truth.expected_label(point[None, :])[0]
    assert abs(y.mean() - expected) < 4 * np.sqrt((1 - expected**2) / n)

"""Average effects on one of several labels, against statsmodels and finite differences."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse
from scipy.special import softmax

from spectralmirror import LinearClassifierMixture
from spectralmirror.effects import average_effects, ratios
from spectralmirror.mixture.summary import quantile

NAMES = np.array(["bus", "car", "rail"])


def drawn(n=900, size=6, seed=0):
    """Draw labels of three kinds, by persons of two classes; the last feature is 0 or 1."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n // size), size)
    X = np.column_stack([rng.standard_normal((n, 2)), rng.uniform(size=n) < 0.4])
    U = rng.normal(0, 1.5, (2, 3, 3))
    t = np.einsum("nd,ncd->nc", X, U[rng.integers(0, 2, n // size)[groups]])
    y = NAMES[(t + rng.gumbel(size=t.shape)).argmax(axis=1)]
    return X * [1, 5, 1] + [0, 10, 0], y, groups


@pytest.fixture(scope="module")
def case():
    X, y, groups = drawn()
    return LinearClassifierMixture(2, random_state=0).fit(X, y, groups=groups), X


def test_one_class_is_the_multinomial_logit_of_statsmodels():
    X, y, _ = drawn()
    X = X[:, :2]  # statsmodels has no changes from 0 to 1 for several labels
    fit = sm.MNLogit(np.searchsorted(NAMES, y), sm.add_constant(X)).fit(disp=0, tol=1e-12)
    theirs = fit.get_margeff()
    ours = LinearClassifierMixture(1, l2=1e-9, random_state=0).fit(X, y)
    for c, label in enumerate(NAMES):
        found = average_effects(ours, X, label=label)
        assert found.change == ["per unit", "per unit"]
        np.testing.assert_allclose(found.estimate[1], theirs.margeff[:, c], atol=1e-6)
        np.testing.assert_allclose(found.standard_error[1], theirs.margeff_se[:, c], rtol=1e-3)


def effects_by_differences(theta, shape, c, X, step=1e-3):
    """Return the effects on label c by class, and overall."""
    k, n_labels, d = shape
    A = theta[: k * n_labels * (d + 1)].reshape(k, n_labels, d + 1)
    p = theta[-k:]

    def mean(X):
        t = np.einsum("nd,kcd->nkc", X, A[..., :-1]) + A[..., -1]
        return softmax(t, axis=2)[:, :, c].mean(axis=0)

    found = np.empty((k, d))
    for j in range(d):
        up, down = X.copy(), X.copy()
        up[:, j], down[:, j] = (1, 0) if j == 2 else (X[:, j] + step, X[:, j] - step)
        found[:, j] = (mean(up) - mean(down)) / (1 if j == 2 else 2 * step)
    return np.vstack([found, p @ found])


@pytest.mark.parametrize("c", [0, 2])
def test_effects_and_errors_by_finite_differences(case, c):
    mixture, X = case
    profiles = np.concatenate([mixture.coef_, mixture.intercept_[..., None]], axis=2)
    theta = np.append(profiles.ravel(), mixture.weights_)
    assert len(theta) == len(mixture.covariance_)
    found = average_effects(mixture, X, label=NAMES[c])
    shape = mixture.coef_.shape
    np.testing.assert_allclose(
        found.estimate, effects_by_differences(theta, shape, c, X), rtol=1e-5, atol=1e-7
    )
    slopes = np.array(
        [
            effects_by_differences(theta + e, shape, c, X)
            - effects_by_differences(theta - e, shape, c, X)
            for e in 1e-4 * np.eye(len(theta))
        ]
    ) / 2e-4  # fmt: skip
    variances = np.einsum("icj,ih,hcj->cj", slopes, mixture.covariance_, slopes)
    np.testing.assert_allclose(found.standard_error, np.sqrt(variances), rtol=1e-4)


def test_effects_on_all_labels_sum_to_0(case):
    mixture, X = case
    w = np.random.default_rng(0).uniform(size=len(X))
    found = [average_effects(mixture, X, label=label, sample_weight=w) for label in NAMES]
    np.testing.assert_allclose(sum(one.estimate for one in found), 0, atol=1e-12)
    again = average_effects(mixture, sparse.csr_matrix(X), label="car", sample_weight=w)
    np.testing.assert_allclose(again.estimate, found[1].estimate)
    np.testing.assert_allclose(again.standard_error, found[1].standard_error)
    assert "P(y = car)" in str(again)


def test_bad_input(case):
    mixture, X = case
    with pytest.raises(ValueError, match=r"label is missing: name one of the labels .'bus'"):
        average_effects(mixture, X)
    with pytest.raises(ValueError, match=r"label must be one of .*, got 'tram'"):
        average_effects(mixture, X, label="tram")
    with pytest.raises(ValueError, match=r"label is missing: name one of \['bus', .* or two of"):
        ratios(mixture, 0, 1)
    for label in ("tram", ("bus", "tram"), ("bus", "bus"), 3):
        with pytest.raises(ValueError, match=r"label is .*: name one of"):
            ratios(mixture, 0, 1, label=label)


@pytest.mark.parametrize("label", ["car", ("car", "bus")])
def test_ratios_of_a_label_and_of_two(case, label):
    """Estimates by hand, errors by finite differences, intervals by what a test accepts."""
    mixture, _ = case
    profiles = np.concatenate([mixture.coef_, mixture.intercept_[..., None]], axis=2)
    k, theta = len(profiles), np.append(profiles.ravel(), mixture.weights_)

    def both(theta):
        U = theta[:-k].reshape(profiles.shape)
        U = U[:, 1] - U[:, 0] if isinstance(label, tuple) else U[:, 1]
        return U[:, 0], U[:, 1]

    def of(theta):
        found = both(theta)[0] / both(theta)[1]
        return np.append(found, theta[-k:] @ found)

    found, C = ratios(mixture, 0, 1, label=label, method="delta"), mixture.covariance_
    np.testing.assert_allclose(found.estimate, of(theta))
    slopes = np.array([(of(theta + e) - of(theta - e)) / 2e-6 for e in 1e-6 * np.eye(len(theta))])
    errors = np.sqrt(np.einsum("ic,ih,hc->c", slopes, C, slopes))
    np.testing.assert_allclose(found.standard_error, errors, rtol=1e-4)
    fieller = ratios(mixture, 0, 1, label=label)
    for c in np.flatnonzero(fieller.bounded[:k]):
        for end in (fieller.lower[c], fieller.upper[c]):
            rest = np.array(
                [
                    (both(theta + e)[0] - end * both(theta + e)[1])[c]
                    - (both(theta - e)[0] - end * both(theta - e)[1])[c]
                    for e in 1e-3 * np.eye(len(theta))
                ]
            ) / 2e-3  # fmt: skip
            z = (both(theta)[0] - end * both(theta)[1])[c] / np.sqrt(rest @ C @ rest)
            assert abs(z) == pytest.approx(quantile(mixture, 0.95), rel=1e-6)
    if isinstance(label, tuple):
        turned = ratios(mixture, 0, 1, label=label[::-1])
        np.testing.assert_allclose(turned.estimate, fieller.estimate)

"""The probability of each class along a covariate of membership."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.plotting import plot_membership
from spectralmirror.plotting.membership import membership_data


@pytest.fixture(scope="module")
def mixture():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((300, 2)) * [10.0, 1.0] + [40.0, 0.0]
    kind = (rng.uniform(size=300) < 1 / (1 + np.exp(-(Z[:, 0] - 40) / 10))).astype(int)
    who = np.repeat(np.arange(300), 5)
    X = rng.standard_normal((1500, 2))
    score = (X * np.array([[2.0, 1.0], [-2.0, 1.0]])[kind[who]]).sum(axis=1)
    y = rng.uniform(size=1500) < 1 / (1 + np.exp(-score))
    return LinearClassifierMixture(2, l2=1, random_state=0).fit(X, y, groups=who, membership=Z[who])


def test_curves_are_the_weights_and_bands_those_of_log_odds(mixture):
    data = membership_data(mixture, 0, 0.95, ends=(20.0, 60.0))
    mean = mixture._membership_mean
    Z = np.column_stack([data["grid"], np.full(len(data["grid"]), mean[1])])
    p = mixture.membership_proba(Z)
    np.testing.assert_allclose(np.transpose(data["weights"]), p, rtol=1e-12)
    # with two classes, log-odds are linear in z: their variance comes from the last 3 parameters
    lines = np.column_stack([Z, np.ones(len(Z))])
    error = np.sqrt(np.einsum("ni,ij,nj->n", lines, mixture.covariance_[-3:, -3:], lines))
    half = data["bands"][1]
    odds = np.log(p[:, 1] / p[:, 0])
    low, high = (np.log(np.array(end) / (1 - np.array(end))) for end in half)
    from scipy.stats import t

    q = t.isf(0.025, mixture.degrees_of_freedom_)
    np.testing.assert_allclose(high - odds, q * error, rtol=1e-6)
    np.testing.assert_allclose(odds - low, q * error, rtol=1e-6)
    at_one = np.interp(mean[0], data["grid"], p[:, 1])
    assert 0.3 < at_one < 0.7
    assert p[-1, 1] > 0.75 > 0.25 > p[0, 1]


def test_a_drawing(mixture):
    ax = plot_membership(mixture, 1)
    assert ax.get_xlabel() == "z1"
    assert [line.get_label() for line in ax.get_lines()] == ["class A", "class B"]
    assert plot_membership(mixture, "z0").get_xlabel() == "z0"
    plt.close("all")
    with pytest.raises(ValueError, match="no covariate 'z3'"):
        plot_membership(mixture, "z3")
    plain = LinearClassifierMixture(1, l2=1).fit([[0.0], [1], [2], [3]], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="was fitted with covariates of membership"):
        plot_membership(plain)

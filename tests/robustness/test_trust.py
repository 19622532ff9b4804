"""Rates over simulated data: what is said with a probability must come true as often.

`make trust` measures the same, and more, on many more data sets.
"""

import numpy as np
import pytest
from scipy.stats import binom, t

from spectralmirror import LinearClassifierMixture, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture

PROFILES = np.array([[3.0, 0, 0], [0, 3.0, 1.0]])


def grouped(n, size, seed=0):
    X, y, truth = make_linear_classifier_mixture(
        n, profiles=PROFILES, weights=[0.6, 0.4], group_size=size, random_state=seed
    )
    return X, y, truth


def heavy_tails(rng, n, d):
    """Elliptical t with 3 degrees of freedom, of variance 1."""
    return rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(3, n))[:, None]


def too_many(n_sets, rate):
    """Number of false positives that a test of this rate exceeds once in 10,000 times."""
    return binom.isf(1e-4, n_sets, rate)


@pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")
@pytest.mark.parametrize("d", [2, 10])
def test_labels_that_know_nothing_show_no_second_direction_in_heavy_tails(d):
    """At a rate of 5 %; half were positive when the noise was estimated from too few rows."""
    n_found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = heavy_tails(rng, 3_000, d), rng.choice([-1, 1], 3_000)
        mirror = SpectralMirror("auto", false_positive_rate=0.05, random_state=seed)
        n_found += mirror.fit(X, y).n_components_ > 1
    assert n_found <= too_many(40, 0.05)


def test_few_groups_have_longer_intervals():
    """Intervals use t with G - 1 degrees of freedom for G groups, and the normal without."""
    X, y, truth = grouped(600, 20)
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=truth.groups)
    assert mixture.degrees_of_freedom_ == 29
    line = mixture.summary(as_frame=True).loc[("A", "x0")]
    q = (line["upper"] - line["estimate"]) / line["standard_error"]
    assert q == pytest.approx(t.isf(0.025, 29))
    assert np.isinf(LinearClassifierMixture(2, random_state=0).fit(X, y).degrees_of_freedom_)


def test_a_single_group_has_no_standard_errors():
    """A single group has no robust covariance: standard errors are NaN, no longer about 0."""
    X, y, _ = grouped(400, 1)
    mixture = LinearClassifierMixture(1).fit(X, y, groups=np.zeros(400))
    assert mixture.covariance_ is None
    assert np.isnan(mixture.coef_standard_error_).all()
    assert "nan" not in mixture.summary()


@pytest.mark.parametrize("size", [1, 4])
def test_probabilities_come_true_as_often_as_they_say(size):
    """Ten bins of 40,000 fresh rows, for labels and for who made them.

    A bin of m rows, in m / size groups, has a standard error of sqrt(p (1 - p) size / m), of which
    4 are allowed, and 0.02 for the error of a fit to 20,000 rows.
    """
    X, y, truth = grouped(20_000, size)
    fresh_X, fresh_y, fresh = grouped(40_000, size, seed=1)
    groups, fresh_groups = (truth.groups, fresh.groups) if size > 1 else (None, None)
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=groups)
    who = mixture.component_proba(fresh_X, fresh_y, groups=fresh_groups)[:, 0]
    labels = mixture.predict_proba(fresh_X)[:, 1]
    for said, true in ((who, fresh.components == 0), (labels, fresh_y > 0)):
        index = np.minimum((said * 10).astype(int), 9)
        for b in range(10):
            p, m = said[index == b].mean(), (index == b).sum()
            error = np.sqrt(p * (1 - p) * size / m)
            assert abs(true[index == b].mean() - p) < 4 * error + 0.02

"""Halves of the rows in their order, and whether they differ more than by chance."""

import warnings

import numpy as np
import pytest
from scipy.stats import chi2

from spectralmirror import SpectralMirror
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.halves import features_differ, in_halves, labels_differ


def test_halves_in_the_order_of_the_rows():
    X, weight = np.arange(9.0)[:, None], np.array([1.0, 0, 2, 1, 1, 0, 3, 1, 0])
    first, second = in_halves(Rows(X, np.ones(9)))
    assert (len(first), len(second)) == (4, 5)  # floor(n/2) and ceil(n/2)
    assert first.X[:, 0].tolist() == [0, 1, 2, 3]
    first, second = in_halves(Rows(X, np.ones(9), weight))
    assert (first.n_present, second.n_present) == (3, 3)  # rows of weight 0 do not count
    assert first.present().X[:, 0].tolist() == [0, 2, 3]


def test_labels_differ_from_six_standard_errors_on():
    """Of two halves of 100 labels with mean 0, the difference has a deviation of sqrt(0.02)."""
    error = np.sqrt(0.02)
    assert not labels_differ(-2.99 * error, 2.99 * error, 0.02)
    assert labels_differ(-3.01 * error, 3.01 * error, 0.02)


def test_features_differ_by_hotellings_statistic(monkeypatch):
    """At a rate of 5 % in place of 1e-9, 2000 halves give 100 +- 10 alarms."""
    monkeypatch.setattr("spectralmirror.subspace.halves.SORTED", 0.05)
    rng, alarms = np.random.default_rng(0), 0
    for _ in range(2000):
        X, Y = rng.standard_normal((30, 4)), rng.standard_normal((40, 4))
        L = np.linalg.cholesky(np.cov(X.T))
        step = np.linalg.solve(L, Y.mean(axis=0) - X.mean(axis=0))
        alarms += features_differ(step, 1 / 30 + 1 / 40, 29)
    assert 65 < alarms < 135
    edge = np.sqrt(chi2.isf(0.05, 4) * 0.1)
    assert features_differ(np.array([1.01 * edge, 0, 0, 0]), 0.1, np.inf)
    assert not features_differ(np.array([0.99 * edge, 0, 0, 0]), 0.1, np.inf)
    assert not features_differ(np.full(4, 1e9), 0.1, 4)  # a covariance without rows to spare


@pytest.mark.parametrize(("by", "what"), [("y", "labels"), ("X", "means")])
def test_sorted_rows_are_reported(by, what):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    y = np.sign(X[:, 0] + rng.standard_normal(2000))
    order = np.argsort(y + rng.standard_normal(2000)) if by == "y" else np.argsort(X[:, 2])
    with pytest.warns(UserWarning, match=f"very different {what}.*shuffle"):
        SpectralMirror(2, method="paper").fit(X[order], y[order])


def test_many_features_do_not_look_sorted():
    """The estimated covariance makes the step between the halves longer: Hotelling's T^2."""
    rng = np.random.default_rng(0)
    for n, d in ((800, 50), (4000, 900)):
        X = rng.standard_normal((n, d))
        y = np.sign(X[:, 0] + rng.standard_normal(n))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            SpectralMirror(2, method="paper").fit(X, y)

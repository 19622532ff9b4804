"""Scores, intervals and calibration agree with independent computations."""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.calibration import calibration_curve

from spectralmirror.report.metrics import (
    calibration,
    clustered_interval,
    comparison,
    share_interval,
)


def test_interval_is_that_of_regressions_with_clustered_errors():
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 30, 400)
    values = rng.normal(0.1, 1, 400) + rng.normal(size=30)[clusters]
    fit = sm.OLS(values, np.ones(400)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    np.testing.assert_allclose(clustered_interval(values, clusters), fit.conf_int()[0], rtol=1e-9)
    assert clustered_interval(values, np.zeros(400)) is None


def test_intervals_of_shares_cover_them_also_in_groups():
    rng = np.random.default_rng(0)
    for size in (1, 20):
        groups, covered = np.repeat(np.arange(60), size), []
        for _ in range(400):
            share = rng.beta(1, 3, size=60) if size > 1 else np.full(60, 0.25)
            positive = rng.uniform(size=60 * size) < np.repeat(share, size)
            low, high = share_interval(positive, groups)
            covered.append(low <= 0.25 <= high)
        assert 0.92 < np.mean(covered) < 0.98  # 0.95, with an error of 0.011
    assert share_interval(np.ones(30, dtype=bool), np.arange(30))[0] == pytest.approx(
        0.878, abs=0.01
    )


def test_calibration_without_ties_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=1000)
    positive = rng.uniform(size=1000) < p
    points = calibration(p, positive, np.arange(1000))
    seen, predicted = calibration_curve(positive, p, n_bins=10, strategy="quantile")
    np.testing.assert_allclose([point["seen"] for point in points], seen)
    np.testing.assert_allclose([point["predicted"] for point in points], predicted)
    for point in points:
        assert point["interval"][0] < point["seen"] < point["interval"][1]
    assert len(calibration(p[:74], positive[:74], np.arange(74))) == 2


def test_verdict_follows_from_the_interval_of_the_gain():
    rng = np.random.default_rng(0)
    truth = rng.uniform(size=2000)
    positive = rng.uniform(size=2000) < truth
    guess, clusters = np.full(2000, 0.5), np.arange(2000)
    truth, guess = (np.column_stack([1 - p, p]) for p in (truth, guess))
    positive = positive.astype(int)
    good = comparison({"mixture": truth, "single": guess}, positive, clusters)
    assert good["verdict"] == "better"
    np.testing.assert_allclose(
        good["gain"], good["single"]["log_loss"] - good["mixture"]["log_loss"]
    )
    assert good["gain_interval"][0] < good["gain"] < good["gain_interval"][1]
    bad = comparison({"mixture": guess, "single": truth}, positive, clusters)
    assert bad["verdict"] == "worse"
    same = comparison({"mixture": guess, "single": guess}, positive, clusters)
    assert same["verdict"] == "unclear"
    alone = comparison({"mixture": truth, "single": guess}, positive, np.zeros(2000))
    assert alone["gain_interval"] is None
    assert alone["verdict"] == "unclear"


def test_scores_of_a_single_label_and_of_certain_predictions():
    certain = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    found = comparison({"mixture": certain, "single": certain}, np.ones(3, int), np.arange(3))
    assert found["mixture"]["auc"] is None
    np.testing.assert_allclose(found["mixture"]["log_loss"], -np.log(1e-12) / 3, rtol=1e-6)
    np.testing.assert_allclose(found["mixture"]["accuracy"], 2 / 3)

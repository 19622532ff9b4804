"""Effects and contrasts are those of the fit, with its intervals."""

import numpy as np

from spectralmirror.report.effects import contrasts
from tests.helpers.report import COLUMNS, fitted, sentence


def test_interval_of_a_contrast_is_that_of_the_delta_method():
    mixture, _, _ = fitted(3)
    k, d = mixture.coef_.shape
    for c in range(k):
        difference, error = contrasts(mixture, c)
        others = [m for m in range(k) if m != c]
        p = mixture.weights_[others] / mixture.weights_[others].sum()
        for j in range(d):
            gradient = np.zeros(k * (d + 1))
            gradient[c * (d + 1) + j] = 1
            for m, share in zip(others, p, strict=True):
                gradient[m * (d + 1) + j] = -share
            expected = mixture.coef_[c, j] - p @ mixture.coef_[others, j]
            np.testing.assert_allclose(difference[j], expected)
            size = len(gradient)
            variance = gradient @ mixture.covariance_[:size, :size] @ gradient
            np.testing.assert_allclose(error[j], np.sqrt(variance))


def test_contrasts_of_two_are_each_others_mirror(shop):
    mixture, data = shop.mixture, shop.data
    first, second = (c["contrasts"] for c in data["classifiers"])
    assert [e["feature"] for e in first] == [e["feature"] for e in second]
    np.testing.assert_allclose([e["value"] for e in first], [-e["value"] for e in second])
    entry, j = first[0], COLUMNS.index(first[0]["feature"])
    np.testing.assert_allclose(entry["own"] - entry["others"], entry["value"], rtol=1e-5)
    step = entry["step"]
    np.testing.assert_allclose(entry["own"], mixture.coef_[0, j] * step, rtol=1e-5)
    assert " with the other, per standard deviation" in sentence(data, "effects", "contrast", entry)


def test_effects_are_those_of_the_summary(shop):
    mixture, data = shop.mixture, shop.data
    summary = mixture.summary(as_frame=True)
    for c in data["classifiers"]:
        line = summary.loc[c["name"], "(weight)"]
        np.testing.assert_allclose(c["weight_interval"], [line.lower, line.upper], rtol=1e-5)
        sizes = np.abs(mixture.coef_[c["number"]] * mixture.feature_scale_)
        assert [e["feature"] for e in c["strongest"]] == [COLUMNS[j] for j in np.argsort(-sizes)]
        for entry in c["strongest"]:
            line = summary.loc[c["name"], entry["feature"]]
            interval = np.array([line.lower, line.upper]) * entry["step"]
            np.testing.assert_allclose(entry["interval"], interval, rtol=1e-4)
            assert entry["level"] == (entry["feature"] == "colour=red")

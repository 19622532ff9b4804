"""Classes are drawn with the range in which most of their persons lie."""

from copy import copy
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.container import BarContainer, ErrorbarContainer
from scipy.stats import norm, t

from spectralmirror import LinearClassifierMixture, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.plotting import plot_spread
from spectralmirror.plotting.spread import spread_data
from tests.helpers.mixture_rows import mixture_rows

PROFILES = [[2.5, 0.4, 1.2], [-2.5, 0.8, 1.5]]
NAMES = ["price", "brand", "size"]


def rows():
    """Return rows of two classes whose members differ, also in their intercepts."""
    X, y, truth = make_linear_classifier_mixture(
        2400, profiles=PROFILES, weights=[0.6, 0.4], group_size=12, mean=[0, 0.6, 0],
        spread=[0.4, 1.2, 0.6], random_state=1,
    )  # fmt: skip
    return X, y, truth.groups


@pytest.fixture(scope="module")
def varied():
    X, y, groups = rows()
    frame = pd.DataFrame(X * [7, 1, 2] + [30, 0, 4], columns=NAMES)
    mixture = LinearClassifierMixture(2, spread="diagonal", random_state=0)
    return mixture.fit(frame, y, groups=groups), frame


def with_features(mixture, k, d, name="x{}"):
    """Return a mixture of k classes and d features, made up from the first ones."""
    made = copy(mixture)
    made.n_components_, made.covariance_ = k, None
    columns = np.arange(d) % 3
    for attribute in ("coef_", "coef_standard_error_"):
        setattr(made, attribute, getattr(mixture, attribute)[np.arange(k) % 2][:, columns])
    for attribute in (
        *("feature_mean_", "feature_scale_"),
        *("spread_deviation_", "spread_standard_error_"),
    ):
        setattr(made, attribute, getattr(mixture, attribute)[columns])
    made.intercept_, made.weights_ = np.zeros(k), np.full(k, 1 / k)
    made.feature_names_in_ = np.array([name.format(j) for j in range(d)], dtype=object)
    return made


def drawn(ax):
    """Return the bars of each class as (left, right), and its points with their intervals."""
    bands = [
        np.array([[bar.get_x(), bar.get_x() + bar.get_width()] for bar in container])
        for container in ax.containers
        if isinstance(container, BarContainer)
    ]
    points = [one for one in ax.containers if isinstance(one, ErrorbarContainer)]
    return bands, points


def test_bands_hold_90_percent_of_the_persons(varied):
    mixture, frame = varied
    bands, points = drawn(plot_spread(mixture))
    scale = frame.std().to_numpy()
    profiles, deviations = mixture.coef_ * scale, mixture.spread_deviation_ * scale
    reach = np.abs(profiles).max(axis=0) + norm.ppf(0.95) * deviations
    order = np.argsort(-reach)
    half = norm.ppf(0.95) * np.append(deviations[order], mixture.intercept_deviation_)
    for c in range(2):
        at_mean = mixture.intercept_[c] + mixture.coef_[c] @ frame.mean().to_numpy()
        expected = np.append(profiles[c, order], at_mean)
        np.testing.assert_allclose(points[c][0].get_xdata(), expected, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(bands[c].mean(axis=1), expected, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(np.ptp(bands[c], axis=1), 2 * half, rtol=1e-3)
        errors = mixture.coef_standard_error_[c, order] * scale[order]
        segments = np.array(points[c][2][0].get_segments())[:3, :, 0]
        np.testing.assert_allclose(
            np.ptp(segments, axis=1), 2 * t.isf(0.025, 199) * errors, rtol=1e-3
        )


def test_lines_are_those_that_reach_farthest_and_the_intercept(varied):
    ax = plot_spread(varied[0], max_features=2)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert len(names) == 3
    assert names[-1] == "(intercept)"
    assert "2 of 3 features" in ax.get_title()
    assert ax.get_xlabel() == "log-odds, per SD of the feature"
    low, high = ax.get_xlim()
    assert all(low < band.min() and band.max() < high for band in drawn(ax)[0])


def test_the_error_of_the_intercept_at_the_mean_is_that_of_centred_features(varied):
    X, y, groups = rows()
    centred = LinearClassifierMixture(2, spread="diagonal", random_state=0)
    centred.fit(X - X.mean(axis=0), y, groups=groups)
    halves = np.array(spread_data(varied[0], 20, 0.95)["halves"])[:, -1]
    q = t.isf(0.025, 199)
    np.testing.assert_allclose(halves, q * centred.intercept_standard_error_, rtol=1e-2)


def test_intercepts_that_do_not_vary_have_no_line(varied):
    mixture = copy(varied[0])
    mixture.intercept_deviation_ = 0.0
    ax = plot_spread(mixture)
    assert "(intercept)" not in [text.get_text() for text in ax.get_yticklabels()]


def test_the_legend_explains_points_bars_and_bands(varied):
    legend = [
        text.get_text() for text in plot_spread(varied[0], level=0.9).get_legend().get_texts()
    ]
    explained = ["class, on average", "90 % interval of that", "90 % of its persons"]
    assert legend[:3] == explained
    assert [name[:7] for name in legend[3:]] == ["class A", "class B"]
    one = with_features(varied[0], 1, 3)
    one.coef_standard_error_ = np.full((1, 3), np.nan)
    ax = plot_spread(one)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [explained[0], explained[2]]
    assert not drawn(ax)[1][0].has_xerr


@pytest.mark.parametrize(
    ("k", "d", "name"),
    [(2, 4, "x{}"), (1, 15, "x{}"), (5, 3, "a rather long name of a feature in $ and £, {}")],
)
def test_nothing_overlaps(varied, k, d, name):
    ax = plot_spread(with_features(varied[0], k, d, name))
    figure = ax.figure
    figure.canvas.draw()
    texts = (*ax.get_yticklabels(), ax.xaxis.label, ax.title, *ax.get_legend().get_texts())
    boxes = [text.get_window_extent() for text in texts]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    width, height = figure.canvas.get_width_height()
    assert all(b.x0 >= 0 and b.x1 <= width and b.y0 >= 0 and b.y1 <= height for b in boxes)
    bars = [bar.get_window_extent() for band in ax.containers[::2] for bar in band]
    assert not any(a.overlaps(b) for a, b in combinations(bars, 2))
    assert all(bar.height >= 5 for bar in bars)  # pixels


def test_draws_on_the_axes_that_it_is_given(varied):
    _, ax = plt.subplots()
    assert plot_spread(varied[0], ax=ax) is ax


def test_mixtures_without_spread_are_refused():
    X, y = mixture_rows()
    mixture = LinearClassifierMixture(1, random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match="fitted without spread: pass spread='auto' and groups, or"
    ):
        plot_spread(mixture)
    del mixture.spread_kind_  # a model that was stored earlier
    with pytest.raises(ValueError, match="fitted without spread"):
        plot_spread(mixture)
    with pytest.raises(TypeError, match=r"plot_spread draws a .* or ChoiceMixture, got Spec"):
        plot_spread(SpectralMirror().fit(X, y))


@pytest.mark.parametrize("level", [0, 1, 95])
def test_levels_outside_0_to_1_are_refused(varied, level):
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        plot_spread(varied[0], level=level)

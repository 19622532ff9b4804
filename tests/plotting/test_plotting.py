"""Pictures are drawn on what is given, say what they show, and leave the data alone."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb
from sklearn.exceptions import NotFittedError

from spectralmirror import LinearClassifierMixture, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.plotting import (
    plot_mirror,
    plot_profiles,
    plot_responsibilities,
    plot_spectrum,
    plot_starts,
)
from spectralmirror.plotting.mirror import draw_mirror, mirror_data
from spectralmirror.plotting.style import COLOURS


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def mixture(k=2, **options):
    return make_linear_classifier_mixture(
        4000, 12, k, profile_norm=8.0, weights=np.full(k, 1 / k), random_state=0, **options
    )[:2]


def test_spectrum_shows_every_eigenvalue_once():
    X, y = mixture()
    mirror = SpectralMirror(2, method="paper").fit(X, y)
    ax = plot_spectrum(mirror)
    tops = [bar.get_height() for container in ax.containers for bar in container]
    assert sum(tops) == 12
    assert sum(bar.get_height() for bar in ax.containers[1]) == 2
    legend = {text.get_text() for text in ax.get_legend().get_texts()}
    assert legend == {"median", "bulk (10)", "kept (2)"}


def test_mirrored_labels_are_flipped_left_of_the_mirror():
    X, y = mixture()
    mirror = SpectralMirror(2).fit(X, np.where(y > 0, "yes", "no"))
    before, after = plot_mirror(mirror, X, np.where(y > 0, "yes", "no"), max_points=4000)

    def points(ax, sign):
        drawn = ax.collections[0]
        chosen = (drawn.get_facecolors()[:, :3] == to_rgb(COLOURS[sign])).all(axis=1)
        return {tuple(point) for point in np.asarray(drawn.get_offsets())[chosen].round(9)}

    no, yes, minus, plus = (points(ax, sign) for ax in (before, after) for sign in (-1, 1))
    assert len(no) + len(yes) == len(minus) + len(plus) == 4000
    at = before.lines[0].get_xdata()[0]
    assert {p for p in plus if p[0] > at} == {p for p in yes if p[0] > at}
    assert {p for p in plus if p[0] < at} == {p for p in no if p[0] < at}
    legend = [text.get_text() for text in before.get_legend().get_texts()]
    assert legend[:2] == ["y = no", "y = yes"]


def test_labels_of_the_same_features_do_not_hide_each_other():
    corners = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
    X, random = np.tile(corners, (100, 1)), np.random.default_rng(0)
    y = np.where(random.uniform(size=400) < 0.5 + 0.3 * X[:, 0], 1, -1)
    data = mirror_data(SpectralMirror(1).fit(X, y), X, y, 400)
    _, axes = plt.subplots(1, 2)
    drawn = draw_mirror(data, axes)[0].collections[0]
    blue = (drawn.get_facecolors()[:, :3] == to_rgb(COLOURS[1])).all(axis=1)
    assert blue.tolist() == (y > 0).tolist()  # in the order of the rows, not one after the other


@pytest.mark.parametrize(
    "mirror",
    [
        SpectralMirror(1),
        SpectralMirror(2),
        SpectralMirror(1, method="paper", include_mirror_direction=True),
        SpectralMirror(3, method="paper", include_mirror_direction=True),
        SpectralMirror(2, method="paper", mean=0.0, covariance=np.eye(12), eigen_solver="lanczos"),
    ],
)
def test_every_kind_of_mirror_can_be_drawn(mirror):
    X, y = mixture(mean=0.5)
    mirror.fit(X, y)
    _, axes = plt.subplots(1, 3)
    assert plot_spectrum(mirror, ax=axes[0]) is axes[0]
    assert len(plot_mirror(mirror, X, y, axes=axes[1:])) == 2
    plt.gcf().canvas.draw()


def test_needs_a_fitted_mirror():
    with pytest.raises(NotFittedError):
        plot_spectrum(SpectralMirror())


@pytest.fixture(scope="module")
def fitted_mixture():
    X, y, truth = make_linear_classifier_mixture(
        2000, 6, 2, weights=[0.6, 0.4], group_size=4, random_state=0
    )
    frame = pd.DataFrame(X * np.arange(1, 7), columns=list("abcdef"))
    mixture = LinearClassifierMixture(2, random_state=0).fit(frame, y, groups=truth.groups)
    return mixture, frame, y, truth.groups


def test_profiles_are_drawn_largest_first_with_their_intervals(fitted_mixture):
    mixture, frame, _, _ = fitted_mixture
    ax = plot_profiles(mixture, max_features=4)
    drawn = np.array([container[0].get_xdata() for container in ax.containers])
    sizes = np.abs(mixture.coef_ * frame.std().to_numpy()).max(axis=0)
    order = np.argsort(-sizes)[:4]
    assert [text.get_text() for text in ax.get_yticklabels()] == [list("abcdef")[j] for j in order]
    np.testing.assert_allclose(drawn, (mixture.coef_ * frame.std().to_numpy())[:, order], rtol=1e-3)
    first = ax.containers[0][2][0].get_segments()[0]
    half = (
        t.isf(0.025, 499) * mixture.coef_standard_error_[0, order[0]] * frame.std().iloc[order[0]]
    )
    np.testing.assert_allclose(np.ptp(first[:, 0]), 2 * half, rtol=1e-3)
    assert "per SD of the feature" in ax.get_xlabel()


@pytest.mark.parametrize("grouped", [False, True])
def test_responsibilities_count_every_row_or_group(fitted_mixture, grouped):
    mixture, frame, y, groups = fitted_mixture
    ax = plot_responsibilities(mixture, frame, y, groups=groups if grouped else None)
    total = sum(bar.get_height() for container in ax.containers for bar in container)
    assert total == (500 if grouped else 2000)
    assert ("groups" if grouped else "rows") in ax.get_ylabel()


def test_starts_show_every_start(fitted_mixture):
    mixture = fitted_mixture[0]
    ax = plot_starts(mixture)
    drawn = sorted(y for line in ax.lines for y in line.get_ydata())
    best = mixture.starts_[0].objective
    np.testing.assert_allclose(drawn, sorted(best - start.objective for start in mixture.starts_))
    plt.gcf().canvas.draw()


def test_one_component_has_one_bar():
    X, y = mixture()
    model = LinearClassifierMixture(1, random_state=0).fit(X, y)
    ax = plot_responsibilities(model, X, y)
    assert sum(bar.get_height() for bar in ax.patches) == len(y)


def test_each_picture_is_of_its_own_kind():
    X, y = mixture()
    with pytest.raises(TypeError, match="plot_profiles draws a LinearClassifierMixture, got Spec"):
        plot_profiles(SpectralMirror().fit(X, y))
    with pytest.raises(TypeError, match="plot_mirror draws a SpectralMirror, got LinearClassifier"):
        plot_mirror(LinearClassifierMixture(), X, y)


def test_hard_labels_have_no_bars():
    X, y = mixture(response="hard")
    model = LinearClassifierMixture(2, response="hard", random_state=0).fit(X, y)
    ax = plot_profiles(model)
    assert not ax.containers[0].has_xerr
    assert "unit length" in ax.get_xlabel()

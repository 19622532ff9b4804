"""The spectrum and the mirrored labels are drawn as they were fitted."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.exceptions import NotFittedError

from spectralmirror import LinearClassifierMixture, SpectralMirror
from spectralmirror.plotting import plot_mirror, plot_spectrum
from spectralmirror.plotting.mirror import draw_mirror, mirror_data
from spectralmirror.plotting.style import COLOURS
from tests.helpers.mixture_rows import mixture_rows


def test_spectrum_shows_every_eigenvalue_once():
    X, y = mixture_rows()
    mirror = SpectralMirror(2, method="paper").fit(X, y)
    ax = plot_spectrum(mirror)
    tops = [bar.get_height() for container in ax.containers for bar in container]
    assert sum(tops) == 12
    assert sum(bar.get_height() for bar in ax.containers[1]) == 2
    legend = {text.get_text() for text in ax.get_legend().get_texts()}
    assert legend == {"median", "bulk (10)", "kept (2)"}


def test_mirrored_labels_are_flipped_left_of_the_mirror():
    X, y = mixture_rows()
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
    X, y = mixture_rows(mean=0.5)
    mirror.fit(X, y)
    _, axes = plt.subplots(1, 3)
    assert plot_spectrum(mirror, ax=axes[0]) is axes[0]
    assert len(plot_mirror(mirror, X, y, axes=axes[1:])) == 2
    plt.gcf().canvas.draw()


def test_needs_a_fitted_mirror():
    with pytest.raises(NotFittedError):
        plot_spectrum(SpectralMirror())


def test_draws_only_mirrors():
    X, y = mixture_rows()
    with pytest.raises(TypeError, match="plot_mirror draws a SpectralMirror, got LinearClassifier"):
        plot_mirror(LinearClassifierMixture(), X, y)

"""Profiles, responsibilities and starts are drawn as they were fitted."""

from copy import copy
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from spectralmirror import LinearClassifierMixture, SpectralMirror, load
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.mixture.kinds import KINDS as STARTS
from spectralmirror.mixture.starts import Start
from spectralmirror.plotting import plot_profiles, plot_responsibilities, plot_starts
from spectralmirror.plotting.mixture import CROSSED, INDEPENDENT
from tests.helpers.mixture_rows import mixture_rows


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


def of_kinds(mixture, objectives):
    """Return a mixture whose starts have these kinds and objectives."""
    changed = copy(mixture)
    changed.starts_ = [
        Start(kind, value, 1) for kind, values in objectives.items() for value in values
    ]
    return changed


def test_starts_show_every_start_in_the_line_of_its_kind(fitted_mixture):
    objectives = {"crossed": [-10.0, -10.2, -40.0], "partition": [-90.0, -10.4], "new": [-10.6]}
    ax = plot_starts(of_kinds(fitted_mixture[0], objectives))
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["partition (1 of 2)", "new (0 of 1)", "crossed (2 of 3)"]
    for row, (line, kind) in enumerate(zip(ax.lines, ("partition", "new", "crossed"), strict=True)):
        np.testing.assert_allclose(
            sorted(line.get_xdata()), sorted(-10 - np.array(objectives[kind]))
        )
        assert np.abs(line.get_ydata() - row).max() < 0.5  # lines of different kinds do not meet
    plt.gcf().canvas.draw()


def test_starts_of_a_real_fit_are_all_drawn(fitted_mixture):
    mixture = fitted_mixture[0]
    drawn = sorted(x for line in plot_starts(mixture).lines for x in line.get_xdata())
    best = mixture.starts_[0].objective
    np.testing.assert_allclose(drawn, sorted(best - start.objective for start in mixture.starts_))


def test_every_kind_of_start_has_its_place(fitted_mixture):
    assert set(STARTS) | {"grown", "crossed", "given"} <= {*INDEPENDENT, *CROSSED}
    kinds = {kind: [-10.0, -12.0] for kind in (*INDEPENDENT, *CROSSED)}
    ax = plot_starts(of_kinds(fitted_mixture[0], kinds))
    figure = ax.figure
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in (*ax.get_yticklabels(), ax.xaxis.label)]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    width, height = figure.canvas.get_width_height()
    assert all(b.x0 >= 0 and b.x1 <= width and b.y0 >= 0 and b.y1 <= height for b in boxes)


@pytest.mark.parametrize("number", [1, 2])
def test_starts_of_models_of_older_formats_are_drawn(number):
    mixture = load(Path(__file__).parents[1] / "golden" / f"format-{number}.skops").mixture
    assert len(plot_starts(mixture).lines) == 3


def test_one_component_has_one_bar():
    X, y = mixture_rows()
    model = LinearClassifierMixture(1, random_state=0).fit(X, y)
    ax = plot_responsibilities(model, X, y)
    assert sum(bar.get_height() for bar in ax.patches) == len(y)


def test_draws_only_mixtures():
    X, y = mixture_rows()
    with pytest.raises(TypeError, match=r"plot_profiles draws a .* or ChoiceMixture, got Spec"):
        plot_profiles(SpectralMirror().fit(X, y))


def test_hard_labels_have_no_bars():
    X, y = mixture_rows(response="hard")
    model = LinearClassifierMixture(2, response="hard", random_state=0).fit(X, y)
    ax = plot_profiles(model)
    assert not ax.containers[0].has_xerr
    assert "unit length" in ax.get_xlabel()

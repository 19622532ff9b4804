"""Axes that all figures share."""

import matplotlib.pyplot as plt
import pytest

from spectralmirror.plotting.style import COLOURS, COMPONENTS, axes_of, legend_below, log_axis


def test_axes_are_made_only_if_none_are_given():
    _, ax = plt.subplots()
    assert axes_of(ax, 1) == [ax]
    made = axes_of(None, 2)
    assert len(made) == 2
    assert ax not in made


def test_no_component_has_the_colour_of_a_label():
    assert len(set(COMPONENTS)) == len(COMPONENTS)
    assert not set(COLOURS.values()) & set(COMPONENTS)


def test_legends_show_dollar_signs_as_they_are():
    _, ax = plt.subplots()
    ax.plot([0, 1], label="price in $, not $US")
    legend_below(ax)
    assert [text.get_parse_math() for text in ax.get_legend().get_texts()] == [False]


@pytest.mark.parametrize(
    ("high", "expected"),
    [(20.0, ["1", "2", "5", "10", "20"]), (100.0, ["1", "3", "10", "30", "100"]),
     (10_000.0, ["1", "10", "100", "1,000", "10,000"])],
)  # fmt: skip
def test_logarithmic_axes_are_numbered_more_densely_if_they_are_short(high, expected):
    figure, ax = plt.subplots()
    ax.set_xlim(1.0, high)
    log_axis(ax.xaxis)
    figure.canvas.draw()
    low, high = ax.get_xlim()
    shown = [
        label.get_text()
        for label, at in zip(ax.get_xticklabels(), ax.get_xticks(), strict=True)
        if low <= at <= high
    ]
    assert shown == expected

"""A figure of how numbers of classes compare."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from spectralmirror.plotting.style import COMPONENTS, MIRROR, axes_of, legend_below

__all__ = ["comparison_panels", "plot_comparison"]

#: Evidence that is further below the best than this is not shown: it would hide the rest.
DEEPEST = 60.0


def plot_comparison(comparison: Any, axes: Any = None) -> Any:
    """Draw how well 1, 2, ... classes explain the labels.

    On the left, the mean held-out log-likelihood of a group, less that of the best number, with
    the standard errors of the differences. In the middle, the log evidence and -BIC/2, which
    approximates it, less their largest; numbers of classes more than 60 below are marked at the
    bottom. On the right, the p-values of the bootstrap test of k - 1 classes against k, and the
    e-values U of the split test as 1/U, which is a p-value, too, but a cautious one: a test rejects
    fewer than k classes below the dashed line.

    Parameters
    ----------
    comparison : ComponentComparison
        What :func:`spectralmirror.selection.compare_components` returned.
    axes : sequence of three matplotlib Axes, default=None
        Where to draw; None creates a new figure.

    Returns
    -------
    list of matplotlib Axes
        The axes with the figures.
    """
    if not hasattr(comparison, "split_log_ratio"):
        raise TypeError(
            f"plot_comparison draws a ComponentComparison, got {type(comparison).__name__}."
        )
    panels = list(comparison_panels(comparison).values())
    axes = axes_of(axes, len(panels), size=(3.4, 3.6), sharey=False)
    for draw, ax in zip(panels, axes, strict=False):
        draw(ax)
    return axes


def comparison_panels(comparison: Any) -> dict[str, Callable[[Any], None]]:
    """Return how to draw each panel: held-out labels, evidence, and tests if there are any."""
    found = {"held-out": _draw_held_out, "evidence": _draw_evidence}
    if comparison.is_tested:
        found["tests"] = _draw_tests
    return {name: partial(_panel, draw, comparison) for name, draw in found.items()}


def _panel(draw: Callable[[Any, Any], None], comparison: Any, ax: Any) -> None:
    draw(comparison, ax)
    ax.set_xticks(comparison.n_components)
    ax.set_xlim(0.5, comparison.n_components[-1] + 0.5)
    ax.set_xlabel("number of classes")


def _draw_held_out(comparison: Any, ax: Any) -> None:
    k, mean = comparison.n_components, comparison.held_out
    units = "group" if comparison.grouped else "row"
    less = mean - mean.max()
    ax.errorbar(k[1:], less[1:], yerr=comparison.gain_error[1:], fmt="none", color=COMPONENTS[0],
                elinewidth=1.5, capsize=3, label="std. error of the step")  # fmt: skip
    ax.plot(k, less, "o-", color=COMPONENTS[0], markersize=5, label="held out")
    ax.set(title=f"Labels of a {units} left out", ylabel="mean log-likelihood, less the best")
    legend_below(ax, ncols=1)


def _draw_evidence(comparison: Any, ax: Any) -> None:
    k = comparison.n_components
    curves = {"log evidence": comparison.log_evidence, "−BIC / 2": -comparison.bic / 2}
    for c, (name, values) in enumerate(curves.items()):
        if np.isnan(values).all():
            continue
        less = values - np.nanmax(values)
        shown = np.maximum(less, -DEEPEST)
        ax.plot(k, shown, "os"[c] + "-", color=COMPONENTS[c], markersize=5, label=name)
        below = less < -DEEPEST
        ax.plot(k[below], shown[below], "v", color=COMPONENTS[c], markersize=9)
    ax.axhline(-3, color=MIRROR, linewidth=0.8, linestyle="--", label="clearly less")
    ax.set(title="All labels", ylabel="less the best")
    legend_below(ax, ncols=1)


def _draw_tests(comparison: Any, ax: Any) -> None:
    k = comparison.n_components
    least = 1e-4
    curves = {
        "bootstrap": comparison.p_value,
        "split, 1 / U": np.minimum(np.exp(-np.clip(comparison.split_log_ratio, -50, 50)), 1),
    }
    for c, (name, values) in enumerate(curves.items()):
        known = np.isfinite(values)
        if not known.any():
            continue
        shown = np.maximum(values[known], least)
        ax.plot(k[known], shown, "os"[c] + "-", color=COMPONENTS[c], markersize=5, label=name)
        low = values[known] < least
        ax.plot(k[known][low], shown[low], "v", color=COMPONENTS[c], markersize=9)
    ax.axhline(comparison.alpha, color=MIRROR, linewidth=0.8, linestyle="--",
               label=f"{100 * comparison.alpha:g} %")  # fmt: skip
    ax.set_yscale("log")
    ax.set_ylim(least / 1.6, 1.6)
    ax.set(title="Are fewer classes enough?", ylabel="p-value")
    legend_below(ax, ncols=1)

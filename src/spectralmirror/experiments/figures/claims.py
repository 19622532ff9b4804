"""Pictures of the claims that have no figure in the paper, drawn from the tables."""

from __future__ import annotations

from typing import Any

import polars as pl

from spectralmirror.experiments.blind_spot import BLIND
from spectralmirror.experiments.figures.curves import METHODS, curve, grid, legend_under, shades
from spectralmirror.plotting.style import log_axis

__all__ = [
    "draw_blind_spot",
    "draw_cost",
    "draw_experts",
    "draw_hessian",
    "draw_median",
    "draw_span",
]

SINE = "mean of sin d_P"


def draw_span(table: pl.DataFrame) -> Any:
    """Draw how far r lies outside U-hat, and the effect of including r-hat."""
    dimensions = sorted(table["d"].unique().to_list())
    figure, axes = grid(1, 2, (5, 3.6))
    left, right = axes[0]
    for d, colour in zip(dimensions, shades(len(dimensions)), strict=True):
        part = table.filter(d=d)
        style = {"color": colour, "linestyle": "-", "label": f"d = {d}"}
        curve(left, part, "rows_per_feature", "r", "paper", **style)
        curve(right, part, "rows_per_feature", "paper", "paper", **style)
        dashed = {**style, "linestyle": "--", "label": None}
        curve(right, part, "rows_per_feature", "with_r_hat", "paper", **dashed)
    right.plot([], [], color="#222222", linestyle="-", label="two eigenvectors (Algorithm 1)")
    right.plot([], [], color="#222222", linestyle="--", label="r̂ and one eigenvector")
    left.set(title="Is r in Û?", ylabel="mean sine between r and Û")
    right.set(title="Is r̂ needed?", ylabel=SINE)
    for ax in (left, right):
        ax.set(xlabel="rows per feature, n/d", ylim=(0, 1.05))
        log_axis(ax.xaxis)
    legend_under(figure, axes, "The mirror direction and the span of Algorithm 1", ncols=5)
    return figure


def draw_hessian(table: pl.DataFrame) -> Any:
    """Draw sin d_P of principal Hessian directions against the length of the mean."""
    names = ("labels", "residuals", "paper", "default")
    size = f"d = {table['d'][0]}, n = {table['n'][0]:,}"
    return _sines(
        table, "mean", names, "length of the mean of x", f"Features away from mean 0, {size}"
    )


def draw_median(table: pl.DataFrame) -> Any:
    """Draw sin d_P against k for both centres of the bulk."""
    figure, axes = grid(1, 1, (6.4, 3.8))
    ax, d = axes[0, 0], int(table["d"][0])
    curve(ax, table, "k", "median", "paper", label="Algorithm 1 (median)")
    curve(ax, table, "k", "known_bulk", "paper", label="the same, bulk at mean(Z)", linestyle="--")
    curve(ax, table, "k", "default", "default")
    ax.axvline(d / 2, color="#8c8c8c", linewidth=1)
    ax.annotate("k = d/2", (d / 2, 1.0), (5, 0), textcoords="offset points", color="#555555")
    ax.set(xlabel="number of classifiers k", ylabel=SINE, ylim=(0, 1.1))
    title = f"Where the bulk lies: orthogonal classifiers, d = {d}, n = {table['n'][0]:,}"
    legend_under(figure, axes, title, ncols=3)
    return figure


def draw_blind_spot(table: pl.DataFrame) -> Any:
    """Draw sin d_P against the weight of the first of two classifiers at 130 degrees."""
    names = ("paper", "paper_with_mirror", "default", "likelihood")
    size = f"d = {table['d'][0]}, n = {table['n'][0]:,}"
    figure = _sines(
        table,
        "p",
        names,
        "weight p of the first classifier",
        f"Two logistic classifiers of norm 3 at 130°, {size}",
    )
    ax = figure.axes[0]
    ax.axvline(BLIND, color="#8c8c8c", linewidth=1)
    ax.annotate(f"p = {BLIND}", (BLIND, 0.02), (5, 0), textcoords="offset points", color="#555555")
    return figure


def _sines(table: pl.DataFrame, by: str, names: tuple[str, ...], xlabel: str, title: str) -> Any:
    figure, axes = grid(1, 1, (6.8, 3.8))
    ax = axes[0, 0]
    for name in names:
        curve(ax, table, by, name, name)
    ax.set(xlabel=xlabel, ylabel=SINE, ylim=(0, 1.05))
    legend_under(figure, axes, title, ncols=2)
    return figure


def draw_experts(table: pl.DataFrame) -> Any:
    """Draw the errors of the tensor method on responses and on labels, and those of the mixture."""
    figure, axes = grid(1, 3, (4.2, 3.4))
    d = table["d"][0]
    lines = (
        ("tensor", "responses", "-"),
        ("tensor", "labels -1/+1", "--"),
        ("tensor", "labels 0/1", ":"),
        ("mixture", "labels -1/+1", "-"),
    )
    for ax, value, name in zip(
        axes[0],
        ("sine", "profile_error", "failed"),
        (SINE, "mean error of unit profiles", "share without any decomposition"),
        strict=True,
    ):
        for method, target, line in lines:
            part = table.filter(method=method, target=target)
            label = f"{METHODS[method][0]}, {target.replace('-1', '−1')}"
            curve(ax, part, "n", value, method, label=label, linestyle=line)
        ax.set(xlabel="rows n", ylabel=name)
        log_axis(ax.xaxis)
        if value == "failed":
            ax.set_ylim(-0.05, 1.05)
        else:
            log_axis(ax.yaxis)
    legend_under(figure, axes, f"Tensor moments break on binary labels, d = {d}", ncols=2)
    return figure


def draw_cost(table: pl.DataFrame) -> Any:
    """Draw seconds against d and against n."""
    figure, axes = grid(1, 2, (5, 3.6), sharey=True)
    for ax, by, other in zip(axes[0], ("d", "n"), ("n", "d"), strict=True):
        part = table.filter(against=by)
        for method in ("paper", "default", "tensor"):
            curve(ax, part.filter(method=method), by, "seconds", method)
        words = {"d": "features d", "n": "rows n"}
        fixed = f"{words[other]} = {part[other][0]:,}"
        ax.set(xlabel=words[by], title=f"at {fixed}")
        log_axis(ax.xaxis)
        log_axis(ax.yaxis)
    axes[0, 0].set_ylabel("processor seconds of a fit")
    legend_under(figure, axes, "The cost of a fit", ncols=3)
    return figure

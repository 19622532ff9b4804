"""The paper's figures, drawn from the tables of the experiments."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from spectralmirror.experiments.figures.curves import (
    METHODS,
    curve,
    grid,
    legend_under,
    means,
    shades,
)
from spectralmirror.plotting.style import COLOURS, COMPONENTS, MIRROR, log_axis
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["draw_figure1", "draw_figure2", "draw_figure3", "draw_figure4"]

#: Limit of the axes of figure 1, in standard deviations.
REACH = 2.6


def draw_figure1(table: pl.DataFrame) -> Any:
    """Draw labels with both planes, the mirror with its plane, and mirrored labels."""
    from matplotlib.figure import Figure

    def points(*kinds: str) -> Matrix:
        rows = table.filter(pl.col("kind").is_in(kinds))
        return np.asarray(rows.select("x1", "x2", "x3").to_numpy())

    X, profiles, r = points("point"), points("profile"), points("mirror")[0]
    shown = table.filter(pl.col("kind") == "point")
    y, Z = shown["label"].to_numpy(), shown["mirrored"].to_numpy()
    figure = Figure(figsize=(13, 4.9), layout="constrained")
    titles = (
        "(a) labels, profiles and their planes",
        "(b) the mirror direction r̂ and its plane",
        "(c) mirrored labels Z = y sgn⟨r̂, x⟩",
    )
    axes = [figure.add_subplot(1, 3, i + 1, projection="3d", title=titles[i]) for i in range(3)]
    for ax, labels, alpha in zip(axes, (y, y, Z), (0.9, 0.6, 0.9), strict=True):
        for sign, marker in ((1, "+"), (-1, "o")):
            chosen = X[(labels == sign) & (np.abs(X) < REACH).all(axis=1)].T
            face = {"color": COLOURS[sign], "alpha": alpha, "linewidths": 0.7}
            if marker == "o":
                face |= {"facecolors": "none", "edgecolors": COLOURS[sign]}
                del face["color"]
            ax.scatter(*chosen, s=13, marker=marker, **face)
        ax.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH), zlim=(-REACH, REACH))
        ax.set(xlabel="x₁", ylabel="x₂", zlabel="x₃")
        ax.set_box_aspect((1, 1, 1), zoom=0.9)
        ax.tick_params(labelsize=7, pad=-2)
        ax.zaxis.labelpad = -8  # the layout ignores this label, and would cut it off
        ax.view_init(elev=22, azim=-38)
    for i, u in enumerate(profiles):
        for ax in axes[:2]:
            _arrow(ax, u, COMPONENTS[i], "-")
        _plane(axes[0], u, COMPONENTS[i])
    for ax in axes[1:]:
        _arrow(ax, r, MIRROR, "--")
        _plane(ax, r, MIRROR)
    _figure1_legend(figure)
    return figure


def _arrow(ax: Any, direction: Vector, colour: str, line: str) -> None:
    end = 2.4 * direction / np.linalg.norm(direction)
    ax.quiver(0, 0, 0, *end, color=colour, linestyle=line, linewidth=2, arrow_length_ratio=0.12)


def _plane(ax: Any, normal: Vector, colour: str) -> None:
    """Draw a square of the plane through 0 with this normal."""
    a, b = np.linalg.svd(normal[None])[2][1:]
    s, t = np.meshgrid((-2.0, 2.0), (-2.0, 2.0))
    corners = s[..., None] * a + t[..., None] * b
    ax.plot_surface(*np.moveaxis(corners, -1, 0), color=colour, alpha=0.18, linewidth=0)


def _figure1_legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    def mark(label: str, **style: Any) -> Any:
        return Line2D([], [], label=label, linestyle=style.pop("linestyle", "none"), **style)

    handles = [
        mark("y (in c: Z) = +1", marker="+", color=COLOURS[1]),
        mark("y (in c: Z) = −1", marker="o", color=COLOURS[-1], markerfacecolor="none"),
        mark("profile u₁", color=COMPONENTS[0], linestyle="-", linewidth=2),
        mark("profile u₂", color=COMPONENTS[1], linestyle="-", linewidth=2),
        mark("mirror direction r̂", color=MIRROR, linestyle="--", linewidth=2),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)


def draw_figure2(table: pl.DataFrame) -> Any:
    """Draw sin d_P against n and n/d: Algorithm 1 and our default, for hard and logistic labels."""
    dimensions = sorted(table["d"].unique().to_list())
    colours = dict(zip(dimensions, shades(len(dimensions)), strict=True))
    figure, axes = grid(2, 4, sharey=True)
    names = {"paper": "Algorithm 1", "default": "SpectralMirror()"}
    panels = [(labels, method) for labels in ("hard", "logistic") for method in names]
    for column, (labels, method) in zip(axes.T, panels, strict=True):
        part = table.filter(labels=labels)
        for ax, by in zip(column, ("n", "rows_per_feature"), strict=True):
            for d, colour in colours.items():
                chosen = part.filter(d=d)
                _line(ax, chosen, by, method, color=colour, linewidth=2, label=f"d = {d}")
                _line(ax, chosen, by, "likelihood", color=colour, linewidth=0.9, linestyle="--")
                if labels == "logistic":
                    _line(ax, chosen, by, "bound", color=colour, linewidth=0.9, linestyle=":")
            log_axis(ax.xaxis)
            log_axis(ax.yaxis)
        column[0].set(title=f"{names[method]}, {labels} labels", xlabel="rows n")
        column[1].set(xlabel="rows per feature, n/d")
    for row in axes:
        row[0].set_ylabel("mean of sin d_P")
    for reference in ("likelihood", "bound"):
        name, colour, line = METHODS[reference]
        axes[0, 3].plot([], [], color=colour, linestyle=line, label=name)
    legend_under(figure, axes, "Convergence of the subspace", ncols=7)
    return figure


def _line(ax: Any, table: pl.DataFrame, by: str, value: str, **style: Any) -> None:
    """Draw means without their errors, for pictures with many curves."""
    points = means(table, by, value)
    ax.plot(points[by], points["average"], **style)


def draw_figure3(table: pl.DataFrame) -> Any:
    """Draw the RMSE of K nearest neighbours against n, for both K and every d."""
    dimensions = sorted(table["d"].unique().to_list())
    figure, axes = grid(2, len(dimensions), (4.0, 3.0), sharex=True, sharey=True)
    for row, (how, K) in zip(axes, (("sqrt", "√n"), ("log", "log n")), strict=True):
        for ax, d in zip(row, dimensions, strict=True):
            part = table.filter(d=d)
            for method in ("ambient", "paper", "default", "truth"):
                curve(ax, part, "n", f"{method}_{how}", method)
            curve(ax, part, "n", "mean", "mean", marker="")
            ax.set_title(f"K = {K}, d = {d}")
            log_axis(ax.xaxis)
        row[0].set_ylabel("RMSE of the expected label")
    axes[0, 0].set_ylim(bottom=0)  # after all curves are drawn, because the axes share it
    for ax in axes[-1]:
        ax.set_xlabel("rows n")
    legend_under(figure, axes, "K nearest neighbours in all features, and inside a span", ncols=5)
    return figure


def draw_figure4(table: pl.DataFrame) -> Any:
    """Draw prediction from near the truth, from random starts, and clustering."""
    starts = int(table["starts"][0])
    table = table.with_columns(
        (pl.col(f"component_{name}") - pl.col("component_bayes")).alias(f"excess_{name}")
        for name in EM_LINES
    )
    near, best = "EM from near the truth", f"EM, best of {starts} random starts"
    panels = (
        ("hard", "truth", "label", f"(a) label given x and classifier,\n{near}"),
        ("hard", "random", "label", f"(b) label given x and classifier,\n{best}"),
        ("hard", "random", "component", f"(c) who made the label,\n{best}"),
        ("hard", "truth", "expected", f"(a) expected label,\n{near}"),
        ("hard", "random", "expected", f"(b) expected label,\n{best}"),
        ("hard", "random", "excess", f"(c) who made the label,\n{best}"),
        ("logistic", "truth", "expected", f"logistic labels: expected label,\n{near}"),
        ("logistic", "random", "expected", f"logistic labels: expected label,\n{best}"),
        ("logistic", "random", "excess", f"logistic labels: who made the label,\n{best}"),
    )
    words = {
        "label": "share of labels wrong",
        "component": "share ascribed wrongly",
        "expected": "RMSE of the expected label",
        "excess": "share ascribed wrongly,\nbeyond the best possible",
    }
    figure, axes = grid(3, 3, (4.4, 3.0), sharex=True)
    for ax, (labels, start, value, title) in zip(np.ravel(axes), panels, strict=True):
        part = table.filter(labels=labels, start=start)
        for name, label in EM_LINES.items():
            # EM in all features mostly ends where the refined fit ends: a broad line below it
            broad = {"linewidth": 5, "alpha": 0.6, "marker": ""} if name == "ambient" else {}
            curve(ax, part, "n", f"{value}_{name}", name, label=label, **broad)
        if value == "component":
            curve(ax, part, "n", "component_bayes", "bayes", marker="")
        ax.set_title(title, fontsize=10)
        ax.set_ylabel(words[value])
        log_axis(ax.xaxis)
        if value != "component":
            log_axis(ax.yaxis)
    for ax in axes[-1]:
        ax.set_xlabel("rows n")
    d = int(table["d"][0])
    legend_under(figure, axes, f"Prediction and clustering by EM, d = {d}", ncols=3)
    return figure


#: The fits of figure 4, and their labels.
EM_LINES = {
    "ambient": "EM in all features",
    "unpenalised": "EM in all features, next to no penalty",
    "paper": "EM inside Algorithm 1's span",
    "inside": "EM inside our span",
    "refined": "LinearClassifierMixture",
}

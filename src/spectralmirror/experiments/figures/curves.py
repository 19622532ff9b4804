"""Functions that the pictures share: one colour per method, means with their standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

__all__ = ["METHODS", "curve", "grid", "legend_under", "means", "shades"]

#: Name, colour and line style of every method, the same in all pictures.
METHODS = {
    "paper": ("Algorithm 1", "#c51b7d", "-"),
    "paper_with_mirror": ("Algorithm 1 with r̂", "#c51b7d", "--"),
    "default": ("SpectralMirror()", "#00796b", "-"),
    "inside": ("EM inside our span", "#4fb3a5", "--"),
    "refined": ("LinearClassifierMixture", "#00796b", "-"),
    "mixture": ("LinearClassifierMixture", "#00796b", "-"),
    "ambient": ("all features", "#b8860b", "-"),
    "unpenalised": ("all features, no penalty", "#b8860b", "--"),
    "labels": ("Hessian directions of labels", "#b8860b", "-"),
    "residuals": ("Hessian directions of residuals", "#b8860b", "--"),
    "tensor": ("tensor moments", "#6a51a3", "-"),
    "truth": ("true span", "#222222", ":"),
    "likelihood": ("likelihood, from the truth", "#222222", "--"),
    "bound": ("information bound (asymptotic)", "#222222", ":"),
    "bayes": ("best possible", "#222222", ":"),
    "mean": ("mean label", "#8c8c8c", ":"),
}


def means(table: pl.DataFrame, by: str, value: str) -> pl.DataFrame:
    """Return the mean of a column at every value of another column, and its standard error."""
    chosen = table.filter(pl.col(value).is_not_null())
    return (
        chosen.group_by(by)
        .agg(
            pl.col(value).mean().alias("average"),
            (pl.col(value).std() / pl.len().sqrt()).fill_null(0).alias("error"),
        )
        .sort(by)
    )


def curve(ax: Any, table: pl.DataFrame, by: str, value: str, method: str, **style: Any) -> None:
    """Draw the mean of a column with a band of one standard error, in the method's colours."""
    name, colour, line = METHODS[method]
    style = {"label": name, "color": colour, "linestyle": line, "marker": ".", **style}
    points = means(table, by, value)
    x, mean, error = (points[column].to_numpy() for column in (by, "average", "error"))
    ax.plot(x, mean, **style)
    ax.fill_between(x, mean - error, mean + error, color=style["color"], alpha=0.15, linewidth=0)


def grid(rows: int, columns: int, size: tuple[float, float] = (3.4, 3.0), **options: Any) -> Any:
    """Return a figure without a window, and its axes as a two-dimensional array."""
    from matplotlib.figure import Figure

    width, height = max(size[0] * columns, 6.4), size[1] * rows + 0.8
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for ax in axes.flat:
        ax.grid(alpha=0.25)
    return figure, axes


def legend_under(figure: Any, axes: Any, title: str, ncols: int = 6) -> None:
    """Put a title above several axes, and one legend for all of them below."""
    lines: dict[str, Any] = {}
    for ax in np.ravel(axes):
        for line, label in zip(*ax.get_legend_handles_labels(), strict=True):
            lines.setdefault(label, line)
    figure.suptitle(title, fontsize=12)
    ncols = min(ncols, int(figure.get_figwidth() / 2))  # about two inches per entry
    figure.legend(
        lines.values(), lines.keys(), loc="outside lower center", ncols=ncols, frameon=False
    )


def shades(n: int) -> list[Any]:
    """Return n colours from dark to light, for ordered values such as dimensions."""
    import matplotlib

    return list(matplotlib.colormaps["viridis"](np.linspace(0.05, 0.85, n)))

"""Colours and axes that all figures share."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectralmirror.rows.extras import needs_extra

__all__ = [
    "BULK",
    "COLOURS",
    "COMPONENTS",
    "MIRROR",
    "OUTLIER",
    "axes_of",
    "legend_below",
    "log_axis",
    "require_kind",
]

#: Colours of the labels, which people with any kind of colour vision can tell apart.
COLOURS = {-1: "#d95f02", 1: "#1f78b4"}
BULK = "#8c8c8c"
OUTLIER = "#7b3294"
MIRROR = "#222222"
#: Colours of the components, none of which is that of a label.
COMPONENTS = (
    "#1b9e77",
    "#e7298a",
    "#a6761d",
    "#66a61e",
    "#5b4fa3",
    "#17becf",
    "#666666",
    "#bcbd22",
)


#: Inches below the axes that the ticks and the label of the x axis take.
LABEL_HEIGHT = 0.45


def require_kind(fitted: Any, kind: type | tuple[type, ...], what: str) -> None:
    """Raise a TypeError if a figure is requested of another kind of object."""
    if not isinstance(fitted, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names = " or ".join(one.__name__ for one in kinds)
        raise TypeError(f"{what} draws a {names}, got {type(fitted).__name__}.")


def legend_below(ax: Any, ncols: int = 3, markerscale: float = 1) -> None:
    """Put the legend below the label of the x axis, where it covers nothing."""
    from matplotlib.transforms import ScaledTranslation

    # a distance in inches: a share of the axes would be too little if these are flat
    below = ScaledTranslation(0, -LABEL_HEIGHT, ax.figure.dpi_scale_trans)
    legend = ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=ax.transAxes + below,
        ncols=ncols,
        frameon=False,
        markerscale=markerscale,
        columnspacing=1.2,
        handletextpad=0.4,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # users' labels may contain dollar signs


def axes_of(
    axes: Any, n: int, size: tuple[float, float] = (5, 4.5), *, sharey: bool = True
) -> list[Any]:
    """Return n axes to draw on, new ones if none are given."""
    if axes is None:
        with needs_extra("plot", "spectralmirror.plotting"):
            import matplotlib.pyplot as plt

        _, axes = plt.subplots(
            1, n, figsize=(size[0] * n, size[1]), sharey=sharey, layout="constrained"
        )
    return list(np.atleast_1d(np.asarray(axes, dtype=object)))


def log_axis(axis: Any) -> None:
    """Make an axis logarithmic, with ticks at 1, 2, 5 or at 1, 3 if it is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    steps = (1, 2, 5) if high < 60 * low else (1, 3) if high < 150 * low else (1,)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_locator(NullLocator())

"""The figures of the page, as SVG that takes its colours from the page."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from spectralmirror.mixture.summary import letters
from spectralmirror.plotting.comparison import comparison_panels
from spectralmirror.plotting.membership import draw_membership
from spectralmirror.plotting.mirror import draw_mirror, draw_spectrum
from spectralmirror.plotting.mixture import draw_profiles, draw_responsibilities
from spectralmirror.plotting.spread import draw_spread, row_height
from spectralmirror.plotting.style import BULK, COLOURS, COMPONENTS, MIRROR, OUTLIER
from spectralmirror.plotting.svg import inline_svg
from spectralmirror.report.spread import is_mixed, subject
from spectralmirror.report.text.formatting import percent, shortened
from spectralmirror.selection import ComponentComparison
from spectralmirror.selection.stored import from_data

__all__ = ["draw_figures"]

#: Inches, so that on a phone the text is about as large as that around the figure.
WIDTH, HEIGHT = 4.4, 3.7
#: Longer names are shortened in figures.
LONGEST_NAME, LONGEST_LABEL = 22, 14
#: Colours in which figures are drawn, and the variables of the page that replace them.
VARIABLES = {
    MIRROR: "currentColor",
    BULK: "var(--bulk)",
    OUTLIER: "var(--kept)",
    COLOURS[-1]: "var(--negative)",
    COLOURS[1]: "var(--positive)",
    **{colour: f"var(--component-{c})" for c, colour in enumerate(COMPONENTS)},
}
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "legend.fontsize": 9.5,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color",
         "ytick.color", "grid.color", "legend.labelcolor"),
        MIRROR,
    ),
}  # fmt: skip


def draw_figures(data: dict[str, Any]) -> dict[str, str]:
    """Return every figure by its name."""
    varied = data["ranges"] is not None
    figures = {"profiles": _figure("profiles", *(_spread if varied else _profiles)(data))}
    spectrum, held_out, mixed = data["spectrum"], data["held_out"], data["model"]["k"] > 1
    draw: dict[str, Callable[[Any], Any]] = {}
    if not spectrum["reason"]:
        points = spectrum["points"]
        points = {**points, "classes": [shortened(c, LONGEST_LABEL) for c in points["classes"]]}
        draw["spectrum"] = partial(draw_spectrum, spectrum["eigenvalues"])
        draw["labels"] = partial(_mirror_panel, points, 0)
        draw["mirrored"] = partial(_mirror_panel, points, 1)
    if not held_out["reason"]:
        draw["calibration"] = partial(_calibration, data)
    for number, curve in enumerate((data["membership"] or {"curves": []})["curves"]):
        draw[f"membership-{number}"] = partial(_membership, data, curve)
    if data.get("comparison"):
        compared = ComponentComparison(**from_data(data["comparison"]["figures"]))
        for name, panel in comparison_panels(compared).items():
            draw[f"comparison-{name}"] = panel
    for what in ("rows", "groups"):
        histogram = data["assignments"][what]
        if histogram is not None and mixed:
            draw[f"assigned-{what}"] = partial(_assignments, histogram)
    return figures | {name: _figure(name, drawing) for name, drawing in draw.items()}


def _mirror_panel(points: dict[str, Any], panel: int, ax: Any) -> None:
    """Draw one of the two panels of the mirror, which would be small side by side."""
    from matplotlib.figure import Figure

    unseen = Figure().subplots()
    draw_mirror(points, (ax, unseen) if panel == 0 else (unseen, ax))
    where = "in the plane" if points["in_subspace"] else "at random"
    ax.set(xlabel="along r (SD)", ylabel=f"across r, {where} (SD)")


def _profiles(data: dict[str, Any]) -> tuple[Callable[[Any], Any], float]:
    """Return how to draw the profiles, and the height that they need."""
    profiles, found = data["profiles"], data["classifiers"]
    shown = {
        **profiles,
        "features": [shortened(name, LONGEST_NAME) for name in profiles["features"]],
        "components": [f"{c['name']} ({percent(c['weight'])})" for c in found],
    }

    def draw(ax: Any) -> None:
        draw_profiles(shown, ax)
        ax.set_title("")
        ax.set_xlabel("effect per SD of the feature")
        ax.get_legend().remove()
        if len(found) > 1:
            _legend_outside(ax)

    inside = len(shown["features"]) * max(0.26, 0.1 * len(found)) + 0.1
    return draw, inside + 0.9 + 0.2 * ((len(found) - 1) // 3)


def _spread(data: dict[str, Any]) -> tuple[Callable[[Any], Any], float]:
    """Return how to draw the profiles with the spread of members, and the height of that."""
    profiles, found = data["ranges"], data["classifiers"]
    shown = {
        **profiles,
        "features": [shortened(name, LONGEST_NAME) for name in profiles["features"]],
        "components": [f"{c['name']} ({percent(c['weight'])})" for c in found],
        "people": "members",
    }

    def draw(ax: Any) -> None:
        draw_spread(shown, ax)
        ax.set_title("")
        ax.set_xlabel("effect per SD of the feature")
        ax.get_legend().remove()
        _legend_outside(ax, ncols=2)

    inside = len(shown["features"]) * row_height(len(found)) + 0.1
    n_entries = 3 + (len(found) if len(found) > 1 else 0)  # points, bars and bands come first
    return draw, inside + 0.6 + 0.2 * ((n_entries + 1) // 2)


def _legend_outside(ax: Any, ncols: int = 3) -> None:
    """Put the legend below the axes; the layout makes room for it whatever its height."""
    ax.figure.legend(loc="outside lower center", ncols=ncols, frameon=False, columnspacing=1.2)


def _assignments(histogram: dict[str, Any], ax: Any) -> None:
    counts = np.array(histogram["counts"])
    shares = counts.sum(axis=1) / max(counts.sum(), 1)
    names = [
        f"{name} ({percent(share)})"
        for name, share in zip(letters(len(counts)), shares.tolist(), strict=True)
    ]
    draw_responsibilities({**histogram, "components": names}, ax)
    ax.set_title("")
    ax.get_legend().remove()
    _legend_outside(ax)


def _membership(data: dict[str, Any], curve: dict[str, Any], ax: Any) -> None:
    """Draw the probability of each class along a covariate."""
    draw_membership({**curve, "components": [c["name"] for c in data["classifiers"]]}, ax)
    ax.set_xlabel(shortened(curve["covariate"], 2 * LONGEST_NAME))
    if curve["level"]:
        ax.set_xticks([0, 1])
    _legend_outside(ax)


def _calibration(data: dict[str, Any], ax: Any) -> None:
    """Draw the observed shares of labels against those predicted."""
    curves, mixed = data["held_out"]["calibration"], is_mixed(data)
    styles = {
        "mixture": ("o-", MIRROR, _own(data)),
        "single": ("s--", "none", _rival(data, mixed=mixed)),
    }
    for name, (line, face, label) in styles.items():
        predicted, seen = (
            np.array([point[key] for point in curves[name]]) for key in ("predicted", "seen")
        )
        ends = np.array([point["interval"] for point in curves[name]]).T
        bars = np.maximum([seen - ends[0], ends[1] - seen], 0)
        ax.errorbar(
            predicted,
            seen,
            yerr=bars,
            fmt=line,
            color=MIRROR,
            markerfacecolor=face,
            markersize=5,
            linewidth=1.2,
            elinewidth=0.8,
            label=label,
        )
    ax.plot([0, 1], [0, 1], color=MIRROR, linewidth=0.8, alpha=0.5, label="perfect")
    if data.get("kind") == "choices":
        ax.set(xlabel="predicted probability of being chosen", ylabel="observed share chosen")
    elif data["labels"].get("names"):
        ax.set(xlabel="predicted probability of a label", ylabel="observed share of that label")
    else:
        ax.set(xlabel="predicted probability of +1", ylabel="observed share of +1")
    _legend_outside(ax)


def _own(data: dict[str, Any]) -> str:
    """Return what the fitted model is called in a legend."""
    k = data["model"]["k"]
    if data.get("kind") == "choices" and k > 1:
        return f"{k} classes"
    return "mixture" if k > 1 else f"this {subject(data)}"


def _rival(data: dict[str, Any], *, mixed: bool) -> str:
    """Return what the model with which this one is compared is called."""
    if data.get("kind") == "choices":
        return "one class"
    return "single classifier" if mixed else str(data["held_out"]["single"])


def _figure(name: str, draw: Callable[[Any], Any], height: float = HEIGHT) -> str:
    """Return a drawing as SVG without a size of its own, whose ids start with its name."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()  # whatever the user's own style is
        matplotlib.rcParams.update(STYLE)
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the browser has them
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure.subplots())
        return inline_svg(figure, name, VARIABLES)

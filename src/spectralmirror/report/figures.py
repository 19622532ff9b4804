"""The pictures of the page, as SVG that takes its colours from the page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from io import StringIO
from typing import Any

import numpy as np

from spectralmirror.mixture.summary import letters
from spectralmirror.plotting.mirror import draw_mirror, draw_spectrum
from spectralmirror.plotting.mixture import draw_profiles, draw_responsibilities
from spectralmirror.plotting.style import BULK, COLOURS, COMPONENTS, MIRROR, OUTLIER
from spectralmirror.report.text.words import percent, shortened

__all__ = ["pictures"]

#: Inches: on a phone text is then about as large as that around it.
WIDTH, HEIGHT = 4.4, 3.7
#: Longer names are shortened in pictures.
LONGEST_NAME, LONGEST_LABEL = 22, 14
#: Colours in which pictures are drawn, and the variables of the page that take their place.
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
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color",
         "ytick.color", "grid.color", "legend.labelcolor"),
        MIRROR,
    ),
}  # fmt: skip


def pictures(data: dict[str, Any]) -> dict[str, str]:
    """Return every picture by its name."""
    drawn = {"profiles": _picture("profiles", *_profiles(data))}
    spectrum, held_out = data["spectrum"], data["held_out"]
    if not spectrum["reason"]:
        drawn["spectrum"] = _picture("spectrum", partial(draw_spectrum, spectrum["eigenvalues"]))
        points = spectrum["points"]
        points = {**points, "classes": [shortened(c, LONGEST_LABEL) for c in points["classes"]]}
        drawn["labels"] = _picture("labels", partial(_labels, points))
        drawn["mirrored"] = _picture("mirrored", partial(_mirrored, points))
    if not held_out["reason"]:
        curves = held_out["calibration"]
        drawn["calibration"] = _picture(
            "calibration", partial(_calibration, curves, data["model"]["k"] > 1)
        )
    for what in ("rows", "groups"):
        histogram, name = data["assignments"][what], f"assigned-{what}"
        if histogram is not None and data["model"]["k"] > 1:
            drawn[name] = _picture(name, partial(_assignments, histogram))
    return drawn


def _labels(points: dict[str, Any], ax: Any) -> None:
    """Draw the left panel of the mirror: side by side both would be small."""
    from matplotlib.figure import Figure

    draw_mirror(points, (ax, Figure().subplots()))
    _name_axes(points, ax)


def _mirrored(points: dict[str, Any], ax: Any) -> None:
    """Draw its right panel."""
    from matplotlib.figure import Figure

    draw_mirror(points, (Figure().subplots(), ax))
    _name_axes(points, ax)


def _name_axes(points: dict[str, Any], ax: Any) -> None:
    where = "in the plane" if points["in_subspace"] else "at random"
    ax.set(xlabel="along r (SD)", ylabel=f"across r, {where} (SD)")


def _profiles(data: dict[str, Any]) -> tuple[Callable[[Any], Any], float]:
    """Return how to draw the profiles, and the height they need."""
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


def _legend_outside(ax: Any) -> None:
    """Put the legend under the whole picture, which makes room for it whatever its height."""
    ax.figure.legend(loc="outside lower center", ncols=3, frameon=False, columnspacing=1.2)


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


def _calibration(curves: dict[str, Any], mixed: bool, ax: Any) -> None:
    """Draw shares of labels that were seen against those predicted, in tenths of the rows."""
    styles = {
        "mixture": ("o-", MIRROR, "mixture" if mixed else "this classifier"),
        "single": ("s--", "none", "single classifier" if mixed else "logistic regression"),
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
    ax.set(xlabel="predicted probability of +1", ylabel="share of +1 seen")
    _legend_outside(ax)


def _picture(name: str, draw: Callable[[Any], Any], height: float = HEIGHT) -> str:
    """Return a drawing as SVG without a size of its own, whose ids start with a name."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()  # whatever the user's own style is
        matplotlib.rcParams.update({**STYLE, "svg.hashsalt": name})
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the browser's fonts do
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure.subplots())
        file = StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    return _inlined(file.getvalue(), name)


def _inlined(svg: str, name: str) -> str:
    """Return SVG for use inside of a page: its tags in short, its text untouched."""
    svg = re.sub(
        r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>",
        "",
        svg[svg.index("<svg") :],
        flags=re.S,
    )

    def shortened_tag(match: re.Match[str]) -> str:
        tag = match[0]
        if tag.startswith("<svg"):
            box = re.search(r'viewBox="[^"]*"', tag)
            return f"<svg {box[0] if box else ''}>"
        tag = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", tag).replace(
            "xlink:href", "href"
        )
        tag = re.sub(r"(\d\.\d\d)\d+", r"\1", tag)
        tag = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", tag)
        tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
        for colour, variable in VARIABLES.items():
            tag = tag.replace(colour, variable)
        return tag

    return re.sub(r"<[^>]+>", shortened_tag, svg).strip()

"""Figures of how much persons of one class differ.

Person g of class l has the profile u_l + B z_g with z_g ~ N(0, I). If s_j is the standard deviation
of coefficient j, 90 % of the persons of the class have one within u_lj -+ 1.645 s_j.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from spectralmirror.effects.selected import check_two_labels
from spectralmirror.mixture.summary import INTERCEPT, letters, profile_covariance, quantile
from spectralmirror.plotting.mixture import Mixture, check_figure
from spectralmirror.plotting.style import COMPONENTS, MIRROR, axes_of, legend_below
from spectralmirror.responses import get_response
from spectralmirror.rows.types import Vector

__all__ = ["draw_spread", "intercepts_at_mean", "plot_spread", "row_height", "spread_data"]

#: Share of the persons of a class inside its band, and the half-width of that in standard
#: deviations.
SHARE = 0.9
REACH = float(norm.ppf(0.5 + SHARE / 2))
#: Share of a line of the figure that the bands of its classes take.
FILLED = 0.76
#: Opacity of the bands.
LIGHT = 0.28


def plot_spread(
    mixture: Mixture, ax: Any = None, max_features: int = 20, level: float = 0.95
) -> Any:
    """Draw how much persons of one class differ, feature by feature.

    Points are the profiles of the classes, with their confidence intervals. Bands hold 90 % of the
    persons of a class: a band that contains 0 belongs to a feature that works one way for some of
    them, and the other way for others. Entries are per standard deviation of their feature; those
    that reach farthest come first. If intercepts vary, they are the last line, at the mean of the
    features.

    Parameters
    ----------
    mixture : LinearClassifierMixture or ChoiceMixture
        A mixture that was fitted with a spread.
    ax : matplotlib Axes, default=None
        Where to draw; None creates a new figure.
    max_features : int, default=20
        Maximum number of features.
    level : float, default=0.95
        Level of the confidence intervals.

    Returns
    -------
    matplotlib Axes
        The axes with the figure.
    """
    data = spread_data(mixture, max_features, level)
    k, lines = len(data["components"]), data["features"]
    longest, inside = max(map(len, lines)), len(lines) * row_height(k)
    size = 5.5 + 0.08 * longest, inside + 1.6 + 0.2 * ((k + 1) // 2)
    return draw_spread(data, axes_of(ax, 1, size=size)[0])


def spread_data(mixture: Mixture, max_features: int, level: float) -> dict[str, Any]:
    """Return what `plot_spread` draws."""
    check_figure(mixture, max_features, level, "plot_spread")
    check_two_labels(mixture, "plot_spread")
    if getattr(mixture, "spread_kind_", None) is None:
        raise ValueError(
            "plot_spread draws how much persons of one class differ, but this mixture was fitted "
            "without spread: pass spread='auto' and groups, or use plot_profiles."
        )
    scale, k = mixture.feature_scale_, mixture.n_components_
    profiles, errors = mixture.coef_ * scale, mixture.coef_standard_error_ * scale
    deviations = mixture.spread_deviation_ * scale
    reach = np.abs(profiles).max(axis=0) + REACH * deviations
    chosen = np.argsort(-reach, kind="stable")[:max_features]
    names = getattr(mixture, "feature_names_in_", [f"x{j}" for j in range(len(scale))])
    features = [str(names[j]) for j in chosen]
    profiles, errors, deviations = profiles[:, chosen], errors[:, chosen], deviations[chosen]
    if mixture.intercept_deviation_ > 0:
        intercepts, of_intercepts = intercepts_at_mean(mixture)
        features.append(INTERCEPT)
        profiles = np.column_stack([profiles, intercepts])
        errors = np.column_stack([errors, of_intercepts])
        deviations = np.append(deviations, mixture.intercept_deviation_)
    return {
        "features": features,
        "n_shown": len(chosen),
        "n_features": len(scale),
        "components": [
            f"class {name} (weight {p:.0%})"
            for name, p in zip(letters(k), mixture.weights_.tolist(), strict=True)
        ],
        "profiles": profiles.tolist(),
        "halves": None if np.isnan(errors).all() else (quantile(mixture, level) * errors).tolist(),
        "deviations": deviations.tolist(),
        "reach": (REACH * deviations).tolist(),
        "level": float(level),
        "people": "persons",
        "effect": get_response(mixture.response).effect_name.lower(),
    }


def intercepts_at_mean(mixture: Mixture) -> tuple[Vector, Vector]:
    """Return b_l + <u_l, m>, m the mean of the features, and the standard errors.

    With C_l the covariance of (u_l, b_l), the variance is (m, 1)' C_l (m, 1); errors are NaN if it
    is not known.
    """
    k = len(mixture.coef_)
    m = np.append(mixture.feature_mean_, 1.0)
    found = np.column_stack([mixture.coef_, mixture.intercept_]) @ m
    if mixture.covariance_ is None:
        return found, np.full(k, np.nan)
    blocks = profile_covariance(mixture)
    variances = [m @ blocks[c, :, c] @ m for c in range(k)]
    return found, np.sqrt(np.maximum(variances, 0))


def row_height(k: int) -> float:
    """Return the inches that a line of k classes needs."""
    return max(0.3, 0.15 * k)


def draw_spread(data: dict[str, Any], ax: Any) -> Any:
    """Draw what `spread_data` returned."""
    k, n = len(data["components"]), len(data["features"])
    profiles, reach = np.array(data["profiles"]), np.array(data["reach"])
    for c, label in enumerate(data["components"]):
        colour = COMPONENTS[c % len(COMPONENTS)]
        places = np.arange(n) + FILLED * ((c + 0.5) / k - 0.5)
        height = 0.86 * FILLED / k
        ax.barh(
            places, 2 * reach, height, profiles[c] - reach,
            color=colour, alpha=LIGHT, linewidth=0,
        )  # fmt: skip
        ax.errorbar(
            profiles[c],
            places,
            xerr=None if data["halves"] is None else data["halves"][c],
            fmt="o",
            markersize=4.5,
            elinewidth=1.5,
            color=colour,
            label=label if k > 1 else "_",
        )
    ax.use_sticky_edges = False  # bands end inside the axes
    _explain(data, ax)
    ax.axvline(0, color=MIRROR, linewidth=0.8)
    if n > data["n_shown"]:  # the intercept is no feature
        ax.axhline(n - 1.5, color=MIRROR, linewidth=0.6, linestyle=":")
    ax.set_yticks(np.arange(n), data["features"], parse_math=False)
    ax.set_ylim(n - 0.5, -0.5)
    ax.grid(axis="y", alpha=0.25)
    shown, total = data["n_shown"], data["n_features"]
    of = "" if shown == total else f", {shown} of {total} features"
    what = "The class and its" if k == 1 else "Classes and their"
    title = f"{what} {data['people']}{of}"
    ax.set(xlabel=f"{data['effect']}, per SD of the feature", title=title)
    legend_below(ax, ncols=2)
    return ax


def _explain(data: dict[str, Any], ax: Any) -> None:
    """Add empty artists that explain points, bars and bands in the legend."""
    ax.plot([], [], "o", markersize=4.5, color=MIRROR, label="class, on average")
    if data["halves"] is not None:
        level = f"{100 * data['level']:g} % interval of that"
        ax.plot([], [], color=MIRROR, linewidth=1.5, label=level)
    band = f"{100 * SHARE:g} % of its {data['people']}"
    ax.fill_between([], [], color=MIRROR, alpha=LIGHT, linewidth=0, label=band)

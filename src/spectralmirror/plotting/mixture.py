"""Figures of a fitted mixture.

Each is drawn in two steps: `..._data` collects plain data from the mixture, and `draw_...` draws
these data alone, so that the report can store the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture import ChoiceMixture, LinearClassifierMixture
from spectralmirror.mixture.starts import ALIKE
from spectralmirror.mixture.summary import letters, quantile
from spectralmirror.plotting.style import (
    BULK,
    COMPONENTS,
    MIRROR,
    axes_of,
    legend_below,
    require_kind,
)
from spectralmirror.responses import get_response
from spectralmirror.rows.checks import require_count

__all__ = [
    "check_figure",
    "draw_profiles",
    "draw_responsibilities",
    "plot_profiles",
    "plot_responsibilities",
    "plot_starts",
    "profiles_data",
    "responsibilities_data",
]

#: Kinds of starts, in the order in which they are drawn; the last ones are made from maxima that
#: were found before ("one replaced": in models that were stored earlier).
INDEPENDENT = (
    *("given", "grown", "grown in the subspace", "partition", "few groups", "one group"),
    *("clusters", "random", "lengths", "around", "annealed"),
)
CROSSED = ("crossed", "one replaced")
#: What can be drawn.
Mixture = LinearClassifierMixture | ChoiceMixture
MIXTURES = (LinearClassifierMixture, ChoiceMixture)


def plot_profiles(
    mixture: Mixture, ax: Any = None, max_features: int = 20, level: float = 0.95
) -> Any:
    """Draw the profiles side by side, the features with the largest entries first.

    Entries are per standard deviation of their feature, so that features in different units can
    be compared. Bars are confidence intervals; hard labels have none. With more than two labels,
    there is a line for each feature of each label, "label: feature".

    Parameters
    ----------
    mixture : LinearClassifierMixture or ChoiceMixture
        A fitted mixture.
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
    data = profiles_data(mixture, max_features, level)
    longest, n = max(map(len, data["features"])), len(data["features"])
    return draw_profiles(data, axes_of(ax, 1, size=(5.5 + 0.08 * longest, 1.8 + 0.3 * n))[0])


def check_figure(mixture: Any, max_features: int, level: float, name: str) -> None:
    """Raise if a figure of coefficients cannot be drawn; `name` is that of the function."""
    require_kind(mixture, MIXTURES, name)
    check_is_fitted(mixture, "coef_")
    require_count(max_features=max_features)
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}.")


def profiles_data(mixture: Mixture, max_features: int, level: float) -> dict[str, Any]:
    """Return what `plot_profiles` draws."""
    check_figure(mixture, max_features, level, "plot_profiles")
    scale, k = mixture.feature_scale_, mixture.n_components_
    unit_norm = not get_response(mixture.response).norm_identified
    profiles, errors = mixture.coef_ * scale, mixture.coef_standard_error_ * scale
    if unit_norm:  # hard labels determine only the direction of a profile
        profiles = profiles / np.linalg.norm(profiles, axis=1, keepdims=True)
    names = list(getattr(mixture, "feature_names_in_", [f"x{j}" for j in range(len(scale))]))
    if profiles.ndim == 3:
        names = [f"{label}: {name}" for label in mixture.classes_.tolist() for name in names]
        profiles, errors = profiles.reshape(k, -1), errors.reshape(k, -1)
    chosen = np.argsort(-np.abs(profiles).max(axis=0), kind="stable")[:max_features]
    q = quantile(mixture, level)
    return {
        "features": [str(names[j]) for j in chosen],
        "n_features": len(names),
        "components": [
            f"class {name} (weight {p:.0%})"
            for name, p in zip(letters(k), mixture.weights_.tolist(), strict=True)
        ],
        "profiles": profiles[:, chosen].tolist(),
        "halves": None if np.isnan(errors).all() else (q * errors[:, chosen]).tolist(),
        "unit_length": unit_norm,
    }


def draw_profiles(data: dict[str, Any], ax: Any) -> Any:
    """Draw what `profiles_data` returned."""
    k, n = len(data["components"]), len(data["features"])
    profiles, places = np.array(data["profiles"]), np.arange(n)
    for c, label in enumerate(data["components"]):
        ax.errorbar(
            profiles[c],
            places + 0.5 * ((c + 0.5) / k - 0.5),
            xerr=None if data["halves"] is None else data["halves"][c],
            fmt="o",
            markersize=5,
            elinewidth=1.5,
            color=COMPONENTS[c % len(COMPONENTS)],
            label=label,
        )
    ax.axvline(0, color=MIRROR, linewidth=0.8)
    ax.set_yticks(places, data["features"], parse_math=False)
    ax.set_ylim(n - 0.5, -0.5)
    ax.grid(axis="y", alpha=0.25)
    of = "" if n == data["n_features"] else f", {n} of {data['n_features']} features"
    what = "profile of unit length" if data["unit_length"] else "profile"
    ax.set(xlabel=f"{what}, per SD of the feature", title=f"Profiles{of}")
    legend_below(ax, ncols=2)
    return ax


def plot_responsibilities(
    mixture: Mixture,
    X: Any,
    y: Any,
    *,
    choices: Any = None,
    groups: Any = None,
    ax: Any = None,
) -> Any:
    """Draw how certain it is which classifier made the labels.

    The figure is a histogram of the probability of the most likely classifier, over rows or over
    groups. Its mean is the expected share of correct assignments.

    Parameters
    ----------
    mixture : LinearClassifierMixture or ChoiceMixture
        A fitted mixture.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The features.
    y : array-like of shape (n_samples,)
        Their labels; for choices, whether each row was chosen.
    choices : array-like of shape (n_samples,), default=None
        For choices: the choice set of each row.
    groups : array-like of shape (n_samples,), default=None
        Rows that share their classifier; for choices, the person of each row.
    ax : matplotlib Axes, default=None
        Where to draw; None creates a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the figure.
    """
    data = responsibilities_data(mixture, X, y, choices=choices, groups=groups)
    return draw_responsibilities(data, axes_of(ax, 1)[0])


def responsibilities_data(
    mixture: Mixture,
    X: Any,
    y: Any,
    *,
    choices: Any = None,
    groups: Any = None,
    membership: Any = None,
) -> dict[str, Any]:
    """Return what `plot_responsibilities` draws."""
    require_kind(mixture, MIXTURES, "plot_responsibilities")
    judged = groups
    if isinstance(mixture, ChoiceMixture):
        given = {"choices": choices, "groups": groups, "membership": membership}
        r = np.asarray(mixture.component_proba(X, y, **given))
        judged = choices if groups is None else groups
        of, who = "choices" if groups is None else "persons", "class"
    else:
        r = np.asarray(mixture.component_proba(X, y, groups=groups, membership=membership))
        of, who = "rows" if groups is None else "groups", "classifier"
    if judged is not None:
        r = r[np.unique(np.asarray(judged), return_index=True)[1]]
    k = mixture.n_components_
    largest, named = r.max(axis=1), r.argmax(axis=1)
    edges = np.linspace(min(1 / max(k, 2), largest.min()), 1, 31)
    return {
        "edges": edges.tolist(),
        "counts": [np.histogram(largest[named == c], edges)[0].tolist() for c in range(k)],
        "components": [
            f"class {name} (named {np.mean(named == c):.0%})" for c, name in enumerate(letters(k))
        ],
        "mean": float(largest.mean()),
        "of": of,
        "who": who,
    }


def draw_responsibilities(data: dict[str, Any], ax: Any) -> Any:
    """Draw what `responsibilities_data` returned."""
    edges, k, mean = np.array(data["edges"]), len(data["counts"]), data["mean"]
    who = data.get("who", "classifier")
    ax.hist(
        [(edges[:-1] + edges[1:]) / 2] * k,
        bins=edges,
        weights=data["counts"],
        stacked=True,
        color=[COMPONENTS[c % len(COMPONENTS)] for c in range(k)],
        label=data["components"],
    )
    ax.axvline(mean, color=MIRROR, linestyle="--", linewidth=1.2, label=f"mean {mean:.2f}")
    ax.set(
        xlabel=f"probability of the most likely {who}",
        ylabel=f"number of {data['of']}",
        title=f"Who made the {'labels' if who == 'classifier' else 'choices'}? ({data['of']})",
    )
    legend_below(ax, ncols=2)
    return ax


def plot_starts(mixture: Mixture, ax: Any = None) -> Any:
    """Draw how far below the best maximum every start ended, one line for each kind of start.

    The more kinds of independent starts have reached the best maximum, the less likely is a better
    one: starts of one kind tend to fail together. Crossed starts exchange components of maxima
    that were found before.

    Parameters
    ----------
    mixture : LinearClassifierMixture or ChoiceMixture
        A fitted mixture.
    ax : matplotlib Axes, default=None
        Where to draw; None creates a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the figure.
    """
    require_kind(mixture, MIXTURES, "plot_starts")
    check_is_fitted(mixture, "coef_")
    best = max(start.objective for start in mixture.starts_)
    gaps: dict[str, list[float]] = {}
    for start in mixture.starts_:
        gaps.setdefault(start.kind, []).append(best - start.objective)
    order = (*INDEPENDENT, *sorted(gaps.keys() - {*INDEPENDENT, *CROSSED}), *CROSSED)
    kinds = [kind for kind in order if kind in gaps]
    ax = axes_of(ax, 1, size=(5.5, 1.4 + 0.3 * len(kinds)))[0]
    names = []
    for row, kind in enumerate(kinds):
        below = np.sort(gaps[kind])
        n, n_same = len(below), int((below < ALIKE).sum())
        names.append(f"{kind} ({n_same} of {n})")
        places = row + 0.6 * ((np.arange(n) + 0.5) / n - 0.5)
        marker, colour = ("x", BULK) if kind in CROSSED else ("o", MIRROR)
        ax.plot(below, places, marker, color=colour, markersize=5, alpha=0.8)
    ax.axvspan(0, ALIKE, color=MIRROR, alpha=0.12, linewidth=0)
    ax.set_xscale("symlog", linthresh=2 * ALIKE)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlim(max(10.0, 2 * max(map(max, gaps.values()))), -0.2)
    ax.set_yticks(range(len(kinds)), names)
    ax.set_ylim(len(kinds) - 0.5, -0.5)
    ax.set(
        xlabel="log-likelihood below the best (bent scale)\ngrey: the same maximum",
        title="Starts",
    )
    return ax

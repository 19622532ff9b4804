"""Pictures of a fitted mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from spectralmirror.datasets import require_count
from spectralmirror.mixture import LinearClassifierMixture
from spectralmirror.mixture.starts import ALIKE
from spectralmirror.plotting.style import COMPONENTS, MIRROR, axes_of, legend_below, require_kind

__all__ = ["plot_profiles", "plot_responsibilities", "plot_starts"]

#: Shapes and colours of the kinds of starts.
KINDS = {
    "grown in the subspace": ("s", "#222222"),
    "grown": ("D", "#222222"),
    "random": ("o", "#8c8c8c"),
    "one replaced": ("P", "#8c8c8c"),
    "given": ("^", "#8c8c8c"),
}


def plot_profiles(
    mixture: LinearClassifierMixture, ax: Any = None, max_features: int = 20, level: float = 0.95
) -> Any:
    """Draw the profiles side by side, the features with the largest entries first.

    Entries are per standard deviation of their feature, so that features of different units can
    be compared. Bars are confidence intervals; hard labels have none.

    Parameters
    ----------
    mixture : LinearClassifierMixture
        A fitted mixture.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    max_features : int, default=20
        At most so many features are drawn.
    level : float, default=0.95
        Of the confidence intervals.

    Returns
    -------
    matplotlib Axes
        What was drawn on.
    """
    require_kind(mixture, LinearClassifierMixture, "plot_profiles")
    check_is_fitted(mixture, "coef_")
    require_count(max_features=max_features)
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
    scale, k = mixture.feature_scale_, mixture.n_components_
    profiles, errors = mixture.coef_ * scale, mixture.coef_standard_error_ * scale
    if mixture.response == "hard":  # only directions mean something, whatever the units
        profiles = profiles / np.linalg.norm(profiles, axis=1, keepdims=True)
    chosen = np.argsort(-np.abs(profiles).max(axis=0), kind="stable")[:max_features]
    names = getattr(mixture, "feature_names_in_", [f"x{j}" for j in range(len(scale))])
    longest = max(len(str(names[j])) for j in chosen)
    ax = axes_of(ax, 1, size=(5.5 + 0.08 * longest, 1.8 + 0.3 * len(chosen)))[0]
    q = float(norm.isf((1 - level) / 2))
    places = np.arange(len(chosen))
    for c in range(k):
        offset = 0.5 * ((c + 0.5) / k - 0.5)
        bars = None if np.isnan(errors).all() else q * errors[c, chosen]
        ax.errorbar(
            profiles[c, chosen],
            places + offset,
            xerr=bars,
            fmt="o",
            markersize=5,
            elinewidth=1.5,
            color=COMPONENTS[c % len(COMPONENTS)],
            label=f"component {c} (weight {mixture.weights_[c]:.0%})",
        )
    ax.axvline(0, color=MIRROR, linewidth=0.8)
    ax.set_yticks(places, [str(names[j]) for j in chosen])
    ax.set_ylim(len(chosen) - 0.5, -0.5)
    ax.grid(axis="y", alpha=0.25)
    of = "" if len(chosen) == len(scale) else f", {len(chosen)} of {len(scale)} features"
    what = "profile of unit length" if mixture.response == "hard" else "profile"
    ax.set(xlabel=f"{what}, per SD of the feature", title=f"Profiles{of}")
    legend_below(ax, ncols=2, below=0.62 / (0.9 + 0.3 * len(chosen)))
    return ax


def plot_responsibilities(
    mixture: LinearClassifierMixture, X: Any, y: Any, groups: Any = None, ax: Any = None
) -> Any:
    """Draw how sure it is which classifier made the labels.

    A histogram of the probability of the most likely classifier, over rows, or over groups. Its
    mean is the share of assignments that should be right.

    Parameters
    ----------
    mixture : LinearClassifierMixture
        A fitted mixture.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The features.
    y : array-like of shape (n_samples,)
        Their labels.
    groups : array-like of shape (n_samples,), default=None
        Rows that share their classifier.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        What was drawn on.
    """
    require_kind(mixture, LinearClassifierMixture, "plot_responsibilities")
    r = mixture.component_proba(X, y, groups)
    if groups is not None:
        r = r[np.unique(np.asarray(groups), return_index=True)[1]]
    ax = axes_of(ax, 1)[0]
    k = mixture.n_components_
    largest, of = r.max(axis=1), r.argmax(axis=1)
    ax.hist(
        [largest[of == c] for c in range(k)],
        bins=np.linspace(min(1 / max(k, 2), largest.min()), 1, 31),
        stacked=True,
        color=[COMPONENTS[c % len(COMPONENTS)] for c in range(k)],
        label=[f"component {c} (named {np.mean(of == c):.0%})" for c in range(k)],
    )
    ax.axvline(largest.mean(), color=MIRROR, linestyle="--", linewidth=1.2,
               label=f"mean {largest.mean():.2f}")  # fmt: skip
    what = "rows" if groups is None else "groups"
    ax.set(
        xlabel="probability of the most likely classifier",
        ylabel=f"number of {what}",
        title=f"Who made the labels? ({what})",
    )
    legend_below(ax, ncols=2)
    return ax


def plot_starts(mixture: LinearClassifierMixture, ax: Any = None) -> Any:
    """Draw how far below the best maximum every start ended.

    Parameters
    ----------
    mixture : LinearClassifierMixture
        A fitted mixture.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        What was drawn on.
    """
    require_kind(mixture, LinearClassifierMixture, "plot_starts")
    check_is_fitted(mixture, "coef_")
    ax = axes_of(ax, 1)[0]
    best = max(start.objective for start in mixture.starts_)
    gaps = np.array([best - start.objective for start in mixture.starts_])
    for kind, (marker, colour) in KINDS.items():
        places = [i for i, start in enumerate(mixture.starts_) if start.kind == kind]
        if places:
            ax.plot(
                np.array(places) + 1, gaps[places], marker, color=colour, markersize=7, label=kind
            )
    ax.axhspan(0, ALIKE, color=MIRROR, alpha=0.12, linewidth=0,
               label=f"the same maximum ({mixture.n_agreed_} of {len(gaps)})")  # fmt: skip
    ax.set_yscale("symlog", linthresh=2 * ALIKE)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_ylim(max(10.0, 2 * gaps.max()), -0.2)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(
        xlabel="start, best first",
        ylabel="log-likelihood below the best (bent scale)",
        title="Starts",
    )
    legend_below(ax, ncols=2)
    return ax

"""Figures of a fitted mirror.

Each is drawn in two steps: `..._data` collects plain data from the mirror, and `draw_...` draws
these data alone, so that the report can store the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from spectralmirror.plotting.style import (
    BULK,
    COLOURS,
    MIRROR,
    OUTLIER,
    axes_of,
    legend_below,
    log_axis,
    require_kind,
)
from spectralmirror.rows.checks import check_features
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = [
    "draw_mirror",
    "draw_spectrum",
    "mirror_data",
    "plot_mirror",
    "plot_spectrum",
    "spectrum_data",
]


def plot_spectrum(mirror: SpectralMirror, ax: Any = None) -> Any:
    """Draw a histogram of the eigenvalues: the bulk, and those that were kept.

    Parameters
    ----------
    mirror : SpectralMirror
        A fitted transformer.
    ax : matplotlib Axes, default=None
        Where to draw; None creates a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the figure.
    """
    return draw_spectrum(spectrum_data(mirror), axes_of(ax, 1)[0])


def spectrum_data(mirror: SpectralMirror) -> dict[str, Any]:
    """Return what `plot_spectrum` draws."""
    require_kind(mirror, SpectralMirror, "plot_spectrum")
    check_is_fitted(mirror)
    what, centre = _axis_names(mirror)
    return {
        "eigenvalues": mirror.eigenvalues_.tolist(),
        "n_kept": mirror.n_outliers_,
        "bulk": float(mirror.bulk_),
        "squares": mirror.method == "stacked",
        "what": what,
        "centre": centre,
    }


def draw_spectrum(data: dict[str, Any], ax: Any) -> Any:
    """Draw what `spectrum_data` returned."""
    eigenvalues, n_kept, bulk = np.array(data["eigenvalues"]), data["n_kept"], data["bulk"]
    kept, rest = eigenvalues[:n_kept], eigenvalues[n_kept:]
    low, high = eigenvalues.min(initial=bulk), eigenvalues.max(initial=bulk)
    edges = np.linspace(low, high, 41) if high > low else np.array([low - 0.5, low + 0.5])
    far_apart = data["squares"] and high > 10 * low > 0  # squares, unlike moments, are positive
    if far_apart:
        edges = np.geomspace(low, high, 41)
    ax.hist(
        [rest, kept],
        bins=edges,
        stacked=True,
        color=[BULK, OUTLIER],
        label=[f"bulk ({len(rest)})", f"kept ({n_kept})"],
    )
    ax.axvline(bulk, color=MIRROR, linestyle="--", linewidth=1.2, label=data["centre"])
    if far_apart:
        log_axis(ax.xaxis)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel=data["what"], ylabel="number of eigenvalues", title="Spectrum")
    legend_below(ax)
    return ax


def plot_mirror(
    mirror: SpectralMirror, X: Any, y: Any, axes: Any = None, max_points: int = 2000
) -> Any:
    """Draw the labels in the estimated subspace, before and after mirroring.

    The horizontal axis is the mirror direction, <r, x>, and the vertical axis is the direction of
    the subspace that differs most from it, both in standard deviations. Mirroring flips the
    labels left of the mirror, which stands at the mean of <r, x>, or at 0 for the paper's method.
    With one component there is no second direction, and the vertical axis is a random one.

    Parameters
    ----------
    mirror : SpectralMirror
        A fitted transformer.
    X : array-like of shape (n_samples, n_features)
        The features.
    y : array-like of shape (n_samples,)
        Their labels.
    axes : pair of matplotlib Axes, default=None
        Where to draw; None creates a new figure.
    max_points : int, default=2000
        Maximum number of rows, taken at even steps.

    Returns
    -------
    pair of matplotlib Axes
        The axes with the figure.
    """
    data = mirror_data(mirror, X, y, max_points)
    return draw_mirror(data, axes_of(axes, 2))


def mirror_data(mirror: SpectralMirror, X: Any, y: Any, max_points: int) -> dict[str, Any]:
    """Return what `plot_mirror` draws."""
    require_kind(mirror, SpectralMirror, "plot_mirror")
    check_is_fitted(mirror)
    step = max(1, -(-np.shape(X)[0] // max_points))
    y = column_or_1d(y)
    X = check_features(X, mirror)[::step]
    if not np.isin(y, mirror.classes_).all():
        raise ValueError(f"y must hold the labels that were fitted, {mirror.classes_.tolist()}.")
    r = mirror.mirror_direction_
    # the paper's mirror stands at <r, x> = 0, which is off centre if the features have a mean
    at = -float((X @ r).mean()) / float((X @ r).std()) if mirror.method == "paper" else 0.0
    return {
        "across": _standardised(X, r).tolist(),
        "along": _standardised(X, _second_direction(mirror)).tolist(),
        "labels": np.where(y[::step] == mirror.classes_[1], 1, -1).tolist(),
        "classes": [str(value) for value in mirror.classes_],
        "mirror_at": at,
        "in_subspace": mirror.n_components_ > 1,
    }


def draw_mirror(data: dict[str, Any], axes: Any) -> Any:
    """Draw what `mirror_data` returned."""
    labels, at = np.array(data["labels"]), data["mirror_at"]
    across, along = np.array(data["across"]), np.array(data["along"])
    names = {-1: f"y = {data['classes'][0]}", 1: f"y = {data['classes'][1]}"}
    panels = (
        ("Labels", labels, names),
        ("Mirrored labels", labels * np.sign(across - at), {-1: "Z = −1", 1: "Z = +1"}),
    )
    for ax, (title, values, legend) in zip(axes, panels, strict=True):
        how: dict[str, Any] = {"s": 6, "alpha": 0.6, "linewidths": 0}
        # in the order of the rows: of rows with equal features, those of one label would otherwise
        # hide those of the other
        shown = values != 0
        colours = [COLOURS[int(value)] for value in values[shown]]
        ax.scatter(across[shown], along[shown], color=colours, **how)
        for sign in (-1, 1):
            ax.scatter([], [], color=COLOURS[sign], label=legend[sign], **how)
        ax.axvline(at, color=MIRROR, linestyle="--", linewidth=1.2, label="mirror")
        ax.set(title=title, xlabel="along r (standard deviations)")
        ax.set_aspect("equal")
        legend_below(ax, markerscale=3)
    where = "in the subspace" if data["in_subspace"] else "at random"
    axes[0].set_ylabel(f"across r, {where} (standard deviations)")
    return axes


def _axis_names(mirror: SpectralMirror) -> tuple[str, str]:
    """Return the names of the eigenvalues and of their centre."""
    if mirror.method == "paper":
        dense = len(mirror.eigenvalues_) >= mirror.n_features_in_ - 1
        return "eigenvalue of Q", "median" if dense else "mean of Z"
    if mirror.bulk_ == 0:
        return "eigenvalue of the cross moment (units of noise)", "mean of noise"
    return "eigenvalue of the stacked mirrors (units of noise)", "mean of noise"


def _second_direction(mirror: SpectralMirror) -> Vector:
    """Return the direction of the subspace furthest from r-hat, or a random one if k = 1."""
    r = mirror.mirror_direction_ / np.linalg.norm(mirror.mirror_direction_)
    span: Matrix = mirror.components_
    if len(span) == 1:
        span = np.random.default_rng(0).standard_normal((1, len(r)))
    beside = span - np.outer(span @ r, r)
    return np.asarray(np.linalg.svd(beside)[2][0])


def _standardised(X: Any, direction: Vector) -> Vector:
    scores = X @ direction
    return np.asarray((scores - scores.mean()) / scores.std())

"""Who belongs to which class: the weights of the classes along a covariate of membership."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit, softmax

from spectralmirror.mixture import ChoiceMixture, LinearClassifierMixture
from spectralmirror.mixture.summary import letters, quantile
from spectralmirror.plotting.style import COMPONENTS, axes_of, legend_below, require_kind
from spectralmirror.rows.messages import did_you_mean_or_list
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["draw_membership", "membership_data", "plot_membership"]

#: Points at which curves are computed, and how far they reach, in standard deviations.
N_POINTS, REACH = 41, 2.0


def plot_membership(
    mixture: LinearClassifierMixture | ChoiceMixture,
    covariate: str | int = 0,
    *,
    ax: Any = None,
    level: float = 0.95,
) -> Any:
    """Draw the probability of each class along a covariate, the others being at their means.

    Bands are pointwise confidence intervals, computed for log(p / (1 - p)).

    Parameters
    ----------
    mixture : LinearClassifierMixture or ChoiceMixture
        A mixture that was fitted with `membership`.
    covariate : str or int, default=0
        Its name or number.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    level : float, default=0.95
        Confidence level of the bands.

    Returns
    -------
    Axes
        What was drawn on.
    """
    require_kind(mixture, (LinearClassifierMixture, ChoiceMixture), "plot_membership")
    names = list(map(str, getattr(mixture, "membership_names_in_", ())))
    if not names:
        raise ValueError(
            "plot_membership needs a mixture that was fitted with covariates of membership: "
            "fit(..., membership=)."
        )
    if isinstance(covariate, str):
        if covariate not in names:
            hint = did_you_mean_or_list(covariate, names)
            raise ValueError(f"The mixture has no covariate {covariate!r}{hint}")
        covariate = names.index(covariate)
    [ax] = axes_of(ax, 1)
    draw_membership(membership_data(mixture, covariate, level), ax)
    legend_below(ax)
    return ax


def membership_data(
    mixture: Any, j: int, level: float, *, ends: tuple[float, float] | None = None
) -> dict[str, Any]:
    """Return what `plot_membership` draws of covariate j between two ends."""
    mean, scale = mixture._membership_mean, mixture._membership_scale
    low, high = ends or (mean[j] - REACH * scale[j], mean[j] + REACH * scale[j])
    grid = np.linspace(low, high, N_POINTS)
    Z = np.tile(mean, (N_POINTS, 1))
    Z[:, j] = grid
    p, halves = _weights_and_errors(mixture, Z, level)
    sides = logit(np.clip(p, 1e-12, 1 - 1e-12))
    return {
        "covariate": str(mixture.membership_names_in_[j]),
        "grid": grid.tolist(),
        "weights": p.T.tolist(),
        "bands": None if halves is None else [
            [expit(line - half).tolist(), expit(line + half).tolist()]
            for line, half in zip(sides.T, halves.T, strict=True)
        ],
        "components": [f"class {name}" for name in letters(mixture.n_components_)],
    }  # fmt: skip


def _weights_and_errors(mixture: Any, Z: Matrix, level: float) -> tuple[Matrix, Matrix | None]:
    """Return p_l(z), and half-widths of intervals of log(p_l / (1 - p_l)); None without errors.

    With eta_l = <g_l, z> + c_l, the derivative of log(p_l / (1 - p_l)) with respect to eta_m is 1
    for m = l, and -p_m / (1 - p_l) otherwise.
    """
    k = mixture.n_components_
    p = softmax(Z @ mixture.membership_coef_.T + mixture.membership_intercept_, axis=1)
    C = mixture.covariance_
    if C is None:
        return p, None
    lines = np.column_stack([Z, np.ones(len(Z))])
    size = (k - 1) * lines.shape[1]
    C = C[-size:, -size:].reshape(k - 1, lines.shape[1], k - 1, lines.shape[1])
    of_eta = np.einsum("ni,aibj,nj->nab", lines, C, lines)
    halves = np.array([_error(p, of_eta, c) for c in range(k)]).T
    return p, quantile(mixture, level) * halves


def _error(p: Matrix, of_eta: Any, c: int) -> Vector:
    slopes = -p / np.maximum(1 - p[:, [c]], 1e-12)
    slopes[:, c] = 1.0
    slopes = slopes[:, 1:]
    variance = np.einsum("na,nab,nb->n", slopes, of_eta, slopes)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def draw_membership(data: dict[str, Any], ax: Any) -> None:
    """Draw what `membership_data` returned."""
    for c, (name, weights) in enumerate(zip(data["components"], data["weights"], strict=True)):
        colour = COMPONENTS[c % len(COMPONENTS)]
        ax.plot(data["grid"], weights, color=colour, linewidth=1.6, label=name)
        if data["bands"] is not None:
            low, high = data["bands"][c]
            ax.fill_between(data["grid"], low, high, color=colour, alpha=0.18, linewidth=0)
    ax.set(xlabel=data["covariate"], ylabel="probability of the class", ylim=(0, 1))

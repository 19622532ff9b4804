"""Ratios of two coefficients, such as the willingness to pay.

The ratio r_l = n_l / d_l of two coefficients of class l is a point estimate of a number r with
n_l - r d_l = 0. Fieller's interval holds all r for which that is not rejected,

    (n - r d)^2 <= q^2 (V_nn - 2 r V_nd + r^2 V_dd),

which is one interval if d is clearly different from 0, d^2 > q^2 V_dd. Otherwise it is everything
outside some interval, or the whole line. It has its level even if d is hardly known, unlike the
interval of the delta method, r -+ q sqrt(V_nn - 2 r V_nd + r^2 V_dd) / |d|.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spectralmirror.effects.results import OVERALL, Ratios
from spectralmirror.effects.selected import (
    checked_weights,
    feature_index,
    feature_names,
    held_at_zero,
)
from spectralmirror.mixture.summary import letters, quantile
from spectralmirror.rows.containers import output_container
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["fieller", "ratios"]


def ratios(
    model: Any,
    numerator: str | int,
    denominator: str | int,
    *,
    level: float = 0.95,
    method: str = "fieller",
    component_weights: Any = None,
    label: Any = None,
) -> Ratios:
    """Return u_l,numerator / u_l,denominator of each class, and their weighted mean.

    If the denominator is the coefficient of a price, this is how much more somebody of the class
    pays for one more unit of the numerator, with the opposite sign: the willingness to pay is minus
    this ratio.

    The last line, "overall", is sum_l p_l u_l,numerator / u_l,denominator: the mean over persons
    (over groups) of the ratio of their class. It is not the ratio of the mean coefficients. If
    persons of one class differ (`spread`), the ratio is that of the class's mean coefficients; the
    mean of the persons' own ratios does not exist if their denominators vary.

    A coefficient that `signs` hold at 0 has no error: as a denominator it leaves its class, and the
    mean, without a ratio (NaN); as a numerator it gives 0, without an interval.

    Parameters
    ----------
    model : LinearClassifierMixture or ChoiceMixture
        A fitted mixture.
    numerator, denominator : str or int
        Names or indices of two features.
    level : float, default=0.95
        Confidence level of the intervals.
    method : {"fieller", "delta"}, default="fieller"
        How intervals of classes are computed. That of the last line always uses the delta method,
        with the errors of the weights.
    component_weights : array-like of shape (k,), default=None
        Weights to use in place of `weights_` for the last line, taken as known.
    label : object or tuple of two, default=None
        Needed for more than two labels: the label whose coefficients are meant, relative to the
        mean of all labels as in `coef_`; or (one, another) for the log-odds of one against another,
        u_one - u_another.

    Returns
    -------
    Ratios
        A table that can be printed; :meth:`Ratios.to_frame` returns it as a DataFrame.

    Examples
    --------
    >>> from spectralmirror import LinearClassifierMixture
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> from spectralmirror.effects import ratios
    >>> profiles = [[3.0, -1.0], [-1.0, -2.0]]
    >>> X, y, _ = make_linear_classifier_mixture(5_000, profiles=profiles, random_state=0)
    >>> mixture = LinearClassifierMixture(random_state=0).fit(X, y)
    >>> sorted(ratios(mixture, 0, 1).estimate[:2].round())
    [np.float64(-3.0), np.float64(1.0)]
    """
    check_is_fitted(model, "coef_")
    if method not in ("fieller", "delta"):
        raise ValueError(f"method must be 'fieller' or 'delta', got {method!r}.")
    q, names = quantile(model, level), feature_names(model)
    pair = [feature_index(model, one) for one in (numerator, denominator)]
    if pair[0] == pair[1]:
        raise ValueError(
            f"numerator and denominator are the same feature, {names[pair[0]]!r}, whose ratio is "
            "always 1: name two features."
        )
    contrast, k = _contrast(model, label), model.n_components_
    p, weights_known = checked_weights(model, component_weights)
    coef = model.coef_.reshape(k, len(contrast), -1)
    top, bottom = np.einsum("c,kcj->jk", contrast, coef[:, :, pair])
    no_top, no_bottom = (held_at_zero(model, j) for j in pair)
    top, bottom = np.where(no_top, 0.0, top), np.where(no_bottom, np.nan, bottom)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = top / bottom
        by_pair = np.column_stack([1 / bottom, -found / bottom])  # derivatives of each ratio
    V = _covariance(model, pair, contrast)
    slopes = np.zeros((k + 1, 3 * k))
    for c in range(k):
        slopes[c, 2 * c : 2 * c + 2] = by_pair[c]
        slopes[k, 2 * c : 2 * c + 2] = p[c] * by_pair[c]
    slopes[k, 2 * k :] = 0.0 if weights_known else found
    estimate = np.append(found, p @ found)
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(np.maximum(np.einsum("ri,ij,rj->r", slopes, V, slopes), 0))
    errors[:k][no_top] = np.nan
    lower, upper = estimate - q * errors, estimate + q * errors
    bounded, excluded = np.ones(k + 1, dtype=bool), np.full((k + 1, 2), np.nan)
    for c in range(k):
        block = V[2 * c : 2 * c + 2, 2 * c : 2 * c + 2]
        ends, bounded[c] = fieller(top[c], bottom[c], block, q)
        if method == "fieller":
            lower[c], upper[c] = ends if bounded[c] else (-np.inf, np.inf)
            excluded[c] = ends if not bounded[c] else np.nan
        if no_top[c] or no_bottom[c]:
            lower[c] = upper[c] = np.nan
            excluded[c], bounded[c] = np.nan, not no_bottom[c]
    bounded[k] = bounded[:k].all()
    return Ratios(
        names[pair[0]], names[pair[1]], [*letters(k), OVERALL], estimate, errors, lower, upper,
        bounded, excluded, level, output_container(model),
    )  # fmt: skip


def fieller(top: float, bottom: float, V: Matrix, q: float) -> tuple[tuple[float, float], bool]:
    """Return Fieller's interval and True; or what is outside it, NaN if nothing, and False.

    V is the covariance of (top, bottom). Its ends solve a r^2 - 2 b r + c = 0 with a = d^2 - q^2
    V_dd, b = n d - q^2 V_nd, c = n^2 - q^2 V_nn.
    """
    if np.isnan(V).any():
        return (np.nan, np.nan), True
    a, b, c = (
        x * y - q * q * v
        for x, y, v in ((bottom, bottom, V[1, 1]), (top, bottom, V[0, 1]), (top, top, V[0, 0]))
    )
    square = b * b - a * c
    if a == 0 or square < 0:
        return (np.nan, np.nan), False
    ends = sorted(((b - np.sqrt(square)) / a, (b + np.sqrt(square)) / a))
    return (float(ends[0]), float(ends[1])), bool(a > 0)


def _contrast(model: Any, label: Any) -> Vector:
    """Return the weights of the labels' coefficients in n and d; 1 if there are two labels."""
    labels = model.classes_.tolist()
    if len(labels) == 2:
        if label is not None:
            raise ValueError("label is for more than two labels: leave it out.")
        return np.ones(1)
    one, another = label if isinstance(label, tuple) and len(label) == 2 else (label, None)
    asked = [x for x in (one, another) if x is not None]
    if not asked or any(x not in labels for x in asked) or one == another:
        what = "is missing" if label is None else f"is {label!r}"
        raise ValueError(
            f"label {what}: name one of {labels}, or two of them, (one, another), for the log-odds "
            "of one against another."
        )
    found = np.zeros(len(labels))
    found[labels.index(one)] = 1.0
    if another is not None:
        found[labels.index(another)] = -1.0
    return found


def _covariance(model: Any, pair: list[int], contrast: Vector) -> Matrix:
    """Return the covariance of (n_1, d_1, ..., n_k, d_k, p_1, ..., p_k); NaN if unknown.

    That of the estimates begins with (u_lc, b_lc), class by class and label by label, and p.
    """
    k, C, one = model.n_components_, len(contrast), model.coef_.shape[-1] + 1
    found, size = np.full((3 * k, 3 * k), np.nan), k * C * one
    if model.covariance_ is None:
        return found
    n = 2 * k if len(model.covariance_) == size else 3 * k  # older models have none of the weights
    M = np.zeros((n, len(model.covariance_)))
    for c in range(k):
        for place, j in enumerate(pair):
            M[2 * c + place, (c * C + np.arange(C)) * one + j] = contrast
    M[np.arange(2 * k, n), np.arange(size, size + n - 2 * k)] = 1.0
    found[:n, :n] = M @ model.covariance_ @ M.T
    return found

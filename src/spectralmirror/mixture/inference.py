"""Standard errors, from the curvature of the likelihood at its maximum.

The covariance of theta-hat is I^-1, where I is the observed information (minus the second
derivatives of L). With groups or non-integer weights it is the cluster-robust c I^-1 K I^-1, where
K = sum_G w_G^2 s_G s_G' and s_G is the gradient of group G: rows may depend on each other in any
way within their group. At the maximum the s_G sum to about 0, which makes K too small if groups are
few. Therefore c = G / (G - 1) (n - 1) / (n - m) for G groups, n rows and m parameters, as in Stata
and statsmodels, and intervals use the quantiles of t with G - 1 degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectralmirror.mixture.fitting import Fit
from spectralmirror.mixture.group_scores import score_products
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.membership import Membership
from spectralmirror.mixture.newton import Information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.spread_units import SpreadUnits
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.whitening import Whitening

__all__ = ["StandardErrors", "covariance", "in_units", "standard_errors"]


@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Standard errors in the units of x; NaN if there are none.

    Attributes
    ----------
    coef : ndarray of shape (k, d)
        Of the profiles.
    intercept, weights : ndarray of shape (k,)
        Of the intercepts and the weights.
    coef_deviation, intercept_deviation : ndarray of shape (d,), float
        Of the standard deviations within a class; 0 without spread. For C > 2 labels, the shapes
        are (C, d) and (C,).
    covariance : ndarray or None
        Covariance of (u_1, b_1, ..., u_k, b_k, p_1, ..., p_k), of the free entries of B, and of
        what the weights depend on, as :func:`in_units` returns it.
    membership_coef, membership_intercept : ndarray of shape (k, q) and (k,)
        Of the coefficients and intercepts of the weights; 0 for the first class, the reference.
    degrees_of_freedom : float
        Of the t distribution that intervals use; infinite means normal.
    """

    coef: Matrix
    intercept: Vector
    weights: Vector
    coef_deviation: Matrix | Vector
    intercept_deviation: Vector | float
    covariance: Matrix | None
    degrees_of_freedom: float
    membership_coef: Matrix
    membership_intercept: Vector


def standard_errors(fit: Fit, whitening: Whitening, *, regular: bool) -> StandardErrors:
    """Return the standard errors of a fit; NaN if it is not `regular` or lacks an information."""
    grouped = fit.likelihood.rows
    k, d = len(fit.ascent.parameters), fit.likelihood.coordinates.back.shape[1]
    labels = fit.likelihood.labels
    shape = (k,) if labels is None else (k, labels.n_labels)
    size = int(np.prod(shape)) * (d + 1)
    robust = grouped.is_repeated or grouped.rows.has_fractions
    freedom = float(grouped.total_weight) - 1 if robust else np.inf
    if not regular or fit.information is None or freedom <= 0:
        nan = np.full((*shape, d + 1), np.nan)
        of_spread = SpreadUnits.errors(fit, whitening, None)
        of_weights = np.full((k, fit.ascent.parameters.n_fixed), np.nan)
        return StandardErrors(
            nan[..., :d], nan[..., d], np.full(k, np.nan), *of_spread, None, freedom,
            of_weights[:, :-1], of_weights[:, -1],
        )  # fmt: skip
    parameters, counts = fit.ascent.parameters, not grouped.rows.has_fractions
    theta = covariance(fit.likelihood, parameters, fit.information, robust=robust, counts=counts)
    joint = in_units(fit.likelihood, parameters, theta)
    of_profiles, weights, _ = np.split(_root_of_diagonal(joint), [size, size + k])
    errors = of_profiles.reshape(*shape, d + 1)
    of_weights = _root_of_diagonal(_of_membership(fit.likelihood, parameters, theta))
    of_weights = of_weights.reshape(k - 1, parameters.n_fixed)
    of_weights = np.pad(of_weights, ((1, 0), (0, 0)))  # the first class is the reference
    # the scores of entries of B vanish with them: the larger error of both covariances is right
    both = [SpreadUnits.errors(fit, whitening, C) for C in (theta, fit.information.inverse)]
    deviations = np.maximum(both[0][0], both[1][0])
    of_intercept = np.maximum(both[0][1], both[1][1])
    return StandardErrors(
        errors[..., :d], errors[..., d], weights, deviations,
        of_intercept if of_intercept.ndim else float(of_intercept), joint, freedom,
        of_weights[:, :-1], of_weights[:, -1],
    )  # fmt: skip


def covariance(
    likelihood: Likelihood,
    parameters: Parameters,
    found: Information,
    *,
    robust: bool,
    counts: bool = False,
) -> Matrix:
    """Return the covariance of theta-hat, less (g_l, a_l) of its last class, which are fixed.

    A group with an integer weight w stands for w groups; a non-integer weight makes a single group
    more important. The robust covariance needs at least two groups.
    """
    inverse = found.inverse
    if not robust:
        return inverse
    part = likelihood.on(found.rows)
    n = len(inverse)
    meat = score_products(part, parameters, counts=counts)[:n, :n] / found.share
    n_groups, n_rows = likelihood.rows.total_weight, likelihood.rows.row_weight
    correction = n_groups / (n_groups - 1) * (n_rows - 1) / max(n_rows - n, 1)
    return np.asarray(correction * (inverse @ meat @ inverse))


def in_units(likelihood: Likelihood, parameters: Parameters, theta: Matrix) -> Matrix:
    """Transform a covariance of theta to the units of x, by the delta method: J theta J'.

    Returns the covariance of (u_1, b_1, ..., u_k, b_k, p_1, ..., p_k). With a spread, the free
    entries b of B follow, per standard deviation of the features. If the weights depend on
    covariates, their coefficients and intercepts follow for each class but the first; p_l are
    then averages over the groups, whose covariates are taken for fixed. With labels of C > 2 kinds,
    u_l and b_l are those of all labels, (u_l1, b_l1, ..., u_lC, b_lC).
    """
    k, p = parameters.profiles.shape
    coordinates = likelihood.coordinates
    T = coordinates.matrix.copy()
    if coordinates.origin is not None:
        T[:, -1] -= T[:, :-1] @ coordinates.origin.astype(np.float64)
    if not coordinates.intercept:
        T[:, -1] = 0.0
    T = likelihood.of_labels(T)
    n_logits = (k - 1) * parameters.n_fixed
    of_logits = likelihood.mean_weights(parameters)[1][:, :n_logits]
    if parameters.n_fixed > 1:
        of_logits = np.vstack([of_logits, _derivative(likelihood, parameters)])

    def carried(columns: Matrix) -> Matrix:
        """Return J times columns that have a line for each entry of theta."""
        profiles, b, logits = np.split(columns, [k * p, k * p + len(parameters.spread)])
        of_profiles = np.einsum("pi,kpm->kim", T, profiles.reshape(k, p, -1), optimize=True)
        of_weights, of_membership = np.split(of_logits @ logits, [k])
        parts = [of_profiles.reshape(-1, columns.shape[1]), of_weights, b, of_membership]
        return np.vstack(parts)

    return carried(carried(theta).T)


def _of_membership(likelihood: Likelihood, parameters: Parameters, theta: Matrix) -> Matrix:
    """Return the covariance of coefficients and intercepts of the weights, but the first class."""
    J = _derivative(likelihood, parameters)
    first = len(theta) - len(J)
    return np.asarray(J @ theta[first:, first:] @ J.T)


def _derivative(likelihood: Likelihood, parameters: Parameters) -> Matrix:
    return (likelihood.membership or Membership.none()).derivative_in_units(len(parameters))


def _root_of_diagonal(matrix: Matrix) -> Vector:
    return np.asarray(np.sqrt(np.maximum(np.diagonal(matrix), 0)))

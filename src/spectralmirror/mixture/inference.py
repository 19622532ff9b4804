"""The last Newton steps, and what the curvature at the top says of the errors.

The covariance of theta-hat is I^-1, I the observed information (minus the second derivatives of L);
where rows come in groups, or have weights that are no counts, c I^-1 K I^-1 with
K = sum_G w_G^2 s_G s_G', s_G being the gradient of group G, which holds for rows that depend on
each other in any way within their group. At the maximum the s_G sum to about 0, which makes K too
small where groups are few: c = G / (G - 1) (n - 1) / (n - m), for G groups, n rows and m
parameters, as in Stata and statsmodels, and intervals take the quantiles of t with G - 1 degrees of
freedom.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from spectralmirror.mixture.curvature import curvature
from spectralmirror.mixture.lbfgs import FLATTEST_ROW, Ascent
from spectralmirror.mixture.likelihood import Likelihood, Parameters
from spectralmirror.rows.grouped import Block, GroupedRows
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.types import Matrix, Vector

__all__ = [
    "MOST_PARAMETERS",
    "Information",
    "covariance",
    "in_units",
    "information",
    "n_different_rows",
    "polish",
    "score_products",
]

#: Second derivatives are summed over at most so many rows, and at least so many a parameter.
MOST_ROWS, ROWS_A_PARAMETER = 150_000, 50
#: And over so many groups a component.
GROUPS_A_COMPONENT = 1_000
#: Above so many parameters they are not formed.
MOST_PARAMETERS = 3_000
#: Newton steps end when one promises to gain less than this, which is 1e-5 standard errors.
EXACT = 1e-11
#: With less than this left to gain, which is 1 % of a standard error, a climb has converged.
SETTLED = 1e-4
MOST_STEPS = 20
#: An information matrix of unit diagonal is singular where an eigenvalue is below the first, and
#: steps then go as if none were below the second.
SINGULAR, FLATTEST = 1e-10, 1e-6


@dataclass(frozen=True, eq=False)
class Information:
    """The observed information about theta, without its last logit, which is fixed.

    Attributes
    ----------
    inverse : ndarray
        I^-1; where I is not positive definite, that of the matrix with its absolute eigenvalues.
    proper : bool
        Whether I is positive definite, as it is at a maximum.
    escape : ndarray or None
        A direction along which L curves upwards, as at a saddle.
    rows : GroupedRows
        The rows that it was summed over.
    share : float
        Their share of the weight of all rows.
    """

    inverse: Matrix
    proper: bool
    escape: Vector | None
    rows: GroupedRows
    share: float


def information(likelihood: Likelihood, parameters: Parameters, seed: int) -> Information | None:
    """Return the observed information, None where it would be too large."""
    size = len(parameters.packed()) - 1
    if size > MOST_PARAMETERS:
        return None
    n_rows, n_groups = max(MOST_ROWS, ROWS_A_PARAMETER * size), GROUPS_A_COMPONENT * len(parameters)
    part = likelihood.on(likelihood.rows.sample(n_rows, n_groups, seed))
    share = part.rows.total_weight / likelihood.rows.total_weight
    matrix = -curvature(part, parameters).hessian(parameters, part.penalty)[:-1, :-1] / share
    # scaled to a unit diagonal, so that what counts as singular does not depend on units
    least = FLATTEST_ROW * likelihood.rows.total_weight
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(matrix)), least))
    scaled = matrix / scale / scale[:, None]
    try:
        cho_factor(scaled - SINGULAR * np.eye(size))
        inverse, proper, escape = cho_solve(cho_factor(scaled), np.eye(size)), True, None
    except LinAlgError:
        eigenvalues, vectors = eigh(scaled)
        inverse = vectors / np.maximum(np.abs(eigenvalues), FLATTEST) @ vectors.T
        proper, escape = False, vectors[:, 0] / scale if eigenvalues[0] < 0 else None
    return Information(inverse / scale / scale[:, None], proper, escape, part.rows, share)


def polish(likelihood: Likelihood, ascent: Ascent, seed: int) -> tuple[Ascent, Information | None]:
    """Make Newton steps until they gain nothing; return the information there.

    One information matrix serves for as long as every step promises far less than the one before.
    The climb counts as converged only if the steps end where nothing is left to gain.
    """
    if not ascent.converged:
        return ascent, None
    best, found = ascent, information(likelihood, ascent.parameters, seed)
    if found is None or found.share < 1:  # that of a sample is too rough for steps
        return best, found if found is not None and found.proper else None
    value, gradient = likelihood.evaluate(best.parameters)
    best = replace(best, value=value, n_passes=best.n_passes + 2)
    promised, fresh, gain = np.inf, True, np.inf
    for _ in range(MOST_STEPS):
        step = found.inverse @ gradient[:-1]
        gain = float(step @ gradient[:-1]) / 2
        if gain < EXACT:
            break
        trial = _uphill(likelihood, best, step) if fresh or gain < promised / 10 else None
        if trial is not None:
            (best, gradient), promised = trial, gain if found.proper else 0.0
            fresh = False
        elif fresh:
            break
        else:
            found, fresh = _required(information(likelihood, best.parameters, seed)), True
            best = replace(best, n_passes=best.n_passes + 1)
    if not fresh:
        found = _required(information(likelihood, best.parameters, seed))
    best = replace(best, converged=gain < SETTLED)
    if found.proper:
        return best, found
    return best if found.escape is None else _escaped(likelihood, best, found.escape), None


def n_different_rows(rows: GroupedRows, most: int) -> int:
    """Count rows that differ in their features, up to so many.

    Labels without groups only tell P(y | x) of every different x: as many numbers as there are
    such x cannot determine more parameters than that. Rows that are not in memory are not read
    once more for this, and taken to be different.
    """
    if not rows.in_memory:
        return most
    seen: set[bytes] = set()
    for block in rows.blocks():
        for first in range(0, len(block), most):
            X = block.X[first : first + most]
            X = X.toarray() if sparse.issparse(X) else X
            seen.update(row.tobytes() for row in X + 0.0)  # -0 is 0
            if len(seen) >= most:
                return most
    return len(seen)


def _escaped(likelihood: Likelihood, best: Ascent, direction: Vector) -> Ascent:
    """Leave a saddle: where a step to either side gains something, the climb has not converged."""
    for size in (1.0, -1.0, 10.0, -10.0):
        theta = best.parameters.packed()
        theta[:-1] += size * direction
        trial = Parameters.unpacked(theta, len(best.parameters))
        value = likelihood.evaluate(trial)[0]
        if value > best.value + SETTLED:
            return replace(best, parameters=trial, value=value, converged=False)
    return best


def _required(found: Information | None) -> Information:
    assert found is not None  # it depends on the number of parameters only
    return found


def _uphill(likelihood: Likelihood, best: Ascent, step: Vector) -> tuple[Ascent, Vector] | None:
    """Go along a Newton step, or a part of it; return the gradient there too, None if in vain."""
    noise = 10 * float(np.finfo(likelihood.rows.rows.dtype).eps) * abs(best.value)
    for size in (1.0, 0.5, 0.1, 0.01):
        theta = best.parameters.packed()
        theta[:-1] += size * step
        trial = Parameters.unpacked(theta, len(best.parameters))
        value, gradient = likelihood.evaluate(trial)
        best = replace(best, n_passes=best.n_passes + 1)
        if value >= best.value - noise:
            return replace(best, parameters=trial, value=value, n_iter=best.n_iter + 1), gradient
    return None


def covariance(
    likelihood: Likelihood,
    parameters: Parameters,
    found: Information,
    *,
    robust: bool,
    counts: bool = False,
) -> Matrix:
    """Return the covariance of theta-hat without its last logit.

    Weights that are counts stand for so many groups, and others for one that matters more. The
    robust one needs at least two groups.
    """
    inverse = found.inverse
    if not robust:
        return inverse
    part = likelihood.on(found.rows)
    meat = score_products(part, parameters, counts=counts)[:-1, :-1] / found.share
    n_groups, n_rows = likelihood.rows.total_weight, likelihood.rows.row_weight
    correction = n_groups / (n_groups - 1) * (n_rows - 1) / max(n_rows - len(inverse), 1)
    return np.asarray(correction * (inverse @ meat @ inverse))


def score_products(
    likelihood: Likelihood, parameters: Parameters, *, counts: bool = False
) -> Matrix:
    """Return K = sum_G w_G^2 s_G s_G' (w_G for counts), s_G the gradient of log P by theta."""
    k, M = len(parameters), likelihood.coordinates.of_rows
    sums = reduce(
        likelihood.rows,
        partial(_score_products, likelihood=likelihood, parameters=parameters, counts=counts),
    )
    whole = np.zeros((k * len(M) + k, len(sums)))
    for c in range(k):
        whole[c * len(M) : (c + 1) * len(M), c * M.shape[1] : (c + 1) * M.shape[1]] = M
    whole[-k:, -k:] = np.eye(k)
    return np.asarray(whole @ sums @ whole.T)


def _score_products(
    block: Block, likelihood: Likelihood, parameters: Parameters, counts: bool
) -> Matrix:
    posterior = likelihood.posterior(block, parameters)
    r, (w, shares) = posterior.responsibilities, block.shares
    g = block.of_rows(r) * posterior.slopes * block.y
    g = g if shares is None else g * shares
    Z = block.with_ones(likelihood.coordinates.shift).astype(np.float64)
    parts = [Z * row[:, None] for row in g]
    if block.starts is not None:
        parts = [np.add.reduceat(part, block.starts, axis=0) for part in parts]
    scores = np.column_stack([*parts, (r - parameters.weights[:, None]).T])
    if w is not None:
        scores *= np.sqrt(w)[:, None] if counts else w[:, None]
    return np.asarray(scores.T @ scores)


def in_units(
    likelihood: Likelihood, parameters: Parameters, theta: Matrix
) -> tuple[Matrix, Matrix]:
    """Carry a covariance of theta over to profiles and intercepts in the units of x, and weights.

    Returns the covariance of (u_1, b_1, ..., u_k, b_k), and that of the weights.
    """
    k, p = parameters.profiles.shape
    coordinates = likelihood.coordinates
    T = coordinates.matrix.copy()
    if coordinates.origin is not None:
        T[:, -1] -= T[:, :-1] @ coordinates.origin.astype(np.float64)
    if not coordinates.intercept:
        T[:, -1] = 0.0
    blocks = theta[: k * p, : k * p].reshape(k, p, k, p)
    carried = np.einsum("pi,kplq,qj->kilj", T, blocks, T, optimize=True)
    d = T.shape[1]
    weights = parameters.weights
    J = (np.diag(weights) - np.outer(weights, weights))[:, : k - 1]
    return carried.reshape(k * d, k * d), J @ theta[k * p :, k * p :] @ J.T

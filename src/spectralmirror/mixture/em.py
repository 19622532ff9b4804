"""Expectation-maximisation, as the paper uses it: slow, but no step decreases the likelihood.

E: r_lG = P(component l | labels of G) at the old theta.
M: p_l = (sum_G r_lG + c) / (G + k c), with c of the prior of the weights, and each v_l maximises
sum_G r_lG sum_i log f(y_i t_il) - l2/2 v' P v: a weighted regression, solved by Newton's method.
Each pass over the rows serves all components, and recomputes r from the old theta instead of
storing it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from spectralmirror.mixture.group_scores import quadratic
from spectralmirror.mixture.lbfgs import Ascent
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import Sums, reduce
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["em", "em_step"]

#: The regressions of an M step end when the predicted gain of a Newton step is below this.
EXACT = 1e-8
MOST_NEWTON_STEPS = 50


@dataclass(frozen=True, eq=False)
class Expectation(Sums):
    """Sums over groups for an M step.

    Attributes
    ----------
    value : float
        The log-likelihood at the old theta.
    mass : ndarray of shape (k,)
        sum_G r_l.
    values : ndarray of shape (k,)
        sum_G r_l sum_i log f at the new profiles.
    gradients : ndarray of shape (k, d + 1)
        Gradients of `values`, with respect to [x - o, 1].
    hessians : ndarray of shape (k, d + 1, d + 1)
        Minus the second derivatives of `values`.
    """

    value: float
    mass: Vector
    values: Vector
    gradients: Matrix
    hessians: AnyArray

    def updated(self, other: Expectation, better: NDArray[np.bool_]) -> Expectation:
        """Take the sums of the components that improved from `other`."""
        return replace(
            self,
            values=np.where(better, other.values, self.values),
            gradients=np.where(better[:, None], other.gradients, self.gradients),
            hessians=np.where(better[:, None, None], other.hessians, self.hessians),
        )


def em(
    likelihood: Likelihood,
    start: Parameters,
    *,
    tol: float,
    max_iter: int,
    inverse: Matrix | None = None,
    max_passes: int | None = None,
    beat: float = -np.inf,
) -> Ascent:
    """Repeat :func:`em_step` until one gains less than `tol`.

    The signature is that of :func:`climb`; EM has no use for `inverse` and `beat`.
    """
    parameters, value, n_passes = start, -np.inf, 0
    for n_iter in range(max_iter):
        following, reached, passes = em_step(likelihood, parameters)
        n_passes += passes
        if reached - value < tol:
            return Ascent(parameters, reached, n_iter, n_passes, converged=True)
        parameters, value = following, reached
        if n_passes >= (max_passes or np.inf):
            break
    return Ascent(parameters, likelihood.evaluate(parameters)[0], n_iter + 1, n_passes + 1, False)


def em_step(likelihood: Likelihood, old: Parameters) -> tuple[Parameters, float, int]:
    """Return the next theta, L at the old one, and the number of passes over the rows."""
    profiles = old.profiles
    sums = _expect(likelihood, old, profiles)
    penalty = likelihood.penalty
    value = sums.value + likelihood.log_prior(old)
    mass = sums.mass + likelihood.concentration
    weights = np.maximum(mass / mass.sum(), 1e-300)
    n_passes, size = 1, np.ones(len(old))
    for _ in range(MOST_NEWTON_STEPS):
        steps, gains = _newton_steps(sums, profiles, likelihood)
        if (gains * size).max() < EXACT:
            break
        trial = profiles + size[:, None] * steps
        found = _expect(likelihood, old, trial)
        n_passes += 1
        # each component is a separate regression: those that got worse try half the step
        better = _expected(found, trial, penalty) >= _expected(sums, profiles, penalty)
        profiles, sums = np.where(better[:, None], trial, profiles), sums.updated(found, better)
        size = np.where(better, 1.0, size / 2)
    return Parameters(profiles, np.log(weights)), value, n_passes


def _expected(sums: Expectation, profiles: Matrix, penalty: Matrix) -> Vector:
    """Return what an M step maximises, for each component."""
    return np.asarray(sums.values - 0.5 * (profiles * (profiles @ penalty)).sum(axis=1))


def _newton_steps(
    sums: Expectation, profiles: Matrix, likelihood: Likelihood
) -> tuple[Matrix, Vector]:
    """Return the Newton step of each component, and its predicted gain."""
    M, penalty = likelihood.coordinates.of_rows, likelihood.penalty
    gradients = sums.gradients @ M.T - profiles @ penalty
    steps = np.empty_like(profiles)
    for c, hessian in enumerate(M @ sums.hessians @ M.T):
        full = hessian + penalty
        shift = 1e-12 * max(float(np.trace(full)), 1e-300)
        try:
            steps[c] = cho_solve(cho_factor(full + shift * np.eye(len(full))), gradients[c])
        except LinAlgError:  # the component has no rows left
            steps[c] = 0.0
    return steps, (steps * gradients).sum(axis=1) / 2


def _expect(likelihood: Likelihood, old: Parameters, profiles: Matrix) -> Expectation:
    return reduce(
        likelihood.rows, partial(_expectation, likelihood=likelihood, old=old, profiles=profiles)
    )


def _expectation(
    block: Block, likelihood: Likelihood, old: Parameters, profiles: Matrix
) -> Expectation:
    posterior, response = likelihood.posterior(block, old), likelihood.response
    w, shares = block.shares
    r, found = posterior.responsibilities, posterior.log_likelihood
    r = r if w is None else r * w
    rows = block.of_rows(r) if shares is None else block.of_rows(r) * shares
    t = likelihood.scores(block.X, profiles) * block.y
    log_f, slopes = response.log_f(t), response.slope(t)
    Z = block.with_ones(likelihood.coordinates.shift)
    information = -rows * response.curvature(t, slopes)
    return Expectation(
        float(found.sum() if w is None else found @ w),
        r.sum(axis=1),
        (rows * log_f).sum(axis=1),
        ((rows * slopes * block.y).astype(Z.dtype) @ Z).astype(np.float64),
        np.array([quadratic(Z, q) for q in information]),
    )

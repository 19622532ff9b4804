"""The observed information, and the Newton steps that end a climb."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from spectralmirror.mixture.constraints import null_space
from spectralmirror.mixture.curvature import curvature
from spectralmirror.mixture.lbfgs import FLATTEST_ROW, Ascent
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.tied_curvature import tied_hessian
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["MOST_PARAMETERS", "Information", "NewtonState", "Top", "information", "polish"]

#: Second derivatives are summed over a sample of about this many rows, in total or per parameter,
#: whichever is more.
LEAST_ROWS, ROWS_PER_PARAMETER = 150_000, 50
#: And of this many groups per component.
GROUPS_PER_COMPONENT = 1_000
#: The information of more parameters than this is not computed.
MOST_PARAMETERS = 3_000
#: Newton steps end when the predicted gain is below this, which is 1e-6 standard errors.
EXACT = 1e-13
#: With a spread they end at 0.4 % of a standard error, as nodes matter more; they are not tried
#: where the gain is larger than FAR: around b = 0 the likelihood is not concave.
NEARLY_EXACT, FAR = 1e-5, 1e-2
#: A climb has converged if the predicted gain is below this, which is 1 % of a standard error.
SETTLED = 1e-4
MOST_STEPS = 20
#: An information matrix, scaled to unit diagonal, is singular if an eigenvalue is below the first
#: bound; its eigenvalues are then raised to the second one.
SINGULAR, FLATTEST = 1e-10, 1e-6


@dataclass(frozen=True, eq=False)
class Information:
    """The observed information I about theta, without (g_l, a_l) of its last class: it is fixed.

    Attributes
    ----------
    matrix : ndarray
        I.
    inverse : ndarray
        I^-1; if I is not positive definite, the inverse of |I|, which has its absolute eigenvalues.
    proper : bool
        Whether I is positive definite, as it is at a proper maximum.
    escape : ndarray or None
        A direction along which L curves upwards, as it does at a saddle.
    rows : GroupedRows
        The rows over which I was summed.
    share : float
        Their share of the weight of all rows.
    basis : ndarray or None
        Q, whose orthonormal columns span the directions that the constraints leave free; the
        inverse is then that of Q' I Q, as Q (Q' I Q)^-1 Q'. None without constraints.
    """

    matrix: Matrix
    inverse: Matrix
    proper: bool
    escape: Vector | None
    rows: GroupedRows
    share: float
    basis: Matrix | None = None

    def free(self, matrix: Matrix) -> Matrix:
        """Return Q' M Q."""
        return matrix if self.basis is None else np.asarray(self.basis.T @ matrix @ self.basis)

    def whole(self, columns: Matrix) -> Matrix:
        """Return Q times columns."""
        return columns if self.basis is None else np.asarray(self.basis @ columns)


@dataclass(frozen=True, eq=False)
class Top:
    """Where Newton steps ended, and the information there; None if it is not positive definite."""

    ascent: Ascent
    information: Information | None


@dataclass(frozen=True, eq=False)
class NewtonState:
    """The state between two Newton steps.

    Attributes
    ----------
    ascent : Ascent
        theta and L.
    gradient : ndarray
        Of L at theta.
    information : Information
        At theta, or at an earlier theta.
    fresh : bool
        Whether the information is that at theta.
    promised : float
        The predicted gain of the last step; 0 if its information was not positive definite.
    """

    ascent: Ascent
    gradient: Vector
    information: Information
    fresh: bool = True
    promised: float = np.inf

    @cached_property
    def step(self) -> Vector:
        """The Newton step."""
        return np.asarray(self.information.inverse @ self._free_gradient)

    @cached_property
    def gain(self) -> float:
        """The gain in L that a quadratic model predicts for the step."""
        return float(self.step @ self._free_gradient) / 2

    @property
    def _free_gradient(self) -> Vector:
        return self.gradient[: -self.ascent.parameters.n_fixed]

    @property
    def may_step(self) -> bool:
        """Whether the information is fresh, or steps still shrink fast without a fresh one."""
        return self.fresh or self.gain < self.promised / 10

    def moved(self, size: float) -> Parameters:
        """Return theta after this share of the step."""
        return _moved(self.ascent, size * self.step)


def information(likelihood: Likelihood, parameters: Parameters, seed: int) -> Information | None:
    """Return the observed information; None for wide rows, or more than `MOST_PARAMETERS`."""
    size = len(parameters.packed()) - parameters.n_fixed
    if size > MOST_PARAMETERS or likelihood.coordinates.is_scaled:
        return None
    n_rows = max(LEAST_ROWS, ROWS_PER_PARAMETER * size)
    n_groups = GROUPS_PER_COMPONENT * len(parameters)
    part = likelihood.on(likelihood.rows.sample(n_rows, n_groups, seed))
    share = part.rows.total_weight / likelihood.rows.total_weight
    matrix = _minus_hessian(likelihood, part, parameters, share)[:size, :size]
    least = FLATTEST_ROW * likelihood.rows.total_weight
    equations = likelihood.equations(parameters)
    if not len(equations):
        return Information(matrix, *_inverted(matrix, least), part.rows, share)
    Q = null_space(equations, size)
    inverse, proper, escape = _inverted(Q.T @ matrix @ Q, least)
    escape = None if escape is None else Q @ escape
    return Information(matrix, Q @ inverse @ Q.T, proper, escape, part.rows, share, Q)


def _inverted(matrix: Matrix, least: float) -> tuple[Matrix, bool, Vector | None]:
    """Return the inverse of I or |I|, whether I is positive definite, and an escape if it is not.

    I is scaled to unit diagonal, so that what counts as singular does not depend on units.
    """
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(matrix)), least))
    scaled, eye = matrix / scale / scale[:, None], np.eye(len(matrix))
    try:
        cho_factor(scaled - SINGULAR * eye)
        inverse, proper, escape = cho_solve(cho_factor(scaled), eye), True, None
    except LinAlgError:
        eigenvalues, vectors = eigh(scaled)
        inverse = vectors / np.maximum(np.abs(eigenvalues), FLATTEST) @ vectors.T
        proper, escape = False, vectors[:, 0] / scale if eigenvalues[0] < 0 else None
    return inverse / scale / scale[:, None], proper, escape


def _minus_hessian(
    likelihood: Likelihood, part: Likelihood, parameters: Parameters, share: float
) -> Matrix:
    """Return minus the second derivatives of L, from a part that has this share of the rows."""
    tied = likelihood.spread is not None
    of_rows = tied_hessian(part, parameters) if tied else curvature(part, parameters).hessian()
    return np.asarray(likelihood.curvature_of_prior(parameters) - of_rows / share)


def polish(likelihood: Likelihood, ascent: Ascent, seed: int) -> Top:
    """Take Newton steps until they gain nothing more.

    An information matrix is reused as long as each predicted gain is far below the one before.
    The climb has converged only if the last predicted gain is small; at a saddle it leaves along
    the direction that curves upwards.
    """
    if not ascent.converged:
        return Top(ascent, None)
    found = information(likelihood, ascent.parameters, seed)
    if found is None or found.share < 1:  # the information of a sample is too rough for steps
        return Top(ascent, found if found is not None and found.proper else None)
    value, gradient = likelihood.evaluate(ascent.parameters)
    ascent = replace(ascent, value=value, n_passes=ascent.n_passes + 2)
    state, gain = NewtonState(ascent, gradient, found), np.inf
    tied = likelihood.spread is not None
    for _ in range(MOST_STEPS):
        gain = state.gain
        ends = tied and not NEARLY_EXACT <= gain < FAR
        following = None if gain < EXACT or ends else _next_state(likelihood, state, seed)
        if following is None:
            break
        state = following
    best = replace(state.ascent, converged=gain < SETTLED)
    last = state.information
    if not state.fresh:
        last = _information(likelihood, best.parameters, seed)
    if last.proper:
        return Top(best, last)
    return Top(best if last.escape is None else _escaped(likelihood, best, last.escape), None)


def _next_state(likelihood: Likelihood, state: NewtonState, seed: int) -> NewtonState | None:
    """Take a step, or else compute a fresh information; None if neither helps."""
    following = _uphill(likelihood, state) if state.may_step else None
    if following is not None or state.fresh:
        return following
    ascent = replace(state.ascent, n_passes=state.ascent.n_passes + 1)
    found = _information(likelihood, ascent.parameters, seed)
    return NewtonState(ascent, state.gradient, found, True, state.promised)


def _uphill(likelihood: Likelihood, state: NewtonState) -> NewtonState | None:
    """Take a Newton step, or the largest part of it that does not decrease L; None if all do."""
    best = state.ascent
    noise = 10 * float(np.finfo(likelihood.rows.rows.dtype).eps) * abs(best.value)
    for n_tried, size in enumerate((1.0, 0.5, 0.1, 0.01), start=1):
        trial = state.moved(size)
        if likelihood.constraints is not None:
            trial = likelihood.admitted(trial)
        value, gradient = likelihood.evaluate(trial)
        if value >= best.value - noise:
            n_iter, n_passes = best.n_iter + 1, best.n_passes + n_tried
            ascent = Ascent(trial, value, n_iter, n_passes, best.converged)
            promised = state.gain if state.information.proper else 0.0
            return NewtonState(ascent, gradient, state.information, False, promised)
    return None


def _escaped(likelihood: Likelihood, best: Ascent, direction: Vector) -> Ascent:
    """Leave a saddle: if a step to either side increases L, the climb has not converged."""
    for size in (1.0, -1.0, 10.0, -10.0):
        trial = likelihood.admitted(_moved(best, size * direction))
        value = likelihood.evaluate(trial)[0]
        if value > best.value + SETTLED:
            return replace(best, parameters=trial, value=value, converged=False)
    return best


def _moved(ascent: Ascent, step: Vector) -> Parameters:
    """Return theta after a step; what is fixed stays."""
    theta = ascent.parameters.packed()
    theta[: len(step)] += step
    return ascent.parameters.at(theta)


def _information(likelihood: Likelihood, parameters: Parameters, seed: int) -> Information:
    found = information(likelihood, parameters, seed)
    assert found is not None  # there are as many parameters as before
    return found

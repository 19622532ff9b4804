"""Uphill from a start, in coordinates in which the likelihood is nearly round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import OptimizeResult, minimize

from spectralmirror.mixture.curvature import coupling
from spectralmirror.mixture.likelihood import Likelihood, Parameters
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["FLATTEST_ROW", "Ascent", "Climber", "climb"]

#: Pairs of steps and gradients that L-BFGS remembers.
MEMORY = 20
#: Curvatures below this share of the largest are taken for it, and below this one a row: where
#: labels are far out on either side nothing curves any more, and steps must not become infinite.
FLATTEST, FLATTEST_ROW = 1e-4, 1e-12


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where a climb ended.

    Attributes
    ----------
    parameters : Parameters
        theta.
    value : float
        L(theta).
    n_iter, n_passes : int
        Steps, and passes over the rows.
    converged : bool
        Whether it ended because a step no longer gained anything.
    """

    parameters: Parameters
    value: float
    n_iter: int
    n_passes: int
    converged: bool


#: climb(likelihood, start, tol=, max_iter=, inverse=None, max_passes=None)
Climber = Callable[..., Ascent]


def climb(
    likelihood: Likelihood,
    start: Parameters,
    *,
    tol: float,
    max_iter: int,
    inverse: Matrix | None = None,
    max_passes: int | None = None,
) -> Ascent:
    """Maximise L by L-BFGS, until a step gains less than `tol`, or rows were read too often.

    theta = theta_0 + R phi, so that the Hessian with respect to phi is close to the identity: with
    R R' = J^-1 (x) I for the profiles (:func:`coupling`) and 1 / n p_l for the logits, or the
    inverse information of all of theta but the last logit, where that is given.
    """
    k, theta = len(start), start.packed()
    scaled = None if inverse is None else _by_inverse(inverse)
    size = 1.0
    first = likelihood.evaluate(start)
    if scaled is None:
        scaled = _by_coupling(likelihood, start)
    else:  # the first step of SciPy has length 1: let that be the length of a Newton step
        size = max(float(np.linalg.norm(scaled(first[1], True))), 1.0)

    def objective(phi: Vector) -> tuple[float, Vector]:
        value, gradient = first
        if phi.any():
            parameters = Parameters.unpacked(theta + scaled(size * phi, False), k)
            value, gradient = likelihood.evaluate(parameters)
        return -value, -size * scaled(gradient, True)

    values: list[float] = []

    def stop(intermediate_result: OptimizeResult) -> None:
        values.append(intermediate_result.fun)
        if len(values) > 1 and values[-2] - values[-1] < tol:
            raise StopIteration

    found = minimize(
        objective,
        np.zeros_like(theta),
        jac=True,
        method="L-BFGS-B",
        callback=stop,  # the tolerance of SciPy is relative to the value
        options={
            "maxiter": max_iter,
            "maxfun": max_passes or 3 * max_iter,
            "ftol": 0.0,
            "gtol": 0.0,
            "maxcor": MEMORY,
        },
    )
    if found.nit == 0 and -found.fun < first[0]:  # not even one step led uphill
        if inverse is not None:
            return climb(likelihood, start, tol=tol, max_iter=max_iter, max_passes=max_passes)
        return Ascent(start, first[0], 0, found.nfev + 1, converged=True)
    parameters = Parameters.unpacked(theta + scaled(size * found.x, False), k)
    # status 2 is a line search that can gain no more in double precision
    return Ascent(parameters, -float(found.fun), found.nit, found.nfev + 1, found.status != 1)


#: phi -> R phi, or gradient -> R' gradient where the flag is set.
Scaling = Callable[[Vector, bool], Vector]


def _by_coupling(likelihood: Likelihood, start: Parameters) -> Scaling:
    n = likelihood.rows.total_weight
    k, root = len(start), _inverse_root(coupling(likelihood, start), FLATTEST_ROW * n)
    logits = 1 / np.sqrt(np.maximum(n * start.weights, 1))

    def scaled(vector: Vector, transposed: bool) -> Vector:
        profiles = (root.T if transposed else root) @ vector[:-k].reshape(k, -1)
        return np.concatenate([profiles.ravel(), logits * vector[-k:]])

    return scaled


def _by_inverse(inverse: Matrix) -> Scaling | None:
    """Return None where rounding has left the inverse without a root."""
    try:
        root = np.linalg.cholesky(inverse)
    except np.linalg.LinAlgError:
        return None

    def scaled(vector: Vector, transposed: bool) -> Vector:
        return np.append((root.T if transposed else root) @ vector[:-1], 0.0)

    return scaled


def _inverse_root(J: Matrix, least: float) -> Matrix:
    """R with R R' = |J|^-1, where |J| has the absolute eigenvalues of J, or the least one."""
    eigenvalues, vectors = eigh(J)
    size = np.abs(eigenvalues)
    return np.asarray(vectors / np.sqrt(np.maximum(size, max(FLATTEST * size.max(), least))))

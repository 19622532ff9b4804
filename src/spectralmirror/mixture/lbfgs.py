"""L-BFGS, preconditioned so that the Hessian of the likelihood is close to the identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import block_diag, eigh
from scipy.optimize import OptimizeResult, minimize

from spectralmirror.mixture.constraints import Constraints, orthonormal, without
from spectralmirror.mixture.curvature import coupling
from spectralmirror.mixture.group_scores import score_products
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.preconditioner import Preconditioner
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["FLATTEST_ROW", "Ascent", "Climber", "climb"]

#: Number of past steps that L-BFGS keeps.
MEMORY = 20
#: A climb has converged when this many steps together gain less than its tolerance: on a long ridge
#: single steps may gain little.
STEPS = 2
#: A climb that must beat a value gives up when even PATIENCE times the gain of its last RECENT
#: steps would not lead there.
RECENT, PATIENCE = 5, 6.0
#: Limit on the changes of the set of coefficients that are fixed at 0 because of their sign.
MOST_CHANGES = 30
#: A Newton step is not made longer if it is shorter than this, in standard errors; with a spread,
#: for which the inverse may be that of outer products of scores, if it is shorter than 1.
SHORTEST = 1e-6
#: Lower bounds of curvatures, relative to the largest one and absolute per row: far in the tails
#: log f has no curvature left, and steps must stay finite.
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
        Numbers of steps and of passes over the rows.
    converged : bool
        Whether it ended because its steps gained less than the tolerance.
    """

    parameters: Parameters
    value: float
    n_iter: int
    n_passes: int
    converged: bool


#: climb(likelihood, start, tol=, max_iter=, inverse=None, max_passes=None, beat=-inf)
Climber = Callable[..., Ascent]


def climb(
    likelihood: Likelihood,
    start: Parameters,
    *,
    tol: float,
    max_iter: int,
    inverse: Matrix | None = None,
    max_passes: int | None = None,
    beat: float = -np.inf,
) -> Ascent:
    """Maximise L by L-BFGS, until its steps gain less than `tol` or a limit is reached.

    It gives up, without having converged, when it is unlikely to reach a value of `beat`. Under
    constraints it climbs in the null space of their equations.
    """
    within = partial(
        _climb, likelihood, tol=tol, max_iter=max_iter, inverse=inverse, max_passes=max_passes,
        beat=beat,
    )  # fmt: skip
    start, constraints = likelihood.admitted(start), likelihood.constraints
    if constraints is not None and constraints.has_signs:
        return _climb_with_signs(likelihood, constraints, start, within)
    return within(start, equations=likelihood.equations(start))


def _climb_with_signs(
    likelihood: Likelihood, constraints: Constraints, start: Parameters, within: Climber
) -> Ascent:
    """Climb; fix coefficients that come to the wrong side of 0; release those that lead uphill."""
    slopes = _slopes(likelihood, start)
    active = constraints.at_zero(start.profiles) & constraints.pushed_out(slopes)
    for _ in range(MOST_CHANGES):
        ascent = within(start, equations=constraints.equations(len(start), active))
        start = ascent.parameters
        violated = constraints.violated(start.profiles)
        if violated.any():
            active, start = active | violated, likelihood.admitted(start)
            continue
        released = constraints.released(start.profiles, _slopes(likelihood, start), active)
        if not released.any():
            return ascent
        active = active & ~released
    return replace(ascent, parameters=start, value=likelihood.evaluate(start)[0], converged=False)


def _slopes(likelihood: Likelihood, parameters: Parameters) -> Matrix:
    """Return the gradient of the profiles, shape (k, p)."""
    return parameters.at(likelihood.evaluate(parameters)[1]).profiles


def _climb(
    likelihood: Likelihood,
    start: Parameters,
    *,
    tol: float,
    max_iter: int,
    inverse: Matrix | None,
    max_passes: int | None,
    beat: float,
    equations: Matrix,
) -> Ascent:
    """Climb in the null space of the equations.

    Works on phi, theta = theta_0 + R phi, with R chosen so that the Hessian with respect to phi is
    close to the identity. If `inverse` is given, the inverse information of theta without the
    (g_l, a_l) of its last class, R R' is this matrix. Otherwise R R' is J^-1 (x) I for the profiles
    (:func:`coupling`) and diag(1 / (n p_l)) for (g_l, a_l).
    """
    theta = start.packed()
    tied, bound = likelihood.spread is not None, len(equations) > 0
    given = inverse is not None
    if tied and not given:
        inverse = _outer_inverse(likelihood, start)
    scaled = None if inverse is None else _by_inverse(inverse, tied=tied or bound)
    size, newton = 1.0, scaled is not None
    first = likelihood.evaluate(start)
    if scaled is None:
        scaled = _by_coupling(likelihood, start)
    if bound:
        scaled = _within(scaled, orthonormal(equations))
    length = float(np.linalg.norm(scaled(first[1], True)))
    if newton:  # SciPy's first step has length 1: rescale so that it is a full Newton step
        size = max(length, 1.0 if tied else SHORTEST)

    def objective(phi: Vector) -> tuple[float, Vector]:
        value, gradient = first
        if phi.any():
            parameters = start.at(theta + scaled(size * phi, False))
            value, gradient = likelihood.evaluate(parameters)
        return -value, -size * scaled(gradient, True)

    values = [first[0]]
    hopeless = False

    def stop(intermediate_result: OptimizeResult) -> None:
        nonlocal hopeless
        values.append(-intermediate_result.fun)
        recent = values[-1] - values[-RECENT - 1] if len(values) > RECENT else np.inf
        hopeless = values[-1] + PATIENCE * recent < beat
        if hopeless or (len(values) > STEPS and values[-1] - values[-STEPS - 1] < tol):
            raise StopIteration

    found = minimize(
        objective,
        np.zeros_like(theta),
        jac=True,
        method="L-BFGS-B",
        callback=stop,  # SciPy's own tolerance is relative to the value
        options={
            "maxiter": max_iter,
            "maxfun": max_passes or 3 * max_iter,
            "ftol": 0.0,
            "gtol": 0.0,
            "maxcor": MEMORY,
        },
    )
    stuck = -found.fun <= first[0] and length**2 / 2 > tol  # it promised this gain
    if given and (found.nit == 0 or stuck):  # no step led uphill
        return _climb(
            likelihood, start, tol=tol, max_iter=max_iter, inverse=None, max_passes=max_passes,
            beat=-np.inf, equations=equations,
        )  # fmt: skip
    if found.nit == 0 and -found.fun < first[0]:
        return Ascent(start, first[0], 0, found.nfev + 1, converged=True)
    parameters = start.at(theta + scaled(size * found.x, False))
    # status 1 is a limit; status 2 a line search that can gain no more in double precision
    converged = found.status != 1 and not hopeless
    return Ascent(parameters, -float(found.fun), found.nit, found.nfev + 1, converged)


#: phi -> R phi, or gradient -> R' gradient if the flag is set.
Scaling = Callable[[Vector, bool], Vector]


def _by_coupling(likelihood: Likelihood, start: Parameters) -> Scaling:
    if likelihood.coordinates.principal is not None:
        return _by_directions(likelihood, start)
    n = likelihood.rows.total_weight
    root = _inverse_root(coupling(likelihood, start), FLATTEST_ROW * n)
    of_weights = np.repeat(1 / np.sqrt(np.maximum(n * start.weights, 1)), start.n_fixed)
    end = start.profiles.size

    def scaled(vector: Vector, transposed: bool) -> Vector:
        profiles = (root.T if transposed else root) @ vector[:end].reshape(len(root), -1)
        return np.concatenate([profiles.ravel(), of_weights * vector[end:]])

    return scaled


def _by_directions(likelihood: Likelihood, start: Parameters) -> Scaling:
    """Scale by a preconditioner whose features have a few principal directions."""
    found = Preconditioner.of(likelihood, start)

    def scaled(vector: Vector, transposed: bool) -> Vector:
        return np.asarray(found.times(vector[None], transposed=transposed)[0])

    return scaled


def _within(scaled: Scaling, W: Matrix) -> Scaling:
    """Return a scaling whose steps stay in the null space of the orthonormal lines of W."""

    def inside(vector: Vector, transposed: bool) -> Vector:
        if transposed:
            return scaled(without(W, vector), True)
        return without(W, scaled(vector, False))

    return inside


def _by_inverse(inverse: Matrix, *, tied: bool = False) -> Scaling | None:
    """Return None if rounding has left the inverse without a Cholesky factor.

    Tied components have no other scaling: theirs is a root of its positive part.
    """
    try:
        root = np.linalg.cholesky(inverse)
    except np.linalg.LinAlgError:
        if not tied:
            return None
        eigenvalues, vectors = eigh(inverse)
        least = FLATTEST * max(float(eigenvalues[-1]), FLATTEST_ROW)
        root = vectors * np.sqrt(np.maximum(eigenvalues, least))

    def scaled(vector: Vector, transposed: bool) -> Vector:
        found = np.zeros(len(vector))
        found[: len(root)] = (root.T if transposed else root) @ vector[: len(root)]
        return found

    return scaled


def _outer_inverse(likelihood: Likelihood, start: Parameters) -> Matrix:
    """Return the inverse of the outer products of scores plus penalties, without what is fixed.

    It stands in for the inverse information far from a maximum, where that may be indefinite.
    """
    assert likelihood.spread is not None
    n_fixed = start.n_fixed
    products = score_products(likelihood, start, counts=True)[:-n_fixed, :-n_fixed]
    penalty = likelihood.for_contrasts(likelihood.shrinkage(start)[0] * likelihood.penalty)
    n_weights = (len(start) - 1) * n_fixed
    blocks = [*[penalty] * len(start), np.diag(likelihood.spread.penalty)]
    products += block_diag(*blocks, np.zeros((n_weights, n_weights)))
    size = np.sqrt(np.maximum(np.diagonal(products), FLATTEST_ROW * likelihood.rows.total_weight))
    eigenvalues, vectors = eigh(products / size / size[:, None])
    inverse = vectors / np.maximum(eigenvalues, FLATTEST) @ vectors.T
    return np.asarray(inverse / size / size[:, None])


def _inverse_root(J: Matrix, least: float) -> Matrix:
    """Return R with R R' = |J|^-1; |J| has the absolute eigenvalues of J, bounded from below."""
    eigenvalues, vectors = eigh(J)
    size = np.abs(eigenvalues)
    return np.asarray(vectors / np.sqrt(np.maximum(size, max(FLATTEST * size.max(), least))))

"""The evidence for a mixture, and the penalty that the data ask for (empirical Bayes).

The penalty is a prior: profiles are N(0, (l2 P)^-1), intercepts N(0, 9), and weights have a
Dirichlet prior with concentration c, under which the log ratios of weights have the covariance
psi'(c) (I + 1 1'). Log ratios change by N(0, 4 (I + 1 1')) per standard deviation of a covariate.
With the precision Lambda of this prior, the observed information H = -L'' and the eigenvalues mu of
H relative to Lambda, Laplace's approximation of the evidence is

    log P(labels) = L(theta) - 1/2 sum_j log mu_j + log N + log B,

where B = Gamma(k c) / (Gamma(c) k^c)^k sqrt(k) (2 pi psi'(c))^((k - 1)/2) normalises the prior of
the weights. A posterior is never wider than its prior: mu_j is at least 1. Any order of the
components is as good, so that there are N = k! such maxima, but fewer if components are alike:
N = k! / prod_{l < m} (1 + exp(-D_lm^2 / 8)), where D_lm is the distance of theta from itself with l
and m exchanged, in posterior standard deviations (for two normal distributions, exp(-D^2 / 8) is
Bhattacharyya's coefficient of their overlap).

The evidence is largest where l2 = gamma / sum_l |u_l|^2 (MacKay 1992). gamma = k d - l2 tr(P C),
with C = H^-1, is the number of coefficients that the labels determine rather than the prior. If
persons of one class differ (:mod:`spread`), |u_l|^2 / c^2 takes the place of |u_l|^2, and the
entries of B have penalties of their own, chosen in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag, eigh, solve_triangular
from scipy.optimize import brentq
from scipy.special import gammaln, polygamma

from spectralmirror.mixture.lbfgs import Ascent, Climber
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.newton import Information, information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.problem import MEMBERSHIP_L2
from spectralmirror.mixture.spread import FIRST_L2
from spectralmirror.mixture.starts import FINE
from spectralmirror.rows.types import Matrix, Vector

__all__ = [
    "CLEARLY",
    "CONCENTRATION",
    "Laplace",
    "choose_l2",
    "initial_l2",
    "laplace",
    "next_penalties",
]

#: A difference of log evidence counts from here on: odds of 20 to 1, "strong" evidence (Kass and
#: Raftery 1995).
CLEARLY = 3.0
#: Concentration c of the prior of the weights.
CONCENTRATION = 5.0
#: Prior standard deviation of intercepts, of the score at the mean of the features.
INTERCEPT_SPREAD = 3.0
#: Norm of the profiles that the first penalty expects, per standard deviation of the features.
EXPECTED_NORM = 3.0
#: The penalty stays within these bounds.
LEAST_L2, MOST_L2 = 0.01, 1e4
#: The choice of the penalty ends when its logarithm changes by less than this; once it changes by
#: less than NEAR, climbs end at EXACT. One round changes it by a factor of LARGEST_STEP at most.
SETTLED, NEAR, EXACT = 1e-4, 0.1, 1e-7
#: The same for a rough choice.
ROUGHLY, ROUGHLY_FINE = 0.1, 0.05
MOST_ROUNDS, LARGEST_STEP = 25, 8.0
#: A step is at most this many times as long as MacKay's.
LONGEST = 5.0
#: A step that solves a quadratic model is taken if it is at most this many times as long.
TRUSTED = 1.5
#: At least this much is determined by the labels, so that the penalty stays finite.
LEAST_DETERMINED = 0.1


@dataclass(frozen=True, eq=False)
class Laplace:
    """The posterior of theta, less what is fixed, as a normal distribution around the maximum.

    Attributes
    ----------
    root : ndarray of shape (m, m) or None
        R with R R' = C, the covariance; None if it is not known.
    log_evidence : float
        Log of the probability of the labels under the prior.
    n_determined : float
        gamma.
    """

    root: Matrix | None
    log_evidence: float
    n_determined: float


def initial_l2(likelihood: Likelihood) -> float:
    """Return the penalty under which profiles have the expected norm.

    Wide rows have coordinates of unequal variances: scores then vary as much as expected.
    """
    if likelihood.coordinates.principal is not None:
        return float(likelihood.coordinates.principal.total / EXPECTED_NORM**2)
    return float(likelihood.coordinates.back.shape[0] / EXPECTED_NORM**2)


def laplace(likelihood: Likelihood, ascent: Ascent, found: Information) -> Laplace:
    """Return Laplace's approximation of the posterior around a maximum.

    A likelihood without a prior of the weights is corrected for it by one Newton step.
    """
    parameters, k = ascent.parameters, len(ascent.parameters)
    missing = CONCENTRATION - likelihood.concentration
    p, each = parameters.weights, parameters.n_fixed
    m = len(parameters.packed()) - k * each + each - 1  # the first logit
    H, slope = found.matrix.copy(), np.zeros(len(found.matrix))
    H[m::each, m::each] += missing * k * (np.diag(p) - np.outer(p, p))[:-1, :-1]
    slope[m::each] = missing * (1 - k * p)[:-1]
    prior = found.free(prior_precision(likelihood, parameters))
    mu, vectors = eigh(found.free(H), prior)
    mu = np.maximum(mu, 1.0)
    root = found.whole(_triangular(vectors / np.sqrt(mu)))
    value = ascent.value + missing * float(parameters.log_weights.sum() + k * np.log(k))
    value += 0.5 * float(np.square(root.T @ slope).sum())
    of_weights = log_normaliser(k)
    if not likelihood.has_known:  # classes with numbers of their own cannot be exchanged
        whitening = found.whole((np.sqrt(mu)[:, None] * (vectors.T @ prior)).T).T
        of_weights += gammaln(k + 1) - _overlap(parameters, whitening)
    log_evidence = value - 0.5 * float(np.log(mu).sum()) + float(of_weights)
    log_evidence += _of_spread(likelihood, parameters, root)
    return Laplace(root, log_evidence, _n_determined(likelihood, parameters, found, root))


def _triangular(root: Matrix) -> Matrix:
    """Return the lower triangular L with L L' = R R' and a positive diagonal.

    It is unique, so that draws of parameters do not depend on the signs of eigenvectors, which are
    a matter of rounding.
    """
    L = np.asarray(np.linalg.qr(root.T, mode="r")).T
    return np.asarray(L * np.where(np.diagonal(L) < 0, -1.0, 1.0))


def log_normaliser(k: int) -> float:
    """Return log B, which normalises the prior of the weights of k classes."""
    c = CONCENTRATION
    found = gammaln(k * c) - k * gammaln(c) - k * c * np.log(k) + 0.5 * np.log(k)
    return float(found + (k - 1) / 2 * np.log(2 * np.pi * polygamma(1, c)))


def _overlap(parameters: Parameters, whitening: Matrix) -> float:
    """Return sum_{l < m} log(1 + exp(-D_lm^2 / 8))."""
    found, k = 0.0, len(parameters)
    theta = _without_last(parameters)
    for m in range(1, k):
        for c in range(m):
            order = np.arange(k)
            order[[c, m]] = m, c
            step = whitening @ (theta - _without_last(parameters[order]))
            found += float(np.log1p(np.exp(-(step @ step) / 8)))
    return found


def _of_spread(likelihood: Likelihood, parameters: Parameters, root: Matrix) -> float:
    """Return what B adds to the log evidence.

    There is a maximum for each combination of signs, fewer where these overlap, and the prior
    with its factor |b| must be normalised.
    """
    if likelihood.spread is None:
        return 0.0
    first = parameters.profiles.size
    errors = np.linalg.norm(root[first : first + len(parameters.spread)], axis=1)
    D = (2 * parameters.spread / errors)[likelihood.spread.is_deviation]
    n_signs = float(np.log(2 / (1 + np.exp(-(D**2) / 8))).sum())
    if likelihood.spread.kind == "factor":
        n_signs += float(np.log(2))  # c and -c
    return n_signs - likelihood.spread.log_mean_norm


def _without_last(parameters: Parameters) -> Vector:
    """Return theta with (g_l, a_l) relative to those of the last class, which are left out."""
    of_weights = parameters.of_weights[:-1] - parameters.of_weights[-1]
    return np.concatenate([parameters.profiles.ravel(), parameters.spread, of_weights.ravel()])


def prior_precision(likelihood: Likelihood, parameters: Parameters) -> Matrix:
    """Return Lambda."""
    k, of_profile = len(parameters), likelihood.penalty.copy()
    if likelihood.coordinates.intercept:
        of_profile[-1, -1] = INTERCEPT_SPREAD**-2
    of_profile = likelihood.for_contrasts(of_profile * likelihood.shrinkage(parameters)[0])
    each = np.full(parameters.n_fixed, MEMBERSHIP_L2 * CONCENTRATION)
    each[-1] = 1 / polygamma(1, CONCENTRATION)
    of_weights = np.kron(np.eye(k - 1) - 1 / k, np.diag(each))
    of_spread = np.diag([] if likelihood.spread is None else likelihood.spread.penalty)
    return np.asarray(block_diag(*[of_profile] * k, of_spread, of_weights))


def _n_determined(
    likelihood: Likelihood, parameters: Parameters, found: Information, root: Matrix
) -> float:
    """Return gamma = k d - l2 sum_l tr(P C_ll), less the number of equations of constraints."""
    share = likelihood.shrinkage(parameters)[0]
    penalty = share * likelihood.l2 * likelihood.coordinates.precision
    k, d = len(parameters) * likelihood.n_contrasts, likelihood.coordinates.back.shape[0]
    parts = root[: k * len(penalty)].reshape(k, len(penalty), -1)
    n_equations = len(found.matrix) - len(found.free(found.matrix))
    return k * int(d) - n_equations - float(sum((penalty @ part * part).sum() for part in parts))


def choose_l2(
    likelihood: Likelihood,
    start: Parameters,
    climber: Climber,
    seed: int,
    *,
    rough: bool = False,
) -> tuple[Likelihood, Ascent]:
    """Return the likelihood with the penalty of the largest evidence, and its maximum.

    Each step solves for the penalty as if L was quadratic, so that second derivatives are needed
    about three times. If there is a spread, its penalties are chosen, too, by MacKay's steps,
    lengthened by secants. A rough choice is within a few per cent.

    The penalty stays as it is if there are too many parameters for second derivatives. It is
    rounded, so that it does not depend on rounding errors of the sums over rows.
    """
    least = ROUGHLY_FINE if rough else FINE
    ascent, tol, earlier = climber(likelihood, start, tol=least), least, None
    for _ in range(MOST_ROUNDS):
        found = information(likelihood, ascent.parameters, seed)
        if found is None:
            return likelihood, ascent
        posterior = laplace(likelihood, ascent, found)
        likelihood, change, earlier = next_penalties(
            likelihood, ascent, posterior, earlier, rough=rough, found=found
        )
        tol = EXACT if change < NEAR and not rough else least
        ascent = _followed(climber, likelihood, ascent, found, tol)
        if change < (ROUGHLY if rough else SETTLED):
            break
    assert found is not None
    if rough:
        return likelihood, ascent
    likelihood = likelihood.with_l2(float(f"{likelihood.l2:.3g}"))
    return likelihood, _followed(climber, likelihood, ascent, found, tol)


def _followed(
    climber: Climber, likelihood: Likelihood, ascent: Ascent, found: Information, tol: float
) -> Ascent:
    """Follow the maximum to another penalty, unless a Newton step would gain next to nothing."""
    value, gradient = likelihood.evaluate(ascent.parameters)
    free = gradient[: len(found.inverse)]
    if found.proper and float(free @ found.inverse @ free) / 2 < tol / 10:
        return replace(ascent, value=value, n_passes=ascent.n_passes + 1)
    return climber(likelihood, ascent.parameters, tol=tol, inverse=found.inverse)


def next_penalties(
    likelihood: Likelihood,
    ascent: Ascent,
    posterior: Laplace,
    earlier: tuple[float, float] | None,
    *,
    rough: bool,
    found: Information | None = None,
) -> tuple[Likelihood, float, tuple[float, float]]:
    """Return the likelihood with penalties of more evidence, and how far their logarithms change.

    The last result is to be passed as `earlier` the next time. The step is longer, and more exact,
    if the information is passed.
    """
    now = np.log(likelihood.l2), _log_ratio(likelihood, ascent, posterior)
    step = None if found is None else _fixed_point(likelihood, ascent, found, now[1])
    step = secant(now, earlier) if step is None else step
    l2 = float(np.clip(np.exp(now[0] + step), LEAST_L2, MOST_L2))
    l2 = float(f"{l2:.3g}") if rough else l2
    change = float(abs(np.log(l2 / likelihood.l2)))
    if likelihood.spread is not None:
        spread = likelihood.spread.with_penalty(_spread_l2(likelihood, ascent, posterior))
        change = max(change, *np.abs(np.log(spread.penalty / likelihood.spread.penalty)))
        likelihood = replace(likelihood, spread=spread)
    return likelihood.with_l2(l2), change, now


def _spread_l2(likelihood: Likelihood, ascent: Ascent, posterior: Laplace) -> Vector:
    """Return the penalties of B by MacKay's step, one for deviations and one for ties.

    The weak penalty `FIRST_L2` counts as much as one entry, and it is the least: nearly separable
    labels would let the entries run away.
    """
    spread, b = likelihood.spread, ascent.parameters.spread
    assert spread is not None
    first = ascent.parameters.profiles.size
    assert posterior.root is not None
    variances = np.square(posterior.root[first : first + len(b)]).sum(axis=1)
    determined = np.clip(1 - spread.penalty * variances, 0, 1)
    found = np.empty(len(b))
    for here in (spread.is_deviation, ~spread.is_deviation):
        found[here] = (determined[here].sum() + 1) / (np.square(b[here]).sum() + 1 / FIRST_L2)
    return np.maximum(found, FIRST_L2)


def _log_ratio(likelihood: Likelihood, ascent: Ascent, posterior: Laplace) -> float:
    """Return log(gamma / sum_l |u_l|^2) - log l2, which is 0 at the penalty to choose."""
    V, share = ascent.parameters.profiles, likelihood.shrinkage(ascent.parameters)[0]
    weighted = likelihood.weighted(V, likelihood.coordinates.precision)
    size = max(share * float((V * weighted).sum()), 1e-300)
    gamma = max(posterior.n_determined, LEAST_DETERMINED)
    return float(np.log(gamma / size / likelihood.l2))


def _fixed_point(
    likelihood: Likelihood, ascent: Ascent, found: Information, log_ratio: float
) -> float | None:
    """Return the step of log l2 to gamma / sum_l |u_l|^2 = l2, if L was quadratic around theta.

    With H = C C' and C^-1 P C^-T = U diag(s) U', the maximum under l2 + delta is
    C^-T U diag(1 / (1 + delta s)) U' C' theta. None with a spread or constraints, and if the
    information is not positive definite, or some direction is wider than its prior.
    """
    if likelihood.spread is not None or likelihood.constraints is not None or not found.proper:
        return None
    parameters, l2 = ascent.parameters, likelihood.l2
    k, size = len(parameters) * likelihood.n_contrasts, len(found.matrix)
    blocks = [likelihood.coordinates.precision] * k
    P = np.zeros((size, size))
    P[: parameters.profiles.size, : parameters.profiles.size] = block_diag(*blocks)
    C = np.linalg.cholesky(found.matrix)
    half = solve_triangular(C, P, lower=True)
    s, U = eigh(solve_triangular(C, half.T, lower=True))
    s, c = np.maximum(s, 0), U.T @ (C.T @ parameters.packed()[:size])
    n_coefficients = k * int(likelihood.coordinates.back.shape[0])

    def excess(step: float) -> float:
        chosen = l2 * np.exp(step)
        shrunk = np.maximum(1 + (chosen - l2) * s, 1e-12)
        gamma = max(n_coefficients - chosen * float((s / shrunk).sum()), LEAST_DETERMINED)
        return float(np.log(gamma / max(float(s @ np.square(c / shrunk)), 1e-300) / chosen))

    longest = np.log(LARGEST_STEP)
    if abs(excess(0.0) - log_ratio) > SETTLED / 100 or excess(-longest) <= 0 <= excess(longest):
        return None
    if excess(-longest) * excess(longest) >= 0:
        return None
    step = float(brentq(excess, -longest, longest))
    return step if abs(step) < TRUSTED * abs(log_ratio) else None  # L is not nearly quadratic


def secant(now: tuple[float, float], earlier: tuple[float, float] | None) -> float:
    """Return a step towards the root of a falling function, from two of its points (x, value).

    The value itself is MacKay's step, which is safe but short; the secant lengthens it.
    """
    x, value = now
    step = value
    if earlier is not None and x != earlier[0]:
        slope = (value - earlier[1]) / (x - earlier[0])
        step = -value / slope if slope < 0 else LONGEST * value
    longest = min(LONGEST * abs(value), np.log(LARGEST_STEP))
    return float(np.clip(step, -longest, longest))

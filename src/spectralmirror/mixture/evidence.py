"""The evidence for a mixture, and the penalty that the data ask for (empirical Bayes).

The penalty is a prior: profiles are N(0, (l2 P)^-1), intercepts N(0, 9), and weights have a
Dirichlet prior with concentration c, under which the log ratios of weights have the covariance
psi'(c) (I + 1 1'). With its precision Lambda, the observed information H = -L'' and the eigenvalues
mu of H relative to Lambda, Laplace's approximation of the evidence is

    log P(labels) = L(theta) - 1/2 sum_j log mu_j + log k! + log B,

where B = Gamma(k c) / (Gamma(c) k^c)^k sqrt(k) (2 pi psi'(c))^((k - 1)/2) normalises the prior of
the weights, and k! counts the orders of the components. A posterior is never wider than its prior:
mu_j is at least 1.

The evidence is largest where l2 = gamma / sum_l |u_l|^2 (MacKay 1992). gamma = k d - l2 tr(P C),
with C = H^-1, is the number of coefficients that the labels determine rather than the prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, eigh
from scipy.special import gammaln, polygamma

from spectralmirror.mixture.lbfgs import Ascent, Climber
from spectralmirror.mixture.likelihood import Likelihood, Parameters
from spectralmirror.mixture.newton import Information, information
from spectralmirror.mixture.starts import FINE
from spectralmirror.rows.types import Matrix

__all__ = ["CONCENTRATION", "Laplace", "choose_l2", "initial_l2", "laplace"]

#: Concentration c of the prior of the weights.
CONCENTRATION = 5.0
#: Prior standard deviation of intercepts, of the score at the mean of the features.
INTERCEPT_SPREAD = 3.0
#: Norm of the profiles that the first penalty expects, per standard deviation of the features.
EXPECTED_NORM = 3.0
#: The penalty stays within these bounds.
LEAST_L2, MOST_L2 = 0.01, 1e4
#: The choice of the penalty ends when it is expected to change by less than this factor.
SETTLED = 0.01
MOST_ROUNDS = 25
#: Changes are extrapolated if each is less than this times the one before.
LEAST_SHRINKING = 0.9


@dataclass(frozen=True, eq=False)
class Laplace:
    """The posterior of theta, without its last logit, as a normal distribution around the maximum.

    Attributes
    ----------
    root : ndarray of shape (m, m)
        R with R R' = C, the covariance.
    log_evidence : float
        Log of the probability of the labels under the prior.
    n_determined : float
        gamma.
    """

    root: Matrix
    log_evidence: float
    n_determined: float


def initial_l2(likelihood: Likelihood) -> float:
    """Return the penalty under which profiles have the expected norm."""
    return len(likelihood.coordinates.back) / EXPECTED_NORM**2


def laplace(likelihood: Likelihood, ascent: Ascent, found: Information) -> Laplace:
    """Return Laplace's approximation of the posterior around a maximum.

    A likelihood without a prior of the weights is corrected for it by one Newton step.
    """
    parameters, k = ascent.parameters, len(ascent.parameters)
    c, missing = CONCENTRATION, CONCENTRATION - likelihood.concentration
    p = parameters.weights
    m = parameters.profiles.size
    H, slope = found.matrix.copy(), np.zeros(len(found.matrix))
    H[m:, m:] += missing * k * (np.diag(p) - np.outer(p, p))[:-1, :-1]
    slope[m:] = missing * (1 - k * p)[:-1]
    mu, vectors = eigh(H, prior_precision(likelihood, k))
    mu = np.maximum(mu, 1.0)
    root = vectors / np.sqrt(mu)
    value = ascent.value + missing * float(parameters.log_weights.sum() + k * np.log(k))
    value += 0.5 * float(np.square(root.T @ slope).sum())
    of_weights = gammaln(k * c) - k * gammaln(c) - k * c * np.log(k) + 0.5 * np.log(k)
    of_weights += (k - 1) / 2 * np.log(2 * np.pi * polygamma(1, c))
    log_evidence = value - 0.5 * float(np.log(mu).sum()) + float(gammaln(k + 1) + of_weights)
    return Laplace(root, log_evidence, _n_determined(likelihood, root, k))


def prior_precision(likelihood: Likelihood, k: int) -> Matrix:
    """Return Lambda."""
    of_profile = likelihood.penalty.copy()
    if likelihood.coordinates.intercept:
        of_profile[-1, -1] = INTERCEPT_SPREAD**-2
    of_weights = (np.eye(k - 1) - 1 / k) / polygamma(1, CONCENTRATION)
    return np.asarray(block_diag(*[of_profile] * k, of_weights))


def _n_determined(likelihood: Likelihood, root: Matrix, k: int) -> float:
    """Return gamma = k d - l2 sum_l tr(P C_ll)."""
    penalty, d = likelihood.penalty, len(likelihood.coordinates.back)
    parts = root[: k * len(penalty)].reshape(k, len(penalty), -1)
    return k * d - float(sum((penalty @ part * part).sum() for part in parts))


def choose_l2(
    likelihood: Likelihood, start: Parameters, climber: Climber, seed: int
) -> tuple[Likelihood, Ascent]:
    """Return the likelihood with the penalty of the largest evidence, and its maximum.

    MacKay's fixed point, repeated and extrapolated (Aitken) from a start near the maximum. The
    penalty stays as it is if there are too many parameters for second derivatives.
    """
    ascent = climber(likelihood, start, tol=FINE)
    earlier = 0.0
    for _ in range(MOST_ROUNDS):
        found = information(likelihood, ascent.parameters, seed)
        if found is None:
            break
        change = float(np.log(_fixed_point(likelihood, ascent, found) / likelihood.l2))
        # changes shrink by about the same factor each time: go where they lead
        shrinks = change / earlier if earlier else 0.0
        step = change / (1 - shrinks) if 0 < shrinks < LEAST_SHRINKING else change
        l2 = float(np.clip(likelihood.l2 * np.exp(step), LEAST_L2, MOST_L2))
        settled = abs(step) < (SETTLED if earlier else SETTLED / 10) or l2 == likelihood.l2
        earlier = change if step == change else 0.0
        likelihood = likelihood.with_l2(l2)
        ascent = climber(likelihood, ascent.parameters, tol=FINE, inverse=found.inverse)
        if settled:
            break
    return likelihood, ascent


def _fixed_point(likelihood: Likelihood, ascent: Ascent, found: Information) -> float:
    """Return gamma / sum_l |u_l|^2."""
    V = ascent.parameters.profiles
    size = float((V * (V @ likelihood.coordinates.precision)).sum())
    gamma = max(laplace(likelihood, ascent, found).n_determined, 0.1)
    return float(np.clip(gamma / max(size, 1e-12), LEAST_L2, MOST_L2))

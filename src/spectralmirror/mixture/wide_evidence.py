"""The evidence and the penalty of wide fits, from products instead of matrices.

With the observed information H = -L'' and R R' = M^-1 close to H^-1 (:mod:`preconditioner`),
K = R' H R is close to the identity, so that a few steps of Lanczos, and few random signs z, give

    log det H = tr log K + log det M,
    gamma = k d - l2 tr P H^-1,  z' H^-1 z = (R' z)' K^-1 (R' z)

(:class:`Quadrature`). The evidence is that of :mod:`evidence`, with all eigenvalues of H as they
are. If classes l and m are exchanged, D_lm^2 = (theta - theta')' H (theta - theta').
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln, polygamma

from spectralmirror.mixture.evidence import (
    CONCENTRATION,
    INTERCEPT_SPREAD,
    LEAST_DETERMINED,
    LEAST_L2,
    Laplace,
    log_normaliser,
    secant,
)
from spectralmirror.mixture.lbfgs import Ascent, Climber
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.operators import hessian_products
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.preconditioner import Preconditioner
from spectralmirror.mixture.quadrature import Quadrature
from spectralmirror.mixture.starts import FINE, ROUGH
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["choose_l2_by_products", "laplace_by_products"]

#: Random vectors for gamma and for log det H, and steps of Lanczos from each.
FEW_VECTORS, MANY_VECTORS, N_STEPS = 8, 16, 8
#: Eigenvalues of K are at least this.
LEAST = 1e-2
#: The choice of the penalty ends when it changes by less than this factor, between two climbs and
#: between two estimates of gamma.
SETTLED, SAME_GAMMA = 0.03, 0.25
MOST_ROUNDS, MOST_CLIMBS = 4, 8
#: The largest penalty: rare columns of sparse rows need more than `MOST_L2`.
MOST_WIDE_L2 = 1e7


@dataclass(frozen=True, eq=False)
class Curved:
    """Products with H, and with K = R' H R, at theta.

    Attributes
    ----------
    likelihood : Likelihood
        L.
    parameters : Parameters
        theta. What the dependence of weights on covariates adds is taken for known.
    """

    likelihood: Likelihood
    parameters: Parameters

    @cached_property
    def root(self) -> Preconditioner:
        """R."""
        return Preconditioner.of(self.likelihood, self.parameters)

    @property
    def n_features(self) -> int:
        """The number d of features."""
        return int(self.likelihood.coordinates.back.shape[0])

    @property
    def n_profiles(self) -> int:
        """The number of coordinates of profiles, with their intercepts."""
        return int(self.parameters.profiles.size)

    @property
    def size(self) -> int:
        """The number of coordinates: profiles, and the logits of all classes but the last."""
        return self.n_profiles + len(self.parameters) - 1

    @cached_property
    def penalised(self) -> Vector:
        """1 for the coordinates of profiles, 0 for intercepts and logits."""
        diagonal = self.likelihood.coordinates.precision.diagonal()
        of_profiles = np.tile(diagonal, len(self.parameters))
        return np.append(of_profiles, np.zeros(self.size - self.n_profiles))

    def hessian(self, lines: Matrix) -> Matrix:
        """Return H x for each line x."""
        likelihood, p, k = self.likelihood, self.n_profiles, len(self.parameters)
        products = hessian_products(likelihood, self.parameters)
        found = products(np.pad(lines, ((0, 0), (0, 1))))[:, :-1]
        found[:, :p] += np.tile(likelihood.penalty.diagonal(), k) * lines[:, :p]
        weights = self.parameters.weights
        of_prior = k * likelihood.concentration * (np.diag(weights) - np.outer(weights, weights))
        found[:, p:] += lines[:, p:] @ of_prior[:-1, :-1]
        return found

    def rooted(self, lines: Matrix, *, transposed: bool = False) -> Matrix:
        """Return R x, or R' x, for each line x, with the logit of the last class fixed."""
        n_weights = len(self.root.of_weights) - (self.size - self.n_profiles)
        padded = np.pad(lines, ((0, 0), (0, n_weights)))
        return self.root.times(padded, transposed=transposed)[:, : self.size]

    def products(self, lines: Matrix) -> Matrix:
        """Return K x for each line x."""
        return self.rooted(self.hessian(self.rooted(lines)), transposed=True)

    def signs(self, n_vectors: int, seed: int) -> Matrix:
        """Return lines of random signs."""
        rng = np.random.RandomState(seed)
        return np.asarray(rng.choice([-1.0, 1.0], size=(n_vectors, self.size)))

    def log_det(self, seed: int) -> float:
        """Return log det H."""
        spectrum = Quadrature.of(self.products, self.signs(MANY_VECTORS, seed), N_STEPS)
        found = float(spectrum.traces(lambda nodes: np.log(np.maximum(nodes, LEAST))).mean())
        n_logits = self.size - self.n_profiles
        found -= 2 * float(np.log(self.root.of_weights[:n_logits]).sum())
        return found + self.root.log_det(self.n_features)

    def n_determined(self, seed: int) -> float:
        """Return gamma."""
        starts = self.rooted(self.signs(FEW_VECTORS, seed) * self.penalised, transposed=True)
        spectrum = Quadrature.of(self.products, starts, N_STEPS)
        trace = float(spectrum.traces(lambda nodes: 1 / np.maximum(nodes, LEAST)).mean())
        return len(self.parameters) * self.n_features - self.likelihood.l2 * trace


def laplace_by_products(likelihood: Likelihood, ascent: Ascent, seed: int) -> Laplace:
    """Return Laplace's approximation of the evidence around a maximum, without a covariance."""
    H, k = Curved(likelihood, ascent.parameters), len(ascent.parameters)
    of_prior = k * H.n_features * np.log(likelihood.l2)
    if likelihood.coordinates.intercept:
        of_prior -= 2 * k * np.log(INTERCEPT_SPREAD)
    # det (I - 1 1' / k) without the last class is 1 / k
    of_prior -= (k - 1) * np.log(polygamma(1, CONCENTRATION)) + np.log(k)
    log_det = H.log_det(seed) - float(of_prior)
    missing = CONCENTRATION - likelihood.concentration
    value = ascent.value + missing * float(ascent.parameters.log_weights.sum() + k * np.log(k))
    value += log_normaliser(k) - 0.5 * log_det
    if not likelihood.has_known:
        value += float(gammaln(k + 1)) - _overlap(H)
    return Laplace(None, value, np.nan)


def _overlap(H: Curved) -> float:
    """Return sum_{l < m} log(1 + exp(-D_lm^2 / 8))."""
    k, steps = len(H.parameters), []
    theta = _free(H.parameters)
    for m in range(1, k):
        for c in range(m):
            order = np.arange(k)
            order[[c, m]] = m, c
            steps.append(theta - _free(H.parameters[order]))
    if not steps:
        return 0.0
    lines = np.array(steps)
    D = np.maximum((lines * H.hessian(lines)).sum(axis=1), 0)
    return float(np.log1p(np.exp(-D / 8)).sum())


def _free(parameters: Parameters) -> Vector:
    """Return profiles, and logits relative to that of the last class."""
    logits = parameters.logits[:-1] - parameters.logits[-1]
    return np.concatenate([parameters.profiles.ravel(), logits])


def choose_l2_by_products(
    likelihood: Likelihood, start: Parameters, climber: Climber, seed: int
) -> tuple[Likelihood, Ascent]:
    """Return the likelihood with the penalty of the largest evidence, and its maximum.

    The penalty is rounded to two digits: the random signs do not determine more.
    """
    ascent = climber(likelihood, start, tol=ROUGH)
    for _ in range(MOST_ROUNDS):
        first, here = likelihood.l2, Curved(likelihood, ascent.parameters)
        likelihood, ascent = _settled(likelihood, ascent, climber, here, here.n_determined(seed))
        if abs(np.log(likelihood.l2 / first)) < SAME_GAMMA:
            break
    likelihood = likelihood.with_l2(float(f"{likelihood.l2:.2g}"))
    return likelihood, climber(likelihood, ascent.parameters, tol=FINE)


def _settled(
    likelihood: Likelihood, ascent: Ascent, climber: Climber, here: Curved, gamma: float
) -> tuple[Likelihood, Ascent]:
    """Return the penalty that equals gamma / sum_l |u_l|^2.

    gamma is only estimated at one penalty; at others it is taken to change as it would if M were
    exact.
    """
    gamma, earlier = max(gamma, LEAST_DETERMINED), None
    gamma /= here.root.determined(likelihood.l2, here.n_features)
    for _ in range(MOST_CLIMBS):
        l2, V = likelihood.l2, ascent.parameters.profiles
        size = max(float((V * (V @ likelihood.coordinates.precision)).sum()), 1e-300)
        expected = gamma * here.root.determined(l2, here.n_features)
        now = float(np.log(l2)), float(np.log(expected / size / l2))
        new = float(np.clip(np.exp(now[0] + secant(now, earlier)), LEAST_L2, MOST_WIDE_L2))
        earlier, likelihood = now, likelihood.with_l2(new)
        ascent = climber(likelihood, ascent.parameters, tol=ROUGH)
        if abs(np.log(new / l2)) < SETTLED:
            break
    return likelihood, ascent

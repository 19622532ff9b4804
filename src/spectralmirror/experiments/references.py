"""References to compare estimates with: an oracle, and the information bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from spectralmirror.datasets import MixtureTruth
from spectralmirror.metrics import subspace_error
from spectralmirror.mixture import LinearClassifierMixture
from spectralmirror.rows.types import Matrix, Vector

__all__ = [
    "SHARP",
    "efficient_sine",
    "inverse_information",
    "maximum_likelihood",
    "population_mirror",
    "span_error",
]

#: Norm at which logistic profiles start that are fitted to hard labels.
SHARP = 10.0


def maximum_likelihood(X: Matrix, y: Any, truth: MixtureTruth) -> LinearClassifierMixture:
    """Maximise the likelihood, starting from the truth; hard labels are fitted as logistic ones."""
    profiles = truth.profiles
    if not truth.response.norm_identified:
        profiles = SHARP * profiles / np.linalg.norm(profiles, axis=1, keepdims=True)
    mixture = LinearClassifierMixture(
        len(profiles), fit_intercept=False, subspace=None, init=profiles, max_iter=3000
    )
    mixture.fit(X, y)
    return mixture


def span_error(profiles: Matrix, truth: MixtureTruth) -> float:
    """Return sin d_P between the spans, or 1 if a component is missing."""
    if len(profiles) < len(truth.profiles):
        return 1.0
    return subspace_error(profiles, truth.profiles)


def inverse_information(profiles: Matrix, weights: Any) -> Matrix:
    """Return the inverse of I_B = E[grad h grad h' / (1 - h^2)], the information about a plane.

    h(u) = sum_l p_l (2 f(<u_l, u>) - 1) for logistic f, two profiles and x ~ N(0, I), by
    Gauss-Hermite quadrature in the plane. E |sin Theta|_F^2 is at least tr(I_B^-1) (d - k)/n.
    """
    nodes, mass = np.polynomial.hermite_e.hermegauss(200)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    mass = np.outer(mass, mass).ravel() / (2 * np.pi)
    plane = np.linalg.qr(profiles.T)[0]
    t, weights = grid @ (profiles @ plane).T, np.asarray(weights)
    gradient = (2 * expit(t) * expit(-t) * weights) @ (profiles @ plane)
    variance = 4 * (expit(t) @ weights) * (expit(-t) @ weights)  # 1 - h^2, accurate in the tails
    information = (gradient * (mass / variance)[:, None]).T @ gradient
    return np.asarray(np.linalg.inv(information))


def efficient_sine(n: int, truth: MixtureTruth) -> float:
    """Return the asymptotic root mean square of sin d_P for an efficient estimate of a plane.

    Errors across the plane are distributed as d - k independent rows of N(0, I_B^-1/n), so the
    expected square of their largest singular value is at least (d - k)/n times the largest
    eigenvalue of I_B^-1, and close to it if d is much larger than k. A sine is at most 1.
    """
    k, d = truth.profiles.shape
    inverse = inverse_information(truth.profiles, truth.weights)
    return float(min(1.0, np.sqrt((d - k) / n * np.linalg.eigvalsh(inverse)[-1])))


def population_mirror(truth: MixtureTruth) -> Vector:
    """Return the direction of r for hard labels and x ~ N(0, I): sum_l p_l u_l / |u_l|."""
    lengths = np.linalg.norm(truth.profiles, axis=1)
    return np.asarray((truth.weights / lengths) @ truth.profiles)

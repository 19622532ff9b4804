"""Data as in section 5 of the paper, and variants of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectralmirror.datasets import MixtureTruth, make_linear_classifier_mixture
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["at_angle", "regression_mixture", "section5"]

#: Norm of profiles for logistic labels; that of u ~ N(0, I) would grow with d.
LOGISTIC_NORM = 5.0
#: Standard deviation of the noise of the linear regressions.
REGRESSION_NOISE = 0.2


def section5(
    n: int, d: int, seed: int, labels: str = "hard"
) -> tuple[Matrix, NDArray[np.int64], MixtureTruth]:
    """Draw data as in section 5: k = 2, u_l ~ N(0, I), p uniform on the simplex, x ~ N(0, I).

    Labels are y = sign<u_l, x>. The weights depend on the seed alone, so that curves for different
    n and d share their mixtures. With ``labels="logistic"``, profiles have norm 5 and labels are
    drawn from the logistic response.
    """
    return make_linear_classifier_mixture(
        n,
        d,
        response=labels,
        profile_norm=None if labels == "hard" else LOGISTIC_NORM,
        weights=np.random.default_rng(seed).dirichlet(np.ones(2)),
        random_state=seed,
    )


def at_angle(degrees: float, norm: float, d: int) -> Matrix:
    """Return two profiles of equal norm at an angle, in the plane of the first two features."""
    angle, profiles = np.radians(degrees), np.zeros((2, d))
    profiles[:, :2] = norm * np.array([[1, 0], [np.cos(angle), np.sin(angle)]])
    return profiles


def regression_mixture(d: int, n: int, seed: int) -> tuple[Matrix, Vector, Matrix]:
    """Draw x ~ N(0, I) and y = <u_l, x> + noise for two profiles; return X, y and the profiles."""
    rng = np.random.default_rng(seed)
    profiles, X = rng.standard_normal((2, d)), rng.standard_normal((n, d))
    scores = (X @ profiles.T)[np.arange(n), rng.integers(2, size=n)]
    return X, scores + REGRESSION_NOISE * rng.standard_normal(n), profiles

"""Working coordinates."""

import numpy as np

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.subspace.whitening import Whitening


def test_profiles_go_there_and_back():
    rng = np.random.default_rng(0)
    covariance = np.cov(rng.standard_normal((4, 50)))
    whitening = Whitening.of(np.array([1e6, 0.0, -3.0, 2.0]), covariance, np.dtype(float))
    for intercept in (True, False):
        coordinates = Coordinates.whitened(whitening, whitening.mean, intercept=intercept)
        coef, b = rng.standard_normal((2, 4)), intercept * rng.standard_normal(2)
        there = coordinates.from_units(coef, b)
        np.testing.assert_allclose(coordinates.in_units(there)[0], coef, rtol=1e-10)
        np.testing.assert_allclose(coordinates.in_units(there)[1], b, atol=1e-8)
        basis = rng.standard_normal((2, 4))
        inside = coordinates.inside(basis)
        lifted = inside.lift(rng.standard_normal((3, 2 + intercept)), coordinates)
        profiles = coordinates.in_units(lifted)[0]
        assert np.linalg.matrix_rank(np.vstack([basis, profiles]), tol=1e-8) == 2


def test_rows_are_uncorrelated_and_the_precision_measures_standard_deviations():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 3)) + [1, -2, 5]
    whitening = Whitening.of(X.mean(axis=0), np.cov(X.T, ddof=0), X.dtype)
    coordinates = Coordinates.whitened(whitening, None, intercept=True)
    Z = np.column_stack([X, np.ones(500)]) @ coordinates.matrix.T
    np.testing.assert_allclose(Z.T @ Z / 500, np.eye(4), atol=1e-9)
    u = rng.standard_normal((1, 3))
    v = coordinates.from_units(u, np.zeros(1))[0]
    per_deviation = np.square(u * X.std(axis=0)).sum()
    np.testing.assert_allclose(v @ coordinates.precision @ v, per_deviation, rtol=1e-9)

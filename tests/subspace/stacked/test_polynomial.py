"""Polynomial regression, against numpy's polynomials and finite differences."""

import numpy as np
import pytest
from numpy.polynomial import hermite_e

from spectralmirror.subspace.stacked.polynomial import REACH, Polynomial, largest_degree


def test_polynomial_and_its_gradient():
    rng = np.random.default_rng(0)
    u = np.clip(rng.standard_normal((4000, 2)), -3.5, 3.5)
    y = u[:, 0] ** 3 - 2 * u[:, 0] * u[:, 1] ** 2 + u[:, 1] + 0.5
    fitted = Polynomial.fit(u, y, None, 3)
    at = rng.uniform(-2, 2, (50, 2))
    value, dx, dy = fitted(at).T
    np.testing.assert_allclose(
        value, at[:, 0] ** 3 - 2 * at[:, 0] * at[:, 1] ** 2 + at[:, 1] + 0.5, atol=1e-8
    )
    h = 1e-5
    for j, slope in enumerate((dx, dy)):
        step = h * np.eye(2)[j]
        difference = (fitted(at + step)[:, 0] - fitted(at - step)[:, 0]) / (2 * h)
        np.testing.assert_allclose(slope, difference, atol=1e-6)


def test_one_variable_is_a_hermite_series():
    rng = np.random.default_rng(0)
    u, y, w = rng.uniform(-3, 3, 500), rng.standard_normal(500), rng.integers(1, 4, 500)
    fitted = Polynomial.fit(u[:, None], y, w.astype(float), 5)
    c = hermite_e.hermefit(u, y, 5, w=np.sqrt(w))
    value, slope = fitted(u[:, None]).T
    np.testing.assert_allclose(value, hermite_e.hermeval(u, c), atol=1e-10)
    np.testing.assert_allclose(slope, hermite_e.hermeval(u, hermite_e.hermeder(c)), atol=1e-10)


def test_constant_beyond_its_reach():
    u = np.linspace(-3, 3, 200)[:, None]
    fitted = Polynomial.fit(u, u[:, 0] ** 3, None, 3)
    np.testing.assert_allclose(fitted(np.array([[REACH + 9]])), fitted(np.array([[REACH]])))


@pytest.mark.parametrize(
    ("k", "n_rows", "degree"),
    [(1, 120, 5), (1, 119, 3), (1, 79, 1), (2, 420, 5), (2, 419, 3), (9, 1e9, 3), (11, 1e9, 1)],
)
def test_degree_by_the_number_of_terms(k, n_rows, degree):
    """Twenty rows per term, and at most 300 terms: C(k + 5, 5) and C(k + 3, 3)."""
    assert largest_degree(k, n_rows) == degree

"""Traces from random signs, against eigenvalues."""

import numpy as np
import pytest

from spectralmirror.mixture.quadrature import Quadrature


def test_functions_of_a_small_matrix_are_exact():
    # as many steps as eigenvalues
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    B = A @ A.T + np.eye(6)
    Z = rng.standard_normal((4, 6))
    eigenvalues, U = np.linalg.eigh(B)
    found = Quadrature.of(lambda lines: lines @ B, Z, 6).traces(np.log)
    expected = np.square(Z @ U) @ np.log(eigenvalues)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_polynomials_are_exact_after_few_steps():
    # Gauss's rule with m nodes integrates polynomials of degree 2 m - 1
    rng = np.random.default_rng(1)
    A = rng.standard_normal((30, 30))
    B = (A + A.T) / 8
    Z = rng.choice([-1.0, 1.0], size=(3, 30))
    found = Quadrature.of(lambda lines: lines @ B, Z, 3).traces(lambda x: x**5)
    expected = np.diagonal(Z @ np.linalg.matrix_power(B, 5) @ Z.T)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_vectors_that_have_seen_everything_end():
    # two eigenvalues only: Lanczos ends after two steps, whatever it goes on to compute
    B = np.diag([1.0] * 5 + [4.0] * 5)
    Z = np.random.default_rng(0).choice([-1.0, 1.0], size=(3, 10))
    found = Quadrature.of(lambda lines: lines @ B, Z, 8)
    assert [len(nodes) for nodes in found.nodes] == [2, 2, 2]
    assert found.traces(np.sqrt) == pytest.approx(np.full(3, 15.0))

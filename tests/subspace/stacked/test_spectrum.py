"""The stack of mirrored matrices: its singular values, and their scale under noise."""

import numpy as np
import pytest

from spectralmirror.subspace.stacked.spectrum import stacked_gram, stacked_spectrum


def symmetric(rng, m, n_matrices=3):
    """Return symmetric noise with entries of variance 1, and 2 on the diagonal."""
    A = rng.standard_normal((n_matrices, m, m))
    return (A + A.mT) / np.sqrt(2)


def test_squared_singular_values_of_the_stack():
    rng = np.random.default_rng(0)
    M, v = symmetric(rng, 7), rng.standard_normal((7, 6))
    unit = rng.standard_normal(7)
    unit /= np.linalg.norm(unit)
    found = stacked_spectrum(list(M), v, unit)
    P = np.eye(7) - np.outer(unit, unit)
    A = np.hstack([*(P @ one @ P / np.sqrt(2) for one in M), P @ v])
    left, sizes, _ = np.linalg.svd(A)
    np.testing.assert_allclose(found.eigenvalues, sizes[:6] ** 2 / (3 * 7 / 2 + 6 - 1))
    np.testing.assert_allclose(np.abs(found.vectors.T @ left[:, :6]), np.eye(6), atol=1e-8)
    np.testing.assert_allclose(unit @ found.vectors, 0, atol=1e-12)
    assert found.bulk == 1.0


@pytest.mark.parametrize("m", [5, 40])
def test_noise_has_eigenvalues_around_one(m):
    """In m = d - 1 coordinates, with one dimension of v removed as Slices.beside_turn does."""
    rng = np.random.default_rng(0)
    turn = np.full(6, 1 / np.sqrt(6))
    means = []
    for _ in range(300):
        v = rng.standard_normal((m, 6))
        v -= np.outer(v @ turn, turn)
        means.append(np.trace(stacked_gram(list(symmetric(rng, m)), v, m + 1)) / m)
    assert np.mean(means) == pytest.approx(1, abs=0.02)

"""Regressions from sums over blocks, and their coefficients under a nuclear-norm penalty."""

import numpy as np
import pytest

from spectralmirror.baselines.low_rank import Regression, low_rank
from spectralmirror.baselines.tensors import SymmetricIndex

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3))
INDEX = SymmetricIndex(3, 2)
PHI = INDEX.features(X)
#: The matrix of coefficients has rank 1.
B = np.array([1.0, -2.0, 0.5])
TARGET = (X @ B) ** 2 + 4.0 + RNG.standard_normal(300)


@pytest.fixture(scope="module")
def regression():
    edges = (slice(0, 10), slice(10, 200), slice(200, 300))
    return Regression.of((PHI[part], TARGET[part]) for part in edges)


def test_blocks_give_least_squares_with_an_intercept(regression):
    expected, *_ = np.linalg.lstsq(np.column_stack([PHI, np.ones(300)]), TARGET)
    found = regression.least_squares()
    np.testing.assert_allclose(found, expected[:-1], rtol=1e-7)
    assert regression.intercept(found) == pytest.approx(expected[-1], rel=1e-7)
    np.testing.assert_allclose(regression.gradient(found), 0, atol=1e-8)
    assert regression.target_variance == pytest.approx(TARGET.var())


def test_smoothness_bounds_the_change_of_the_gradient(regression):
    assert regression.smoothness == pytest.approx(np.linalg.norm(np.cov(PHI.T, bias=True), 2))


def test_without_a_penalty_least_squares_remain(regression):
    M, n_iter = low_rank(regression, INDEX, alpha=0.0, max_iter=100, tol=1e-10)
    np.testing.assert_allclose(INDEX.vector(M), regression.least_squares(), rtol=1e-8)
    assert n_iter == 1  # the start is the solution


def test_a_penalty_finds_the_rank(regression):
    M, n_iter = low_rank(regression, INDEX, alpha=1.0, max_iter=1000, tol=1e-10)
    assert n_iter < 1000
    assert np.linalg.matrix_rank(M, tol=1e-8) == 1
    direction = np.linalg.eigh(M)[1][:, -1]
    assert abs(direction @ B) / np.linalg.norm(B) > 0.999
    full = INDEX.tensor(regression.least_squares())
    assert np.linalg.matrix_rank(full, tol=1e-8) == 3


def test_a_large_penalty_leaves_nothing(regression):
    M, _ = low_rank(regression, INDEX, alpha=100.0, max_iter=1000, tol=1e-10)
    assert not M.any()

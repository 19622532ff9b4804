"""Whitening, against dense formulas and in any units."""

import numpy as np
import pytest

from spectralmirror.rows.messages import CollinearError, ColumnError
from spectralmirror.subspace.whitening import Whitening


@pytest.fixture(params=[1.0, 1e-6, 1e9])
def whitening_and_root(request):
    """Return a whitening, and R with R R' = Sigma, of columns in very different units."""
    rng = np.random.default_rng(0)
    scale = np.array([1.0, request.param, 3.0, 1 / request.param])
    A = rng.standard_normal((4, 4)) + 2 * np.eye(4)
    Sigma = (A @ A.T) * np.outer(scale, scale)
    return Whitening.of(np.ones(4) * scale, Sigma, np.float64), scale, A


def test_factors(whitening_and_root):
    whitening, scale, A = whitening_and_root
    L = whitening.cholesky
    np.testing.assert_allclose(L, np.tril(L))
    np.testing.assert_allclose(whitening.scale, scale * np.sqrt(np.diagonal(A @ A.T)))
    R = whitening.scale[:, None] * L / scale[:, None]
    np.testing.assert_allclose(R @ R.T, A @ A.T)


def test_maps_to_and_from_whitened_coordinates(whitening_and_root):
    whitening, scale, A = whitening_and_root
    R = whitening.scale[:, None] * whitening.cholesky
    inverse = np.linalg.inv(R / scale[:, None]) / scale
    rng = np.random.default_rng(1)
    v, w, B = rng.standard_normal(4), rng.standard_normal((4, 2)), rng.standard_normal((4, 4))
    M = (B + B.T) * np.outer(scale, scale)
    np.testing.assert_allclose(whitening.whiten_sum(v * scale), inverse @ (v * scale))
    np.testing.assert_allclose(whitening.direction(w), inverse.T @ w)
    np.testing.assert_allclose(whitening.whiten_matrix(M), inverse @ M @ inverse.T, atol=1e-12)
    expected = np.linalg.solve(A @ A.T, v) / scale
    np.testing.assert_allclose(whitening.solve(v * scale), expected)


def test_whitened_rows_have_unit_covariance():
    X = np.random.default_rng(0).standard_normal((500, 3)) @ [[1, 2, 0], [0, 1, 5], [0, 0, 1]]
    whitening = Whitening.of(X.mean(axis=0), np.cov(X.T, ddof=0), np.float64)
    W = np.array([whitening.whiten_sum(x - X.mean(axis=0)) for x in X])
    np.testing.assert_allclose(W.T @ W / 500, np.eye(3), atol=1e-12)


def test_a_known_diagonal_needs_no_factor():
    whitening = Whitening.known(np.zeros(3), np.diag([1.0, 4.0, 9.0]))
    assert whitening.cholesky is None
    np.testing.assert_allclose(whitening.solve(np.ones(3)), [1, 1 / 4, 1 / 9])


@pytest.mark.parametrize(("mean", "subtracted"), [(2.9, False), (3.1, True)])
def test_origin_is_the_mean_if_that_is_far_from_zero(mean, subtracted):
    whitening = Whitening.known(np.array([mean, 0.0]), np.eye(2))
    origin = whitening.origin(np.dtype(np.float64))
    assert (origin is not None) == subtracted
    np.testing.assert_allclose(whitening.mean_from(origin), [0, 0] if subtracted else [mean, 0])


def test_columns_that_depend_on_each_other_are_named():
    A = np.random.default_rng(0).standard_normal((50, 3))
    X = np.column_stack([A, A @ [1, 2, 3]])
    with pytest.raises(CollinearError, match="collinear in the first half") as error:
        Whitening.of(X.mean(axis=0), np.cov(X.T), np.float64, " in the first half")
    assert len(error.value.columns) == 1
    Sigma = np.cov(A.T)
    Sigma[1, 1] = 0
    with pytest.raises(ColumnError, match="constant") as error:
        Whitening.of(np.ones(3), Sigma, np.float64)
    assert list(error.value.columns) == [1]
    with pytest.raises(ValueError, match="positive definite"):
        Whitening.known(np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]]))

"""Whitened coordinates and leave-one-out scores, against refits and dense formulas."""

import numpy as np
import pytest
from scipy import sparse

from spectralmirror import FeatureMoments
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.stacked.scores import Frame, LeastSquares, Scored
from spectralmirror.subspace.whitening import Whitening


def mixture(n, d, k=2, seed=0):
    return make_linear_classifier_mixture(
        n, d, k, weights=np.full(k, 1 / k), profiles=5 * np.eye(k, d), random_state=seed
    )


@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_leave_one_out_by_leaving_one_out(shift):
    X, y, _ = mixture(60, 4)
    X = X + shift
    whitening = FeatureMoments.from_rows(X).whitening
    axis = whitening.whiten_sum(y @ (X - X.mean(axis=0)) / 60)
    frame = Frame(X.dtype, whitening)
    found = LeastSquares(frame, axis, y.mean(), 60, estimated=True, left_out=True)(Rows(X, y))[0]
    for i in range(60):
        kept = np.arange(60) != i
        design = np.column_stack([np.ones(59), X[kept] - shift])
        coefficients = np.linalg.lstsq(design, y[kept], rcond=None)[0]
        assert found[i] == pytest.approx(np.r_[1, X[i] - shift] @ coefficients, abs=2e-5)


def test_leave_one_out_with_known_features():
    X, y, _ = mixture(50, 3)
    whitening = Whitening.known(np.zeros(3), np.eye(3) + 0.3)
    inverse = np.linalg.inv(np.eye(3) + 0.3)
    axis, frame = whitening.whiten_sum(y @ X / 50), Frame(X.dtype, whitening)
    found = LeastSquares(frame, axis, y.mean(), 50, estimated=False, left_out=True)(Rows(X, y))[0]
    for i in range(50):
        r = sum(y[j] * inverse @ X[j] for j in range(50) if j != i) / 49
        assert found[i] == pytest.approx(r @ X[i], abs=1e-5)


@pytest.mark.parametrize("shift", [0.0, 1e3])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_frame_against_whitened_rows(make, shift):
    rng = np.random.default_rng(0)
    X, A = rng.standard_normal((200, 4)) + shift, rng.standard_normal((4, 4))
    Sigma, mean = A @ A.T + np.eye(4), np.full(4, shift + 0.3)
    scale = np.sqrt(np.diagonal(Sigma))
    L = np.linalg.cholesky(Sigma / np.outer(scale, scale))
    W = np.linalg.solve(L, ((X - mean) / scale).T).T
    basis = np.linalg.qr(rng.standard_normal((4, 2)))[0].T
    frame = Frame(X.dtype, Whitening.known(mean, Sigma), elliptical=True)
    assert (frame.origin is None) == (shift == 0)
    np.testing.assert_allclose(frame.projection(basis)(make(X)), W @ basis.T, atol=1e-9)
    lengths = (W**2).sum(axis=1)
    np.testing.assert_allclose(frame.squared_lengths(make(X)), lengths, rtol=1e-4)
    expected = np.minimum(np.sqrt(4 / lengths), 10)
    np.testing.assert_allclose(frame.scale(make(X)), expected, rtol=1e-4)
    assert Frame(X.dtype, frame.whitening).scale(X) is None


def test_rows_at_the_centre_are_not_scaled_up_without_end():
    frame = Frame(np.dtype(float), Whitening.known(np.zeros(3), np.eye(3)), elliptical=True)
    np.testing.assert_allclose(frame.scale(np.zeros((2, 3))), 10)


def test_residuals_are_those_of_a_polynomial_in_the_score():
    """Against numpy's least squares on scores within reach of the polynomial."""
    rng = np.random.default_rng(0)
    s = rng.uniform(-1, 1, 2000)
    rows = Rows(s[:, None], np.sign(s + rng.uniform(-1, 1, 2000)))
    scored = Scored.fit(np.ones(1), lambda block: (block.X[:, 0], 1.0), rows, len(rows))
    z, e, slopes, lengths = scored(rows)
    np.testing.assert_allclose(z, (s - s.mean()) / s.std(), atol=1e-12)
    m = np.polynomial.Polynomial.fit(z, rows.y, 7)
    np.testing.assert_allclose(e, rows.y - m(z), atol=1e-8)
    np.testing.assert_allclose(slopes, m.deriv()(z), atol=1e-7)
    assert lengths == 1.0

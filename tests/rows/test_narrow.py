"""Products of rows with a few vectors against plain matrix products."""

import numpy as np
import pytest

from spectralmirror.rows import narrow


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("most", [1, 500, 1_000_000])
def test_pieces_of_any_size_give_the_matrix_products(monkeypatch, order, dtype, most):
    monkeypatch.setattr(narrow, "SMALL_PRODUCT", most)
    rng = np.random.default_rng(0)
    X = np.asarray(rng.standard_normal((300, 7)), dtype=dtype, order=order)
    V, b, R = rng.standard_normal((4, 7)), rng.standard_normal(4), rng.standard_normal((4, 300))
    tol = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    scores = narrow.narrow_product(X, V.astype(dtype), b)
    assert scores.dtype == np.float64
    assert scores.flags.c_contiguous
    np.testing.assert_allclose(scores, V @ X.T + b[:, None], **tol)
    np.testing.assert_allclose(narrow.narrow_sums(R.astype(dtype), X), R @ X, **tol)


def test_no_rows():
    none = np.empty((0, 3))
    assert narrow.narrow_product(none, np.ones((2, 3)), np.zeros(2)).shape == (2, 0)
    np.testing.assert_array_equal(narrow.narrow_sums(np.empty((2, 0)), none), np.zeros((2, 3)))

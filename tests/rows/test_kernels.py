"""Sums of products over rows, against the formula written out."""

import numpy as np
import pytest
from scipy import sparse

from spectralmirror.rows.kernels import (
    far_origin,
    linear_sums,
    sample_origin,
    shifted,
    weighted_sums,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 4)) * (RNG.random((200, 4)) < 0.5)
SIGNED = RNG.standard_normal(200) * (RNG.random(200) < 0.8)
ORIGIN = np.array([1.0, -2.0, 0.5, 0.0])
FORMS = {
    "dense": X,
    "columns first": np.asfortranarray(X),
    "sparse": sparse.csr_array(X),
    "very sparse": sparse.csr_array(X * (RNG.random((200, 4)) < 0.05)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("z", [None, np.ones(200), SIGNED], ids=["none", "ones", "signed"])
@pytest.mark.parametrize("origin", [None, ORIGIN], ids=["zero", "shifted"])
def test_weighted_sums(form, z, origin):
    rows = FORMS[form]
    D = (rows.toarray() if sparse.issparse(rows) else rows) - (0 if origin is None else origin)
    weight = np.ones(200) if z is None else z
    linear = np.vstack([weight, 2 * weight])
    before = D.copy()
    first, second = weighted_sums(rows, z, linear, origin)
    np.testing.assert_allclose(first, linear @ D, atol=1e-10)
    np.testing.assert_allclose(second, (D * weight[:, None]).T @ D, atol=1e-10)
    np.testing.assert_array_equal(second, second.T)
    np.testing.assert_allclose(linear_sums(rows, linear, origin), linear @ D, atol=1e-10)
    np.testing.assert_array_equal(np.asarray(shifted(rows, origin)) if origin is not None else D, D)
    np.testing.assert_array_equal(before, D)


def test_an_origin_only_if_the_mean_is_far():
    assert sample_origin(X) is None
    far = X + 1e3
    origin = sample_origin(far)
    assert np.abs(origin - 1e3).max() < 1
    assert sample_origin(far.astype(np.float32)).dtype == np.float32
    assert sample_origin(X[:0]) is None
    assert far_origin(np.array([np.inf]), np.ones(1), np.dtype(float)) is None


def test_an_origin_saves_digits():
    """The variance of rows at 1e8 is lost in raw sums and exact about an origin."""
    far = X + 1e8
    origin = sample_origin(far)
    first, second = weighted_sums(far, None, np.ones((1, 200)), origin)
    mean = first[0] / 200
    np.testing.assert_allclose(
        second / 200 - np.outer(mean, mean), np.cov(X.T, bias=True), atol=1e-7
    )

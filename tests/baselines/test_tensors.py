"""Symmetric tensors as vectors, and their decomposition."""

import numpy as np
import pytest

from spectralmirror.baselines.tensors import SymmetricIndex, power_decomposition


@pytest.mark.parametrize("order", [1, 2, 3])
def test_symmetric_index_is_an_isometry(order):
    rng = np.random.default_rng(order)
    index = SymmetricIndex(4, order)
    vector = rng.standard_normal(len(index))
    M = index.tensor(vector)
    np.testing.assert_allclose(index.vector(M), vector)
    assert np.isclose(np.sum(M**2), vector @ vector)
    x = rng.standard_normal(4)
    power = x
    for _ in range(order - 1):
        power = np.multiply.outer(power, x)
    assert np.isclose(np.sum(M * power), index.features(x[None])[0] @ vector)


def test_symmetric_index_takes_the_symmetric_part():
    T = np.random.default_rng(0).standard_normal((3, 3, 3))
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    index = SymmetricIndex(3, 3)
    symmetric = np.mean([T.transpose(order) for order in orders], axis=0)
    np.testing.assert_allclose(index.tensor(index.vector(T)), symmetric)


def test_power_method_finds_an_orthogonal_decomposition():
    rng = np.random.default_rng(0)
    v, values = np.linalg.qr(rng.standard_normal((4, 4)))[0][:3], np.array([3.0, 2.0, 0.7])
    T = np.einsum("l,li,lj,lk->ijk", values, v, v, v)
    found, vectors = power_decomposition(T, 3, np.random.RandomState(0))
    order = np.argsort(-found)
    np.testing.assert_allclose(found[order], values, rtol=1e-8)
    np.testing.assert_allclose(vectors[order], v, atol=1e-6)

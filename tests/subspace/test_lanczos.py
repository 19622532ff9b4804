"""Lanczos and the products it needs, against dense matrices."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from spectralmirror import SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import subspace_error
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.lanczos import MirroredOperator, lanczos_outliers, lanczos_spectrum
from spectralmirror.subspace.whitening import Whitening

paper = partial(SpectralMirror, method="paper")


def dense_problem(shift=0.0, n=500, d=6):
    """Return rows with weights, some of them 0, and Q by the formula of line 5."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((d, d))
    X, y = rng.standard_normal((n, d)) @ A.T + shift, rng.choice([-1.0, 1], n)
    w = rng.integers(0, 3, n).astype(float)
    mean, Sigma, r = np.full(d, shift + 0.1), A @ A.T + np.eye(d), rng.standard_normal(d)
    Z = y * np.sign(X @ r)
    scale = np.sqrt(np.diagonal(Sigma))
    L = scale[:, None] * np.linalg.cholesky(Sigma / np.outer(scale, scale))
    W = np.linalg.solve(L, (X - mean).T).T
    Q = (W.T * (w * Z)) @ W / w.sum()
    return Rows(X, y, w, block_bytes=4000), r, Whitening.known(mean, Sigma), Q, w @ Z / w.sum()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_operator_against_the_formula(make, shift):
    rows, r, whitening, Q, bulk = dense_problem(shift)
    operator = MirroredOperator(Rows(make(rows.X), rows.y, rows.weight), r, whitening)
    assert operator.bulk == pytest.approx(bulk)
    found = np.column_stack([operator(unit) for unit in np.eye(6)])
    np.testing.assert_allclose(found, Q, atol=1e-8)


@pytest.mark.parametrize("k", [0, 1, 2, 5, 6])
def test_spectrum_against_eigh(k):
    """From k = d - 1 on, where ARPACK refuses, unit vectors take its place."""
    *_, Q, bulk = dense_problem()
    start = np.random.default_rng(1).standard_normal(6)
    found = lanczos_spectrum(lambda v: Q @ v - bulk * v, start, k, bulk, 0.0)
    values, vectors = np.linalg.eigh(Q)
    order = np.argsort(-np.abs(values - bulk))[:k]
    np.testing.assert_allclose(found.eigenvalues, values[order], atol=1e-10)
    np.testing.assert_allclose(np.abs(found.vectors.T @ vectors[:, order]), np.eye(k), atol=1e-6)


def test_outliers_inside_a_complement():
    rows, r, whitening, Q, bulk = dense_problem()
    beside = np.arange(1.0, 7)
    found = lanczos_outliers(rows, r, whitening, beside, 2, 0.0, np.random.RandomState(0))
    P = np.eye(6) - np.outer(beside, beside) / (beside @ beside)
    values, vectors = np.linalg.eigh(P @ (Q - bulk * np.eye(6)) @ P)
    order = np.argsort(-np.abs(values))[:2]
    np.testing.assert_allclose(found.eigenvalues - found.bulk, values[order], atol=1e-10)
    assert subspace_error(found.vectors.T, vectors[:, order].T) < 1e-7
    np.testing.assert_allclose(beside @ found.vectors, 0, atol=1e-8)


def test_lanczos_is_exact_where_eigenvalues_stand_out():
    """From 500 features on it is the default; there it agrees with the dense solver."""
    d = 500
    X, y, truth = make_linear_classifier_mixture(
        100 * d, d, profiles=np.eye(2, d), weights=[0.5, 0.5], response="hard", random_state=0
    )
    known = {"mean": np.zeros(d), "covariance": np.eye(d)}
    lanczos = paper(2, random_state=0, **known).fit(X, y)
    dense = paper(2, eigen_solver="dense", **known).fit(X, y)
    assert lanczos.eigenvalues_.shape == (2,)
    assert dense.eigenvalues_.shape == (d,)
    assert subspace_error(lanczos.components_, dense.components_) < 1e-5
    assert subspace_error(lanczos.components_, truth.profiles) < 0.4
    single = paper(2, random_state=0, **known).fit(X.astype(np.float32), y)
    assert subspace_error(single.components_, dense.components_) < 1e-3


def test_lanczos_never_forms_a_square_matrix():
    d = 3000
    X = np.random.default_rng(0).standard_normal((4000, d))
    y = X[:, 0] > 0
    covariance = np.eye(d)
    assert Whitening.known(np.zeros(d), covariance).cholesky is None
    tracemalloc.start()
    paper(2, mean=0.0, covariance=covariance, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * covariance.nbytes

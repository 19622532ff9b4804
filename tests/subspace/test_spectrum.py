"""Eigenvalues sorted by distance from the bulk, and their distribution under pure noise."""

import numpy as np
import pytest

from spectralmirror.subspace.spectrum import NullModel, Spectrum, dense_spectrum, null_deviation


def test_eigenvalues_furthest_from_the_median_first():
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    values = np.array([-2.0, 0.9, 1.0, 1.3, 3.0])
    found = dense_spectrum(V * values @ V.T)
    assert found.bulk == pytest.approx(1.0)
    np.testing.assert_allclose(found.eigenvalues, [-2, 3, 1.3, 0.9, 1])
    np.testing.assert_allclose(found.deviations, [3, 2, 0.3, 0.1, 0], atol=1e-12)
    np.testing.assert_allclose(
        np.abs(found.vectors.T @ V[:, [0, 4, 3, 1, 2]]), np.eye(5), atol=1e-9
    )
    about_zero = dense_spectrum(V * values @ V.T, bulk=0.0)
    np.testing.assert_allclose(about_zero.eigenvalues, [3, -2, 1.3, 1, 0.9])


def test_separation():
    spectrum = Spectrum(np.array([4.0, -1.0, 1.0]), np.eye(3), 1.0)
    assert spectrum.separation(1) == pytest.approx(1.5)
    assert all(np.isnan(spectrum.separation(k)) for k in (0, 2, 3))


def simulated(n_draws, *, rows, mean_rows=None, covariance_rows=None, d=6):
    """Draw Q by simulating every row, and whitening with estimated mean and covariance."""
    rng = np.random.default_rng(0)
    Q = np.empty((n_draws, d, d))
    for i in range(n_draws):
        mean = np.zeros(d)
        if mean_rows:
            mean = rng.standard_normal((mean_rows, d)).mean(axis=0)
        W = [rng.standard_normal((n, d)) - mean for n in rows]
        Q[i] = (W[0].T @ W[0] - W[1].T @ W[1]) / sum(rows)
        if covariance_rows:
            Y = rng.standard_normal((covariance_rows, d))
            L = np.linalg.cholesky(Y.T @ Y / covariance_rows)
            Q[i] = np.linalg.solve(L, np.linalg.solve(L, Q[i]).T)
    return Q


@pytest.mark.parametrize(
    "estimated", [{}, {"mean_rows": 4}, {"mean_rows": 4, "covariance_rows": 40}]
)
def test_draws_against_a_simulation_of_all_rows(estimated):
    """Quantiles of the largest eigenvalue, of 4000 draws each: within 4 %."""
    rows = np.array([60, 20])
    others = {"mean_rows": np.inf, "covariance_rows": np.inf, **estimated}
    model = NullModel(6, rows, rows / 80, **others)
    drawn, real = (
        model.draw(4000, np.random.RandomState(0)),
        simulated(4000, rows=rows, **estimated),
    )
    for Q in (drawn, real):
        np.testing.assert_allclose(Q, Q.mT, atol=1e-10)
    for q in (0.1, 0.5, 0.9):
        ours, theirs = (np.quantile(np.linalg.eigvalsh(Q)[:, -1], q) for Q in (drawn, real))
        assert ours == pytest.approx(theirs, rel=0.04)


@pytest.mark.parametrize(("rate", "n_data"), [(0.2, 400), (0.05, 1000), (0.01, 3000)])
def test_noise_exceeds_the_edge_at_the_rate(rate, n_data):
    """The edge of fresh noise, averaged over ten edges: the rate is met within a third."""
    model = NullModel(10, np.array([100.0, 60.0]), np.array([0.6, 0.4]), np.inf, np.inf)
    edges = [null_deviation(model, rate, np.random.RandomState(seed)) for seed in range(10)]
    values = np.linalg.eigvalsh(model.draw(n_data, np.random.RandomState(99)))
    strays = np.abs(values - np.median(values, axis=1, keepdims=True)).max(axis=1)
    share = np.mean([np.mean(strays > edge) for edge in edges])
    assert share == pytest.approx(rate, rel=0.35)


def test_larger_matrices_are_replaced_by_smaller_ones_of_the_same_shape():
    model = NullModel(640, np.array([3200.0, 3200.0]), np.array([0.5, 0.5]), 640.0, 1280.0)
    small = model.shrunk(64)
    assert (small.d, small.mean_rows, small.covariance_rows) == (64, 64.0, 128.0)
    np.testing.assert_allclose(small.rows, [320, 320])
    np.testing.assert_allclose(small.masses, model.masses)

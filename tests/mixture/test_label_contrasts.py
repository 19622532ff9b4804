import numpy as np
import pytest
from scipy.special import log_softmax

from spectralmirror.mixture.label_contrasts import LabelContrasts


@pytest.mark.parametrize("n_labels", [2, 3, 7])
def test_the_penalty_depends_on_no_reference_and_is_that_of_binary_labels(n_labels):
    labels, rng = LabelContrasts(n_labels), np.random.default_rng(0)
    V = rng.standard_normal((2, len(labels) * 4))
    U = labels.profiles(V).reshape(2, n_labels, 4)
    np.testing.assert_allclose(U.sum(axis=1), 0, atol=1e-14)
    np.testing.assert_allclose(np.square(V).sum(), 2 * np.square(U).sum())
    np.testing.assert_allclose(labels.contrasts(U.reshape(-1, 4)), V)
    np.testing.assert_allclose(labels.contrasts(U.reshape(-1, 4) + 3.0), V)
    t = labels.in_rows(V).reshape(2, -1, 4)
    np.testing.assert_allclose(t, U[:, 1:] - U[:, :1])
    if n_labels == 2:
        np.testing.assert_allclose(t[:, 0], V)


def test_the_gradient_in_contrasts_is_the_adjoint_of_the_scores():
    labels, rng = LabelContrasts(4), np.random.default_rng(1)
    V, G = rng.standard_normal((2, 3 * 5)), rng.standard_normal((2 * 3, 5))
    np.testing.assert_allclose((labels.in_rows(V) * G).sum(), (V * labels.pulled(G)).sum())


@pytest.mark.parametrize("size", [1.0, 100.0, 1e5])
def test_probabilities_of_labels_are_a_softmax_without_overflow(size):
    labels, rng = LabelContrasts(3), np.random.default_rng(2)
    t, y = size * rng.standard_normal((2 * 2, 50)), rng.integers(3, size=50).astype(float)
    log_f, slopes = labels.log_f_and_slopes(t, y)
    log_pi = log_softmax(np.insert(t.reshape(2, 2, 50), 0, 0, axis=1), axis=1)
    expected = np.take_along_axis(log_pi, y.astype(int)[None, None], axis=1)[:, 0]
    np.testing.assert_allclose(log_f, expected, rtol=1e-12, atol=1e-12)
    hot = y == np.arange(1, 3)[:, None]
    np.testing.assert_allclose(slopes.reshape(2, 2, 50), hot - np.exp(log_pi[:, 1:]), atol=1e-12)

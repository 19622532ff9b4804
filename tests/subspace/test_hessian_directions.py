"""Principal Hessian directions: against statsmodels, and why the mirror is needed."""

import numpy as np
import pytest
from statsmodels.regression.dimred import PHD

from spectralmirror import PrincipalHessianDirections, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import subspace_error


@pytest.mark.parametrize("target", ["labels", "residuals"])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_agrees_with_statsmodels(target, shift):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    X, y, _ = make_linear_classifier_mixture(
        4000, 6, mean=0.5, covariance=A @ A.T + np.eye(6), random_state=0
    )
    X = X + shift
    ours = PrincipalHessianDirections(2, target=target).fit(X, y)
    theirs = PHD(y, X).fit(resid=target == "residuals")
    by_size = np.argsort(-np.abs(theirs.eigs))
    assert subspace_error(ours.components_, theirs.params[:, by_size[:2]].T) < 1e-8
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigs[by_size], atol=1e-3)


def test_blind_at_mean_zero_where_the_mirror_is_not():
    """Hard labels, 90 degrees, n/d = 1000: pHd is as good as a random plane at mean 0."""
    d = 20
    options = {"profiles": np.eye(2, d), "weights": [0.5, 0.5], "response": "hard"}
    blind, mirrored, shifted = [], [], []
    for seed in range(5):
        X, y, _ = make_linear_classifier_mixture(20_000, d, random_state=seed, **options)
        blind.append(
            subspace_error(PrincipalHessianDirections().fit(X, y).components_, np.eye(2, d))
        )
        mirrored.append(subspace_error(SpectralMirror().fit(X, y).components_, np.eye(2, d)))
        X, y, _ = make_linear_classifier_mixture(
            20_000, d, mean=np.r_[0.8, 0.8, np.zeros(d - 2)], random_state=seed, **options
        )
        phd = PrincipalHessianDirections().fit(X, y)
        shifted.append(subspace_error(phd.components_, np.eye(2, d)))
    assert min(blind) > 0.9
    assert max(mirrored) < 0.3
    assert max(shifted) < 0.3


def test_weights():
    X, y, _ = make_linear_classifier_mixture(1000, 4, mean=0.5, random_state=0)
    times = np.random.default_rng(1).integers(0, 4, 1000)
    for target in ("labels", "residuals"):
        method = PrincipalHessianDirections(2, target=target)
        weighted = method.fit(X, y, sample_weight=times).components_
        repeated = method.fit(np.repeat(X, times, 0), np.repeat(y, times)).components_
        assert subspace_error(weighted, repeated) < 1e-10

"""The experiment on the median computes the same spectrum as Algorithm 1."""

import numpy as np

from spectralmirror import SpectralMirror
from spectralmirror.experiments.data import section5
from spectralmirror.experiments.median import furthest, mirrored_spectrum
from spectralmirror.metrics import subspace_error


def test_median_rule_is_the_papers():
    X, y, _ = section5(20_000, 8, 3)
    eigenvalues, directions, bulk = mirrored_spectrum(X, y)
    paper = SpectralMirror(2, method="paper").fit(X, y)
    median = furthest(eigenvalues, directions, float(np.median(eigenvalues)), 2)
    assert subspace_error(median, paper.components_) < 1e-7
    np.testing.assert_allclose(np.sort(paper.eigenvalues_), np.sort(eigenvalues), atol=1e-10)
    r = paper.mirror_direction_
    assert np.isclose(bulk, np.mean(y[10_000:] * np.sign(X[10_000:] @ r)))

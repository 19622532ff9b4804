"""What is learnt of the features before the likelihood: their whitening and the subspace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from spectralmirror.blocks import Rows
from spectralmirror.engines import reduce
from spectralmirror.mixture.fitting import Subspace
from spectralmirror.moments import FeatureMoments
from spectralmirror.problem import KnownFeatures, Request
from spectralmirror.stacked import stacked_mirror
from spectralmirror.subspace import SpectralMirror
from spectralmirror.validation import CollinearError, check_finite
from spectralmirror.whitening import Whitening

__all__ = ["given_subspace", "spectral_subspace", "whiten"]


def whiten(rows: Rows) -> tuple[Whitening, bool]:
    """Return mean and covariance, and whether the latter has an inverse.

    Where it has none, the features are only brought to unit variance.
    """
    moments = reduce(rows, FeatureMoments.of)
    check_finite(rows, moments.mean, np.diagonal(moments.scatter))
    try:
        if rows.n_present >= rows.X.shape[1] + 2:
            return KnownFeatures().completed(moments), True
    except CollinearError:
        pass
    variances = np.diag(np.diagonal(moments.covariance))  # constant columns are still refused
    return Whitening.of(moments.mean, variances, moments.dtype), False


def spectral_subspace(
    rows: Rows, groups: NDArray[np.int64] | None, k: int | None, rng: np.random.RandomState
) -> tuple[Whitening, Subspace] | None:
    """Return the subspace of the default SpectralMirror; None where features are collinear."""
    if rows.n_present < rows.X.shape[1] + 2:
        return None
    request = Request(k, False, 0.01, lanczos=False, tol=0.1, elliptical=False, rng=rng)
    try:
        outcome = stacked_mirror(rows, KnownFeatures(), request, groups)
    except CollinearError:
        return None
    assert outcome.whitening is not None
    separation = outcome.separation if np.isfinite(outcome.separation) else 0.0
    return outcome.whitening, Subspace(outcome.basis, separation)


def given_subspace(
    subspace: Any, X: Any, y: Any, groups: Any, sample_weight: Any, d: int
) -> Subspace:
    """Return the subspace of a SpectralMirror, fitted or not, or of an array of vectors."""
    if isinstance(subspace, SpectralMirror):
        try:
            check_is_fitted(subspace)
        except NotFittedError:
            subspace = clone(subspace).fit(X, y, groups=groups, sample_weight=sample_weight)
        basis = subspace.components_
    else:
        basis = check_array(subspace, dtype=np.float64, input_name="subspace")
    if basis.shape[1] != d or len(basis) > d:
        raise ValueError(
            f"subspace has {len(basis)} vectors of {basis.shape[1]} numbers, but X has {d} "
            f"features: pass at most {d} vectors with one number for each feature."
        )
    length = np.maximum(np.abs(basis).max(axis=1, keepdims=True), 1e-300)
    if np.linalg.matrix_rank(basis / length) < len(basis):
        raise ValueError("subspace has vectors that depend on each other: leave such out.")
    return Subspace(basis, np.inf)

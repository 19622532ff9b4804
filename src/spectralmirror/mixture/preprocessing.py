"""What is learnt about the features before the likelihood: their whitening and the subspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.likelihood import Parameters
from spectralmirror.mixture.task import Subspace
from spectralmirror.rows.checks import CollinearError, check_finite, check_memory, check_table
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import Matrix
from spectralmirror.subspace.estimator import SpectralMirror
from spectralmirror.subspace.interface import KnownFeatures
from spectralmirror.subspace.moments import FeatureMoments
from spectralmirror.subspace.stacked.method import StackedMirror
from spectralmirror.subspace.whitening import Whitening

__all__ = ["Features", "given_start", "given_subspace", "spectral_subspace", "whiten"]

#: Profiles of a given start are shortened to entries of at most this, per standard deviation.
LARGEST_START = 50.0


@dataclass(frozen=True, eq=False)
class Features:
    """What is known about the features.

    Attributes
    ----------
    whitening : Whitening
        Mean and covariance; mean and variances only if the covariance is singular.
    root : ndarray of shape (d, d)
        A matrix R with R R' equal to the covariance.
    proper : bool
        Whether the covariance has an inverse.
    space : Subspace or None
        Where to look for starts; None means the whole space.
    """

    whitening: Whitening
    root: Matrix
    proper: bool
    space: Subspace | None = None

    @classmethod
    def regular(cls, whitening: Whitening, space: Subspace | None = None) -> Features:
        """Return features whose covariance has an inverse."""
        factor = whitening.cholesky
        root = np.diag(whitening.scale) if factor is None else factor * whitening.scale[:, None]
        return cls(whitening, root, True, space)


def whiten(rows: Source) -> Features:
    """Return mean and covariance of the features: one pass over the rows."""
    check_memory(rows.n_features)
    moments = reduce(rows, FeatureMoments.of)
    check_finite(rows, moments.mean, np.diagonal(moments.scatter))
    try:
        if rows.n_present >= rows.n_features + 2:
            return Features.regular(KnownFeatures().completed(moments))
    except CollinearError:
        pass
    variances = np.diag(np.diagonal(moments.covariance))  # constant columns are an error
    whitening = Whitening.of(moments.mean, variances, moments.dtype)
    scale = whitening.scale
    eigenvalues, vectors = eigh(moments.covariance / scale / scale[:, None])
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0)) * scale[:, None]
    return Features(whitening, root, proper=False)


def spectral_subspace(
    grouped: GroupedRows, k: int | None, rng: np.random.RandomState
) -> Features | None:
    """Return the subspace of the default SpectralMirror; None if features are collinear."""
    if grouped.n_present < grouped.rows.n_features + 2:
        return None
    check_memory(grouped.rows.n_features)
    try:
        outcome = StackedMirror.of(grouped, KnownFeatures(), lambda: rng).outcome(k)
    except CollinearError:
        return None
    assert outcome.whitening is not None
    separation = outcome.separation if np.isfinite(outcome.separation) else 0.0
    return Features.regular(outcome.whitening, Subspace(outcome.basis, separation))


def given_subspace(
    subspace: Any, given: Any, d: int, names: Any, rng: np.random.RandomState
) -> Subspace:
    """Return the subspace of a SpectralMirror, fitted or not, or the span of vectors.

    `given` holds X, y, groups and sample_weight as they were passed to fit.
    """
    if isinstance(subspace, SpectralMirror):
        try:
            check_is_fitted(subspace)
        except NotFittedError:
            subspace = clone(subspace)
            if subspace.random_state is None:
                subspace.set_params(random_state=rng)
            subspace.fit(given.X, given.y, groups=given.groups, sample_weight=given.sample_weight)
        basis, theirs = subspace.components_, getattr(subspace, "feature_names_in_", None)
        if names is not None and theirs is not None and list(names) != list(theirs):
            raise ValueError(
                "subspace was fitted to other feature names, or in another order, than those of X: "
                "fit it to the same columns."
            )
    else:
        basis = check_table(subspace, "subspace")
    if basis.shape[1] != d or len(basis) > d:
        raise ValueError(
            f"subspace has {len(basis)} vectors of {basis.shape[1]} numbers, but X has {d} "
            f"features: pass at most {d} vectors with one number per feature."
        )
    length = np.maximum(np.abs(basis).max(axis=1, keepdims=True), 1e-300)
    basis = basis / length
    if np.linalg.matrix_rank(basis) < len(basis):
        raise ValueError(
            "subspace has vectors that depend on each other: pass linearly independent ones."
        )
    return Subspace(basis, np.inf)


def given_start(init: Any, k: int, coordinates: Coordinates) -> Parameters:
    """Return profiles that the user gave as a start, with equal weights and no intercepts."""
    profiles, d = check_table(init, "init"), coordinates.back.shape[1]
    if profiles.shape != (k, d):
        raise ValueError(
            f"init must hold {k} profiles of {d} numbers, one per feature, got an array of shape "
            f"{profiles.shape}."
        )
    v = coordinates.from_units(profiles, np.zeros(k))
    largest = np.abs(v).max(axis=1, keepdims=True)
    return Parameters.equal(v / np.maximum(largest / LARGEST_START, 1))

"""What is estimated before the likelihood is maximised: whitening of the features, and subspace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture.choice_subspace import differences_of_sets
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.dependencies import dependencies, dependency_sentence
from spectralmirror.mixture.label_contrasts import LabelContrasts
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.operators import principal
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.task import Subspace
from spectralmirror.mixture.wide import Columns
from spectralmirror.responses import get_response
from spectralmirror.rows.checks import check_finite, check_memory, check_table
from spectralmirror.rows.grouped import Block, GroupedRows
from spectralmirror.rows.messages import CollinearError, ColumnError
from spectralmirror.rows.reduce import Sums, reduce
from spectralmirror.rows.sets import SAME_IN_SETS
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.estimator import SpectralMirror
from spectralmirror.subspace.interface import KnownFeatures
from spectralmirror.subspace.moments import FeatureMoments
from spectralmirror.subspace.stacked.method import StackedMirror
from spectralmirror.subspace.whitening import COLLINEAR, Whitening

__all__ = ["Features", "Preprocessing", "given_start", "spanned", "whiten"]

#: Profiles of a given start are shortened to entries of at most this, per standard deviation.
LARGEST_START = 50.0


@dataclass(frozen=True, eq=False)
class Features:
    """What is known about the features.

    Attributes
    ----------
    whitening : Whitening
        Mean and covariance; mean and variances only if the covariance is singular.
    root : ndarray of shape (d, d), or (d,) of wide rows
        A matrix R with R R' equal to the covariance; of wide rows only standard deviations.
    proper : bool
        Whether the covariance has an inverse.
    space : Subspace or None
        Where to look for starts; None means the whole space.
    dependent : dict
        Columns that can be computed from others, and from which; empty if `proper`, or if there are
        too few rows to know.
    is_wide : bool
        Whether columns are only scaled, so that nothing is known about their covariances.
    """

    whitening: Whitening
    root: Matrix
    proper: bool
    space: Subspace | None = None
    dependent: dict[int, list[int]] = field(default_factory=dict)
    is_wide: bool = False

    @classmethod
    def regular(cls, whitening: Whitening, space: Subspace | None = None) -> Features:
        """Return features whose covariance has an inverse."""
        factor = whitening.cholesky
        root = np.diag(whitening.scale) if factor is None else factor * whitening.scale[:, None]
        return cls(whitening, root, True, space)

    def why_singular(self, names: Any) -> str:
        """Say why the covariance has no inverse; nothing if it has one."""
        if self.proper or self.is_wide:
            return ""
        if not self.dependent:
            return "X has too few rows for its features, or columns that almost depend on others"
        return dependency_sentence(self.dependent, names)


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
    return _singular(moments.mean, moments.covariance, moments.dtype, rows.n_present)


def _singular(mean: Vector, covariance: Matrix, dtype: np.dtype[Any], n_rows: int) -> Features:
    """Return features whose covariance has no inverse."""
    variances = np.diag(np.diagonal(covariance))  # constant columns are an error
    whitening = Whitening.of(mean, variances, dtype)
    scale = whitening.scale
    correlation = covariance / scale / scale[:, None]
    eigenvalues, vectors = eigh(correlation)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0)) * scale[:, None]
    dependent: dict[int, list[int]] = {}
    if n_rows >= len(scale) + 2:
        dependent = dependencies(correlation, 10 * COLLINEAR * float(np.finfo(dtype).eps))
    return Features(whitening, root, proper=False, dependent=dependent)


@dataclass(frozen=True, eq=False)
class SetMoments(Sums):
    """Sums over choice sets: their weight, and the second moments of differences within them."""

    weight: float
    scatter: Matrix

    @classmethod
    def of(cls, block: Block) -> SetMoments:
        """Sum over the sets of a block.

        A set of J alternatives counts as the mean over its pairs of (x_i - x_j)(x_i - x_j)', which
        is 2 / (J - 1) times the scatter around its mean.
        """
        starts = block.set_starts
        assert starts is not None
        X = block.X.toarray() if sparse.issparse(block.X) else block.X
        sizes = np.diff(starts, append=len(X))
        X = X - np.repeat(np.add.reduceat(X, starts, axis=0) / sizes[:, None], sizes, axis=0)
        w = np.ones(len(starts)) if block.weight is None else block.weight[starts]
        q = np.repeat(2 * w / (sizes - 1), sizes)
        return cls(float(w.sum()), X.T @ (X * q[:, None]))


def whiten_sets(grouped: GroupedRows) -> Features:
    """Return the second moments of differences between alternatives: one pass over the rows."""
    rows = grouped.rows
    check_memory(rows.n_features)
    sums = reduce(grouped, SetMoments.of)
    check_finite(rows, np.diagonal(sums.scatter))
    covariance, mean = sums.scatter / sums.weight, np.zeros(rows.n_features)
    constant = np.flatnonzero(np.diagonal(covariance) <= 0)
    if len(constant):
        raise ColumnError(SAME_IN_SETS, constant)
    try:
        return Features.regular(Whitening.of(mean, covariance, rows.dtype))
    except CollinearError:
        return _singular(mean, covariance, rows.dtype, rows.n_present)


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """Whitening and subspace for any number of components; each part is computed at most once.

    Attributes
    ----------
    grouped : GroupedRows
        The rows.
    subspace : "auto", SpectralMirror, array-like or None
        Where to look for starts, as the user passed it.
    names : ndarray or None
        Names of the features.
    streams : callable
        Returns a random stream.
    intercept : bool
        Whether classifiers have intercepts.
    several : bool
        Whether several numbers of components will be tried.
    labels : LabelContrasts or None
        How labels of more than two kinds depend on scores; None if labels are binary.
    is_wide : bool
        Whether columns are only scaled (:mod:`wide`).
    """

    grouped: GroupedRows
    subspace: Any
    names: Any
    streams: Callable[[], np.random.RandomState]
    intercept: bool = True
    several: bool = False
    labels: LabelContrasts | None = None
    is_wide: bool = False

    def coordinates(self, k: int) -> Coordinates:
        """Return the coordinates in which k profiles are fitted."""
        if self.is_wide:
            return self._scaled_coordinates
        whitening = self.features(k).whitening
        origin = whitening.origin(self.grouped.rows.dtype)
        return Coordinates.whitened(whitening, origin, intercept=self.intercept)

    @cached_property
    def _of_number(self) -> dict[int, Features]:
        return {}

    def features(self, k: int) -> Features:
        """Return mean and covariance of the features, and a subspace for k profiles if any."""
        if k not in self._of_number:
            self._of_number[k] = self._features(k)
        return self._of_number[k]

    def _features(self, k: int) -> Features:
        if self.is_wide:
            whitening = self._columns.whitening
            features = Features(whitening, whitening.scale, proper=False, is_wide=True)
            known = isinstance(self.subspace, str)
            return features if known else replace(features, space=self._given_space)
        if self._has_sets:
            return self._features_of_sets(k)
        if self.labels is not None and isinstance(self.subspace, str):
            return self._whitened
        if not isinstance(self.subspace, str):
            return replace(self._whitened, space=self._given_space)
        beside = 1 < k < self.grouped.rows.n_features
        stacked = self._stacked if beside or self.several else None
        if stacked is None:
            return self._whitened
        if not beside:
            return Features.regular(stacked.whitening)
        return Features.regular(stacked.whitening, _clear_part(stacked, k))

    def _features_of_sets(self, k: int) -> Features:
        """As :meth:`features`, for choice sets.

        The subspace of dense rows of persons who chose several times makes fits 1.3 to 2.3 times as
        fast; without persons it gains nothing (docs/mixture.md).
        """
        beside = isinstance(self.subspace, str) and 1 < k < self.grouped.rows.n_features
        if not beside or self._stacked is None:
            return self._whitened
        return replace(self._whitened, space=_clear_part(self._stacked, k))

    @property
    def _binary(self) -> GroupedRows | None:
        """Rows with binary labels; of choice sets, differences, or None if they are of no use."""
        if not self._has_sets:
            return self.grouped
        if not self.grouped.is_repeated:
            return None
        return differences_of_sets(self.grouped, self.streams())

    def n_visible(self) -> int:
        """Return the number of directions that the spectrum shows, 1 if that is not known."""
        known = not isinstance(self.subspace, str) or self._has_sets or self.labels is not None
        if known or self.is_wide or self._stacked is None:
            return 1
        return len(self._stacked.outcome(None).basis)

    @cached_property
    def _columns(self) -> Columns:
        return Columns.of(self.grouped.rows)

    @cached_property
    def _scaled_coordinates(self) -> Coordinates:
        """Scaled coordinates that know the principal directions of the rows."""
        columns, mean = self._columns, self._columns.whitening.mean
        found = Coordinates.scaled(mean, columns.scale, columns.origin, intercept=self.intercept)
        size = np.hypot(columns.whitening.scale, 0.0 if self.intercept else mean)
        total = float(np.square(size / columns.scale).sum())
        likelihood = Likelihood(self.grouped, get_response("logistic"), found, 0.0)
        directions = principal(likelihood, total, int(self.streams().randint(2**31)))
        return replace(found, principal=directions)

    @cached_property
    def _whitened(self) -> Features:
        return whiten_sets(self.grouped) if self._has_sets else whiten(self.grouped.rows)

    @property
    def _has_sets(self) -> bool:
        """Whether labels are choices from sets."""
        return self.grouped.has_sets

    @cached_property
    def _stacked(self) -> StackedMirror | None:
        """The default SpectralMirror; None if features are collinear."""
        rows = self._binary
        if rows is None or rows.n_present < rows.rows.n_features + 2:
            return None
        check_memory(rows.rows.n_features)
        try:
            return StackedMirror.of(rows, KnownFeatures(), self.streams)
        except CollinearError:
            return None

    @cached_property
    def _given_space(self) -> Subspace | None:
        if self.subspace is None:
            return None
        if isinstance(self.subspace, SpectralMirror):
            basis = self._basis_of(self.subspace)
        else:
            basis = check_table(self.subspace, "subspace")
        return spanned(basis, self.grouped.rows.n_features)

    def _basis_of(self, mirror: SpectralMirror) -> Matrix:
        """Return the basis of a mirror, which is fitted to the rows if it was not fitted before."""
        try:
            check_is_fitted(mirror)
        except NotFittedError:
            mirror = clone(mirror)
            if mirror.random_state is None:
                mirror.set_params(random_state=self.streams())
            mirror._validate_params()
            if self.names is not None:
                mirror.feature_names_in_ = self.names
            return mirror._fit_rows(self.grouped).components_
        theirs = getattr(mirror, "feature_names_in_", None)
        if self.names is not None and theirs is not None and list(self.names) != list(theirs):
            raise ValueError(
                "subspace was fitted to other feature names, or in another order, than those of X: "
                "fit it to the same columns."
            )
        return mirror.components_


def _clear_part(stacked: StackedMirror, k: int) -> Subspace:
    outcome = stacked.outcome(k)
    separation = outcome.separation if np.isfinite(outcome.separation) else 0.0
    return Subspace(outcome.basis, separation)


def spanned(basis: Matrix, d: int) -> Subspace:
    """Return the span of linearly independent vectors of d numbers."""
    if basis.shape[1] != d or len(basis) > d:
        raise ValueError(
            f"subspace has {len(basis)} vectors of {basis.shape[1]} numbers, but X has {d} "
            f"features: pass at most {d} vectors with one number per feature."
        )
    basis = basis / np.maximum(np.abs(basis).max(axis=1, keepdims=True), 1e-300)
    if np.linalg.matrix_rank(basis) < len(basis):
        raise ValueError(
            "subspace has vectors that depend on each other: pass linearly independent ones."
        )
    return Subspace(basis, np.inf)


def given_start(
    init: Any, k: int, coordinates: Coordinates, labels: LabelContrasts | None = None
) -> Parameters:
    """Return a start that the user gave, in working coordinates.

    It is an array of profiles, which then have equal weights and no intercepts; profiles,
    intercepts and weights; or a fitted mixture. With labels of C > 2 kinds, there are profiles and
    intercepts for each label.
    """
    of_weights: Parameters | None = None
    if hasattr(init, "component_proba"):
        check_is_fitted(init)
        sharpness = init.sharpness_
        of_weights = init._of_membership
        if init.coef_.ndim != (2 if labels is None else 3):
            raise ValueError(
                "init is a mixture that was fitted to labels of other kinds: start from one with "
                "the same number of different labels."
            )
        init = (init.coef_.T * sharpness).T, (init.intercept_.T * sharpness).T, init.weights_
    shape = (k,) if labels is None else (k, labels.n_labels)
    intercepts, weights = np.zeros(shape), np.full(k, 1 / k)
    if isinstance(init, tuple) and np.ndim(init[0]) == len(shape) + 1:
        if len(init) != 3:
            raise ValueError(
                "init must be an array of profiles, (profiles, intercepts, weights) or a fitted "
                f"mixture, got a tuple of {len(init)}."
            )
        intercepts = _numbers(init[1], "intercepts", shape)
        weights = _numbers(init[2], "weights", (k,))
        if not (weights > 0).all():
            raise ValueError("The weights of init must be positive.")
        init = init[0]
    d = coordinates.back.shape[1]
    profiles = check_table(init, "init") if labels is None else _numbers(init, "", (*shape, d))
    if profiles.shape != (*shape, d):
        raise ValueError(
            f"init must hold {k} profiles of {d} numbers, one per feature, got an array of shape "
            f"{profiles.shape}."
        )
    v = coordinates.from_units(profiles.reshape(-1, d), intercepts.ravel())
    v = v if labels is None else labels.contrasts(v)
    v /= np.maximum(np.abs(v).max(axis=1, keepdims=True) / LARGEST_START, 1)
    if of_weights is None:
        return Parameters(v, np.log(weights))
    return Parameters(v, of_weights.logits, membership=of_weights.membership)


def _numbers(values: Any, name: str, shape: tuple[int, ...]) -> Vector:
    """Return finite numbers of a given shape: k of them, k C for labels, or k C d profiles."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        what = {
            1: f"{shape[0]} {name}, one per component,",
            2: f"{shape} {name}, one per component and label,",
            3: f"profiles of shape {shape}, for components, labels and features,",
        }[len(shape)]
        raise ValueError(
            f"init must hold {what} as finite numbers, got an array of shape {numbers.shape}."
        )
    return numbers

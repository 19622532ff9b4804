"""Principal Hessian directions, the method without a mirror."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from spectralmirror.rows.accept import accept_rows, checks_parameters, count_scans
from spectralmirror.rows.checks import check_finite
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.messages import named_columns
from spectralmirror.rows.reduce import reduce, small_matrices
from spectralmirror.rows.types import Vector
from spectralmirror.subspace.base import SubspaceTransformer, orthonormal_rows, require_rows
from spectralmirror.subspace.moments import SignedMoments, labelled_moments
from spectralmirror.subspace.spectrum import dense_spectrum

__all__ = ["PrincipalHessianDirections"]


class PrincipalHessianDirections(SubspaceTransformer):
    """Principal Hessian directions (Li 1992): SpectralMirror without the mirror.

    The k eigenvectors of H = mean of e W W' with the largest |eigenvalue| are kept, where W are the
    whitened features, and e the centred labels or their residuals from a linear regression. For a
    mixture of linear classifiers and features of mean 0, E[H] = 0 and the method finds nothing
    (the paper's appendix); with another mean it finds something.

    The rows are read twice, in blocks.

    Parameters
    ----------
    n_components : int, default=2
        Dimension k of the subspace.
    target : {"labels", "residuals"}, default="labels"
        Weights e of the rows: the labels minus their mean, or the residuals of their linear
        regression on X.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the subspace, in the units of X.
    eigenvalues_ : ndarray of shape (n_features,)
        Eigenvalues of H, the largest in magnitude first.
    mean_ : ndarray of shape (n_features,)
        Mean of the features.
    classes_ : ndarray of shape (2,)
        The labels that stand for -1 and +1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has string column names.

    References
    ----------
    K.-C. Li (1992), "On principal Hessian directions for data visualization and dimension
    reduction: another application of Stein's lemma", JASA 87.

    Examples
    --------
    >>> from spectralmirror import PrincipalHessianDirections
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> X, y, truth = make_linear_classifier_mixture(5000, 10, mean=1.0, random_state=0)
    >>> PrincipalHessianDirections(n_components=2).fit_transform(X, y).shape
    (5000, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "target": [StrOptions({"labels", "residuals"})],
    }

    def __init__(self, n_components: int = 2, *, target: str = "labels"):
        self.n_components = n_components
        self.target = target

    @checks_parameters
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a source
            The features: an array, a DataFrame, a dask collection; or rows that know their own
            labels and weights (:func:`spectralmirror.scan`, `spectralmirror.spark.scan`).
        y : array-like of shape (n_samples,)
            Labels of two classes: numbers, strings or booleans. None with a source.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: integers are frequencies, and rows of weight 0 are absent.

        Returns
        -------
        self : PrincipalHessianDirections
            The fitted transformer.
        """
        grouped, self.classes_ = accept_rows(self, X, y, None, sample_weight)
        rows, d = grouped.rows, grouped.rows.n_features
        self._check_dimension(d)
        require_rows(
            rows, d + 1, "the covariance is estimated", "pass more rows, or fewer features"
        )
        with named_columns(self), small_matrices(d):
            labelled = labelled_moments(rows)
            moments, whitening = labelled.features, labelled.features.whitening
            slope = np.zeros_like(moments.mean)
            if self.target == "residuals":
                slope = whitening.solve(labelled.cross / moments.weight)
            intercept = labelled.label_mean - float(moments.mean @ slope)
            origin = whitening.origin(rows.dtype)
            hessian = reduce(
                rows, partial(_hessian_block, slope=slope, intercept=intercept, origin=origin)
            )
            check_finite(rows, hessian.first)
            H = whitening.whiten_matrix(hessian.about(moments.mean))
            spectrum = dense_spectrum(H, bulk=0.0)
            basis = whitening.direction(spectrum.vectors[:, : self.n_components]).T
        self.components_ = orthonormal_rows(basis)
        self.eigenvalues_ = spectrum.eigenvalues
        self.mean_ = moments.mean
        count_scans(self, grouped)
        return self


def _hessian_block(rows: Rows, slope: Vector, intercept: float, origin: Any) -> SignedMoments:
    """Sum the features of a block with the weights e = y - intercept - <slope, x>."""
    X = rows.X if origin is None else rows.X.astype(np.float64, copy=False)
    return SignedMoments.of(rows, rows.y - intercept - X.dot(slope), origin)

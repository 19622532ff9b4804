"""Base class of the transformers: projection, size checks, orthonormal basis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from spectralmirror.rows.accept import on_parts
from spectralmirror.rows.checks import check_features, check_memory
from spectralmirror.rows.doc_links import DocLinks
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import Matrix

__all__ = ["SubspaceTransformer", "orthonormal_rows", "require_rows"]


class SubspaceTransformer(
    DocLinks, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Projection onto a subspace that was estimated from binary labels."""

    components_: Matrix

    @on_parts(lambda self: len(self.components_))
    def transform(self, X: Any) -> NDArray[Any]:
        """Project the rows onto the subspace.

        The features are not centred, because a classifier depends on <u, x>.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Coordinates <b_j, x> along the orthonormal rows b_j of `components_`.
        """
        check_is_fitted(self)
        X = check_features(X, self)
        return np.asarray(X @ self.components_.T.astype(X.dtype))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # Not a classifier, but this is how scikit-learn learns that y must have two classes.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_dimension(self, n_features: int) -> None:
        """Raise if there are fewer features than components."""
        k: Any = self.n_components
        if k != "auto" and k > n_features:
            raise ValueError(
                f"n_components={k} must not exceed the number of features, "
                f"n_features={n_features}: ask for fewer components."
            )


def require_rows(rows: Source, needed: int, why: str, remedy: str) -> None:
    """Raise if there are too few rows, or too many features for the memory of the machine."""
    if rows.n_present < needed:
        raise ValueError(
            f"At least {needed} rows are needed for {rows.n_features} features, because {why}, but "
            f"got n_samples = {rows.n_present}: {remedy}."
        )
    check_memory(rows.n_features)


def orthonormal_rows(vectors: Matrix) -> Matrix:
    """Orthonormalise the rows, with the largest entry of each positive.

    Gram-Schmidt only adds multiples of rows, so columns of very different units keep their own
    precision, which they would lose in a Householder QR. It is repeated as long as it removes more
    than half of a row.
    """
    basis = np.array(vectors)
    for i in range(len(basis)):
        left = 0.0
        for _ in range(10):
            basis[i] /= np.abs(basis[i]).max()  # so that squares neither overflow nor underflow
            basis[i] /= np.linalg.norm(basis[i])
            basis[i] -= (basis[:i] @ basis[i]) @ basis[:i]
            left = float(np.linalg.norm(basis[i]))
            if left > 0.5:
                break
        basis[i] /= left or 1.0
    largest = np.abs(basis).argmax(axis=1)
    return np.asarray(basis * np.sign(basis[np.arange(len(basis)), largest])[:, None])

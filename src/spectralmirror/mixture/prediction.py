"""What a fitted mixture says of labels and of the classifiers that made them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import logsumexp, softmax, xlogy
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from spectralmirror.datasets import require_count
from spectralmirror.mixture.criteria import Criteria
from spectralmirror.mixture.links import LINKS
from spectralmirror.mixture.summary import summarise
from spectralmirror.responses import RESPONSES
from spectralmirror.rows.accept import on_parts
from spectralmirror.rows.checks import check_features, check_groups, check_labels
from spectralmirror.rows.kernels import far_origin, shifted
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["MixturePrediction"]


#: A score counts as no larger than this, so that the logarithm of f is finite for all responses.
FURTHEST = 1e150


class MixturePrediction:
    """Everything but the fit."""

    coef_: Matrix
    intercept_: Vector
    weights_: Vector
    sharpness_: Vector
    classes_: NDArray[Any]
    n_components_: int
    n_parameters_: int
    feature_mean_: Vector
    feature_scale_: Vector
    _feature_root: Matrix
    response: str

    @on_parts(lambda _: 2)
    def predict_proba(self, X: Any, component_weights: ArrayLike | None = None) -> Matrix:
        """Return P(y | x) = sum_l p_l f(<u_l, x> + b_l) for both labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        component_weights : array-like of shape (k,) or (n_samples, k), default=None
            Weights to use instead of `weights_`: what is known of who makes the label, such as
            :meth:`component_proba` of the labels that the same person gave before.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of `classes_`.
        """
        t = self._scores(X)
        return self._proba(t, self._component_weights(component_weights, len(t)))

    @on_parts(lambda _: None)
    def decision_function(self, X: Any, component_weights: ArrayLike | None = None) -> Vector:
        """Return E[y | x] in [-1, 1], the labels counting as -1 and +1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        component_weights : array-like of shape (k,) or (n_samples, k), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive where `classes_[1]` is more likely.
        """
        probability = self.predict_proba(X, component_weights)
        return np.asarray(probability[:, 1] - probability[:, 0])

    @on_parts(lambda _: None, lambda self: self.classes_.dtype)
    def predict(self, X: Any, component_weights: ArrayLike | None = None) -> NDArray[Any]:
        """Return the more likely label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        component_weights : array-like of shape (k,) or (n_samples, k), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of the kind that was fitted.
        """
        positive = self.decision_function(X, component_weights) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    @on_parts(lambda self: self.n_components_)
    def component_proba(self, X: Any, y: Any, groups: Any = None) -> Matrix:
        """Return the probability that each classifier made the label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            Rows that share their classifier: they are judged together.

        Returns
        -------
        ndarray of shape (n_samples, k)
            Rows sum to 1.
        """
        joint, numbers = self._joint(X, y, groups)
        posterior = np.asarray(softmax(joint, axis=1))
        return posterior if numbers is None else posterior[numbers]

    @on_parts(lambda _: None, lambda _: np.intp)
    def predict_component(self, X: Any, y: Any, groups: Any = None) -> NDArray[np.intp]:
        """Return the classifier that most likely made the label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            As in :meth:`component_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers from 0 on, in the order of `coef_`.
        """
        return np.asarray(self.component_proba(X, y, groups).argmax(axis=1))

    @on_parts(lambda _: None)
    def score_samples(self, X: Any, y: Any, groups: Any = None) -> Vector:
        """Return log P(y | x) of every row, or of every group.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            Rows that share their classifier.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_groups,)
            In the order of the rows, or of the sorted values of `groups`.
        """
        return np.asarray(logsumexp(self._joint(X, y, groups)[0], axis=1))

    def bic(self, X: Any, y: Any, groups: Any = None) -> float:
        """Return the Bayesian information criterion -2 log P + m log n, the less the better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            Rows that share their classifier.

        Returns
        -------
        float
            For m parameters and n rows.
        """
        return self._criteria(X, y, groups).bic

    def aic(self, X: Any, y: Any, groups: Any = None) -> float:
        """Return Akaike's information criterion -2 log P + 2 m, the less the better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            Rows that share their classifier.

        Returns
        -------
        float
            For m parameters.
        """
        return self._criteria(X, y, groups).aic

    def icl(self, X: Any, y: Any, groups: Any = None) -> float:
        """Return the integrated completed likelihood, bic + 2 entropy, the less the better.

        Unlike bic it asks for components that can be told apart.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            Rows that share their classifier.

        Returns
        -------
        float
            The entropy is that of the assignments.
        """
        return self._criteria(X, y, groups).icl

    def sample(
        self, n_samples: int = 1, random_state: Any = None
    ) -> tuple[Matrix, NDArray[Any], NDArray[np.intp]]:
        """Draw rows from the fitted mixture, their features from a Gaussian like those fitted.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            The same seed gives the same rows.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Features of the mean and covariance of those that were fitted.
        y : ndarray of shape (n_samples,)
            Their labels.
        components : ndarray of shape (n_samples,)
            Which classifier made each.
        """
        check_is_fitted(self, "coef_")
        require_count(n_samples=n_samples)
        rng = check_random_state(random_state)
        W = rng.standard_normal((n_samples, len(self.feature_mean_)))
        X = self.feature_mean_ + W @ self._feature_root.T
        components = rng.choice(self.n_components_, size=n_samples, p=self.weights_)
        chosen = np.eye(self.n_components_)[components]
        positive = rng.uniform(size=n_samples) < self._proba(self._t(X), chosen)[:, 1]
        return X, self.classes_[positive.astype(np.intp)], components

    def summary(self, level: float = 0.95, *, as_frame: bool = False) -> Any:
        """Return a table of estimates, standard errors, z values and confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Of the confidence intervals.
        as_frame : bool, default=False
            Return a DataFrame instead of text (needs pandas).

        Returns
        -------
        str or DataFrame
            A line for each feature, intercept and weight of each component.
        """
        check_is_fitted(self, "coef_")
        return summarise(self, level, as_frame=as_frame)

    def _scores(self, X: Any) -> Matrix:
        check_is_fitted(self, "coef_")
        return self._t(check_features(X, self))

    def _t(self, X: Any) -> Matrix:
        """Return <u_l, x> + b_l, as f takes it: <u_l, x - o> where features are far from 0."""
        profiles, t = self.coef_ * self.sharpness_[:, None], self.intercept_ * self.sharpness_
        origin = far_origin(self.feature_mean_, self.feature_scale_, X.dtype)
        if origin is not None:
            t = t + profiles @ origin.astype(np.float64)
        single = profiles.T.astype(X.dtype)

        def of(block: Rows) -> Matrix:
            with np.errstate(over="ignore", invalid="ignore"):
                found = np.asarray(shifted(block.X, origin) @ single, dtype=np.float64) + t
            bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
            if len(bad):  # sums of parts that are too large, each of either sign
                found[bad] = _far_scores(shifted(block.X[bad], origin), profiles, t)
            return np.clip(found, -FURTHEST, FURTHEST, out=found)

        return collect(Rows(X, np.empty(X.shape[0])), of)

    def _proba(self, t: Matrix, p: Matrix) -> Matrix:
        f = RESPONSES[LINKS[self.response].name].f
        return np.column_stack([(f(-t) * p).sum(axis=1), (f(t) * p).sum(axis=1)])

    def _component_weights(self, component_weights: ArrayLike | None, n: int) -> Matrix:
        if component_weights is None:
            return self.weights_[None, :]
        k = self.n_components_
        try:
            p = np.asarray(component_weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("component_weights must hold numbers.") from None
        if p.shape not in ((k,), (n, k), (1, k)):
            raise ValueError(
                f"component_weights must have shape ({k},) or ({n}, {k}), one number for each "
                f"component, and a line for each row of X, got {p.shape}."
            )
        p = p.reshape(-1, k)
        if not ((p >= 0).all() and np.allclose(p.sum(axis=1), 1, atol=1e-6)):
            raise ValueError("component_weights must be 0 or more and sum to 1 over components.")
        return p

    def _joint(self, X: Any, y: Any, groups: Any) -> tuple[Matrix, NDArray[np.int64] | None]:
        """Return log p_l + sum_i log f(y_i t_il) of each row or group, and the rows' groups."""
        t = self._scores(X)
        y = column_or_1d(check_labels(y))
        if len(y) != len(t):
            raise ValueError(f"X has {len(t)} rows but y has {len(y)} labels.")
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            raise ValueError(
                f"y holds {y[[row]].tolist()[0]!r} in row {row}, but the labels that were fitted "
                f"are {self.classes_.tolist()}."
            )
        log_f = LINKS[self.response].log_f(np.where(y == self.classes_[1], 1.0, -1.0)[:, None] * t)
        log_p = np.log(self.weights_)
        numbers = check_groups(groups, len(t))
        if numbers is None:
            return log_f + log_p, None
        sums = np.zeros((numbers.max() + 1, self.n_components_))
        np.add.at(sums, numbers, log_f)
        return sums + log_p, numbers

    def _criteria(self, X: Any, y: Any, groups: Any) -> Criteria:
        joint, _ = self._joint(X, y, groups)
        total, r = logsumexp(joint, axis=1), softmax(joint, axis=1)
        entropy = -float(xlogy(r, r).sum())
        return Criteria(float(total.sum()), entropy, self.n_parameters_, len(column_or_1d(y)))


def _far_scores(X: Any, profiles: Matrix, t: Vector) -> Matrix:
    """Return <u_l, x> + t_l for rows so large that the sum would overflow on the way."""
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    size = np.abs(X).max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        return np.asarray((X / size @ profiles.T) * size + t)

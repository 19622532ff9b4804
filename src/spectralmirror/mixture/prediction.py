"""What a fitted mixture predicts: labels, and the classifiers behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture.frames import framed, framed_persons
from spectralmirror.mixture.person_model import History, PersonProfiles
from spectralmirror.mixture.posteriors import MixturePosteriors
from spectralmirror.mixture.summary import summarise
from spectralmirror.rows.accept import on_parts
from spectralmirror.rows.checks import check_features, check_groups, require_count
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["MixturePrediction"]


class MixturePrediction(MixturePosteriors):
    """The methods of a fitted mixture."""

    @on_parts(lambda self: len(self.classes_))
    def predict_proba(
        self,
        X: Any,
        component_weights: ArrayLike | None = None,
        *,
        groups: Any = None,
        history: Any = None,
        membership: Any = None,
    ) -> Matrix:
        """Return P(y | x) = sum_l p_l E f(<u_l + B z, x> + b_l) for both labels.

        Without spread, B = 0. With more than two labels, it is the average of the classes' softmax.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        component_weights : array-like of shape (k,) or (n_samples, k), default=None
            Weights to use in place of `weights_`, for all rows or for each row: what is known
            about which class gives the label.
        groups : array-like of shape (n_samples,), default=None
            The person of each row, for whom there may be a history.
        history : tuple (X, y, groups), default=None
            Earlier labels of the same persons: what they say about a person's class, and about
            their place in its spread, is used for that person's rows. Persons without a history are
            predicted as strangers.
        membership : array-like of shape (n_samples, n_covariates), default=None
            Covariates of the groups, as in :meth:`fit`; without them, the average weights of the
            fit are used.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Probabilities, in the order of `classes_`.
        """
        check_is_fitted(self, "coef_")
        X = check_features(X, self)
        t, W = self._t(X), self._scatter(X)
        p = self._component_weights(component_weights, len(t))
        numbers = check_groups(groups, len(t))
        lines = self._lines(membership, len(t), groups, numbers)
        if lines is not None:
            lines = lines if numbers is None else lines[numbers]
            p = np.exp(self._log_weights(self._of_membership, lines))
        if component_weights is not None and (history is not None or membership is not None):
            other = "a history" if history is not None else "membership"
            raise ValueError(f"Pass component_weights or {other}, not both.")
        found = self._proba(t, W, p)
        return found if history is None else self._with_history(X, found, groups, history, lines)

    @on_parts(lambda self: len(self.classes_) if len(self.classes_) > 2 else None)
    def decision_function(
        self,
        X: Any,
        component_weights: ArrayLike | None = None,
        *,
        groups: Any = None,
        history: Any = None,
        membership: Any = None,
    ) -> Vector:
        """Return E[y | x] in [-1, 1], with the labels coded as -1 and +1.

        With more than two labels, there is a column for each, whose code is +1 and that of all
        others -1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        component_weights : array-like of shape (k,) or (n_samples, k), default=None
            As in :meth:`predict_proba`.
        groups : array-like of shape (n_samples,), default=None
            As in :meth:`predict_proba`.
        history : tuple (X, y, groups), default=None
            As in :meth:`predict_proba`.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Positive if `classes_[1]` is more likely; with more than two labels, the column of the
            most likely one is the largest.
        """
        probability = self.predict_proba(
            X, component_weights, groups=groups, history=history, membership=membership
        )
        if len(self.classes_) > 2:
            return np.asarray(2 * probability - 1)
        return np.asarray(probability[:, 1] - probability[:, 0])

    @on_parts(lambda _: None, lambda self: self.classes_.dtype)
    def predict(
        self,
        X: Any,
        component_weights: ArrayLike | None = None,
        *,
        groups: Any = None,
        history: Any = None,
        membership: Any = None,
    ) -> NDArray[Any]:
        """Return the most likely label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        component_weights : array-like of shape (k,) or (n_samples, k), default=None
            As in :meth:`predict_proba`.
        groups : array-like of shape (n_samples,), default=None
            As in :meth:`predict_proba`.
        history : tuple (X, y, groups), default=None
            As in :meth:`predict_proba`.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Elements of `classes_`.
        """
        scores = self.decision_function(
            X, component_weights, groups=groups, history=history, membership=membership
        )
        if len(self.classes_) > 2:
            return np.asarray(self.classes_[scores.argmax(axis=1)])
        positive = scores > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    @framed
    @on_parts(lambda self: self.n_components_)
    def component_proba(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        membership: Any = None,
        averaged: bool = True,
    ) -> Matrix:
        """Return the probability that each classifier made the label of each row.

        If persons of one class differ, this is an integral over their spread.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            Rows with the same value share their classifier: their labels are judged together.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.
        averaged : bool, default=True
            Whether to average over what is not known about the classifiers, which matters if they
            were fitted to few rows; False takes the estimates for the truth.

        Returns
        -------
        ndarray of shape (n_samples, k)
            Rows sum to 1; a DataFrame if :meth:`set_output` says so.
        """
        X, labels = self._labelled_features(X, y)
        numbers = check_groups(groups, len(labels))
        lines = self._lines(membership, len(labels), groups, numbers)
        posterior = self._class_posterior(X, labels, numbers, lines, averaged=averaged)
        return posterior if numbers is None else posterior[numbers]

    @framed_persons
    def person_profiles(
        self, X: Any, y: Any, groups: Any, *, membership: Any = None
    ) -> PersonProfiles:
        """Return what the labels of each person say about their own profile.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,)
            The person of each row.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        PersonProfiles
            Posterior means and standard deviations of each person's coefficients and intercept, one
            line for each of the sorted persons; with more than two labels, for each label. A
            DataFrame if :meth:`set_output` says so.
        """
        check_is_fitted(self, "coef_")
        X, labels = self._labelled_features(X, y)
        if groups is None:
            raise ValueError("person_profiles needs groups: the person of each row.")
        numbers = check_groups(groups, len(labels))
        assert numbers is not None
        lines = self._lines(membership, len(labels), groups, numbers)
        sharp = self.sharpness_[:, None]
        if self._n_scores:
            coef = np.concatenate([self.coef_, self.intercept_[:, :, None]], axis=2)
            coef = coef.reshape(len(coef), -1)
        else:
            coef = np.column_stack([self.coef_ * sharp, self.intercept_ * self.sharpness_])
        if self._has_spread:
            B = np.concatenate([self.spread_, self.intercept_spread_[..., None, :]], axis=-2)
            B = B.reshape(-1, B.shape[-1])
            history = History(X, labels, numbers)
            mean, deviation = self._person_model(lines).moments(history, coef, B)
        else:
            of_classes = self._class_posterior(X, labels, numbers, lines)
            mean = of_classes @ coef
            square = np.square(coef - mean[:, None])
            deviation = np.sqrt(np.einsum("gk,gkm->gm", of_classes, square))
        if self._n_scores:
            shape = len(mean), self._n_scores, -1
            mean, deviation = mean.reshape(shape), deviation.reshape(shape)
        return PersonProfiles(
            np.unique(np.asarray(groups)), mean[..., :-1], deviation[..., :-1], mean[..., -1],
            deviation[..., -1],
        )  # fmt: skip

    @on_parts(lambda _: None, lambda _: np.intp)
    def predict_component(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        membership: Any = None,
        averaged: bool = True,
    ) -> NDArray[np.intp]:
        """Return the classifier that most likely made the label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            As in :meth:`component_proba`.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.
        averaged : bool, default=True
            As in :meth:`component_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Indices into `coef_`.
        """
        found = self.component_proba(X, y, groups, membership=membership, averaged=averaged)
        return np.asarray(np.asarray(found).argmax(axis=1))

    @on_parts(lambda _: None)
    def score_samples(
        self, X: Any, y: Any, groups: Any = None, *, membership: Any = None
    ) -> Vector:
        """Return the log-likelihood of each row, or of each group.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            As in :meth:`component_proba`.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_groups,)
            log P(y | x), in the order of the rows, or of the sorted values of `groups`.
        """
        X, labels = self._labelled_features(X, y)
        numbers = check_groups(groups, len(labels))
        lines = self._lines(membership, len(labels), groups, numbers)
        joint = self._joint(X, labels, numbers, lines)
        return np.asarray(logsumexp(joint, axis=1))

    def bic(self, X: Any, y: Any, groups: Any = None, *, membership: Any = None) -> float:
        """Return the Bayesian information criterion, -2 log P + m log n; lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            As in :meth:`component_proba`.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        float
            The criterion, for m parameters and n groups, or rows if there are no groups.
        """
        return self._criteria(X, y, groups, membership).bic

    def aic(self, X: Any, y: Any, groups: Any = None, *, membership: Any = None) -> float:
        """Return Akaike's information criterion, -2 log P + 2 m; lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            As in :meth:`component_proba`.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        float
            The criterion, for m parameters.
        """
        return self._criteria(X, y, groups, membership).aic

    def icl(self, X: Any, y: Any, groups: Any = None, *, membership: Any = None) -> float:
        """Return the integrated completed likelihood, bic + 2 entropy; lower is better.

        Unlike bic, it prefers components that can be distinguished.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            As in :meth:`component_proba`.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        float
            The criterion, with the entropy of the assignments to components.
        """
        return self._criteria(X, y, groups, membership).icl

    def sample(
        self, n_samples: int = 1, random_state: Any = None
    ) -> tuple[Matrix, NDArray[Any], NDArray[np.intp]]:
        """Draw rows from the fitted mixture, with Gaussian features.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            The same seed gives the same rows.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Features with the mean and covariance of those that were fitted.
        y : ndarray of shape (n_samples,)
            Their labels.
        components : ndarray of shape (n_samples,)
            The classifier that made each label.
        """
        check_is_fitted(self, "coef_")
        require_count(n_samples=n_samples)
        rng = check_random_state(random_state)
        W = rng.standard_normal((n_samples, len(self.feature_mean_)))
        root = self._feature_root
        X = self.feature_mean_ + (W * root if root.ndim == 1 else W @ root.T)
        components = rng.choice(self.n_components_, size=n_samples, p=self.weights_)
        chosen = np.eye(self.n_components_)[components]
        probability = self._proba(self._t(X), self._scatter(X), chosen)
        if self._n_scores:
            passed = rng.uniform(size=(n_samples, 1)) > probability.cumsum(axis=1)[:, :-1]
            return X, self.classes_[passed.sum(axis=1)], components
        positive = rng.uniform(size=n_samples) < probability[:, 1]
        return X, self.classes_[positive.astype(np.intp)], components

    def summary(self, level: float = 0.95, *, as_frame: bool = False) -> Any:
        """Return a table of estimates, standard errors, z values and confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level of the intervals.
        as_frame : bool, default=False
            Return a DataFrame instead of text: of pandas, or as :meth:`set_output` says.

        Returns
        -------
        str or DataFrame
            One line per weight, intercept and feature of each component.
        """
        check_is_fitted(self, "coef_")
        return summarise(self, level, as_frame=as_frame)

"""What a fitted mixture predicts: labels, and the classifiers behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax, xlogy
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture.averaging import ParameterPosterior
from spectralmirror.mixture.component_scores import component_scores
from spectralmirror.mixture.criteria import Criteria
from spectralmirror.mixture.likelihood import Parameters
from spectralmirror.mixture.person_model import History, PersonModel, PersonProfiles
from spectralmirror.mixture.summary import summarise
from spectralmirror.responses import Response, get_response
from spectralmirror.rows.accept import on_parts
from spectralmirror.rows.checks import (
    check_features,
    check_group_keys,
    check_groups,
    require_count,
)
from spectralmirror.rows.kernels import far_origin
from spectralmirror.rows.labels import check_labels
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["MixturePrediction"]


class MixturePrediction:
    """The methods of a fitted mixture."""

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
    _parameter_root: Matrix | None
    spread_: Matrix
    intercept_spread_: Vector
    response: str

    @on_parts(lambda _: 2)
    def predict_proba(
        self,
        X: Any,
        component_weights: ArrayLike | None = None,
        *,
        groups: Any = None,
        history: Any = None,
    ) -> Matrix:
        """Return P(y | x) = sum_l p_l E f(<u_l + B z, x> + b_l) for both labels.

        Without spread, B = 0.

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

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities, in the order of `classes_`.
        """
        check_is_fitted(self, "coef_")
        X = check_features(X, self)
        t, W = self._t(X), self._scatter(X)
        p = self._component_weights(component_weights, len(t))
        if history is None:
            check_groups(groups, len(t))
            return self._proba(t, W, p)
        if component_weights is not None:
            raise ValueError("Pass component_weights or a history, not both.")
        return self._with_history(X, self._proba(t, W, p), groups, history)

    def _with_history(self, X: Any, found: Matrix, groups: Any, history: Any) -> Matrix:
        """Replace the probabilities of persons who have a history."""
        if not isinstance(history, tuple | list) or len(history) != 3:
            raise ValueError(
                "history must be a tuple (X, y, groups) of rows whose labels are known."
            )
        if groups is None or history[2] is None:
            raise ValueError(
                "history needs the persons of the rows: pass groups=, and the groups of the "
                "history as its third part."
            )
        keys = check_group_keys(groups, len(found))
        past, y, persons = history
        checked, signs = self._labelled_features(past, y)
        known, numbers = np.unique(
            np.asarray(check_group_keys(persons, len(signs))), return_inverse=True
        )
        place = np.minimum(np.searchsorted(known, np.asarray(keys)), len(known) - 1)
        met = np.flatnonzero(known[place] == keys)
        if not len(met):
            return found
        asked, numbers_asked = np.unique(place[met], return_inverse=True)
        rows = np.flatnonzero(np.isin(numbers, asked))
        numbers = np.searchsorted(asked, numbers[rows])
        if self._spread_at_mean.shape[1]:
            one = History(checked[rows], signs[rows], numbers)
            found[met] = self._person_model.probabilities(X[met], numbers_asked, one)
        else:
            weights = self._class_posterior(checked[rows], signs[rows], numbers)
            found[met] = self._proba(self._t(X[met]), self._scatter(X[met]), weights[numbers_asked])
        return found

    @on_parts(lambda _: None)
    def decision_function(
        self,
        X: Any,
        component_weights: ArrayLike | None = None,
        *,
        groups: Any = None,
        history: Any = None,
    ) -> Vector:
        """Return E[y | x] in [-1, 1], with the labels coded as -1 and +1.

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

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive if `classes_[1]` is more likely.
        """
        probability = self.predict_proba(X, component_weights, groups=groups, history=history)
        return np.asarray(probability[:, 1] - probability[:, 0])

    @on_parts(lambda _: None, lambda self: self.classes_.dtype)
    def predict(
        self,
        X: Any,
        component_weights: ArrayLike | None = None,
        *,
        groups: Any = None,
        history: Any = None,
    ) -> NDArray[Any]:
        """Return the more likely label of each row.

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

        Returns
        -------
        ndarray of shape (n_samples,)
            Elements of `classes_`.
        """
        scores = self.decision_function(X, component_weights, groups=groups, history=history)
        positive = scores > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    @on_parts(lambda self: self.n_components_)
    def component_proba(
        self, X: Any, y: Any, groups: Any = None, *, averaged: bool = True
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
        averaged : bool, default=True
            Whether to average over what is not known about the classifiers, which matters if they
            were fitted to few rows; False takes the estimates for the truth. With a spread, they
            are always taken for the truth.

        Returns
        -------
        ndarray of shape (n_samples, k)
            Rows sum to 1.
        """
        X, signs = self._labelled_features(X, y)
        numbers = check_groups(groups, len(signs))
        posterior = self._class_posterior(X, signs, numbers, averaged=averaged)
        return posterior if numbers is None else posterior[numbers]

    def _class_posterior(
        self, X: Any, signs: Vector, numbers: NDArray[np.int64] | None, *, averaged: bool = True
    ) -> Matrix:
        """Return the posterior of the classes for each row, or for each group."""
        theta = self._parameter_posterior if averaged else None
        if theta is None:
            joint = self._joint(X, signs, numbers)
        elif numbers is None:
            joint = self._averaged_rows(theta, X, signs)
        else:
            joint = self._averaged_groups(theta, X, signs, numbers)
        return np.asarray(softmax(joint, axis=1))

    def person_profiles(self, X: Any, y: Any, groups: Any) -> PersonProfiles:
        """Return what the labels of each person say about their own profile.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,)
            The person of each row.

        Returns
        -------
        PersonProfiles
            Posterior means and standard deviations of each person's coefficients and intercept, one
            line for each of the sorted persons.
        """
        check_is_fitted(self, "coef_")
        X, signs = self._labelled_features(X, y)
        if groups is None:
            raise ValueError("person_profiles needs groups: the person of each row.")
        numbers = check_groups(groups, len(signs))
        assert numbers is not None
        sharp = self.sharpness_[:, None]
        coef = np.column_stack([self.coef_ * sharp, self.intercept_ * self.sharpness_])
        B = np.vstack([self.spread_, self.intercept_spread_])
        mean, deviation = self._person_model.moments(History(X, signs, numbers), coef, B)
        return PersonProfiles(
            np.unique(np.asarray(groups)), mean[:, :-1], deviation[:, :-1], mean[:, -1],
            deviation[:, -1],
        )  # fmt: skip

    @on_parts(lambda _: None, lambda _: np.intp)
    def predict_component(
        self, X: Any, y: Any, groups: Any = None, *, averaged: bool = True
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
        averaged : bool, default=True
            As in :meth:`component_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Indices into `coef_`.
        """
        return np.asarray(self.component_proba(X, y, groups, averaged=averaged).argmax(axis=1))

    @on_parts(lambda _: None)
    def score_samples(self, X: Any, y: Any, groups: Any = None) -> Vector:
        """Return the log-likelihood of each row, or of each group.

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
        ndarray of shape (n_samples,) or (n_groups,)
            log P(y | x), in the order of the rows, or of the sorted values of `groups`.
        """
        X, signs = self._labelled_features(X, y)
        joint = self._joint(X, signs, check_groups(groups, len(signs)))
        return np.asarray(logsumexp(joint, axis=1))

    def bic(self, X: Any, y: Any, groups: Any = None) -> float:
        """Return the Bayesian information criterion, -2 log P + m log n; lower is better.

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
        float
            The criterion, for m parameters and n groups, or rows if there are no groups.
        """
        return self._criteria(X, y, groups).bic

    def aic(self, X: Any, y: Any, groups: Any = None) -> float:
        """Return Akaike's information criterion, -2 log P + 2 m; lower is better.

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
        float
            The criterion, for m parameters.
        """
        return self._criteria(X, y, groups).aic

    def icl(self, X: Any, y: Any, groups: Any = None) -> float:
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

        Returns
        -------
        float
            The criterion, with the entropy of the assignments to components.
        """
        return self._criteria(X, y, groups).icl

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
        X = self.feature_mean_ + W @ self._feature_root.T
        components = rng.choice(self.n_components_, size=n_samples, p=self.weights_)
        chosen = np.eye(self.n_components_)[components]
        probability = self._proba(self._t(X), self._scatter(X), chosen)[:, 1]
        positive = rng.uniform(size=n_samples) < probability
        return X, self.classes_[positive.astype(np.intp)], components

    def summary(self, level: float = 0.95, *, as_frame: bool = False) -> Any:
        """Return a table of estimates, standard errors, z values and confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level of the intervals.
        as_frame : bool, default=False
            Return a DataFrame instead of text (needs pandas).

        Returns
        -------
        str or DataFrame
            One line per weight, intercept and feature of each component.
        """
        check_is_fitted(self, "coef_")
        return summarise(self, level, as_frame=as_frame)

    @property
    def _fitted_response(self) -> Response:
        return get_response(self.response).fitted

    def _t(self, X: Any) -> Matrix:
        """Return the argument of f: <u_l, x> + b_l, times `sharpness_`."""
        profiles, intercepts = self.coef_ * self.sharpness_[:, None], self.intercept_
        origin = far_origin(self.feature_mean_, self.feature_scale_, X.dtype)
        return component_scores(X, profiles, intercepts * self.sharpness_, origin)

    @property
    def _spread_at_mean(self) -> Matrix:
        """B for scores of [x - mean, 1], shape (d + 1, q); older models have no columns."""
        B = getattr(self, "spread_", np.empty((len(self.feature_mean_), 0)))
        if not B.shape[1]:
            return np.vstack([B, B[:1]])
        return np.vstack([B, self.intercept_spread_ + self.feature_mean_ @ B])

    def _scatter(self, X: Any) -> Matrix:
        """Return W = B' [x - mean, 1], shape (n, q)."""
        B = self._spread_at_mean
        return np.empty((X.shape[0], 0)) if not B.shape[1] else self._centred_scores(X, B.T)

    @property
    def _person_model(self) -> PersonModel:
        def scores(X: Any) -> tuple[Matrix, Matrix]:
            return self._t(X), self._scatter(X)

        return PersonModel(scores, self.weights_, self._fitted_response)

    def _proba(self, t: Matrix, W: Matrix, p: Matrix) -> Matrix:
        f = self._fitted_response.f
        below, above = f(-t), f(t)
        if W.shape[1]:
            log_f = self._person_model.log_f_of_rows
            below, above = np.exp(log_f(-t, W)), np.exp(log_f(t, W))
        both = np.column_stack([(below * p).sum(axis=1), (above * p).sum(axis=1)])
        return np.asarray(np.minimum(both, 1.0))  # weights may sum to 1 + 1e-16

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
                f"component_weights must have shape ({k},) or ({n}, {k}): one number per "
                f"component, for all rows or for each row of X, got shape {p.shape}."
            )
        p = p.reshape(-1, k)
        if not ((p >= 0).all() and np.allclose(p.sum(axis=1), 1, atol=1e-6)):
            raise ValueError("component_weights must be 0 or more and sum to 1 over components.")
        return p

    def _labelled_features(self, X: Any, y: Any) -> tuple[Any, Vector]:
        """Return checked features, and labels of -1 and +1."""
        check_is_fitted(self, "coef_")
        X, y = check_features(X, self), column_or_1d(check_labels(y))
        if len(y) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows but y has {len(y)} labels.")
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            raise ValueError(
                f"y holds {y[[row]].tolist()[0]!r} in row {row}, but the labels that were fitted "
                f"are {self.classes_.tolist()}."
            )
        return X, np.where(y == self.classes_[1], 1.0, -1.0)

    def _joint(self, X: Any, signs: Vector, numbers: NDArray[np.int64] | None) -> Matrix:
        """Return log p_l + log P(labels | class l) of each row or group."""
        t, log_p = self._t(X), np.log(self.weights_)
        if not self._spread_at_mean.shape[1]:
            return self._summed(t, signs, numbers) + log_p
        if numbers is None:
            W = self._scatter(X)
            return self._person_model.log_f_of_rows(signs[:, None] * t, W) + log_p
        return self._person_model.log_likelihood(History(X, signs, numbers)) + log_p

    def _summed(self, t: Matrix, signs: Vector, numbers: NDArray[np.int64] | None) -> Matrix:
        """Return sum_i log f(y_i t_il) of each row or group."""
        log_f = self._fitted_response.log_f(signs[:, None] * t)
        if numbers is None:
            return np.asarray(log_f)
        sums = np.zeros((numbers.max() + 1, log_f.shape[1]))
        np.add.at(sums, numbers, log_f)
        return sums

    @property
    def _parameter_posterior(self) -> ParameterPosterior | None:
        """What is known about the parameters, for scores of [x - mean, 1]."""
        root = getattr(self, "_parameter_root", None)  # older models have none
        if root is None:
            return None
        return ParameterPosterior(self._parameters_at_mean, root)

    @property
    def _parameters_at_mean(self) -> Parameters:
        """The parameters, for scores of [x - mean, 1]."""
        profiles = self.coef_ * self.sharpness_[:, None]
        at_mean = self.intercept_ * self.sharpness_ + profiles @ self.feature_mean_
        return Parameters(np.column_stack([profiles, at_mean]), np.log(self.weights_))

    def _averaged_rows(self, theta: ParameterPosterior, X: Any, signs: Vector) -> Matrix:
        roots = theta.variance_roots
        k, _, r = roots.shape

        def of(rows: Rows) -> Matrix:
            directions = roots.transpose(0, 2, 1).reshape(k * r, -1)
            deviations = self._centred_scores(rows.X, directions)
            with np.errstate(over="ignore"):
                return np.asarray(np.square(deviations).reshape(-1, k, r).sum(axis=2))

        variances = collect(Rows(X, np.empty(X.shape[0])), of)
        signed = (signs[:, None] * self._t(X)).T
        return theta.joint_of_rows(signed, variances.T, self._fitted_response).T

    def _averaged_groups(
        self, theta: ParameterPosterior, X: Any, signs: Vector, numbers: NDArray[np.int64]
    ) -> Matrix:
        def joint(one: Parameters) -> Matrix:
            t = self._centred_scores(X, one.profiles)
            return self._summed(t, signs, numbers) + one.log_weights

        return theta.joint_of_groups(joint)

    def _draws(self) -> list[Parameters]:
        """Return draws of the parameters for scores of [x - mean, 1]; one if they are known."""
        theta = self._parameter_posterior
        return [self._parameters_at_mean] if theta is None else list(theta.draws())

    def _group_sums(
        self, draws: list[Parameters], X: Any, y: Any, numbers: NDArray[np.int64]
    ) -> AnyArray:
        """Return sum_i log f(y_i t_il) of each group at each draw, shape (n_groups, draws, k)."""
        X, signs = self._labelled_features(X, y)
        sums = [
            self._summed(self._centred_scores(X, one.profiles), signs, numbers) for one in draws
        ]
        return np.stack(sums, axis=1)

    def _centred_scores(self, X: Any, profiles: Matrix) -> Matrix:
        """Return the scores of [x - mean, 1]."""
        origin = far_origin(self.feature_mean_, self.feature_scale_, X.dtype)
        intercepts = profiles[:, -1] - profiles[:, :-1] @ self.feature_mean_
        return component_scores(X, profiles[:, :-1], intercepts, origin)

    def _criteria(self, X: Any, y: Any, groups: Any) -> Criteria:
        X, signs = self._labelled_features(X, y)
        numbers = check_groups(groups, len(signs))
        joint = self._joint(X, signs, numbers)
        total, r = logsumexp(joint, axis=1), softmax(joint, axis=1)
        entropy = -float(xlogy(r, r).sum())
        sizes = np.ones(1) if numbers is None else np.bincount(numbers)
        return Criteria(
            float(total.sum()),
            entropy,
            self.n_parameters_,
            len(joint),
            getattr(self, "_n_spread", 0),
            max(float((sizes > 1).sum()), 1.0),
        )

"""What a fitted mixture knows about rows and persons: scores, likelihoods and posteriors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax, xlogy
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture.averaging import ParameterPosterior
from spectralmirror.mixture.component_scores import component_scores
from spectralmirror.mixture.criteria import Criteria
from spectralmirror.mixture.label_average import averaged_softmax
from spectralmirror.mixture.labels import Labels
from spectralmirror.mixture.membership_weights import MembershipWeights
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.person_model import History, PersonModel
from spectralmirror.responses import Response, get_response
from spectralmirror.rows.checks import check_features, check_group_keys, check_groups
from spectralmirror.rows.kernels import far_origin
from spectralmirror.rows.labels import check_labels
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["MixturePosteriors"]

#: Draws of the parameters over which the posteriors of persons are averaged if there is a spread,
#: and the nodes of a person at each of them.
N_DRAWS, N_NODES = 8, 128


class MixturePosteriors(MembershipWeights):
    """Scores, likelihoods and posteriors of a fitted mixture."""

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

    @property
    def _fitted_response(self) -> Response:
        return get_response(self.response).fitted

    @property
    def _n_scores(self) -> int:
        """Number of scores of each class: one for each of more than two labels; otherwise 0."""
        return self.coef_.shape[1] if self.coef_.ndim == 3 else 0

    @property
    def _has_spread(self) -> bool:
        return bool(self._spread_at_mean.shape[1])

    def _t(self, X: Any) -> Matrix:
        """Return <u_l, x> + b_l, times `sharpness_`, shape (n, k); (n, k C) for C > 2 labels."""
        if self._n_scores:
            profiles = self.coef_.reshape(-1, self.coef_.shape[2])
            origin = far_origin(self.feature_mean_, self.feature_scale_, X.dtype)
            return component_scores(X, profiles, self.intercept_.ravel(), origin)
        profiles, intercepts = self.coef_ * self.sharpness_[:, None], self.intercept_
        origin = far_origin(self.feature_mean_, self.feature_scale_, X.dtype)
        return component_scores(X, profiles, intercepts * self.sharpness_, origin)

    @property
    def _spread_at_mean(self) -> AnyArray:
        """B for scores of [x - mean, 1], shape (d + 1, q); older models have no columns.

        For C > 2 labels, the shape is (C (d + 1), q).
        """
        B = getattr(self, "spread_", np.empty((len(self.feature_mean_), 0)))
        if not B.shape[-1]:
            return np.empty((len(self.feature_mean_) + 1, 0))
        at_mean = self.intercept_spread_ + np.tensordot(B, self.feature_mean_, axes=(-2, 0))
        return np.concatenate([B, at_mean[..., None, :]], axis=-2).reshape(-1, B.shape[-1])

    def _scatter(self, X: Any) -> Matrix:
        """Return W = B' [x - mean, 1], shape (n, q); for C > 2 labels (n C, q)."""
        B = self._spread_at_mean
        return np.empty((X.shape[0], 0)) if not B.shape[1] else self._scattered(X, B)

    def _scattered(self, X: Any, B: Matrix) -> Matrix:
        """Return W for some B, as :meth:`_spread_at_mean` gives it."""
        found = self._centred_scores(X, B.T)
        if not self._n_scores:
            return found
        found = found.reshape(len(found), B.shape[1], -1).swapaxes(1, 2)
        return np.ascontiguousarray(found.reshape(-1, B.shape[1]))

    def _of_labels(self, t: Matrix) -> Matrix:
        """Return scores with a line for each of C > 2 labels of each row, shape (n C, k)."""
        if not self._n_scores:
            return t
        found = t.reshape(len(t), -1, self._n_scores).swapaxes(1, 2)
        return np.ascontiguousarray(found.reshape(-1, found.shape[2]))

    def _person_model(self, lines: Matrix | None = None) -> PersonModel:
        """Return the model of persons, with the parameters taken for known.

        `lines` holds [z, 1] for each person, for weights that depend on covariates.
        """

        def scores(X: Any) -> tuple[Matrix, Matrix]:
            return self._of_labels(self._t(X)), self._scatter(X)

        log_p = self._log_weights(self._of_membership, lines)
        return PersonModel(scores, log_p, self._fitted_response, self._n_scores or 1)

    def _person_models(self, lines: Matrix | None = None) -> Iterator[PersonModel]:
        """Yield the model of persons for draws of the parameters; one if they are known."""
        theta = self._parameter_posterior
        if theta is None:
            yield self._person_model(lines)
            return
        for seed, one in enumerate(theta.draws(N_DRAWS)):
            profiles, B = one.profiles, one.spread.reshape(one.profiles.shape[1], -1)

            def scores(X: Any, V: Matrix = profiles, B: Matrix = B) -> tuple[Matrix, Matrix]:
                return self._of_labels(self._centred_scores(X, V)), self._scattered(X, B)

            log_p, n_scores = self._log_weights(one, lines), self._n_scores or 1
            yield PersonModel(scores, log_p, self._fitted_response, n_scores, N_NODES, seed)

    def _proba(self, t: Matrix, W: Matrix, p: Matrix) -> Matrix:
        if self._n_scores:
            pi = self._label_proba(t, W)
            return np.asarray(np.minimum(np.einsum("nkc,nk->nc", pi, p), 1.0))
        f = self._fitted_response.f
        below, above = f(-t), f(t)
        if W.shape[1]:
            deviation = np.linalg.norm(W, axis=1)[:, None]
            above = self._fitted_response.averaged(t, deviation)
            below = self._fitted_response.averaged(-t, deviation)
        both = np.column_stack([(below * p).sum(axis=1), (above * p).sum(axis=1)])
        return np.asarray(np.minimum(both, 1.0))  # weights may sum to 1 + 1e-16

    def _label_proba(self, t: Matrix, W: Matrix) -> AnyArray:
        """Return E softmax(t_l + W z) of the labels in each class, shape (n, k, C)."""
        t = t.reshape(len(t), -1, self._n_scores)
        if not W.shape[1]:
            return np.asarray(softmax(t, axis=2))
        return averaged_softmax(t, W.reshape(len(t), self._n_scores, -1))

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

    def _labelled_features(self, X: Any, y: Any) -> tuple[Any, Labels]:
        """Return checked features, and their labels."""
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
        if self._n_scores:
            codes = np.searchsorted(self.classes_, y).astype(np.float64)
            return X, Labels(codes, self._fitted_response, n_labels=self._n_scores)
        return X, Labels(np.where(y == self.classes_[1], 1.0, -1.0), self._fitted_response)

    def _joint(
        self,
        X: Any,
        labels: Labels,
        numbers: NDArray[np.int64] | None,
        lines: Matrix | None = None,
    ) -> Matrix:
        """Return log p_l + log P(labels | class l) of each row or group."""
        t, log_p = self._t(X), self._log_weights(self._of_membership, lines)
        if not self._has_spread:
            return self._summed(t, labels, numbers) + log_p
        if numbers is None:
            W = self._scatter(X)
            if self._n_scores:
                pi = self._label_proba(t, W)[np.arange(len(t)), :, labels.signs.astype(np.intp)]
                return np.asarray(np.log(np.maximum(pi, np.finfo(np.float64).tiny)) + log_p)
            return self._person_model().log_f_of_rows(labels.signs[:, None] * t, W) + log_p
        return self._person_model().log_likelihood(History(X, labels, numbers)) + log_p

    def _summed(self, t: Matrix, labels: Labels, numbers: NDArray[np.int64] | None) -> Matrix:
        """Return sum_i log f(y_i t_il) of each row or group."""
        log_f = labels.log_f(t.T).T
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
        if self._n_scores:
            at_mean = self.intercept_ + self.coef_ @ self.feature_mean_
            profiles = np.concatenate([self.coef_, at_mean[:, :, None]], axis=2)
            profiles, B = profiles.reshape(len(profiles), -1), self._spread_at_mean.ravel()
            return replace(self._of_membership, profiles=profiles, spread=B)
        profiles = self.coef_ * self.sharpness_[:, None]
        at_mean = self.intercept_ * self.sharpness_ + profiles @ self.feature_mean_
        B = self._spread_at_mean.ravel()
        return replace(self._of_membership, profiles=np.column_stack([profiles, at_mean]), spread=B)

    def _averaged_rows(
        self, theta: ParameterPosterior, X: Any, labels: Labels, lines: Matrix | None
    ) -> Matrix:
        roots = theta.variance_roots
        k, _, r = roots.shape

        def of(rows: Rows) -> Matrix:
            directions = roots.transpose(0, 2, 1).reshape(k * r, -1)
            deviations = self._centred_scores(rows.X, directions)
            with np.errstate(over="ignore"):
                return np.asarray(np.square(deviations).reshape(-1, k, r).sum(axis=2))

        variances = collect(Rows(X, np.empty(X.shape[0])), of)
        signed = (labels.signs[:, None] * self._t(X)).T
        log_p = self._log_weights(self._of_membership, lines).T
        return theta.joint_of_rows(signed, variances.T, self._fitted_response, log_p).T

    def _averaged_groups(
        self,
        theta: ParameterPosterior,
        X: Any,
        labels: Labels,
        numbers: NDArray[np.int64] | None,
        lines: Matrix | None,
    ) -> Matrix:
        def joint(one: Parameters) -> Matrix:
            t = self._centred_scores(X, one.profiles)
            return self._summed(t, labels, numbers) + self._log_weights(one, lines)

        return theta.joint_of_groups(joint)

    def _averaged_persons(self, history: History, lines: Matrix | None) -> Matrix:
        """Return the posterior of the classes of each person, averaged over the parameters."""
        joints = [
            model.log_likelihood(history) + model.log_weights
            for model in self._person_models(lines)
        ]
        return np.asarray(softmax(logsumexp(joints, axis=0), axis=1))

    def _draws(self) -> list[Parameters]:
        """Return draws of the parameters for scores of [x - mean, 1]; one if they are known."""
        theta = self._parameter_posterior
        return [self._parameters_at_mean] if theta is None else list(theta.draws())

    def _group_sums(
        self, draws: list[Parameters], X: Any, y: Any, numbers: NDArray[np.int64]
    ) -> AnyArray:
        """Return sum_i log f(y_i t_il) of each group at each draw, shape (n_groups, draws, k)."""
        X, labels = self._labelled_features(X, y)
        sums = [
            self._summed(self._centred_scores(X, one.profiles), labels, numbers) for one in draws
        ]
        return np.stack(sums, axis=1)

    def _log_weights_of_draws(
        self, draws: list[Parameters], membership: Any, numbers: NDArray[np.int64]
    ) -> AnyArray:
        """Return log p_l of each group at each draw, shape (n_groups, draws, k)."""
        lines = self._lines(membership, len(numbers), numbers, numbers)
        found = [self._log_weights(theta, lines) for theta in draws]
        shape = int(numbers.max(initial=-1)) + 1, len(self.weights_)
        return np.stack([np.broadcast_to(one, shape) for one in found], axis=1)

    def _centred_scores(self, X: Any, profiles: Matrix) -> Matrix:
        """Return the scores of [x - mean, 1], for profiles of whole classes or of labels."""
        profiles = profiles.reshape(-1, len(self.feature_mean_) + 1)
        origin = far_origin(self.feature_mean_, self.feature_scale_, X.dtype)
        intercepts = profiles[:, -1] - profiles[:, :-1] @ self.feature_mean_
        return component_scores(X, profiles[:, :-1], intercepts, origin)

    def _criteria(self, X: Any, y: Any, groups: Any, membership: Any) -> Criteria:
        X, labels = self._labelled_features(X, y)
        numbers = check_groups(groups, len(labels))
        lines = self._lines(membership, len(labels), groups, numbers)
        joint = self._joint(X, labels, numbers, lines)
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

    def _class_posterior(
        self,
        X: Any,
        labels: Labels,
        numbers: NDArray[np.int64] | None,
        lines: Matrix | None = None,
        *,
        averaged: bool = True,
    ) -> Matrix:
        """Return the posterior of the classes for each row, or for each group.

        `lines` holds [z, 1] for each row, or for each group.
        """
        theta = self._parameter_posterior if averaged else None
        if theta is None or (self._has_spread and numbers is None):
            joint = self._joint(X, labels, numbers, lines)
        elif self._has_spread and numbers is not None:
            return self._averaged_persons(History(X, labels, numbers), lines)
        elif numbers is None and not self._n_scores:
            joint = self._averaged_rows(theta, X, labels, lines)
        else:
            joint = self._averaged_groups(theta, X, labels, numbers, lines)
        return np.asarray(softmax(joint, axis=1))

    def _with_history(
        self, X: Any, found: Matrix, groups: Any, history: Any, lines: Matrix | None
    ) -> Matrix:
        """Replace the probabilities of persons who have a history.

        `lines` holds [z, 1] for each row of X.
        """
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
        if not np.shape(past)[0]:
            return found
        try:
            checked, labels = self._labelled_features(past, y)
        except ValueError as error:
            raise ValueError(f"history: {error}") from None
        known, numbers = np.unique(
            np.asarray(check_group_keys(persons, len(labels))), return_inverse=True
        )
        place = np.minimum(np.searchsorted(known, np.asarray(keys)), len(known) - 1)
        met = np.flatnonzero(known[place] == keys)
        if not len(met):
            return found
        asked, first, numbers_asked = np.unique(place[met], return_index=True, return_inverse=True)
        lines = None if lines is None else lines[met[first]]
        rows = np.flatnonzero(np.isin(numbers, asked))
        numbers = np.searchsorted(asked, numbers[rows])
        own = X[met]
        if self._has_spread:
            one = History(checked[rows], labels[rows], numbers)
            several = [m.probabilities(own, numbers_asked, one) for m in self._person_models(lines)]
            found[met] = np.mean(several, axis=0)
        else:
            weights = self._class_posterior(checked[rows], labels[rows], numbers, lines)
            found[met] = self._proba(self._t(own), self._scatter(own), weights[numbers_asked])
        return found

"""What a fitted mixture predicts about choices: probabilities, classes, and shares of markets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture.frames import framed
from spectralmirror.mixture.labels import Labels
from spectralmirror.mixture.person_model import History
from spectralmirror.mixture.persons import batches
from spectralmirror.mixture.posteriors import MixturePosteriors
from spectralmirror.mixture.spread import nodes_of
from spectralmirror.mixture.summary import summarise
from spectralmirror.rows.checks import check_features
from spectralmirror.rows.set_rows import SetRows
from spectralmirror.rows.sets import check_chosen, check_same_in_sets, check_sets
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.rows.weights import check_weights

__all__ = ["ChoicePrediction", "MarketShares"]

#: Nodes over which probabilities of strangers are averaged if there is a spread, and their seed.
N_NODES, SEED = 512, 11


class MarketShares(NamedTuple):
    """Shares of alternatives: the average over sets of the probability that they are chosen.

    Attributes
    ----------
    alternatives : ndarray of shape (n_alternatives,)
        The alternatives.
    overall : ndarray of shape (n_alternatives,)
        Their shares.
    by_class : ndarray of shape (k, n_alternatives)
        Their shares among the persons of each class.
    """

    alternatives: NDArray[Any]
    overall: Vector
    by_class: Matrix


class ChoicePrediction(MixturePosteriors):
    """The methods of a mixture that was fitted to choices."""

    def predict_proba(
        self,
        X: Any,
        *,
        choices: Any,
        groups: Any = None,
        history: Any = None,
        membership: Any = None,
    ) -> Vector:
        """Return the probability that each row is the one that is chosen from its set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The alternatives, one in each row.
        choices : array-like of shape (n_samples,)
            The choice set of each row.
        groups : array-like of shape (n_samples,), default=None
            The person of each row, for whom there may be a history.
        history : tuple (X, chosen, choices, groups), default=None
            Earlier choices of the same persons: what they say about a person's class, and about
            their place in its spread, is used for that person's rows. Persons without a history are
            predicted as strangers.
        membership : array-like of shape (n_samples, n_covariates), default=None
            Covariates of the persons, as in :meth:`fit`; without them, the average weights of the
            fit are used.

        Returns
        -------
        ndarray of shape (n_samples,)
            Probabilities, which sum to 1 over each set.
        """
        check_is_fitted(self, "coef_")
        rows = self._set_rows(X, choices, groups)
        log_p = self._log_weights_of(rows, membership, groups)
        found = (self._of_strangers(rows) * np.exp(log_p)).sum(axis=1)
        if history is not None:
            if groups is None:
                raise ValueError("history needs the persons of the rows: pass groups=, too.")
            self._use_history(found, rows, log_p, history)
        return rows.in_their_order(found)

    def predict(
        self,
        X: Any,
        *,
        choices: Any,
        groups: Any = None,
        history: Any = None,
        membership: Any = None,
    ) -> NDArray[np.bool_]:
        """Return which row of each set is most likely to be chosen.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The alternatives, one in each row.
        choices : array-like of shape (n_samples,)
            The choice set of each row.
        groups : array-like of shape (n_samples,), default=None
            As in :meth:`predict_proba`.
        history : tuple (X, chosen, choices, groups), default=None
            As in :meth:`predict_proba`.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
            True for one row of each set, the first of those that are equally likely.
        """
        probability = self.predict_proba(
            X, choices=choices, groups=groups, history=history, membership=membership
        )
        sets = check_sets(choices, len(probability))
        ordered, found = probability[sets.order], np.zeros(len(probability), dtype=bool)
        by_set = np.lexsort((np.arange(len(ordered)), -ordered, sets.numbers))
        found[sets.order[by_set[sets.starts]]] = True
        return found

    @framed
    def component_proba(
        self,
        X: Any,
        chosen: Any,
        *,
        choices: Any,
        groups: Any = None,
        membership: Any = None,
        averaged: bool = True,
    ) -> Matrix:
        """Return the probability that the person of each row belongs to each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The alternatives, one in each row.
        chosen : array-like of shape (n_samples,)
            Whether the row was chosen from its set.
        choices : array-like of shape (n_samples,)
            The choice set of each row.
        groups : array-like of shape (n_samples,), default=None
            The person of each row; None means that each set is another person's.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.
        averaged : bool, default=True
            Whether to average over what is not known about the classes.

        Returns
        -------
        ndarray of shape (n_samples, k)
            Rows sum to 1; a DataFrame if :meth:`set_output` says so.
        """
        rows, labels, lines = self._labelled_sets(X, chosen, choices, groups, membership)
        found = self._class_posterior(rows.X, labels, rows.persons, lines, averaged=averaged)
        return rows.in_their_order(found[rows.persons])

    def predict_component(
        self,
        X: Any,
        chosen: Any,
        *,
        choices: Any,
        groups: Any = None,
        membership: Any = None,
        averaged: bool = True,
    ) -> NDArray[np.intp]:
        """Return the most likely class of the person of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The alternatives, one in each row.
        chosen : array-like of shape (n_samples,)
            Whether the row was chosen from its set.
        choices : array-like of shape (n_samples,)
            The choice set of each row.
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
        found = self.component_proba(
            X, chosen, choices=choices, groups=groups, membership=membership, averaged=averaged
        )
        return np.asarray(np.asarray(found).argmax(axis=1))

    def score_samples(
        self, X: Any, chosen: Any, *, choices: Any, groups: Any = None, membership: Any = None
    ) -> Vector:
        """Return the log-likelihood of each person's choices, or of each set without groups.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The alternatives, one in each row.
        chosen : array-like of shape (n_samples,)
            Whether the row was chosen from its set.
        choices : array-like of shape (n_samples,)
            The choice set of each row.
        groups : array-like of shape (n_samples,), default=None
            As in :meth:`component_proba`.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_persons,)
            Log-likelihoods, in the order in which persons, or sets, first appear.
        """
        rows, labels, lines = self._labelled_sets(X, chosen, choices, groups, membership)
        joint = self._joint(rows.X, labels, rows.persons, lines)
        return np.asarray(logsumexp(joint, axis=1))

    def score(
        self,
        X: Any,
        chosen: Any,
        *,
        choices: Any,
        groups: Any = None,
        membership: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Return the share of sets whose chosen row :meth:`predict` finds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The alternatives, one in each row.
        chosen : array-like of shape (n_samples,)
            Whether the row was chosen from its set.
        choices : array-like of shape (n_samples,)
            The choice set of each row.
        groups : array-like of shape (n_samples,), default=None
            The person of each row.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, the same for all rows of a set.

        Returns
        -------
        float
            Between 0 and 1.
        """
        found = self.predict(X, choices=choices, groups=groups, membership=membership)
        sets = check_sets(choices, len(found))
        right = check_chosen(chosen, sets)[found[sets.order]] > 0
        if sample_weight is None:
            return float(right.mean())
        weight = check_weights(sample_weight, len(found), np.float64)[sets.order]
        check_same_in_sets(weight, sets, "sample_weight")
        return float(np.average(right, weights=weight[sets.starts]))

    def shares(
        self, X: Any, *, choices: Any, alternatives: Any = None, membership: Any = None
    ) -> MarketShares:
        """Return how often each alternative is chosen, overall and in each class.

        With changed features this says what would happen if.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The alternatives, one in each row, perhaps with changed features.
        choices : array-like of shape (n_samples,)
            The choice set of each row.
        alternatives : array-like of shape (n_samples,), default=None
            The alternative that each row stands for; None means its position within its set.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        MarketShares
            Averages over the sets.
        """
        check_is_fitted(self, "coef_")
        rows = self._set_rows(X, choices, None)
        log_p = self._log_weights_of(rows, membership, choices)
        of_classes = self._of_strangers(rows)
        found, numbers = rows.alternatives(alternatives)
        overall = np.bincount(numbers, (of_classes * np.exp(log_p)).sum(axis=1))
        by_class = [np.bincount(numbers, one) for one in of_classes.T]
        n = len(rows.sets)
        return MarketShares(found, overall / n, np.array(by_class) / n)

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
            One line per weight and feature of each class.
        """
        check_is_fitted(self, "coef_")
        return summarise(self, level, as_frame=as_frame)

    def _set_rows(self, X: Any, choices: Any, groups: Any) -> SetRows:
        """Return checked rows in the order of their sets."""
        return SetRows.of(check_features(X, self), choices, groups)

    def _labelled_sets(
        self, X: Any, chosen: Any, choices: Any, groups: Any, membership: Any
    ) -> tuple[SetRows, Labels, Matrix | None]:
        """Return rows, their labels, and [z, 1] of each person."""
        check_is_fitted(self, "coef_")
        rows = self._set_rows(X, choices, groups)
        labels = Labels(check_chosen(chosen, rows.sets), self._fitted_response, rows.sets.numbers)
        lines = self._lines_of(rows, membership, choices if groups is None else groups)
        return rows, labels, None if lines is None else lines[rows.first]

    def _lines_of(self, rows: SetRows, membership: Any, groups: Any) -> Matrix | None:
        """Return [z, 1] of each ordered row."""
        lines = self._lines(membership, len(rows.persons), groups)
        return None if lines is None else lines[rows.sets.order]

    def _log_weights_of(self, rows: SetRows, membership: Any, groups: Any) -> Matrix:
        """Return log p_l for each ordered row, or for all."""
        lines = self._lines_of(rows, membership, groups)
        return self._log_weights(self._of_membership, lines)

    def _of_strangers(self, rows: SetRows) -> Matrix:
        """Return the probabilities of ordered rows in each class, shape (n, k)."""
        t, W = self._t(rows.X), self._scatter(rows.X)
        labels = Labels(np.ones(len(t)), self._fitted_response, rows.sets.numbers)
        if not W.shape[1]:
            return labels.probabilities(t.T).T
        nodes, weights = self._stranger_nodes
        found = np.empty_like(t)
        ends = np.append(rows.sets.starts, len(t))
        for part in batches(rows.sets.sizes, len(nodes)):
            here = slice(ends[part.start], ends[part.stop])
            steps = nodes @ W[here].T
            for c in range(t.shape[1]):
                pi = labels[here].probabilities(t[here, c] + steps)
                found[here, c] = weights @ pi
        return found

    @property
    def _stranger_nodes(self) -> tuple[Matrix, Vector]:
        """Nodes z over which strangers of a class are averaged, and their weights."""
        q = self._spread_at_mean.shape[1]
        if not q:
            return np.zeros((1, 0)), np.ones(1)
        nodes, log_w = nodes_of(q, N_NODES, SEED)
        return nodes, np.exp(log_w)

    def _use_history(self, found: Vector, rows: SetRows, log_p: Matrix, history: Any) -> None:
        """Replace the probabilities of persons who have a history."""
        if not isinstance(history, tuple | list) or len(history) != 4:
            raise ValueError(
                "history must be a tuple (X, chosen, choices, groups) of choices that are known."
            )
        past, chosen, choices, persons = history
        try:
            before, labels, _ = self._labelled_sets(past, chosen, choices, persons, None)
        except ValueError as error:
            raise ValueError(f"history: {error}") from None
        known = before.keys[before.first]
        order = np.argsort(known)
        place = order[np.minimum(np.searchsorted(known, rows.keys, sorter=order), len(known) - 1)]
        met = np.flatnonzero(known[place] == rows.keys)
        if not len(met):
            return
        log_weights = np.broadcast_to(log_p, (len(found), log_p.shape[1]))
        of_persons = np.tile(log_weights[:1], (len(known), 1))
        of_persons[place[met]] = log_weights[met]
        asked = Labels(np.ones(len(met)), self._fitted_response, rows.sets.numbers[met])
        past_rows = History(before.X, labels, before.persons)
        several = [
            replace(model, log_weights=of_persons).choices(
                rows.X[met], place[met], asked, past_rows
            )
            for model in self._person_models()
        ]
        found[met] = np.mean(several, axis=0)

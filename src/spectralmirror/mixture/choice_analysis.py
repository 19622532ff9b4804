"""What is computed from a fitted mixture of choices: criteria, persons, elasticities, draws."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp, softmax, xlogy
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture.choice_prediction import ChoicePrediction
from spectralmirror.mixture.choice_rates import Persons, market_rates, of_equal_size
from spectralmirror.mixture.criteria import Criteria
from spectralmirror.mixture.frames import framed_persons
from spectralmirror.mixture.person_model import History, PersonProfiles
from spectralmirror.rows.checks import check_features
from spectralmirror.rows.messages import did_you_mean
from spectralmirror.rows.types import AnyArray, Matrix

__all__ = ["ChoiceAnalysis", "MarketElasticities"]


class MarketElasticities(NamedTuple):
    """By how many per cent market shares change if a feature grows by one per cent.

    Attributes
    ----------
    alternatives : ndarray of shape (n_alternatives,)
        The alternatives.
    overall : ndarray of shape (n_alternatives, n_alternatives)
        d log(share of a) / d log(feature of b) in line a and column b: own elasticities are on the
        diagonal, cross elasticities beside it.
    by_class : ndarray of shape (k, n_alternatives, n_alternatives)
        The same among the persons of each class.
    """

    alternatives: NDArray[Any]
    overall: Matrix
    by_class: AnyArray


class ChoiceAnalysis(ChoicePrediction):
    """Methods of a mixture that was fitted to choices, beyond predictions."""

    def elasticities(
        self,
        X: Any,
        feature: Any,
        *,
        choices: Any,
        alternatives: Any = None,
        membership: Any = None,
    ) -> MarketElasticities:
        """Return the elasticities of market shares with respect to a feature.

        If the feature m of alternative b grows by one per cent in all sets, the share of
        alternative a changes by

            E_ab = sum_s x_sb,m dP_s(a) / dx_sb,m / sum_s P_s(a)

        per cent, with the sums over the sets s and P_s(a) = sum_l p_l P_s(a | l). Within a class,
        dP(a | l) / dx_b,m = u_lm P(a | l) ([a = b] - P(b | l)), so that E_ab is the same for all
        a other than b: the independence of irrelevant alternatives. The classes together do not
        have it. With a spread, these are averages over the persons of a class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The alternatives, one in each row.
        feature : str or int, or list of these
            Name or index of the feature, such as a price; a list for features that grow together,
            such as a price and its product with an income.
        choices : array-like of shape (n_samples,)
            The choice set of each row.
        alternatives : array-like of shape (n_samples,), default=None
            The alternative that each row stands for; None means its position within its set.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        MarketElasticities
            Overall, and for each class.
        """
        check_is_fitted(self, "coef_")
        columns = self._feature_columns(feature)
        rows = self._set_rows(X, choices, None)
        names, numbers = rows.alternatives(alternatives)
        log_p = self._log_weights_of(rows, membership, choices)
        p = np.broadcast_to(np.exp(log_p), (len(numbers), self.n_components_))
        grown = _dense(check_features(X, self)[rows.sets.order][:, columns])
        nodes, weights = self._stranger_nodes
        t, W, k, A = self._t(rows.X), self._scatter(rows.X), self.n_components_, len(names)
        H = grown @ self.spread_[columns]
        shares, rates = np.zeros((k + 1, A)), np.zeros((k + 1, A, A))
        for c in range(k):
            persons = Persons(t[:, c], W, grown @ self.coef_[c, columns], H)
            for here in of_equal_size(rows.sets.starts, rows.sets.sizes):
                P, slopes = market_rates(here, persons, nodes, weights)
                who, share = numbers[here], p[here[:, 0], c]
                for total, factor in ((c, np.ones(len(here))), (k, share)):
                    np.add.at(shares[total], who, P * factor[:, None])
                    pairs = rates[total], (who[:, :, None], who[:, None])
                    np.add.at(*pairs, slopes * factor[:, None, None])
        with np.errstate(invalid="ignore", divide="ignore"):
            found = rates / shares[:, :, None]
        return MarketElasticities(names, found[k], found[:k])

    def _feature_columns(self, feature: Any) -> list[int]:
        """Return the indices of one feature or several."""
        several = list(feature) if isinstance(feature, list | tuple | np.ndarray) else [feature]
        d = len(self.feature_mean_)
        names = [str(name) for name in getattr(self, "feature_names_in_", range(d))]
        found = []
        for one in several:
            is_index = isinstance(one, Integral) and 0 <= int(one) < d
            if not is_index and str(one) not in names:
                raise ValueError(
                    f"feature must be the name of a feature, or an index below {d}, got {one!r}"
                    + did_you_mean(str(one), names)
                )
            found.append(int(one) if is_index else names.index(str(one)))
        return found

    @framed_persons
    def person_profiles(
        self, X: Any, chosen: Any, *, choices: Any, groups: Any, membership: Any = None
    ) -> PersonProfiles:
        """Return what the choices of each person say about their own profile.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The alternatives, one in each row.
        chosen : array-like of shape (n_samples,)
            Whether the row was chosen from its set.
        choices : array-like of shape (n_samples,)
            The choice set of each row.
        groups : array-like of shape (n_samples,)
            The person of each row.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.

        Returns
        -------
        PersonProfiles
            Posterior means and standard deviations of each person's coefficients, one line for each
            of the sorted persons; there are no intercepts. A DataFrame if :meth:`set_output` says
            so.
        """
        if groups is None:
            raise ValueError("person_profiles needs groups: the person of each row.")
        rows, labels, lines = self._labelled_sets(X, chosen, choices, groups, membership)
        if self._has_spread:
            history = History(rows.X, labels, rows.persons)
            model = self._person_model(lines)
            mean, deviation = model.moments(history, self.coef_, self.spread_)
        else:
            of_classes = self._class_posterior(rows.X, labels, rows.persons, lines)
            mean = of_classes @ self.coef_
            square = np.square(self.coef_ - mean[:, None])
            deviation = np.sqrt(np.einsum("gk,gkm->gm", of_classes, square))
        names = np.asarray(groups)[rows.sets.order][rows.first]
        order, zero = np.argsort(names, kind="stable"), np.zeros(len(names))
        return PersonProfiles(names[order], mean[order], deviation[order], zero, zero)

    def sample(
        self,
        X: Any,
        *,
        choices: Any,
        groups: Any = None,
        membership: Any = None,
        random_state: Any = None,
    ) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """Draw choices from given sets, as persons of the fitted mixture would make them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The alternatives, one in each row.
        choices : array-like of shape (n_samples,)
            The choice set of each row.
        groups : array-like of shape (n_samples,), default=None
            The person of each row; None means that each set is another person's.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.
        random_state : int, RandomState instance or None, default=None
            The same seed gives the same choices.

        Returns
        -------
        chosen : ndarray of shape (n_samples,)
            Whether each row was chosen from its set.
        components : ndarray of shape (n_samples,)
            The class of each row's person.
        """
        check_is_fitted(self, "coef_")
        rng = check_random_state(random_state)
        rows = self._set_rows(X, choices, groups)
        log_p = self._log_weights_of(rows, membership, choices if groups is None else groups)
        n = len(rows.first)
        p = np.exp(np.broadcast_to(log_p, (len(rows.persons), log_p.shape[1]))[rows.first])
        classes = (rng.uniform(size=(n, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
        who = classes[rows.persons]
        t, W = self._t(rows.X), self._scatter(rows.X)
        z = rng.standard_normal((n, W.shape[1]))
        utility = t[np.arange(len(who)), who] + (W * z[rows.persons]).sum(axis=1)
        utility = utility + rng.gumbel(size=len(who))  # McFadden (1974)
        starts = rows.sets.starts
        best = np.repeat(np.maximum.reduceat(utility, starts), rows.sets.sizes)
        return rows.in_their_order(utility == best), rows.in_their_order(who)

    def bic(
        self, X: Any, chosen: Any, *, choices: Any, groups: Any = None, membership: Any = None
    ) -> float:
        """Return the Bayesian information criterion, -2 log P + m log n; lower is better.

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
        float
            The criterion, for m parameters and n persons, or sets without groups.
        """
        return self._criteria_of_sets(X, chosen, choices, groups, membership).bic

    def aic(
        self, X: Any, chosen: Any, *, choices: Any, groups: Any = None, membership: Any = None
    ) -> float:
        """Return Akaike's information criterion, -2 log P + 2 m; lower is better.

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
        float
            The criterion, for m parameters.
        """
        return self._criteria_of_sets(X, chosen, choices, groups, membership).aic

    def icl(
        self, X: Any, chosen: Any, *, choices: Any, groups: Any = None, membership: Any = None
    ) -> float:
        """Return the integrated completed likelihood, bic + 2 entropy; lower is better.

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
        float
            The criterion, with the entropy of the assignments to classes.
        """
        return self._criteria_of_sets(X, chosen, choices, groups, membership).icl

    def _criteria_of_sets(
        self, X: Any, chosen: Any, choices: Any, groups: Any, membership: Any
    ) -> Criteria:
        rows, labels, lines = self._labelled_sets(X, chosen, choices, groups, membership)
        joint = self._joint(rows.X, labels, rows.persons, lines)
        r = softmax(joint, axis=1)
        n_sets = np.bincount(rows.persons[rows.sets.starts])
        return Criteria(
            float(logsumexp(joint, axis=1).sum()),
            -float(xlogy(r, r).sum()),
            self.n_parameters_,
            len(joint),
            getattr(self, "_n_spread", 0),
            max(float((n_sets > 1).sum()), 1.0),
        )


def _dense(X: Any) -> Matrix:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)

"""How scikit-learn's cross-validation, searches and pipelines pass groups to a mixture.

With ``sklearn.set_config(enable_metadata_routing=True)`` they pass what an estimator requests. What
only a mixture can use (groups, membership, known classes, choice sets) is requested from the start;
`sample_weight` must be requested, as of all estimators: ``set_fit_request(sample_weight=True)``.

Without routing, groups stay with the cross-validation, and a mixture says so: see
:mod:`spectralmirror.rows.routing`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.metrics import accuracy_score
from sklearn.utils.metadata_routing import UNUSED

from spectralmirror.mixture.fit_base import MixtureWarning
from spectralmirror.rows.routing import warn_of_groups_left_behind

__all__ = ["RoutedChoices", "RoutedLabels", "RoutedMixture"]

_FIT = {"groups": True, "membership": True, "known": True}
_APPLIED = {"groups": True, "membership": True}
_SETS = {"choices": True}


class RoutedMixture:
    """An estimator that says so if a cross-validation keeps the groups to itself."""

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy, as :func:`sklearn.base.clone` does."""
        warn_of_groups_left_behind(MixtureWarning)
        return super().__sklearn_clone__()  # type: ignore[misc]


class RoutedLabels(RoutedMixture):
    """What a mixture with labels requests, and its score."""

    __metadata_request__fit: ClassVar[dict[str, Any]] = _FIT
    __metadata_request__predict: ClassVar[dict[str, Any]] = _APPLIED
    __metadata_request__predict_proba: ClassVar[dict[str, Any]] = _APPLIED
    __metadata_request__decision_function: ClassVar[dict[str, Any]] = _APPLIED
    __metadata_request__score: ClassVar[dict[str, Any]] = _APPLIED

    def score(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        membership: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Return the share of labels that :meth:`predict` finds.

        Labels are predicted one by one, as those of strangers. How well the labels of a group are
        explained together is said by :func:`spectralmirror.metrics.person_log_likelihood`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, which finds its line in `membership` if that is a DataFrame with
            a line for each group. Without `membership`, groups change nothing.
        membership : array-like of shape (n_samples, n_covariates), default=None
            As in :meth:`predict_proba`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Between 0 and 1.
        """
        found = self.predict(X, groups=groups, membership=membership)  # type: ignore[attr-defined]
        return float(accuracy_score(y, found, sample_weight=sample_weight))


class RoutedChoices(RoutedMixture):
    """What a mixture with choice sets requests."""

    __metadata_request__fit: ClassVar[dict[str, Any]] = {**_FIT, **_SETS, "chosen": UNUSED}
    __metadata_request__predict: ClassVar[dict[str, Any]] = {**_APPLIED, **_SETS}
    __metadata_request__predict_proba: ClassVar[dict[str, Any]] = {**_APPLIED, **_SETS}
    __metadata_request__score: ClassVar[dict[str, Any]] = {**_APPLIED, **_SETS, "chosen": UNUSED}

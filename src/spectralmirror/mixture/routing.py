"""How scikit-learn's cross-validation, searches and pipelines pass groups to a mixture.

With ``sklearn.set_config(enable_metadata_routing=True)`` they pass what an estimator requests. What
only a mixture can use (groups, membership, known classes, choice sets) is requested from the start;
`sample_weight` must be requested, as of all estimators: ``set_fit_request(sample_weight=True)``.

Without routing, ``cross_val_score(model, X, y, groups=g)`` and the like use groups to divide the
rows, and never pass them to ``fit``. The model can see that when it is copied for a fold: the copy
is made by the function that was given the groups, even if other processes fit the folds.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any, ClassVar

from sklearn import get_config
from sklearn.metrics import accuracy_score
from sklearn.utils.metadata_routing import UNUSED

from spectralmirror.mixture.fit_base import MixtureWarning

__all__ = ["RoutedChoices", "RoutedLabels", "RoutedMixture"]

_FIT = {"groups": True, "membership": True, "known": True}
_APPLIED = {"groups": True, "membership": True}
_SETS = {"choices": True}

#: Functions here divide rows by groups, and pass on `params`, which may hold groups for fit.
_VALIDATION, _SEARCH = "sklearn.model_selection._validation", "sklearn.model_selection._search"
#: How far above a clone its cross-validation is looked for.
_DEPTH = 40


class RoutedMixture:
    """An estimator that says so if a cross-validation keeps the groups to itself."""

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy, as :func:`sklearn.base.clone` does."""
        _warn_of_groups_left_behind()
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


def _warn_of_groups_left_behind() -> None:
    """Warn if the calling cross-validation has groups that it will not pass to fit."""
    if get_config().get("enable_metadata_routing", False):
        return  # whoever passes groups gets them passed on, or an error
    frame: FrameType | None = sys._getframe(2)
    for depth in range(2, _DEPTH):
        if frame is None:
            return
        if _keeps_groups(frame):
            warnings.warn(
                "The groups only divide the rows into folds: each row is fitted as a group of its "
                "own. Call sklearn.set_config(enable_metadata_routing=True) first, and they reach "
                "fit and score, too.",
                MixtureWarning,
                stacklevel=depth + 1 + _steps_to_caller(frame),
            )
            return
        frame = frame.f_back


def _keeps_groups(frame: FrameType) -> bool:
    """Return whether a frame is a cross-validation with groups, none of which are for fit."""
    module = frame.f_globals.get("__name__")
    if module not in (_VALIDATION, _SEARCH):
        return False
    here = frame.f_locals
    params = here.get("params")
    params = params if isinstance(params, dict) else {}
    if any(str(name).endswith("__groups") for name in params):
        return False  # those of a step of a pipeline
    if module == _SEARCH:
        return params.get("groups") is not None
    return here.get("groups") is not None and params.get("groups") is None


def _steps_to_caller(frame: FrameType) -> int:
    """Return how many frames above stands the first that is not scikit-learn's."""
    steps, one = 0, frame.f_back
    while one is not None:
        steps += 1
        if not str(one.f_globals.get("__name__", "")).startswith(("sklearn.", "joblib.")):
            break
        one = one.f_back
    return steps

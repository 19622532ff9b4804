"""Groups that a cross-validation of scikit-learn keeps to itself.

Without ``sklearn.set_config(enable_metadata_routing=True)``, ``cross_val_score(model, X, y,
groups=g)`` and the like use groups to divide the rows, and never pass them to ``fit``. An estimator
can see that when it is copied for a fold: the copy is made by the function that was given the
groups, even if other processes fit the folds.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from sklearn import get_config

__all__ = ["warn_of_groups_left_behind"]

#: Functions here divide rows by groups, and pass on `params`, which may hold groups for fit.
_VALIDATION, _SEARCH = "sklearn.model_selection._validation", "sklearn.model_selection._search"
#: How far above a clone its cross-validation is looked for.
_DEPTH = 40
#: A mark among the variables of a cross-validation that has been warned about, for its next fold.
_SAID = "spectralmirror said that groups stay behind"


def warn_of_groups_left_behind(category: type[Warning]) -> None:
    """Warn if a cross-validation has groups that it will not pass to the fit of a copy.

    To be called by ``__sklearn_clone__``.
    """
    if get_config().get("enable_metadata_routing", False):
        return  # whoever passes groups gets them passed on, or an error
    frame: FrameType | None = sys._getframe(2)
    for depth in range(2, _DEPTH):
        if frame is None:
            return
        if _keeps_groups(frame):
            if frame.f_locals.get(_SAID):
                return
            frame.f_locals[_SAID] = True  # stays there until the cross-validation ends
            warnings.warn(
                "The groups only divide the rows into folds: each row is fitted as a group of its "
                "own. Call sklearn.set_config(enable_metadata_routing=True) first, and they reach "
                "fit and score, too.",
                category,
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

"""Collects everything that a report on choices says, as JSON data."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectralmirror.effects.coefficient_ratios import ratios
from spectralmirror.mixture.bootstrap import Bootstrap
from spectralmirror.plotting.mixture import profiles_data, responsibilities_data
from spectralmirror.plotting.spread import spread_data
from spectralmirror.report.cautions import cautions
from spectralmirror.report.choice_held_out import choices_held_out
from spectralmirror.report.choice_inputs import ChoiceInputs, check_choices
from spectralmirror.report.comparison import comparison as compared
from spectralmirror.report.effects import LEVEL, weights_and_effects
from spectralmirror.report.held_out import sample
from spectralmirror.report.jsonable import jsonable
from spectralmirror.report.membership import membership as who_belongs
from spectralmirror.report.membership import requirements
from spectralmirror.report.spread import members, spread
from spectralmirror.report.summary import features, model
from spectralmirror.tables.table_model import described_bootstrap

__all__ = ["collect_choices"]

#: Features in the figure of the profiles, and alternatives whose shares are listed.
MAX_PROFILE_FEATURES, MAX_ALTERNATIVES = 15, 20


def collect_choices(
    mixture: Any,
    X: Any,
    chosen: Any,
    *,
    choices: Any,
    alternatives: Any = None,
    groups: Any = None,
    membership: Any = None,
    about: dict[str, Any] | None = None,
    comparison: Any = None,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Collect everything that a report says about a fitted mixture of choices.

    Parameters
    ----------
    mixture : ChoiceMixture
        A fitted mixture.
    X : array or DataFrame of shape (n_samples, n_features)
        The alternatives that were fitted, or some of the sets, in memory.
    chosen : array-like of shape (n_samples,)
        Whether each row was chosen.
    choices : array-like of shape (n_samples,)
        The choice set of each row.
    alternatives : array-like of shape (n_samples,), default=None
        The alternative of each row.
    groups : array-like of shape (n_samples,), default=None
        The person of each row. Required if the mixture was fitted with groups.
    membership : array-like of shape (n_samples, n_covariates), default=None
        Covariates of the persons, if the mixture was fitted with any.
    about : dict, default=None
        Facts to state, as for binary labels; "price" names the feature by which willingness to pay
        is measured.
    comparison : ComponentComparison, default=None
        As for binary labels.
    random_state : int, RandomState instance or None, default=0
        Seed of the cross-validation.

    Returns
    -------
    dict
        Data that strict JSON can hold, numbers rounded to six digits.
    """
    from spectralmirror import __version__

    inputs = check_choices(
        mixture, X, chosen, choices, alternatives, groups, about, random_state, membership
    )
    shapes = features(inputs)
    shapes["gaussian"] = [True] * len(inputs.names)  # there is no spectrum that it matters for
    differences = spread(inputs)
    data = {
        "kind": "choices",
        "version": __version__,
        "about": inputs.about,
        "labels": {
            "column": inputs.about.get("label"),
            "negative": "not being chosen",
            "positive": "being chosen",
            "share_positive": 0.5,
        },
        "rows": _rows(inputs),
        "model": model(inputs) | {"n_choices": int(mixture.n_choices_)},
        "features": shapes,
        "spectrum": {"reason": "The labels are choices."},
        "classifiers": [
            {**one, "members": members(inputs, one["number"])}
            for one in weights_and_effects(inputs, shapes["binary"])
        ],
        "spread": differences,
        "membership": who_belongs(inputs),
        "required": requirements(inputs),
        "bootstrap": described_bootstrap(Bootstrap.kept(mixture)),
        "comparison": compared(comparison),
        "profiles": profiles_data(mixture, MAX_PROFILE_FEATURES, LEVEL),
        "ranges": (
            None
            if differences["kind"] is None
            else spread_data(mixture, MAX_PROFILE_FEATURES, LEVEL)
        ),
        "shares": _shares(inputs),
        "pay": _willingness_to_pay(inputs, mixture),
        "held_out": choices_held_out(inputs),
        "assignments": _assignments(inputs),
    }
    rounded: dict[str, Any] = jsonable(data)
    return {**rounded, "cautions": cautions(rounded)}


def _rows(inputs: ChoiceInputs) -> dict[str, Any]:
    """Return how many choices were fitted and evaluated here, and whose they are."""
    sizes = inputs.sizes
    of_persons = None
    if inputs.groups is not None:
        of_persons = np.bincount(inputs.groups[inputs.starts])
    return {
        "fitted": int(inputs.mixture.n_choices_),
        "looked_at": inputs.n_sets,
        "alternatives": [int(sizes.min()), int(sizes.max())],
        "n_groups": None if of_persons is None else len(of_persons),
        "median_group": None if of_persons is None else float(np.median(of_persons)),
        "group_column": inputs.about.get("group"),
    }


def _shares(inputs: ChoiceInputs) -> dict[str, Any] | None:
    """Return how often each alternative was chosen, and the shares that the model predicts."""
    found = inputs.mixture.shares(
        inputs.X, choices=inputs.choices, alternatives=inputs.alternatives
    )
    if len(found.alternatives) > MAX_ALTERNATIVES:
        return None
    observed = [float((inputs.alternatives[inputs.y] == one).mean()) for one in found.alternatives]
    return {
        "named": inputs.named,
        "alternatives": [str(one) for one in found.alternatives.tolist()],
        "observed": observed,
        "overall": found.overall,
        "by_class": found.by_class,
    }


def _willingness_to_pay(inputs: ChoiceInputs, mixture: Any) -> dict[str, Any] | None:
    """Return minus the ratio of each coefficient and that of the price, with intervals.

    The interval of a class whose coefficient of the price is not clearly different from 0 is not
    bounded.
    """
    if inputs.price is None:
        return None
    k, found = mixture.n_components_, []
    for j, name in enumerate(inputs.names):
        if j == inputs.price:
            continue
        table = ratios(mixture, j, inputs.price, level=LEVEL)
        found.append(
            {
                "feature": name,
                "values": -table.estimate[:k],
                "intervals": [
                    [-float(table.upper[c]), -float(table.lower[c])]
                    if table.bounded[c] and np.isfinite(table.lower[c])
                    else None
                    for c in range(k)
                ],
            }
        )
    return {"price": inputs.names[inputs.price], "features": found}


def _assignments(inputs: ChoiceInputs) -> dict[str, Any]:
    """Return histograms over choices, each judged alone, and over persons, each as a whole."""
    mixture, rows = inputs.mixture, np.arange(len(inputs.y))
    if inputs.groups is not None and mixture.spread_kind_ is not None:
        rng = np.random.default_rng(inputs.seed)
        rows = sample(inputs.groups, rng, with_spread=True)
        whole = np.bincount(inputs.choices[rows], minlength=inputs.n_sets)
        rows = rows[(whole == inputs.sizes)[inputs.choices[rows]]]
    X, y, sets = inputs.X[rows], inputs.y[rows], inputs.choices[rows]
    by_person, given = None, inputs.of_groups(rows)
    if inputs.groups is not None:
        persons = inputs.groups[rows]
        by_person = responsibilities_data(mixture, X, y, choices=sets, groups=persons, **given)
    return {
        "largest": mixture.weights_[0],
        "rows": responsibilities_data(mixture, X, y, choices=sets, **given),
        "groups": by_person,
    }

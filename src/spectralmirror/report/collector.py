"""Collects everything that a report says, as JSON data."""

from __future__ import annotations

from typing import Any

from spectralmirror.mixture import ChoiceMixture
from spectralmirror.mixture.bootstrap import Bootstrap
from spectralmirror.plotting.mixture import profiles_data
from spectralmirror.plotting.spread import spread_data
from spectralmirror.report.assignments import assignments
from spectralmirror.report.average_changes import average_changes
from spectralmirror.report.cautions import cautions
from spectralmirror.report.choice_collector import collect_choices
from spectralmirror.report.comparison import check_comparison
from spectralmirror.report.comparison import comparison as compared
from spectralmirror.report.effects import LEVEL, classifiers
from spectralmirror.report.examples import examples
from spectralmirror.report.held_out import held_out
from spectralmirror.report.inputs import Inputs, check_inputs
from spectralmirror.report.jsonable import jsonable
from spectralmirror.report.label_effects import changes_of_labels, label_classifiers
from spectralmirror.report.membership import membership as who_belongs
from spectralmirror.report.membership import requirements
from spectralmirror.report.spectrum import spectrum
from spectralmirror.report.spread import members, spread
from spectralmirror.report.summary import features, labels, model, rows
from spectralmirror.tables.table_model import described_bootstrap

__all__ = ["collect"]

#: Why there is no spectrum.
SEVERAL = "There are more than two labels."
#: Features in the figure of the profiles.
MAX_PROFILE_FEATURES = 15


def collect(
    mixture: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    choices: Any = None,
    alternatives: Any = None,
    membership: Any = None,
    table: Any = None,
    about: dict[str, Any] | None = None,
    comparison: Any = None,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Collect everything that a report says about a fitted mixture.

    Parameters
    ----------
    mixture : LinearClassifierMixture or ChoiceMixture
        A fitted mixture.
    X : array or DataFrame of shape (n_samples, n_features)
        The features that were fitted, or a sample of their rows, in memory.
    y : array-like of shape (n_samples,)
        Their labels.
    groups : array-like of shape (n_samples,), default=None
        Rows that share their classifier. Required if the mixture was fitted with groups.
    choices : array-like of shape (n_samples,), default=None
        For choices: the choice set of each row; y says whether the row was chosen.
    alternatives : array-like of shape (n_samples,), default=None
        For choices: the alternative of each row, for shares of alternatives.
    membership : array-like of shape (n_samples, n_covariates), default=None
        Covariates of the groups, if the mixture was fitted with any; without them, assignments and
        predictions use the average weights.
    table : polars DataFrame, default=None
        The same rows in your own columns, for the examples; None shows the features.
    about : dict, default=None
        Facts to state: "files", "label" and "group" (names of columns), "n_rows" (how many were
        fitted), "notes" (a list of sentences), and "references", the level that each feature of
        the form "colour=red" is compared with, "membership_references" the same for covariates;
        "parameters", other names for parameters in advice
        (``{"n_init": "--starts"}``); for
        choices, "price" names the feature by which willingness to pay is measured, by default the
        only one that is called price, cost, fare or the like. Other entries are listed unchanged.
        The report does not know row weights: mention them in "notes".
    comparison : ComponentComparison, default=None
        What :func:`spectralmirror.selection.compare_components` returned for the rows that were
        fitted, to be shown.
    random_state : int, RandomState instance or None, default=0
        Seed of the cross-validation and of the noise level of the spectrum.

    Returns
    -------
    dict
        Data that strict JSON can hold, numbers rounded to six digits, for :func:`render`.
    """
    from spectralmirror import __version__

    check_comparison(comparison, mixture)
    if isinstance(mixture, ChoiceMixture):
        return collect_choices(
            mixture, X, y, choices=choices, alternatives=alternatives, groups=groups,
            membership=membership, about=about, comparison=comparison, random_state=random_state,
        )  # fmt: skip
    inputs = check_inputs(mixture, X, y, groups, table, about, random_state, membership)
    shapes, several = features(inputs), len(mixture.classes_) > 2
    if several:
        shapes["gaussian"] = [True] * len(inputs.names)  # there is no spectrum that it matters for
    differences = spread(inputs)
    data = {
        "kind": "several labels" if several else "labels",
        "version": __version__,
        "about": inputs.about,
        "labels": labels(inputs),
        "rows": rows(inputs),
        "model": model(inputs),
        "features": shapes,
        "spectrum": {"reason": SEVERAL} if several else spectrum(inputs),
        "classifiers": _classifiers(inputs, shapes["binary"]),
        "average_changes": (changes_of_labels if several else average_changes)(inputs),
        "spread": differences,
        "membership": who_belongs(inputs),
        "required": requirements(inputs),
        "bootstrap": described_bootstrap(Bootstrap.kept(mixture)),
        "comparison": compared(comparison),
        "profiles": profiles_data(mixture, MAX_PROFILE_FEATURES, LEVEL),
        "ranges": (
            None
            if differences["kind"] is None or several
            else spread_data(mixture, MAX_PROFILE_FEATURES, LEVEL)
        ),
        "held_out": held_out(inputs),
        "assignments": assignments(inputs),
    }
    rounded: dict[str, Any] = jsonable(data)
    return {**rounded, "cautions": cautions(rounded)}


def _classifiers(inputs: Inputs, binary: list[bool]) -> list[dict[str, Any]]:
    """Return what is said about every class."""
    if len(inputs.mixture.classes_) > 2:
        found = label_classifiers(inputs, binary)
        return [{**one, "members": members(inputs, one["number"])} for one in found]
    return [
        {**one, "examples": example, "members": members(inputs, one["number"])}
        for one, example in zip(classifiers(inputs, binary), examples(inputs), strict=True)
    ]

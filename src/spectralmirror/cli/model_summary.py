"""The summary of a fitted table that the terminal shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from spectralmirror.cli.console import say
from spectralmirror.mixture.summary import INTERCEPT, WEIGHT, Choices, Line, letters, table
from spectralmirror.report.cautions import ROWS_PER_PARAMETER, closest_number, fewer_explain
from spectralmirror.responses import get_response

if TYPE_CHECKING:
    from spectralmirror.tables.table_model import FittedTable

__all__ = ["print_model", "summary_lines"]

#: The options of the command line for the parameters that the status of a mixture names.
OPTIONS = {
    "n_components='auto'": "-k auto",
    ", or 'auto'": ", or auto",
    "n_components=": "-k ",
    "n_init": "--starts",
    "max_iter": "--max-iter",
    "l2": "--l2",
}


def print_model(fitted: FittedTable, quiet: bool) -> None:
    """Print the summary of a fitted table."""
    for line in summary_lines(fitted):
        say(line, quiet)


def summary_lines(fitted: FittedTable, n_features: int = 5) -> Iterator[str]:
    """Yield the classifiers that were found, each with its strongest features."""
    mixture, status = fitted.mixture, _with_options(fitted.mixture.status_)
    too_many = fewer_explain(mixture.n_components_, Choices.of(mixture).evidence_path) is not None
    yield _headline(fitted)
    if too_many:  # the status says so, and it is more important than anything else
        yield f"Warning: {status}"
    yield from _notes(fitted)
    if not too_many:
        yield status
    yield from _warnings(mixture, fitted.about["n_rows"])
    lines = table(mixture, 0.95)
    for c, name in enumerate(letters(mixture.n_components_)):
        yield ""
        own = [line for line in lines if line.component == c]
        yield from _classifier(fitted, name, own, n_features)


def _headline(fitted: FittedTable) -> str:
    """Return what was found in which rows."""
    mixture, about = fitted.mixture, fitted.about
    k, winner = mixture.n_components_, fitted.recipe.winner
    labels = " or ".join(map(str, mixture.classes_.tolist() if winner is None else winner))
    return (
        f"{k} hidden classifier{'s' if k > 1 else ''} behind {fitted.label!r} ({labels}) in "
        f"{about['n_rows']:,} rows of {about['source']}."
    )


def _notes(fitted: FittedTable) -> Iterator[str]:
    """Yield what to know about the rows, and how many of them can be assigned correctly."""
    mixture = fitted.mixture
    for note in fitted.about["notes"]:
        yield f"Note: {note}"
    if mixture.n_components_ > 1:
        evidence = f"all labels of the same {fitted.group}" if fitted.group else "one label"
        yield (
            f"If the model holds, {mixture.expected_accuracy_:.0%} of the rows can be assigned to "
            f"the right classifier from {evidence}."
        )


def _warnings(mixture: Any, n_rows: int) -> Iterator[str]:
    """Yield those warnings of the report that depend on the fit alone."""
    if n_rows / mixture.n_parameters_ < ROWS_PER_PARAMETER:
        yield (
            f"Warning: {n_rows:,} rows are few for {mixture.n_parameters_} parameters: effects "
            "look larger and more certain than they are."
        )
    k, choices = mixture.n_components_, Choices.of(mixture)
    names = {"evidence": "log evidence", "bic": "BIC"}
    paths = {"evidence": choices.evidence_path, "bic": mixture.bic_path_}
    close = closest_number(k, paths.get(choices.criterion, {}), choices.criterion)
    if close and fewer_explain(k, choices.evidence_path) is None:
        other, more = close
        better = (more > 0) == (choices.criterion == "evidence")
        yield (
            f"k = {other} is {'' if better else 'almost '}as good (its {names[choices.criterion]} "
            f"is {abs(more):.1f} {'higher' if more > 0 else 'lower'}): compare -k {other}."
        )


def _with_options(status: str) -> str:
    """Replace the names of parameters by those of options."""
    for parameter, option in OPTIONS.items():
        status = status.replace(parameter, option)
    return status


def _classifier(
    fitted: FittedTable, name: str, lines: list[Line], n_features: int
) -> Iterator[str]:
    """Yield the weight of a classifier, and its effects per standard deviation, largest first."""
    mixture, recipe = fitted.mixture, fitted.recipe
    weight = next(line.estimate for line in lines if line.term == WEIGHT)
    unit = "rows" if fitted.group is None else "groups"
    yield f"Classifier {name} makes the labels of {weight:.0%} of the {unit}."
    deviation = dict(zip(recipe.names, mixture.feature_scale_, strict=True))
    features = [line for line in lines if line.term not in (WEIGHT, INTERCEPT)]
    features.sort(key=lambda line: -abs(line.estimate) * deviation[line.term])
    shown = features[:n_features]
    event = f"{fitted.label} = {mixture.classes_[1]}" if recipe.winner is None else "left wins"
    interval = "" if np.isnan(mixture.coef_standard_error_).all() else " (95 % interval)"
    count = f", {len(shown)} of {len(features)}" if len(shown) < len(features) else ""
    effects = get_response(mixture.response).effect_name
    yield (
        f"  {effects} of {event}, per unit of a feature{interval}, strongest per "
        f"standard deviation first{count}:"
    )
    width = max(len(line.term) for line in shown)
    for line in shown:
        yield f"    {line.term:<{width}}  {_effect(line, recipe.references.get(line.term))}"


def _effect(line: Line, reference: str | None) -> str:
    interval = "" if np.isnan(line.lower) else f" ({line.lower:.4g} to {line.upper:.4g})"
    compared = "" if reference is None else f", compared with {reference}"
    return f"{line.estimate:+.4g}{interval}{compared}"

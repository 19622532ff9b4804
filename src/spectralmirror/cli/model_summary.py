"""The summary of a fitted table that the terminal shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from spectralmirror.cli.console import counted, say, with_options
from spectralmirror.mixture.summary import (
    INTERCEPT,
    WEIGHT,
    WITHIN,
    Choices,
    Line,
    constrained,
    labels_of,
    letters,
    membership_lines,
    table,
)
from spectralmirror.report.cautions import ROWS_PER_PARAMETER, closest_number, fewer_explain
from spectralmirror.responses import get_response

if TYPE_CHECKING:
    from spectralmirror.tables.table_model import FittedTable

__all__ = ["called", "print_model", "summary_lines"]


def called(fitted: FittedTable) -> str:
    """Return what a component is called: a classifier, or a class of those who choose."""
    return "class" if fitted.choices is not None else "classifier"


def print_model(fitted: FittedTable, quiet: bool) -> None:
    """Print the summary of a fitted table."""
    for line in summary_lines(fitted):
        say(line, quiet)


def summary_lines(fitted: FittedTable, n_features: int = 5) -> Iterator[str]:
    """Yield the classifiers that were found, each with its strongest features."""
    mixture = fitted.mixture
    problems, outcome = _status(mixture)
    too_many = fewer_explain(mixture.n_components_, Choices.of(mixture).evidence_path) is not None
    yield _headline(fitted)
    if too_many:  # a problem says so, and it is more important than anything else
        yield from problems
    yield from _notes(fitted)
    if not too_many:
        yield from problems
    yield outcome
    yield from _constraints(fitted)
    yield from _warnings(mixture, fitted.about["n_rows"])
    lines = table(mixture, 0.95)
    for c, name in enumerate(letters(mixture.n_components_)):
        yield ""
        own = [line for line in lines if line.component == c]
        yield from _classifier(fitted, name, own, n_features)
    yield from _membership(fitted)
    within = [line for line in lines if line.component == WITHIN]
    yield from _spread(fitted, within, n_features)


def _status(mixture: Any) -> tuple[list[str], str]:
    """Return a warning of each problem of the fit, and the rest of its status.

    Models that were stored earlier do not tell problems apart from the rest.
    """
    problems = getattr(mixture, "_problems", [])
    rest = mixture.status_.removeprefix(" ".join(problems)).strip()
    return [f"Warning: {with_options(problem)}" for problem in problems], with_options(rest)


def _headline(fitted: FittedTable) -> str:
    """Return what was found in which rows."""
    mixture, about = fitted.mixture, fitted.about
    k = mixture.n_components_
    if fitted.choices is not None:
        group = fitted.group
        persons = f" of {counted(mixture.n_groups_, 'person')} ({group!r})" if group else ""
        return (
            f"{k} hidden {'classes' if k > 1 else 'class'} behind "
            f"{counted(mixture.n_choices_, 'choice')}{persons} among "
            f"{about['n_rows']:,} alternatives in {about['source']}."
        )
    words = [repr(value) for value in fitted.recipe.winner or fitted.labels.tolist()]
    labels = " or ".join([", ".join(words[:-1]), words[-1]])
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
        label = "choice" if fitted.choices else "label"
        evidence = f"all {label}s of the same {fitted.group}" if fitted.group else f"one {label}"
        yield (
            f"If the model holds, {mixture.expected_accuracy_:.0%} of the {labels_of(mixture)} can "
            f"be assigned to the right {called(fitted)} from {evidence}."
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


def _classifier(
    fitted: FittedTable, name: str, lines: list[Line], n_features: int
) -> Iterator[str]:
    """Yield the weight of a classifier, and its effects, strongest first."""
    weight = next(line.estimate for line in lines if line.term == WEIGHT)
    if fitted.choices is None:
        unit = "rows" if fitted.group is None else "groups"
        yield f"Classifier {name} makes the labels of {weight:.0%} of the {unit}."
    else:
        unit = "choices" if fitted.group is None else "persons"
        yield f"Class {name}: {weight:.0%} of the {unit}."
    effects = get_response(fitted.mixture.response).effect_name
    lines = [line for line in lines if line.term != WEIGHT]
    for label in dict.fromkeys(line.label for line in lines):  # a single None for two labels
        own = [line for line in lines if line.label == label]
        features = [line for line in own if line.term != INTERCEPT]
        yield from _strongest(fitted, effects, features, n_features, sign="+")
        for line in own:
            if line.term == INTERCEPT:
                yield f"    {INTERCEPT}  {_effect(line, {}, '+')}"


def _constraints(fitted: FittedTable) -> Iterator[str]:
    """Yield what was required of all classes."""
    shared, signs = constrained(fitted.mixture)
    if shared:
        yield f"The same coefficient for all classes: {', '.join(shared)}."
    if signs:
        bounds = [f"{name} {'not below' if sign > 0 else 'not above'} 0"
                  for name, sign in signs.items()]  # fmt: skip
        yield f"Required in all classes: {', '.join(bounds)}."


def _membership(fitted: FittedTable) -> Iterator[str]:
    """Yield who belongs to which class."""
    lines, names = membership_lines(fitted.mixture, 0.95), letters(fitted.mixture.n_components_)
    references = {} if fitted.membership is None else fitted.membership.references
    width = max((len(line.term) for line in lines), default=0)
    for c, name in enumerate(names):
        own = [line for line in lines if line.component == c and line.term != INTERCEPT]
        if own:
            yield ""
            yield f"Who belongs to {name} rather than {names[0]}: log-odds per unit (95 % interval)"
        for line in own:
            yield f"    {line.term:<{width}}  {_effect(line, references, '+')}"


def _spread(fitted: FittedTable, lines: list[Line], n_features: int) -> Iterator[str]:
    """Yield how much people of one class differ, or that they do not."""
    choices = Choices.of(fitted.mixture)
    rival = choices.spread_rival
    people = f"Within a class, people ({fitted.group})"
    if choices.spread is None:
        if rival is not None:
            kind, more = rival
            yield ""
            yield (
                f"{people} are alike as far as these labels show: with the spread {kind}, the log "
                f"evidence is {_higher(-more)}."
            )
        return
    compared = ""
    if rival is not None:
        more = rival[1]
        advice = "" if more > 0 else "; compare --spread none"
        compared = f", log evidence {_higher(more)} than without{advice}"
    chosen = ", chosen from the data" if choices.spread_from_data else ""
    yield ""
    yield f"{people} differ: spread {choices.spread}{chosen}{compared}."
    effects = get_response(fitted.mixture.response).effect_name.lower()
    yield from _strongest(fitted, f"Standard deviations of their {effects}", lines, n_features)


def _higher(more: float) -> str:
    return f"{abs(more):.1f} {'higher' if more > 0 else 'lower'}"


def _strongest(
    fitted: FittedTable, what: str, lines: list[Line], n_features: int, sign: str = ""
) -> Iterator[str]:
    """Yield a heading and the estimates, strongest per standard deviation of the feature first."""
    mixture, recipe = fitted.mixture, fitted.recipe
    deviation = dict(zip(recipe.names, mixture.feature_scale_, strict=True)) | {INTERCEPT: 1.0}
    ordered = sorted(lines, key=lambda line: -abs(line.estimate) * deviation[line.term])
    shown = ordered[:n_features]
    label, several = next((line.label for line in lines), None), len(fitted.labels) > 2
    own = repr(fitted.labels.tolist()[1] if label is None else label)
    own = "any label" if several and label is None else own
    event = "left wins" if recipe.winner else f"{fitted.label} = {own}"
    event += ", against the average of all labels" if several else ""
    event = "being chosen" if fitted.choices else event
    interval = "" if all(np.isnan(line.lower) for line in lines) else " (95 % interval)"
    count = f", {len(shown)} of {len(ordered)}" if len(shown) < len(ordered) else ""
    yield (
        f"  {what} of {event}, per unit of a feature{interval}, strongest per standard deviation "
        f"first{count}:"
    )
    width = max((len(line.term) for line in shown), default=0)
    for line in shown:
        yield f"    {line.term:<{width}}  {_effect(line, recipe.references, sign)}"


def _effect(line: Line, references: dict[str, str], sign: str) -> str:
    """Return an estimate, its interval, and what it is compared with."""
    interval = "" if np.isnan(line.lower) else f" ({line.lower:.4g} to {line.upper:.4g})"
    reference = references.get(line.term)
    compared = "" if reference is None else f", compared with {reference}"
    where = "at the mean of the features" if line.component == WITHIN else "all features being 0"
    at = f", {where}" if line.term == INTERCEPT else ""
    return f"{line.estimate:{sign}.4g}{interval}{compared}{at}"

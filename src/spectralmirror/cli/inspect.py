"""The command ``spectralmirror inspect``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spectralmirror.cli.console import one_sentence_errors, print_json, say, with_options
from spectralmirror.cli.options import AsJson, Model, load_table
from spectralmirror.rows.messages import listed
from spectralmirror.tables.sides import column_of

if TYPE_CHECKING:
    from spectralmirror.tables.table_model import FittedTable

__all__ = ["inspect"]


def inspect(model: Model, as_json: AsJson = False) -> None:
    """Show what a model holds: its classifiers, its columns, and which version wrote it.

    Estimates are in the units of the features, with standard errors and 95 % intervals.

    For example:

        spectralmirror inspect model.skops

        spectralmirror inspect model.skops --json
    """
    with one_sentence_errors(kept=""):
        from spectralmirror.cli.model_summary import called
        from spectralmirror.mixture.summary import letters, table, text

        fitted, version = load_table(model)
        if as_json:
            print_json({"model": str(model), "written_by": version, **fitted.described()})
            return
        say(f"{model}, written by {version}")
        for line in _column_lines(fitted):
            say(line)
        say("")
        mixture = fitted.mixture
        names = [f"{called(fitted)} {name}" for name in letters(mixture.n_components_)]
        labels = list(map(repr, fitted.labels.tolist()))
        say(with_options(text(mixture, table(mixture, 0.95), 0.95, names, labels)))


def _column_lines(fitted: FittedTable) -> Iterator[str]:
    """Yield where the rows came from, and what each column became."""
    about, recipe = fitted.about, fitted.recipe
    yield f"{about['n_rows']:,} rows of {about['source']}"
    labels = list(map(repr, fitted.labels.tolist()))
    negative, positive = labels[:2]
    if fitted.choices is None and len(labels) > 2:
        yield f"label {fitted.label!r}: {', '.join(labels)}"
    elif fitted.choices is None:
        yield f"label {fitted.label!r}: {positive} counts as +1, {negative} as -1"
    else:
        sets = listed(fitted.choices.sets)
        yield f"choice set {sets}: chosen where {fitted.label!r} is {positive}"
        if fitted.choices.alternative is not None:
            yield f"alternative {fitted.choices.alternative!r}"
    if fitted.group:
        yield f"{'group' if fitted.choices is None else 'person'} {fitted.group!r}"
    if recipe.pairs is not None:
        left, right = recipe.pairs
        both = f"{column_of(left, 'x')} minus {column_of(right, 'x')}"
        yield f"comparisons: {both}, for every column x below"
    for term in recipe.terms:
        yield f"  {described(term)}"
    for term in () if fitted.membership is None else fitted.membership.terms:
        yield f"  membership {described(term)}"
    for note in about["notes"]:
        yield f"Note: {note}"


def described(term: Any) -> str:
    """Return what a column became."""
    levels = getattr(term, "levels", None)
    what = "number" if levels is None else f"{', '.join(levels[1:])}; compared with {levels[0]}"
    return f"{term.column}: {what}"

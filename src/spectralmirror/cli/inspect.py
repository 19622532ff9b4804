"""The command ``spectralmirror inspect``."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectralmirror.cli.console import one_sentence_errors, print_json, say, with_options
from spectralmirror.cli.options import AsJson, Model, load_table
from spectralmirror.rows.messages import did_you_mean, listed
from spectralmirror.tables.sides import column_of

if TYPE_CHECKING:
    from spectralmirror.tables.table_model import FittedTable

__all__ = ["Ratio", "finite", "inspect", "ratio_as_data", "ratios_of"]

#: What JSON says about each ratio.
FIGURES = ("estimate", "standard_error", "lower", "upper")


Ratio = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A/B",
        help="Print the ratio of the coefficients of two features for each classifier: with a "
        "price as B, minus the willingness to pay for A. Several times for several ratios.",
        show_default=False,
    ),
]


def inspect(
    model: Model,
    ratio: Ratio = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="For ratios of a model of more than two labels: whose coefficients are meant.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a model holds: its classifiers, its columns, and which version wrote it.

    Estimates are in the units of the features, with standard errors and 95 % intervals.

    For example:

        spectralmirror inspect model.skops

        spectralmirror inspect model.skops --ratio minutes/price

        spectralmirror inspect model.skops --json
    """
    with one_sentence_errors(kept=""):
        from spectralmirror.cli.model_summary import called
        from spectralmirror.mixture.summary import letters, resampled, table, text

        fitted, version = load_table(model)
        if label is not None and not ratio:
            raise ValueError("--label says whose coefficients --ratio A/B means: add --ratio.")
        found = [ratios_of(fitted, one, label=label) for one in ratio or ()]
        if as_json:
            about = {"model": str(model), "written_by": version, **fitted.described()}
            print_json(about | ({"ratios": list(map(ratio_as_data, found))} if found else {}))
            return
        say(f"{model}, written by {version}")
        for line in _column_lines(fitted):
            say(line)
        say("")
        mixture = fitted.mixture
        names = [f"{called(fitted)} {name}" for name in letters(mixture.n_components_)]
        labels = list(map(repr, fitted.labels.tolist()))
        say(with_options(text(mixture, table(mixture, 0.95), 0.95, names, labels)))
        for one in [*resampled(mixture, 0.95), *found]:
            say(f"\n{one}")


def ratios_of(
    fitted: FittedTable, asked: str, level: float = 0.95, label: str | None = None
) -> Any:
    """Return the ratios of two features that are named as A/B; names may contain slashes."""
    from spectralmirror.effects import ratios
    from spectralmirror.tables.table_effects import known_label

    mixture = fitted.mixture
    names = list(map(str, mixture.feature_names_in_))
    parts = asked.split("/")
    halves = [("/".join(parts[:i]), "/".join(parts[i:])) for i in range(1, len(parts))]
    if not halves:
        raise ValueError(f"--ratio {asked}: name two features as A/B, such as minutes/price.")
    both = [pair for pair in halves if set(pair) <= set(names)]
    if both and len(set(both[0])) == 1:
        raise ValueError(f"--ratio {asked} is always 1: name two features, such as minutes/price.")
    if both:
        several = len(mixture.classes_) > 2
        place = known_label(fitted.labels.tolist(), label) if several else None
        meant = None if place is None else mixture.classes_.tolist()[place]
        return ratios(mixture, *both[0], level=level, label=meant)
    unknown = next(name for name in halves[0] if name not in names)
    raise ValueError(
        f"--ratio {asked}: there is no feature {unknown!r}{did_you_mean(unknown, names)}"
    )


def ratio_as_data(found: Any) -> dict[str, Any]:
    """Return ratios for JSON, which has no infinity: an end that is none is null."""
    lines = [
        {
            "component": name,
            **{key: finite(getattr(found, key)[c]) for key in FIGURES},
            "bounded": bool(found.bounded[c]),
        }
        for c, name in enumerate(found.components)
    ]
    return {"numerator": found.numerator, "denominator": found.denominator, "lines": lines}


def finite(value: float) -> float | None:
    """Return a number as JSON can hold it: None if it is not finite."""
    return float(value) if isfinite(value) else None


def _choice_lines(fitted: FittedTable, positive: str) -> Iterator[str]:
    """Yield how choice sets stand in the file."""
    assert fitted.choices is not None
    form = fitted.choices.wide
    if form is None:
        sets = listed(fitted.choices.sets)
        yield f"choice set {sets}: chosen where {fitted.label!r} is {positive}"
        return
    yield f"one line for each choice; {form.chosen!r} names the chosen alternative"
    for name, side in form.sides:
        columns = "all features 0" if not side else f"columns such as {column_of(side, 'x')}"
        yield f"  alternative {name!r}: {columns}"


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
        yield from _choice_lines(fitted, positive)
        if fitted.choices.alternative is not None and fitted.choices.wide is None:
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

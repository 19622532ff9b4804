"""The command ``spectralmirror report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectralmirror.cli.console import (
    OPTIONS,
    Listen,
    check_output,
    fail,
    one_sentence_errors,
    print_json,
    progress_bar,
    say,
)
from spectralmirror.cli.options import (
    AsJson,
    Files,
    Missing,
    Model,
    Quiet,
    Seed,
    Separator,
    load_table,
)

if TYPE_CHECKING:
    from spectralmirror.tables.table_model import FittedTable

__all__ = ["report", "write_file_report"]


def report(
    model: Model,
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path(
        "report.html"
    ),
    missing: Missing = None,
    separator: Separator = None,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="FEATURE",
            help="For choices: the feature by which willingness to pay is measured.",
            show_default="the one that is called price, cost or fare",
        ),
    ] = None,
    comparison: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A comparison of numbers of classifiers, written by `compare`, to show.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a page about a model and the data in FILE: one HTML file, which needs no network.

    It shows the hidden classifiers in words and pictures, compares them with a single logistic
    regression on held-out rows, and warns of what may be wrong. For choices it also shows shares of
    the alternatives and willingness to pay.

    For example:

        spectralmirror report model.skops ratings.csv -o report.html
    """
    check_output(output, *files, model, *filter(None, [comparison]))
    with one_sentence_errors(quiet), progress_bar(quiet) as listen:
        fitted, _ = load_table(model)
        if price is not None and fitted.choices is None:
            fail("--price belongs to choices: this model was fitted to labels.")
        compared = None if comparison is None else comparison_of(fitted, comparison)
        data = write_file_report(
            fitted, files, output, missing, seed, listen, separator, price, compared
        )
    if as_json:
        print_json(data)
        return
    say(f"Report: {output}", quiet)


def write_file_report(
    fitted: FittedTable,
    files: list[str],
    output: Path,
    missing: str | None,
    seed: int,
    listen: Listen,
    separator: str | None = None,
    price: str | None = None,
    comparison: Any = None,
) -> dict[str, Any]:
    """Write a report on the rows of files, or on a sample of them; return its data."""
    from spectralmirror.report import write_report
    from spectralmirror.rows.files.readers import count_rows, readers_of
    from spectralmirror.tables.table_sample import sample_rows

    readers = readers_of(files, separator)
    total = count_rows(readers)
    rows = sample_rows(fitted, readers, missing, lambda n: listen("reading", n, total))
    listen("writing the report", 0, None)
    pairs = fitted.recipe.pairs
    about = {
        "files": ", ".join(files),
        "source": fitted.about["source"],
        "label": fitted.label,
        "group": fitted.group,
        "n_rows": fitted.about["n_rows"],
        "notes": [*fitted.about["notes"], *_notes_on_pairs(pairs)],
        "label_names": _label_names(fitted),
        "parameters": OPTIONS,
        "references": fitted.recipe.references,
    }
    if fitted.membership is not None:
        about["membership_references"] = fitted.membership.references
    sets: dict[str, Any] = {}
    if fitted.choices is not None:
        about["price"] = price
        alternative = fitted.choices.alternative
        names = None if alternative is None else rows.table[alternative].cast(str).to_numpy()
        sets = {"choices": rows.choices, "alternatives": names}
    data: dict[str, Any] = write_report(
        fitted.mixture,
        fitted.named(rows.X),
        rows.y,
        output,
        groups=rows.groups,
        membership=rows.membership,
        table=rows.table,
        about=about,
        comparison=comparison,
        random_state=seed,
        **sets,
    )
    return data


def comparison_of(fitted: FittedTable, path: Path) -> Any:
    """Return a comparison that was stored; raise if it is not of the columns that were fitted."""
    from spectralmirror.selection import ComponentComparison
    from spectralmirror.selection.stored import loaded_comparison

    found, about = loaded_comparison(path)
    membership = [] if fitted.membership is None else fitted.membership.names
    columns = {
        "label": fitted.label,
        "group": fitted.group,
        "features": fitted.recipe.names,
        "membership": membership,
    }
    for what, ours in columns.items():
        if what in about and about[what] != ours:
            raise ValueError(
                f"{path} compares models of {what} {about[what]!r}, but the model was fitted to "
                f"{ours!r}: run compare with the columns that were fitted."
            )
    return ComponentComparison(**found)


def _label_names(fitted: FittedTable) -> dict[str, str]:
    """Return what the labels of the mixture are called, if they are truth values of something."""
    from spectralmirror.tables.winners import OUTCOMES

    if fitted.recipe.pairs:
        return OUTCOMES
    outcomes = fitted.recipe.outcomes
    return {} if outcomes is None else dict(zip(("False", "True"), map(str, outcomes), strict=True))


def _notes_on_pairs(pairs: tuple[str, str] | None) -> list[str]:
    """Explain the features of comparisons."""
    if pairs is None:
        return []
    from spectralmirror.tables.sides import column_of

    left, right = pairs
    return [
        "Every row compares two things: features are those of the left "
        f"({column_of(left, '...')}) less those of the right ({column_of(right, '...')})."
    ]

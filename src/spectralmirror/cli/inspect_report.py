"""The commands ``spectralmirror inspect`` and ``spectralmirror report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from spectralmirror.cli.console import (
    AsJson,
    Listen,
    Missing,
    Quiet,
    Seed,
    check_output,
    print_json,
    say,
    told,
    watching,
)
from spectralmirror.cli.fit import Files, check_missing
from spectralmirror.cli.predict_cluster import Model, load_table, load_table_with_version

__all__ = ["inspect", "report", "write"]


def inspect(
    model: Model,
    as_json: AsJson = False,
) -> None:
    """Show what a model holds: its classifiers, its columns, and which version wrote it.

    Estimates are in the units of the features, with standard errors and 95 % intervals.

    For example:

        spectralmirror inspect model.skops

        spectralmirror inspect model.skops --json
    """
    with told(kept=""):
        from spectralmirror.mixture.summary import letters, text
        from spectralmirror.mixture.summary import table as lines

        table, version = load_table_with_version(model)
        if as_json:
            print_json({"model": str(model), "written_by": version, **table.described()})
            return
        say(False, f"{model}, written by {version}")
        for line in _columns(table):
            say(False, line)
        say(False)
        names = [f"classifier {name}" for name in letters(table.mixture.n_components_)]
        say(False, text(table.mixture, lines(table.mixture, 0.95), 0.95, names))


def _columns(table: Any) -> list[str]:
    about, recipe = table.about, table.recipe
    lines = [
        f"{about['n_rows']:,} rows of {about['source']}",
        f"label {table.label!r}" + (f", group {table.group!r}" if table.group else ""),
    ]
    if recipe.pairs is not None:
        left, right = recipe.pairs
        lines.append(f"comparisons: {left}x less {right}x, for every column x below")
    for term in recipe.terms:
        levels = getattr(term, "levels", None)
        what = "number" if levels is None else f"{', '.join(levels[1:])}; compared with {levels[0]}"
        lines.append(f"  {term.column}: {what}")
    return lines + [f"Note: {note}" for note in about["notes"]]


def report(
    model: Model,
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path(
        "report.html"
    ),
    missing: Missing = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a page about a model and the data in FILE: one HTML file, which needs no network.

    It shows the hidden classifiers in words and pictures, compares them with a single logistic
    regression on held-out rows, and warns of what may be wrong.

    For example:

        spectralmirror report model.skops ratings.csv -o report.html
    """
    check_missing(missing)
    check_output(output, *files, model)
    with told(quiet), watching(quiet) as listen:
        data = write(load_table(model), files, output, missing, seed, listen)
    if as_json:
        print_json(data)
        return
    say(quiet, f"Report: {output}")


def write(
    table: Any, files: list[str], output: Path, missing: str | None, seed: int, listen: Listen
) -> dict[str, Any]:
    """Write a report on rows of files, all of them or a sample."""
    from spectralmirror.report import write_report
    from spectralmirror.rows.files.readers import count_rows, readers_of
    from spectralmirror.tables.table_sample import sample_rows
    from spectralmirror.tables.winners import OUTCOMES

    readers = readers_of(files)
    total = count_rows(readers)
    rows = sample_rows(table, readers, missing, lambda n: listen("reading", n, total))
    listen("writing the report", 0, None)
    about = {
        "files": ", ".join(files),
        "source": table.about["source"],
        "label": table.label,
        "group": table.group,
        "n_rows": table.about["n_rows"],
        "notes": [*table.about["notes"], *_comparing(table)],
        "label_names": OUTCOMES if table.recipe.pairs else {},
        "references": table.recipe.references,
    }
    data: dict[str, Any] = write_report(
        table.mixture,
        table.named(rows.X),
        rows.y,
        output,
        groups=rows.groups,
        table=rows.table,
        about=about,
        random_state=seed,
    )
    return data


def _comparing(table: Any) -> list[str]:
    """Say what features of comparisons are."""
    if table.recipe.pairs is None:
        return []
    left, right = table.recipe.pairs
    return [
        f"Every row compares two things: features are those of the left ({left}...) less those of "
        f"the right ({right}...)."
    ]

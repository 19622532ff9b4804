"""The command ``spectralmirror cluster``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from spectralmirror.cli.console import check_output, fail, one_sentence_errors, progress_bar
from spectralmirror.cli.options import (
    AsJson,
    Files,
    Keep,
    Missing,
    Model,
    Quiet,
    Separator,
    TableOutput,
    load_table,
    split_names,
)
from spectralmirror.cli.predict import print_written

__all__ = ["cluster"]


def cluster(
    model: Model,
    files: Files,
    output: TableOutput = Path("clusters.parquet"),
    by_group: Annotated[
        bool, typer.Option("--by-group", help="One line per group instead of per row.")
    ] = False,
    keep: Keep = None,
    missing: Missing = None,
    separator: Separator = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Assign each row of FILE to the hidden classifier that made its label, in the same order.

    Columns: `classifier`, the most likely one, and `probability_A`, `probability_B`, ... of each.
    With groups they are `group_classifier`, `group_probability_A`, ..., from all rows of the group
    together, wherever they stand in the file, and `row_classifier`, `row_probability_A`, ..., from
    the row alone.

    For choices they are `class` and `probability_A`, ..., from all choices of the same person.

    For example:

        spectralmirror cluster model.skops ratings.csv -o who.parquet

        spectralmirror cluster model.skops ratings.csv -o sessions.csv --by-group
    """
    if by_group and keep:
        fail("--keep copies columns of rows, and --by-group writes no rows: leave one out.")
    check_output(output, *files, model)
    with one_sentence_errors(quiet), progress_bar(quiet) as listen:
        from spectralmirror.rows.files.readers import count_rows, readers_of
        from spectralmirror.tables.known_rows import without_covariates
        from spectralmirror.tables.predictions import write_clusters, write_groups

        fitted, _ = load_table(model)
        if by_group and fitted.group is None:
            fail(f"{model} was fitted without --group, so there are no groups.")
        readers = readers_of(files, separator)
        total = count_rows(readers)
        options: dict[str, Any] = {
            "missing": missing,
            "listen": lambda n: listen("assigning", n, total),
        }
        if by_group:
            written = write_groups(fitted, readers, output, **options)
        else:
            options["keep"] = split_names(keep, readers)
            written = write_clusters(fitted, readers, output, **options)
        written |= without_covariates(fitted, readers)
    print_written(written, as_json, quiet)

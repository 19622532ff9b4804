"""The command ``spectralmirror bootstrap``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spectralmirror.cli.class_options import Known
from spectralmirror.cli.console import (
    check_output,
    one_sentence_errors,
    print_json,
    progress_bar,
    say,
    with_options,
)
from spectralmirror.cli.options import (
    AsJson,
    Files,
    Jobs,
    Level,
    Missing,
    Model,
    Quiet,
    Seed,
    Separator,
    checked_jobs,
    load_table,
)

__all__ = ["bootstrap"]


def bootstrap(
    model: Model,
    files: Files,
    resamples: Annotated[
        int,
        typer.Option(
            "--resamples",
            "-n",
            min=2,
            metavar="N",
            help="Number of resamples: 50 or more for standard errors, 1,000 for intervals.",
        ),
    ] = 200,
    level: Level = 0.95,
    known: Known = None,
    missing: Missing = None,
    separator: Separator = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The model with its resamples: `inspect` and `report` show them. It may be MODEL.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Refit MODEL to resamples of FILE, for standard errors and intervals.

    FILE is what MODEL was fitted to. Whole groups are drawn with replacement, as many as there are.
    Errors and intervals are printed beside those of the model itself, which come from the curvature
    of the likelihood.

    For example:

        spectralmirror bootstrap model.skops ratings.csv -n 1000 --jobs -1
    """
    n_jobs = checked_jobs(jobs)
    if output is not None:
        check_output(output, *files)
    with one_sentence_errors(quiet), progress_bar(quiet) as listen:
        from spectralmirror.mixture.bootstrap import OtherRowsError
        from spectralmirror.rows.files.readers import count_rows, readers_of
        from spectralmirror.tables.fitted_rows import fitted_rows
        from spectralmirror.tables.storage import save
        from spectralmirror.tables.table_model import described_bootstrap

        fitted, _ = load_table(model)
        readers = readers_of(files, separator)
        total = count_rows(readers)
        given = fitted_rows(
            fitted, readers, known=known, missing=missing,
            listen=lambda n: listen("reading", n, total),
        )  # fmt: skip
        listen("refitting", 0, None)
        try:
            found = fitted.mixture.bootstrap(**given, n=resamples, random_state=seed, n_jobs=n_jobs)
        except OtherRowsError as error:
            raise ValueError(f"{error.reason} Name the files that were fitted.") from None
        found.keep()
        if output is not None:
            save(fitted, output)
    if as_json:
        print_json({"model": str(output or model), **(described_bootstrap(found, level) or {})})
        return
    say(with_options(found.summary(level)), quiet)
    if output is not None:
        say(f"\nModel: {output}", quiet)

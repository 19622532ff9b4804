"""The command ``spectralmirror predict``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from spectralmirror.cli.console import (
    check_output,
    counted,
    one_sentence_errors,
    print_json,
    progress_bar,
    say,
    warn,
)
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

__all__ = ["predict", "print_written"]


def predict(
    model: Model,
    files: Files,
    output: TableOutput = Path("predictions.parquet"),
    history: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Labelled rows of the same groups: each group is predicted by its own classifier.",
            show_default=False,
        ),
    ] = None,
    keep: Keep = None,
    missing: Missing = None,
    separator: Separator = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict labels: one line for each row of FILE, in the same order.

    Columns: those that are kept (and the group), `prediction`, and the probability of each label.
    With --missing drop, rows with missing values get no prediction.

    For choices: whether the row is the most likely one of its set, and the `probability` that it is
    chosen. The shares of the alternatives are printed: change FILE to see what would happen if.

    For example:

        spectralmirror predict model.skops new.csv -o predictions.csv --keep id

        spectralmirror predict model.skops new.csv --history ratings.csv
    """
    check_output(output, *files, model, *filter(None, [history]))
    with one_sentence_errors(quiet), progress_bar(quiet) as listen:
        from spectralmirror.rows.files.readers import count_rows, readers_of
        from spectralmirror.tables.known_rows import without_covariates
        from spectralmirror.tables.predictions import write_predictions

        fitted, _ = load_table(model)
        readers = readers_of(files, separator)
        past = None if history is None else readers_of(history, separator)
        if {reader.name for reader in readers} & {reader.name for reader in past or ()}:
            warn(
                "Some files are in --history, too: their rows are predicted with the help of their "
                "own labels, so the predictions look better than they are.",
                quiet,
            )
        total = count_rows(readers)
        written = write_predictions(
            fitted,
            readers,
            output,
            history=past,
            keep=split_names(keep, readers),
            missing=missing,
            listen=lambda n: listen("predicting", n, total),
        ) | without_covariates(fitted, readers)
    print_written(written, as_json, quiet)


def print_written(written: dict[str, Any], as_json: bool, quiet: bool) -> None:
    """Print how many rows or groups were written, and how many of them are special."""
    if as_json:
        print_json(written)
        return
    what = "groups" if "n_groups" in written else "rows"
    what = "persons" if "n_groups" in written and "n_choices" in written else what
    n = written["n_groups"] if "n_groups" in written else written["n_rows"]
    n_missing = written.get("n_missing", 0)
    without, of = f", {n_missing:,} of them without an answer, as values are missing", ""
    if "n_choices" in written:
        of = f" of {counted(written['n_choices'], 'choice')}"
        without = f", and {counted(n_missing, what[:-1])} without an answer, as values are missing"
    without *= bool(n_missing)
    say(f"{n:,} {what}{of}{without}: {written['output']}", quiet)
    if n_filled := written.get("n_filled"):
        say(f"  Missing values or unknown levels were filled in {n_filled:,} rows.", quiet)
    if n_new := written.get("n_without_history"):
        say(f"  {n_new:,} rows belong to groups without a history.", quiet)
    if "shares" in written and "n_without_history" in written:
        say("  Shares are those of strangers: --history changes rows, but not shares.", quiet)
    for line in _shares(written.get("shares", {})):
        say(line, quiet)
    if absent := written.get("without_membership"):
        say(f"  Without {', '.join(absent)}: the average weights of the classes are used.", quiet)
    for name, count in written.get("counts", {}).items():
        say(f"  {name}: {count:,} ({count / max(n - n_missing, 1):.1%})", quiet)


def _shares(shares: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield a table of the shares of alternatives, overall and in each class."""
    if not shares:
        return
    names = list(next(iter(shares.values())))
    width = max(map(len, (*shares, "shares")))
    heads = ["overall", *(f"class {name}" for name in names[1:])]
    yield "  " + "  ".join([f"{'shares':<{width}}", *(f"{head:>8}" for head in heads)])
    for alternative, line in sorted(shares.items()):
        cells = [f"{line[name]:>8.1%}" for name in names]
        yield "  " + "  ".join([f"{alternative:<{width}}", *cells])

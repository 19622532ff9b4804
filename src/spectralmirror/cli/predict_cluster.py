"""The commands ``spectralmirror predict`` and ``spectralmirror cluster``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectralmirror.cli.console import (
    AsJson,
    Missing,
    Quiet,
    check_output,
    fail,
    print_json,
    say,
    told,
    warn,
    watching,
)
from spectralmirror.cli.fit import Files, check_missing, complete_column, names_of

if TYPE_CHECKING:
    from spectralmirror.tables.table_model import FittedTable

__all__ = ["Model", "cluster", "load_table", "load_table_with_version", "predict"]

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model of `fit`.", show_default=False)
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        autocompletion=complete_column,
        help="Columns of FILE to copy into the output.",
        show_default=False,
    ),
]


def predict(
    model: Model,
    files: Files,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="What to write: .parquet, .arrow, .csv or .csv.gz."),
    ] = Path("predictions.parquet"),
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
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict labels: one line for each row of FILE, in the same order.

    Columns: those that are kept (and the group), `prediction`, and the probability of each label.
    With --missing drop, rows with missing values get no prediction.

    For example:

        spectralmirror predict model.skops new.csv -o predictions.csv --keep id

        spectralmirror predict model.skops new.csv --history ratings.csv
    """
    check_missing(missing)
    check_output(output, *files, model, *filter(None, [history]))
    with told(quiet), watching(quiet) as listen:
        from spectralmirror.rows.files.readers import count_rows, readers_of
        from spectralmirror.tables.predictions import write_predictions

        table, readers = load_table(model), readers_of(files)
        total = count_rows(readers)
        if history is not None and {r.name for r in readers} & {
            r.name for r in readers_of(history)
        }:
            warn(
                "Some files are in --history, too: their rows are predicted with the help of their "
                "own labels, which looks better than it is.",
                quiet,
            )
        done = write_predictions(
            table,
            readers,
            output,
            history=None if history is None else readers_of(history),
            keep=names_of(keep, readers),
            missing=missing,
            listen=lambda n: listen("predicting", n, total),
        )
    _tell(done, as_json, quiet)


def cluster(
    model: Model,
    files: Files,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="What to write: .parquet, .arrow, .csv or .csv.gz."),
    ] = Path("clusters.parquet"),
    by_group: Annotated[
        bool, typer.Option("--by-group", help="One line for each group instead of each row.")
    ] = False,
    keep: Keep = None,
    missing: Missing = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say which hidden classifier made each label, for each row of FILE in its order.

    Columns: `classifier`, the most likely one, and `probability_A`, `probability_B`, ... of each.
    With groups they are `group_classifier`, `group_probability_A`, ..., as all rows of the group
    tell together, wherever they stand in the file, and `row_classifier`, `row_probability_A`, ...,
    as the row alone tells.

    For example:

        spectralmirror cluster model.skops ratings.csv -o who.parquet

        spectralmirror cluster model.skops ratings.csv -o sessions.csv --by-group
    """
    check_missing(missing)
    check_output(output, *files, model)
    with told(quiet), watching(quiet) as listen:
        from spectralmirror.rows.files.readers import count_rows, readers_of
        from spectralmirror.tables.predictions import write_clusters, write_groups

        table, readers = load_table(model), readers_of(files)
        total = count_rows(readers)
        options: dict[str, Any] = {
            "missing": missing,
            "listen": lambda n: listen("judging", n, total),
        }
        if by_group:
            if keep:
                fail("--keep copies columns of rows, and --by-group writes no rows: leave one out.")
            if table.group is None:
                fail(f"{model} was fitted without --group, so there are no groups.")
            done = write_groups(table, readers, output, **options)
        else:
            kept = names_of(keep, readers)
            done = write_clusters(table, readers, output, keep=kept, **options)
    _tell(done, as_json, quiet)


def load_table(path: Path) -> FittedTable:
    """Load a model that `fit` has written."""
    return load_table_with_version(path)[0]


def load_table_with_version(path: Path) -> tuple[FittedTable, str]:
    """Load a model that `fit` has written; return it, and the version that wrote it."""
    from spectralmirror.tables.storage import load_with_version
    from spectralmirror.tables.table_model import FittedTable

    model, version = load_with_version(path)
    if not isinstance(model, FittedTable):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which knows no columns of files: use "
            "spectralmirror.load in Python, or a model of `spectralmirror fit`."
        )
    return model, version


def _tell(done: dict[str, Any], as_json: bool, quiet: bool) -> None:
    """Print what was written."""
    if as_json:
        print_json(done)
        return
    what = "groups" if "n_groups" in done else "rows"
    n = done.get("n_groups", done["n_rows"])
    skipped = done.get("n_missing", 0)
    left = f", {skipped:,} of them without an answer, as values are missing" if skipped else ""
    say(quiet, f"{n:,} {what}{left}: {done['output']}")
    if done.get("n_filled"):
        say(
            quiet,
            f"  Gaps, or levels that are not known, were filled in {done['n_filled']:,} rows.",
        )
    if done.get("n_without_history"):
        say(quiet, f"  {done['n_without_history']:,} rows belong to groups without a history.")
    for name, count in done.get("counts", {}).items():
        say(quiet, f"  {name}: {count:,} ({count / max(n - skipped, 1):.1%})")

"""Arguments and options that several commands take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from spectralmirror.cli.console import fail
from spectralmirror.tables.sides import feature_of

if TYPE_CHECKING:
    from spectralmirror.tables.table_model import FittedTable

__all__ = [
    "AsJson",
    "Criterion",
    "CriterionName",
    "Files",
    "Jobs",
    "Keep",
    "Level",
    "Missing",
    "MissingPolicy",
    "Model",
    "Quiet",
    "Response",
    "ResponseName",
    "Seed",
    "Separator",
    "Spread",
    "SpreadName",
    "TableOutput",
    "checked_jobs",
    "column_option",
    "columns_option",
    "load_table",
    "split_names",
]

#: What to do about missing values.
MissingPolicy = Literal["error", "impute", "drop"]
#: The names in ``spectralmirror.responses`` (a test compares them: --help does not import it).
ResponseName = Literal["logistic", "probit", "hard"]
#: The names in ``spectralmirror.mixture.selection`` (the same test compares them).
CriterionName = Literal["evidence", "bic", "icl"]
#: The names in ``spectralmirror.mixture.spread``, and those for None and for a choice among them.
SpreadName = Literal["none", "intercept", "diagonal", "factor", "full", "auto"]


def complete_column(context: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of the files named so far that begin with what was typed."""
    try:
        from spectralmirror.rows.files.readers import readers_of

        files = context.params.get("files") or context.args[-1:]  # as far as they are parsed
        names = readers_of(list(files))[0].types
    except Exception:  # a shell that completes must not be disturbed
        return []
    return [name for name in names if name.startswith(incomplete)]


def column_option(description: str) -> Any:
    """Return an option that names a column of FILE."""
    return typer.Option(
        metavar="COLUMN", autocompletion=complete_column, help=description, show_default=False
    )


def columns_option(description: str, default: str | bool = False) -> Any:
    """Return an option that names columns of FILE, separated by commas or given several times."""
    return typer.Option(
        metavar="COLUMNS", autocompletion=complete_column, help=description, show_default=default
    )


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="CSV or other text (also .gz), Parquet, Arrow: files, a folder, or a glob in quotes.",
        show_default=False,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        help='What separates the columns of text files: a character, "tab" or "space".',
        show_default="found in the first line",
        callback=lambda text: separator_of(text),
    ),
]
Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A model written by `fit`.", show_default=False),
]
TableOutput = Annotated[
    Path,
    typer.Option("--output", "-o", help="File to write: .parquet, .arrow, .csv or .csv.gz."),
]
Keep = Annotated[list[str] | None, columns_option("Columns of FILE to copy into the output.")]
Missing = Annotated[
    MissingPolicy | None,
    typer.Option(
        metavar="WHAT",
        help="Missing values: error, impute (mean or most frequent level) or drop (the row).",
        show_default=False,
    ),
]
Response = Annotated[
    ResponseName,
    typer.Option(
        metavar="KIND", help="How a score becomes a label's probability: logistic, probit or hard."
    ),
]
Criterion = Annotated[
    CriterionName,
    typer.Option(
        metavar="KIND",
        help="How -k auto compares numbers of classifiers: by evidence, bic or icl.",
    ),
]
Spread = Annotated[
    SpreadName | None,
    typer.Option(
        metavar="KIND",
        help="How people (groups) of one class differ: none, intercept, diagonal, factor or full; "
        "auto chooses from the data.",
        show_default="auto with --group",
    ),
]
Seed = Annotated[
    int, typer.Option(metavar="N", help="Seed of the random numbers.", min=0, max=2**31 - 1)
]
Level = Annotated[
    float,
    typer.Option(metavar="P", help="Confidence level of the intervals.", min=0.001, max=0.999),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", help="Number of processes; -1: one per core.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def separator_of(text: str | None) -> str | None:
    """Return the character that `--separator` stands for."""
    names = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "space": " ", "pipe": "|"}
    mark = None if text is None else names.get(text.lower(), text)
    if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in '"\r\n.'):
        fail(f"--separator must be one character, tab or space, got {text!r}.")
    return mark


def checked_jobs(jobs: int) -> int:
    """Return the number of processes, or fail if there can be none."""
    if jobs == 0 or jobs < -1:
        fail(f"--jobs must be at least 1, or -1 for one per core, got {jobs}.")
    return jobs


def split_names(
    texts: Sequence[str] | None, readers: Sequence[Any], pairs: Sequence[str] | None = None
) -> list[str]:
    """Return the names of columns given with commas or several times.

    A text with a comma that is itself the name of a column is not split.
    """
    known = {name for reader in readers for name in reader.types}
    known |= {feature_of(side, name) or name for side in pairs or () for name in known}
    names = []
    for text in texts or ():
        names += [text] if text in known else [name.strip() for name in text.split(",")]
    return [name for name in names if name]


def load_table(path: Path) -> tuple[FittedTable, str]:
    """Load a model written by `fit`; return it, and the version that wrote it."""
    from spectralmirror.tables.storage import load_with_version
    from spectralmirror.tables.table_model import FittedTable

    model, version = load_with_version(path)
    if not isinstance(model, FittedTable):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which has no columns of files: load it in "
            "Python with spectralmirror.load, or name a model written by `spectralmirror fit`."
        )
    return model, version

"""The command ``spectralmirror fit``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from spectralmirror.cli.console import (
    AsJson,
    Missing,
    Quiet,
    Seed,
    check_output,
    fail,
    print_json,
    say,
    told,
    watching,
)

__all__ = ["Files", "check_missing", "complete_column", "fit", "names_of", "say_model"]

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="CSV (also .gz), Parquet or Arrow: files, a folder, or a glob in quotes.",
        show_default=False,
    ),
]


def complete_column(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the columns of the files that are named already."""
    try:
        from spectralmirror.rows.files.readers import readers_of

        files = context.params.get("files") or context.args[-1:]  # as far as they are parsed
        names = readers_of(list(files))[0].types
    except Exception:  # a shell that completes must not be disturbed
        return []
    return [name for name in names if name.startswith(incomplete)]


Columns = list[str]


def fit(
    files: Files,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            autocompletion=complete_column,
            help="The column of labels: any two values.",
            show_default=False,
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            autocompletion=complete_column,
            help="A column that is the same for rows of one hidden classifier (person, session).",
            show_default=False,
        ),
    ] = None,
    features: Annotated[
        Columns | None,
        typer.Option(
            metavar="COLUMNS",
            autocompletion=complete_column,
            help="Columns that are features, with commas or several times.",
            show_default="all others",
        ),
    ] = None,
    drop: Annotated[
        Columns | None,
        typer.Option(
            metavar="COLUMNS",
            autocompletion=complete_column,
            help="Columns to leave out.",
            show_default=False,
        ),
    ] = None,
    categorical: Annotated[
        Columns | None,
        typer.Option(
            metavar="COLUMNS",
            autocompletion=complete_column,
            help="Columns of numbers that are codes of categories.",
            show_default=False,
        ),
    ] = None,
    components: Annotated[
        str,
        typer.Option(
            "--components",
            "-k",
            metavar="auto|N",
            help="How many hidden classifiers; auto takes the number with the least BIC.",
        ),
    ] = "auto",
    response: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="How a score becomes a label: logistic, probit or hard.",
            autocompletion=lambda: ["logistic", "probit", "hard"],
        ),
    ] = "logistic",
    l2: Annotated[float, typer.Option(help="Strength of the penalty on large profiles.")] = 0.1,
    intercept: Annotated[
        bool | None,
        typer.Option(
            "--intercept/--no-intercept",
            help="Whether classifiers have intercepts.",
            show_default="yes, but no for --pairs",
        ),
    ] = None,
    pairs: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="LEFT RIGHT",
            help="Comparisons: features are LEFTx less RIGHTx for all columns that stand twice.",
            show_default=False,
        ),
    ] = None,
    winner: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            autocompletion=complete_column,
            help="With --pairs: who won, left or right.",
            show_default=False,
        ),
    ] = None,
    missing: Missing = "error",
    starts: Annotated[
        int, typer.Option(min=1, help="The most starts of the search for the best fit.")
    ] = 44,
    max_iter: Annotated[int, typer.Option(min=1, help="The most steps of a climb.")] = 500,
    seed: Seed = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model to write.")] = Path(
        "model.skops"
    ),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the hidden classifiers behind the labels in a file.

    Numbers are features as they are; text, truth values and categories become one feature for each
    level but the most frequent one. Dates and free text are refused.

    For example:

        spectralmirror fit ratings.csv --label liked --group session -o model.skops

        spectralmirror fit "votes/*.parquet" --label yea --drop name,date -k 2

        spectralmirror fit choices.csv --pairs left_ right_ --winner choice -k 2
    """
    if pairs is None and winner is not None:
        fail("--winner belongs to --pairs LEFT RIGHT; use --label for a column of labels.")
    if pairs is not None and (winner is None or label is not None):
        fail("--pairs LEFT RIGHT needs --winner COLUMN, and no --label.")
    column = winner if label is None else label
    if column is None:
        fail("Which column holds the labels? Name it: --label COLUMN.")
    check_missing(missing)
    k = _number_of_components(components)
    if response not in ("logistic", "probit", "hard"):
        fail(f"--response must be logistic, probit or hard, got {response!r}.")
    if not 0 <= l2 < float("inf"):
        fail(f"--l2 must be 0 or more, got {l2}.")
    check_output(output, *files)
    with told(quiet), watching(quiet) as listen:
        listen("loading", 0, None)
        from spectralmirror import LinearClassifierMixture, save
        from spectralmirror.rows.files.readers import readers_of
        from spectralmirror.tables.column_roles import ColumnRoles
        from spectralmirror.tables.fit_table import fit_table

        readers = readers_of(files)
        roles = ColumnRoles(
            label=column,
            group=group,
            features=names_of(features, readers, pairs),
            drop=names_of(drop, readers, pairs),
            categorical=names_of(categorical, readers, pairs),
            pairs=pairs,
            missing=str(missing),
        )
        mixture = LinearClassifierMixture(
            k,
            response=response,
            l2=l2,
            fit_intercept=pairs is None if intercept is None else intercept,
            n_init=starts,
            max_iter=max_iter,
            random_state=seed,
        )
        model = fit_table(readers, roles, mixture, source=", ".join(files), listen=listen)
        save(model, output)
    with told(quiet, f"The model is in {output}."):
        if as_json:
            print_json({"model": str(output), **model.described()})
            return
        say_model(model, quiet)
        say(quiet, f"\nModel: {output}")
        say(quiet, f"Next:  spectralmirror report {output} {_quoted(files)} -o report.html")


def say_model(model: Any, quiet: bool) -> None:
    """Print what was found."""
    from spectralmirror.cli.words import told_model

    for line in told_model(model):
        say(quiet, line)


def check_missing(missing: str | None) -> None:
    """Raise where it is not said what to do about missing values."""
    if missing not in (None, "error", "impute", "drop"):
        fail(f"--missing must be error, impute or drop, got {missing!r}.")


def _number_of_components(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        k = int(text)
    except ValueError:
        k = 0
    if k < 1:
        fail(f"-k must be auto or a whole number of at least 1, got {text!r}.")
    return k


def names_of(
    given: Sequence[str] | None, readers: Sequence[Any], pairs: Sequence[str] | None = None
) -> list[str]:
    """Return names of columns that were given with commas, or several times."""
    known = {name for reader in readers for name in reader.types}
    known |= {name.removeprefix(side) for side in pairs or () for name in known}
    names = []
    for text in given or ():
        names += [text] if text in known else [name.strip() for name in text.split(",")]
    return [name for name in names if name]


def _quoted(files: Sequence[str]) -> str:
    return " ".join(shlex.quote(file) for file in files)

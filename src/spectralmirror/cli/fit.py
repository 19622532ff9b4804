"""The command ``spectralmirror fit``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from spectralmirror.cli.choice_options import ChoiceOptions
from spectralmirror.cli.class_options import Known, Membership, Shared, Sign, class_columns
from spectralmirror.cli.console import (
    check_output,
    fail,
    one_sentence_errors,
    print_json,
    progress_bar,
    say,
)
from spectralmirror.cli.options import (
    AsJson,
    Criterion,
    Files,
    Missing,
    Quiet,
    Response,
    Seed,
    Separator,
    Spread,
    column_option,
    columns_option,
    split_names,
)

__all__ = ["fit"]


def fit(
    files: Files,
    label: Annotated[
        str | None, column_option("The column of labels: two values, or more.")
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="The label that counts as +1, and whose odds are shown.",
            show_default="the last in the order of their values",
        ),
    ] = None,
    group: Annotated[
        str | None,
        column_option(
            "Rows with equal values in this column share a classifier (person, session)."
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        columns_option("Columns that are features, with commas or several times.", "all others"),
    ] = None,
    drop: Annotated[list[str] | None, columns_option("Columns to leave out.")] = None,
    categorical: Annotated[
        list[str] | None, columns_option("Columns of numbers that are codes of categories.")
    ] = None,
    components: Annotated[
        str,
        typer.Option(
            "--components",
            "-k",
            metavar="auto|N",
            help="Number of hidden classifiers; auto takes the one with the most evidence.",
        ),
    ] = "auto",
    response: Response = "logistic",
    l2: Annotated[
        str,
        typer.Option(
            metavar="auto|NUMBER",
            help="Strength of the penalty on large profiles; auto chooses it from the data.",
        ),
    ] = "auto",
    criterion: Criterion = "evidence",
    spread: Spread = None,
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
            help="Comparisons: differences of columns that begin, or end, with LEFT and RIGHT.",
            show_default=False,
        ),
    ] = None,
    winner: Annotated[
        str | None, column_option("With --pairs: which side won, left or right.")
    ] = None,
    choice_set: Annotated[
        list[str] | None,
        columns_option("Choices: rows with equal values here are the alternatives of one choice."),
    ] = None,
    alternative: Annotated[
        str | None, column_option("With --choice-set: which alternative a row is.")
    ] = None,
    chosen: Annotated[
        str | None,
        column_option("Whether a row was chosen, as 1 or 0; with --wide, which alternative was."),
    ] = None,
    wide: Annotated[
        bool,
        typer.Option(
            "--wide", help="Choices, one line each: price_a, price_b, ... or price1, price2, ..."
        ),
    ] = False,
    outside: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="With --wide: the value of --chosen for none of the alternatives.",
            show_default=False,
        ),
    ] = None,
    available: Annotated[
        str | None,
        typer.Option(
            metavar="FEATURE",
            help="With --wide: columns such as FEATURE_a that are 0 where a was not available.",
            show_default=False,
        ),
    ] = None,
    constants: Annotated[
        bool, typer.Option("--constants", help="Choices: a constant for each alternative.")
    ] = False,
    membership: Membership = None,
    known: Known = None,
    shared: Shared = None,
    sign: Sign = None,
    missing: Missing = "error",
    separator: Separator = None,
    starts: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Maximum number of starts of the search for the best fit."
        ),
    ] = 200,
    max_iter: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum number of iterations from one start.")
    ] = 500,
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

        spectralmirror fit survey.csv --choice-set card --chosen chosen --group who

        spectralmirror fit trips.csv --label mode --group who --membership age
    """
    survey = ChoiceOptions(choice_set, alternative, chosen, constants, wide, outside, available)
    if survey.given:
        column = survey.column(label, pairs, winner)
        survey.check_model(response, spread, intercept)
    else:
        survey.check_absent()
        column = _label_column(label, pairs, winner)
    if pairs is not None and positive is not None:
        fail("--positive belongs to --label; with --pairs, a win of the left side counts as +1.")
    k = _number_of_components(components)
    penalty = _penalty(l2)
    if (k, criterion, penalty) == ("auto", "evidence", 0):
        fail(
            "-k auto compares evidence, which needs a penalty: use --l2 auto or a number above 0, "
            "or --criterion bic."
        )
    has_intercept = pairs is None and not survey.given if intercept is None else intercept
    kind = _kind_of_spread(spread, group, response, has_intercept)
    if known is not None and k == "auto" and kind is not None:
        if spread is not None:
            fail("--known and --spread need a number of classes: -k 2, for example.")
        kind = None
    check_output(output, *files)
    with one_sentence_errors(quiet), progress_bar(quiet) as listen:
        listen("loading", 0, None)
        from spectralmirror.mixture import ChoiceMixture, LinearClassifierMixture
        from spectralmirror.rows.files.readers import readers_of
        from spectralmirror.tables.column_roles import ColumnRoles, agreed_types
        from spectralmirror.tables.fit_table import fit_table
        from spectralmirror.tables.sides import sides_of
        from spectralmirror.tables.storage import save

        readers = survey.readers(readers_of(files, separator), column, group)
        sides = None if pairs is None else sides_of(pairs, agreed_types(readers))
        roles = ColumnRoles(
            label=column,
            group=group,
            features=split_names(features, readers, sides),
            drop=split_names(drop, readers, sides),
            categorical=split_names(categorical, readers, sides),
            pairs=sides,
            missing=str(missing),
            positive=positive,
            **survey.columns(readers),
            **class_columns(membership, known, shared, sign, readers, sides),
        )
        options: dict[str, Any] = {
            "l2": penalty, "n_init": starts, "max_iter": max_iter, "criterion": criterion,
            "spread": kind, "random_state": seed,
        }  # fmt: skip
        mixture: LinearClassifierMixture | ChoiceMixture = (
            ChoiceMixture(k, **options)
            if survey.given
            else LinearClassifierMixture(
                k, response=response, fit_intercept=has_intercept, **options
            )
        )
        model = fit_table(readers, roles, mixture, source=", ".join(files), listen=listen)
        save(model, output)
    with one_sentence_errors(quiet, f"The model is in {output}."):
        if as_json:
            print_json({"model": str(output), **model.described()})
            return
        from spectralmirror.cli.model_summary import print_model

        print_model(model, quiet)
        say(f"\nModel: {output}", quiet)
        say(f"Next:  spectralmirror report {output} {shlex.join(files)} -o report.html", quiet)


def _label_column(label: str | None, pairs: tuple[str, str] | None, winner: str | None) -> str:
    """Return the column that holds the labels."""
    if pairs is None and winner is not None:
        fail("--winner belongs to --pairs LEFT RIGHT; use --label for a column of labels.")
    if pairs is not None and (winner is None or label is not None):
        fail("--pairs LEFT RIGHT needs --winner COLUMN, and no --label.")
    column = winner if label is None else label
    if column is None:
        fail("Which column holds the labels? Name it: --label COLUMN.")
    return column


def _number_of_components(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        k = int(text)
    except ValueError:
        k = 0
    if k < 1:
        fail(f"-k must be auto or an integer of at least 1, got {text!r}.")
    return k


def _kind_of_spread(
    kind: str | None, group: str | None, response: str, has_intercept: bool
) -> str | None:
    """Return the spread as the mixture takes it: by default "auto", if it can have one."""
    possible = group is not None and response != "hard"
    if kind in (None, "auto"):
        return "auto" if possible else None
    if kind == "none":
        return None
    if group is None:
        fail(
            f"--spread {kind} compares several labels of the same person: name the column of "
            "persons with --group COLUMN, or use --spread none."
        )
    if not possible:
        fail(f"--spread {kind} needs --response logistic or probit, not hard.")
    if kind == "intercept" and not has_intercept:
        fail(
            "--spread intercept needs intercepts, which --no-intercept and --pairs leave out: use "
            "--intercept, or another kind."
        )
    return kind


def _penalty(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        l2 = float(text)
    except ValueError:
        l2 = -1.0
    if not 0 <= l2 < float("inf"):
        fail(f"--l2 must be auto or a number of at least 0, got {text!r}.")
    return l2

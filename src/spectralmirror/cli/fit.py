"""The command ``spectralmirror fit``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from spectralmirror.cli.choice_options import ChoiceOptions
from spectralmirror.cli.class_options import Known, Membership, Shared, Sign
from spectralmirror.cli.column_options import (
    Alternative,
    Available,
    Categorical,
    ChoiceSet,
    Chosen,
    ColumnOptions,
    Constants,
    Drop,
    Features,
    Group,
    Intercept,
    Label,
    MaxIter,
    Outside,
    Pairs,
    Penalty,
    Positive,
    Starts,
    Wide,
    Winner,
    kind_of_spread,
    penalty_of,
)
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
)

__all__ = ["fit"]


def fit(
    files: Files,
    label: Label = None,
    positive: Positive = None,
    group: Group = None,
    features: Features = None,
    drop: Drop = None,
    categorical: Categorical = None,
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
    l2: Penalty = "auto",
    criterion: Criterion = "evidence",
    spread: Spread = None,
    intercept: Intercept = None,
    pairs: Pairs = None,
    winner: Winner = None,
    choice_set: ChoiceSet = None,
    alternative: Alternative = None,
    chosen: Chosen = None,
    wide: Wide = False,
    outside: Outside = None,
    available: Available = None,
    constants: Constants = False,
    membership: Membership = None,
    known: Known = None,
    shared: Shared = None,
    sign: Sign = None,
    missing: Missing = "error",
    separator: Separator = None,
    starts: Starts = 200,
    max_iter: MaxIter = 500,
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
    columns = ColumnOptions(
        ChoiceOptions(choice_set, alternative, chosen, constants, wide, outside, available),
        label, positive, group, features, drop, categorical, pairs, winner, membership, shared,
        sign, str(missing), known,
    )  # fmt: skip
    column = columns.column(response, spread, intercept)
    k = _number_of_components(components)
    penalty = penalty_of(l2)
    if (k, criterion, penalty) == ("auto", "evidence", 0):
        fail(
            "-k auto compares evidence, which needs a penalty: use --l2 auto or a number above 0, "
            "or --criterion bic."
        )
    has_intercept = columns.has_intercept(intercept)
    kind = kind_of_spread(spread, group, response, has_intercept)
    if known is not None and k == "auto" and kind is not None:
        if spread is not None:
            fail("--known and --spread need a number of classes: -k 2, for example.")
        kind = None
    check_output(output, *files)
    with one_sentence_errors(quiet), progress_bar(quiet) as listen:
        listen("loading", 0, None)
        from spectralmirror.mixture import ChoiceMixture, LinearClassifierMixture
        from spectralmirror.tables.fit_table import fit_table
        from spectralmirror.tables.storage import save

        readers, roles = columns.read(files, column, separator)
        options: dict[str, Any] = {
            "l2": penalty, "n_init": starts, "max_iter": max_iter, "criterion": criterion,
            "spread": kind, "random_state": seed,
        }  # fmt: skip
        mixture: LinearClassifierMixture | ChoiceMixture = (
            ChoiceMixture(k, **options)
            if columns.survey.given
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

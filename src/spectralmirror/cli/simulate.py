"""The command ``spectralmirror simulate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from spectralmirror.cli.console import (
    check_output,
    fail,
    one_sentence_errors,
    print_json,
    progress_bar,
    say,
)
from spectralmirror.cli.options import AsJson, Quiet, Response, Seed, TableOutput

__all__ = ["simulate"]


def simulate(
    output: TableOutput = Path("simulated.parquet"),
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="Number of rows.")] = 10_000,
    features: Annotated[
        int, typer.Option("--features", "-d", min=1, help="Number of features.")
    ] = 20,
    components: Annotated[
        int, typer.Option("--components", "-k", min=1, help="Number of classifiers.")
    ] = 2,
    group_size: Annotated[
        int, typer.Option(min=1, help="Number of successive rows that share a classifier.")
    ] = 1,
    alternatives: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="J",
            help="Simulate choices from sets of J alternatives instead of labels; with "
            "--group-size, that many of each person.",
            show_default=False,
        ),
    ] = None,
    norm: Annotated[float, typer.Option(help="Length of the profiles.")] = 4.0,
    response: Response = "logistic",
    truth: Annotated[
        Path | None,
        typer.Option(help="A JSON file for profiles and weights.", show_default=False),
    ] = None,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Add a column with the classifier of each row.")
    ] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Simulate labels of hidden classifiers, to try things on.

    Columns: x0, x1, ..., `label` (-1 or 1), and `group` if groups have more than one row. Of
    choices: `person`, `case` (the choice set), `alternative` (a, b, ...), x0, x1, ..., and `chosen`
    (1 or 0).

    For example:

        spectralmirror simulate -o data.csv --rows 5000 -k 3 --truth truth.json

        spectralmirror simulate -o sessions.parquet --group-size 20 --reveal

        spectralmirror simulate -o survey.csv --group-size 8 --alternatives 4
    """
    if alternatives is not None and response != "logistic":
        fail(f"--response {response} is for binary labels: choices are logistic.")
    if alternatives is not None and (alternatives > 26 or rows < alternatives * group_size):
        fail("--alternatives must be at most 26, and --rows enough for one person.")
    if truth is not None and truth.absolute() == output.absolute():
        fail(f"--truth and --output cannot both be {output}.")
    for path in filter(None, (output, truth)):
        check_output(path)
    with one_sentence_errors(quiet), progress_bar(quiet) as listen:
        listen("simulating", 0, None)
        import numpy as np
        import pyarrow as pa

        from spectralmirror.datasets import make_choice_mixture, make_linear_classifier_mixture
        from spectralmirror.rows.files.atomic import written_whole
        from spectralmirror.rows.files.writers import check_kind, writing

        check_kind(output)
        columns: dict[str, Any]
        mixture: Any
        y: Any
        if alternatives is not None:
            n_persons = rows // (alternatives * group_size)
            X, y, mixture = make_choice_mixture(
                n_persons, features, components, n_choices=group_size,
                n_alternatives=alternatives, profile_norm=norm, random_state=seed,
            )  # fmt: skip
            rows = len(X)
            letters = [chr(ord("a") + j) for j in range(alternatives)]
            columns = {
                "person": mixture.groups,
                "case": mixture.choices,
                "alternative": letters * (rows // alternatives),
                **{f"x{j}": X[:, j] for j in range(features)},
                "chosen": y.astype(np.int64),
            }
        else:
            X, y, mixture = make_linear_classifier_mixture(
                rows,
                features,
                components,
                response=response,
                profile_norm=norm,
                group_size=group_size,
                random_state=seed,
            )
            columns = {f"x{j}": X[:, j] for j in range(features)}
            columns["label"] = y
            if group_size > 1:
                columns["group"] = mixture.groups
        if reveal:
            columns["classifier"] = mixture.components
        with writing(output) as append:
            append(pa.table(columns))
        parameters = {"weights": mixture.weights.tolist(), "profiles": mixture.profiles.tolist()}
        if truth is not None:
            with written_whole(truth) as unfinished:
                unfinished.write_text(json.dumps(parameters, indent=2))
    if as_json:
        print_json({"output": str(output), "n_rows": rows, "columns": list(columns), **parameters})
        return
    counts = np.bincount(mixture.components, minlength=components)
    shares = ", ".join(f"{share:.0%}" for share in counts / rows)
    drop = " --drop classifier" if reveal else ""
    if alternatives is not None:
        n = rows // alternatives
        say(f"{n:,} choices among {alternatives}, {components} classes ({shares}): {output}", quiet)
        sets = "--choice-set case --alternative alternative --chosen chosen --group person"
        say(f"Next: spectralmirror fit {output} {sets}{drop}", quiet)
        return
    what = f"{rows:,} rows of {features} features, labels of {components} classifiers ({shares})"
    say(f"{what}: {output}", quiet)
    group = " --group group" if group_size > 1 else ""
    say(f"Next: spectralmirror fit {output} --label label{group}{drop}", quiet)

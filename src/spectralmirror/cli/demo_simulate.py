"""The commands that make data: ``spectralmirror demo`` and ``spectralmirror simulate``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectralmirror.cli.console import (
    AsJson,
    Quiet,
    Seed,
    check_output,
    fail,
    print_json,
    say,
    told,
    watching,
)
from spectralmirror.cli.fit import say_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spectralmirror.rows.files.readers import Reader
    from spectralmirror.tables.table_model import FittedTable

__all__ = ["demo", "simulate"]


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for data, model and report.")
    ] = Path("spectralmirror-demo"),
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """See everything on data that it makes: a household that shares one account.

    Writes ratings.csv, model.skops and report.html. Two people watch films in turn and say whether
    they liked them; who it was is not recorded, but it was one of them for a whole evening.

    For example:

        spectralmirror demo --output demo
    """
    check_output(output / "report.html")
    files = [output / name for name in ("ratings.csv", "model.skops", "report.html")]
    with told(quiet, "What is finished is kept."), watching(quiet) as listen:
        listen("simulating", 0, None)
        from spectralmirror import LinearClassifierMixture, save
        from spectralmirror.cli.inspect_report import write
        from spectralmirror.datasets.household import make_household
        from spectralmirror.rows.files.readers import readers_of
        from spectralmirror.rows.files.writers import writing
        from spectralmirror.tables.column_roles import ColumnRoles
        from spectralmirror.tables.fit_table import fit_table

        ratings, who = make_household(seed)
        with writing(files[0]) as append:
            append(ratings.to_arrow())
        model = fit_table(
            readers_of(files[0]),
            ColumnRoles(label="liked", group="evening"),
            LinearClassifierMixture("auto", random_state=seed),
            source=str(files[0]),
            listen=listen,
        )
        save(model, files[1])
        write(model, [str(files[0])], files[2], None, seed, listen)
        right = _share_assigned(model, readers_of(files[0]), who)
    if as_json:
        paths = dict(zip(("data", "model", "report"), map(str, files), strict=True))
        print_json({**paths, "evenings_named_rightly": right, **model.described()})
        return
    say(quiet, "Two people share an account. Who rated the films of an evening is not recorded.\n")
    say_model(model, quiet)
    right_ones = f"Of {len(who)} evenings {right:.1%} are given to the right one."
    say(quiet, f"\nIn truth there are 2 people. {right_ones}")
    for what, path in zip(("Data", "Model", "Report"), files, strict=True):
        say(quiet, f"{what + ':':<8}{path}")


def simulate(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="What to write: .parquet, .arrow, .csv or .csv.gz."),
    ] = Path("simulated.parquet"),
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="Number of rows.")] = 10_000,
    features: Annotated[
        int, typer.Option("--features", "-d", min=1, help="Number of features.")
    ] = 20,
    components: Annotated[
        int, typer.Option("--components", "-k", min=1, help="Number of classifiers.")
    ] = 2,
    group_size: Annotated[
        int, typer.Option(min=1, help="So many rows in succession share a classifier.")
    ] = 1,
    norm: Annotated[float, typer.Option(help="Length of the profiles.")] = 4.0,
    response: Annotated[
        str, typer.Option(metavar="KIND", help="Labels: logistic, probit or hard.")
    ] = "logistic",
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
    """Make labels of hidden classifiers, to try things on.

    Columns: x0, x1, ..., `label` (-1 or 1), and `group` where groups have more than one row.

    For example:

        spectralmirror simulate -o data.csv --rows 5000 -k 3 --truth truth.json

        spectralmirror simulate -o sessions.parquet --group-size 20 --reveal
    """
    if truth is not None and truth.absolute() == output.absolute():
        fail(f"--truth and --output cannot both be {output}.")
    for path in (output, truth):
        if path is not None:
            check_output(path)
    with told(quiet), watching(quiet) as listen:
        listen("simulating", 0, None)
        import pyarrow as pa

        from spectralmirror.datasets import make_linear_classifier_mixture
        from spectralmirror.rows.files.atomic import written_whole
        from spectralmirror.rows.files.writers import check_kind, writing

        check_kind(output)
        X, y, made = make_linear_classifier_mixture(
            rows, features, components, response=response, profile_norm=norm,
            group_size=group_size, random_state=seed,
        )  # fmt: skip
        columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(features)}
        columns["label"] = y
        if group_size > 1:
            columns["group"] = made.groups
        if reveal:
            columns["classifier"] = made.components
        known = {"weights": made.weights.tolist(), "profiles": made.profiles.tolist()}
        with writing(output) as append:
            append(pa.table(columns))
        if truth is not None:
            with written_whole(truth) as unfinished:
                unfinished.write_text(json.dumps(known, indent=2))
    if as_json:
        print_json({"output": str(output), "n_rows": rows, "columns": list(columns), **known})
        return
    shares = ", ".join(f"{p:.0%}" for p in made.weights)
    say(quiet, f"{rows:,} rows of {features} features, labels of {components} classifiers "
               f"({shares}): {output}")  # fmt: skip
    say(quiet, f"Next: spectralmirror fit {output} --label label"
               + (" --group group" if group_size > 1 else "")
               + (" --drop classifier" if reveal else ""))  # fmt: skip


def _share_assigned(model: FittedTable, readers: Sequence[Reader], who: NDArray[Any]) -> float:
    """Return the share of evenings that the model assigns to the right person."""
    import numpy as np

    from spectralmirror.metrics import component_error

    found = model.group_weights(readers, None, lambda _: None)
    assigned = np.array([found[evening][0].argmax() for evening in range(1, len(who) + 1)])
    return 1 - float(component_error(who, assigned))

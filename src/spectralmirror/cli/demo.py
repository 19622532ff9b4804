"""The command ``spectralmirror demo``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectralmirror.cli.console import (
    check_output,
    one_sentence_errors,
    print_json,
    progress_bar,
    say,
)
from spectralmirror.cli.options import AsJson, Quiet, Seed
from spectralmirror.cli.report import write_file_report

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spectralmirror.rows.files.reader import Reader
    from spectralmirror.tables.table_model import FittedTable

__all__ = ["demo"]


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for data, model and report.")
    ] = Path("spectralmirror-demo"),
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """See everything on simulated data: a household that shares one account.

    Writes ratings.csv, model.skops and report.html. Two people watch films in turn and say whether
    they liked them; who it was is not recorded, but it was one of them for a whole evening.

    For example:

        spectralmirror demo --output demo
    """
    check_output(output / "report.html")
    data, model, page = (output / name for name in ("ratings.csv", "model.skops", "report.html"))
    with one_sentence_errors(quiet, "Finished files are kept."), progress_bar(quiet) as listen:
        listen("simulating", 0, None)
        from spectralmirror.datasets.household import make_household
        from spectralmirror.mixture import LinearClassifierMixture
        from spectralmirror.rows.files.readers import readers_of
        from spectralmirror.rows.files.writers import writing
        from spectralmirror.tables.column_roles import ColumnRoles
        from spectralmirror.tables.fit_table import fit_table
        from spectralmirror.tables.storage import save

        ratings, who = make_household(seed)
        with writing(data) as append:
            append(ratings.to_arrow())
        fitted = fit_table(
            readers_of(data),
            ColumnRoles(label="liked", group="evening"),
            LinearClassifierMixture("auto", random_state=seed),
            source=str(data),
            listen=listen,
        )
        save(fitted, model)
        write_file_report(fitted, [str(data)], page, None, seed, listen)
        correct = _share_assigned_correctly(fitted, readers_of(data), who)
    files = {"data": str(data), "model": str(model), "report": str(page)}
    if as_json:
        print_json({**files, "evenings_assigned_correctly": correct, **fitted.described()})
        return
    from spectralmirror.cli.model_summary import print_model

    say("Two people share an account. Who rated the films of an evening is not recorded.\n", quiet)
    print_model(fitted, quiet)
    say(
        f"\nIn truth there are 2 people; {correct:.1%} of the {len(who)} evenings are assigned to "
        "the right one.",
        quiet,
    )
    for what, path in files.items():
        say(f"{what.capitalize() + ':':<8}{path}", quiet)


def _share_assigned_correctly(
    fitted: FittedTable, readers: Sequence[Reader], who: NDArray[Any]
) -> float:
    """Return the share of evenings that the model assigns to the right person."""
    import numpy as np

    from spectralmirror.metrics import component_error

    weights = fitted.group_weights(readers, None, lambda _: None)
    assigned = np.array([weights[evening][0].argmax() for evening in range(1, len(who) + 1)])
    return 1 - float(component_error(who, assigned))

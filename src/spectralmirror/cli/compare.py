"""The command ``spectralmirror compare``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from spectralmirror.cli.choice_options import ChoiceOptions
from spectralmirror.cli.class_options import Membership, Shared, Sign
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
    with_options,
)
from spectralmirror.cli.options import (
    AsJson,
    Files,
    Jobs,
    Missing,
    Quiet,
    Response,
    Seed,
    Separator,
    Spread,
    checked_jobs,
)

__all__ = ["compare"]

#: Formats of pictures.
PICTURES = (".svg", ".png", ".pdf")


def compare(
    files: Files,
    label: Label = None,
    positive: Positive = None,
    group: Group = None,
    features: Features = None,
    drop: Drop = None,
    categorical: Categorical = None,
    max_components: Annotated[
        int, typer.Option(min=2, max=50, metavar="N", help="The largest number of classifiers.")
    ] = 6,
    resamples: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Resamples of each bootstrap test; 0 for no test."),
    ] = 199,
    parts: Annotated[
        int,
        typer.Option(min=2, metavar="N", help="Number of parts of which one is held out in turn."),
    ] = 5,
    alpha: Annotated[
        float, typer.Option(min=0.0001, max=0.5, metavar="P", help="Level of the tests.")
    ] = 0.05,
    response: Response = "logistic",
    l2: Penalty = "auto",
    spread: Spread = "none",
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
    shared: Shared = None,
    sign: Sign = None,
    missing: Missing = "error",
    separator: Separator = None,
    starts: Starts = 200,
    max_iter: MaxIter = 500,
    seed: Seed = 0,
    jobs: Jobs = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A JSON file for the comparison, which `report` can show.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="A picture to draw: .svg, .png or .pdf.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare 1, 2, ... hidden classifiers behind the labels in a file.

    For each number: log-likelihood, BIC, ICL, evidence, the log-likelihood of labels that were held
    out, and two tests of fewer classifiers. Columns are named as for `fit`.

    For example:

        spectralmirror compare ratings.csv --label liked --max-components 4

        spectralmirror compare ratings.csv --label liked --plot compared.svg

        spectralmirror report model.skops ratings.csv --comparison comparison.json
    """
    columns = ColumnOptions(
        ChoiceOptions(choice_set, alternative, chosen, constants, wide, outside, available),
        label, positive, group, features, drop, categorical, pairs, winner, membership, shared,
        sign, str(missing),
    )  # fmt: skip
    column = columns.column(response, spread, intercept)
    has_intercept = columns.has_intercept(intercept)
    kind = kind_of_spread(spread, group, response, has_intercept)
    penalty, n_jobs = penalty_of(l2), checked_jobs(jobs)
    for path in filter(None, (output, plot)):
        check_output(path, *files)
    if output is not None and plot is not None and output.absolute() == plot.absolute():
        fail(f"--plot and --output cannot both be {output}.")
    if plot is not None and plot.suffix.lower() not in PICTURES:
        fail(f"--plot {plot} must end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}.")
    with one_sentence_errors(quiet), progress_bar(quiet) as listen:
        listen("loading", 0, None)
        from spectralmirror.mixture import ChoiceMixture, LinearClassifierMixture
        from spectralmirror.selection.compare_files import compare_files

        readers, roles = columns.read(files, column, separator)
        options: dict[str, Any] = {
            "l2": penalty, "n_init": starts, "max_iter": max_iter, "spread": kind,
            "random_state": seed,
        }  # fmt: skip
        mixture: LinearClassifierMixture | ChoiceMixture = (
            ChoiceMixture(**options)
            if columns.survey.given
            else LinearClassifierMixture(response=response, fit_intercept=has_intercept, **options)
        )
        found, about = compare_files(
            readers, roles, mixture, source=", ".join(files), listen=listen,
            max_components=max_components, n_resamples=resamples, n_splits=parts, alpha=alpha,
            random_state=seed, n_jobs=n_jobs,
        )  # fmt: skip
        if plot is not None:
            _draw(found, plot)
        if output is not None:
            found.save(output, **about)
    if as_json:
        from spectralmirror.selection.stored import as_data

        print_json({**as_data(found), "about": about})
        return
    for note in about["notes"]:
        say(f"Note: {note}", quiet)
    say(with_options(str(found)), quiet)
    written = {"Picture": plot, "Comparison": output}
    for place, (what, path) in enumerate((w, p) for w, p in written.items() if p is not None):
        say(f"{'' if place else chr(10)}{what}: {path}", quiet)
    if output is not None:
        command = f"report MODEL {shlex.join(files)} --comparison {output}"
        say(f"Next: spectralmirror {command}", quiet)


def _draw(found: Any, path: Path) -> None:
    """Draw the comparison; the picture is written whole or not at all."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from spectralmirror.rows.files.atomic import written_whole

    figure = Figure(figsize=(10.2, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    n_panels = 3 if found.is_tested else 2
    found.plot(figure.subplots(1, n_panels))
    with written_whole(path) as unfinished:
        figure.savefig(unfinished, format=path.suffix.lower()[1:])

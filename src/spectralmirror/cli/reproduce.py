"""The command ``spectralmirror reproduce``."""

from __future__ import annotations

import time
from concurrent.futures import BrokenExecutor
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from spectralmirror.cli.console import console, errors, fail, interruptible
from spectralmirror.cli.options import Quiet, checked_jobs
from spectralmirror.rows.files.atomic import sweep

__all__ = ["Name", "reproduce"]

#: The experiments, and all of them. A test compares it with those that exist, which take too long
#: to import for --help.
Name = StrEnum(
    "Name",
    "figure1 figure2 figure3 figure4 span hessian experts cost median blindspot all",
)
#: Seconds between two lines of progress, which replace the bar if there is no terminal.
SECONDS_BETWEEN_LINES = 60.0
KEPT = "What is finished is kept."


def reproduce(
    names: Annotated[
        list[Name],
        typer.Argument(
            metavar="NAME",
            help=f"What to reproduce: {', '.join(list(Name)[:-1])}, or all.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for tables and pictures.")
    ] = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer sizes and repetitions: a few minutes.")
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Number of processes.", show_default="one per core")
    ] = -1,
    quiet: Quiet = False,
) -> None:
    """Reproduce the paper's figures and claims.

    Writes NAME.parquet, NAME.csv, NAME.svg, NAME.png and NAME.txt (what was found, in words) for
    every NAME. Finished work is kept: after an interruption the same command continues where it
    stopped.

    For example:

        spectralmirror reproduce figure2 --quick --output reproduction

        spectralmirror reproduce all --output reproduction
    """
    chosen = list(dict.fromkeys(list(Name)[:-1] if Name.all in names else names))
    checked_jobs(jobs)
    from spectralmirror.experiments.reproduce import scale_of

    _make_folder(output)
    full = [name for name in chosen if quick and scale_of(name, output) == "full"]
    if full:
        fail(f"{output} holds the full run of {', '.join(full)}: choose another --output.")
    try:
        with interruptible():
            for name in chosen:
                _reproduce(name, output, "quick" if quick else "full", jobs, quiet)
    except KeyboardInterrupt:
        fail(f"Interrupted. The same command goes on from there. {KEPT}", code=1)
    except (BrokenExecutor, MemoryError) as problem:
        what = type(problem).__name__
        fail(f"A process was killed, or memory ran out ({what}): try --jobs 1. {KEPT}", code=1)
    except OSError as problem:
        where = f"while writing to {output} or printing"
        fail(f"{problem.strerror or problem} {where}. {KEPT}", code=1)
    except RuntimeError as problem:
        fail(f"{problem} {KEPT}", code=1)


def _reproduce(name: str, output: Path, scale: str, jobs: int, quiet: bool) -> None:
    """Run one experiment behind a progress bar, and print where its results are."""
    from spectralmirror.experiments import EXPERIMENTS
    from spectralmirror.experiments.reproduce import reproduce as run

    start = printed = time.monotonic()
    counts: list[int] = []  # numbers of finished cells; the first one counts those of earlier runs
    with _progress(quiet) as progress:
        task = progress.add_task(name, total=None)

        def listen(done: int, total: int) -> None:
            nonlocal printed
            counts.append(done)
            progress.update(task, completed=done, total=total)
            waited = time.monotonic() - printed > SECONDS_BETWEEN_LINES
            if waited and not (quiet or errors.is_terminal):
                printed = time.monotonic()
                errors.print(f"{name}: {done} of {total} cells")

        run(name, output, scale=scale, n_jobs=jobs, listen=listen)
    if quiet:
        return
    kept = f", {counts[0]} from an earlier run" if counts[0] else ""
    seconds = time.monotonic() - start
    cells = "1 cell" if counts[-1] == 1 else f"{counts[-1]} cells"
    console.print(
        f"{name}: {EXPERIMENTS[name].title}. {cells}{kept}, {seconds:.0f} s. "
        f"{output / name}.{{parquet,csv,svg,png,txt}}",
        markup=False,
    )


def _progress(quiet: bool) -> Any:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=quiet or not errors.is_terminal,
    )


def _make_folder(output: Path) -> None:
    """Create the folder, check that it can be written to, and remove unfinished files."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=output):
            sweep(output)
    except FileExistsError:
        fail(f"--output {output} is a file: name a folder.")
    except OSError as problem:
        fail(f"--output {output} cannot be written to: {problem.strerror}.")

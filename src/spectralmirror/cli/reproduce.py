"""The command ``spectralmirror reproduce``."""

from __future__ import annotations

import time
from concurrent.futures import BrokenExecutor
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from spectralmirror.cli.console import Quiet, console, end, errors, fail, interruptible
from spectralmirror.rows.files.atomic import sweep

__all__ = ["NAMES", "reproduce"]

#: The names of the experiments (a test holds them to those that exist: to import these takes long).
NAMES = [
    *("figure1", "figure2", "figure3", "figure4", "span", "hessian", "experts", "cost", "median"),
    *("blindspot", "all"),
]
#: Where there is no terminal for a bar, a line is printed every so many seconds.
TELL_AFTER = 60.0
KEPT = "What is finished is kept."


def _complete(incomplete: str) -> list[str]:
    return [name for name in NAMES if name.startswith(incomplete)]


def reproduce(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help=f"What to reproduce: {', '.join(NAMES[:-1])}, or all.",
            autocompletion=_complete,
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
        int, typer.Option("--jobs", "-j", help="Processes.", show_default="one a core")
    ] = -1,
    quiet: Quiet = False,
) -> None:
    """Reproduce the paper's figures and claims.

    Writes NAME.parquet, NAME.csv, NAME.svg, NAME.png and NAME.txt (what was found, in words) for
    every NAME. Finished work is kept as it ends: after an interruption the same command goes on
    where it stopped.

    For example:

        spectralmirror reproduce figure2 --quick --output reproduction

        spectralmirror reproduce all --output reproduction
    """
    from spectralmirror.experiments.reproduce import scale_of

    chosen, scale = _chosen(names), "quick" if quick else "full"
    if jobs == 0 or jobs < -1:
        fail(f"--jobs must be at least 1, or -1 for one a core, got {jobs}.")
    _make_folder(output)
    full = [name for name in chosen if quick and scale_of(name, output) == "full"]
    if full:
        fail(f"{output} holds the full run of {', '.join(full)}: choose another --output.")
    try:
        with interruptible():
            for name in chosen:
                _reproduce(name, output, scale, jobs, quiet)
    except KeyboardInterrupt:
        end(f"Interrupted. The same command goes on from there. {KEPT}")
    except (BrokenExecutor, MemoryError) as problem:
        what = type(problem).__name__
        end(f"A process was killed, or memory ran out ({what}): try --jobs 1. {KEPT}")
    except OSError as problem:
        end(f"{problem.strerror or problem}, in {output} or where this is printed. {KEPT}")
    except RuntimeError as problem:
        end(f"{problem} {KEPT}")


def _reproduce(name: str, output: Path, scale: str, jobs: int, quiet: bool) -> None:
    """Run one experiment behind a progress bar, and say where it is."""
    from spectralmirror.experiments import EXPERIMENTS
    from spectralmirror.experiments.reproduce import reproduce as one

    start, already = time.monotonic(), []
    with _progress(quiet) as progress:
        task = progress.add_task(name, total=None)
        told = start

        def listen(done: int, total: int) -> None:
            nonlocal told
            already.append(done)
            progress.update(task, completed=done, total=total)
            if not (quiet or errors.is_terminal) and time.monotonic() - told > TELL_AFTER:
                told = time.monotonic()
                errors.print(f"{name}: {done} of {total} cells")

        one(name, output, scale=scale, n_jobs=jobs, listen=listen)
    if quiet:
        return
    kept = f", {already[0]} from an earlier run" if already[0] else ""
    seconds = time.monotonic() - start
    cells = "1 cell" if already[-1] == 1 else f"{already[-1]} cells"
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


def _chosen(names: list[str]) -> list[str]:
    for name in names:
        if name not in NAMES:
            fail(f"There is no experiment {name!r}: choose from {', '.join(NAMES)}.")
    return NAMES[:-1] if "all" in names else list(dict.fromkeys(names))


def _make_folder(output: Path) -> None:
    """Make the folder, see that it can be written to, and sweep it."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=output):
            sweep(output)
    except FileExistsError:
        fail(f"--output {output} is a file: name a folder.")
    except OSError as problem:
        fail(f"--output {output} cannot be written to: {problem.strerror}.")

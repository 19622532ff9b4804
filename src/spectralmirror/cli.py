"""The command line: ``spectralmirror``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from spectralmirror import __version__
from spectralmirror.experiments import EXPERIMENTS

__all__ = ["app", "main"]

app = typer.Typer(
    help="Find the hidden linear classifiers behind binary labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

NAMES = [*EXPERIMENTS, "all"]


def main() -> None:
    """Run the command line."""
    app()


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Find the hidden linear classifiers behind binary labels."""
    if show:
        console.print(f"spectralmirror {__version__}")
        raise typer.Exit()


def _complete(incomplete: str) -> list[str]:
    return [name for name in NAMES if name.startswith(incomplete)]


@app.command()
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Reproduce the paper's figures and claims.

    Writes NAME.parquet, NAME.csv, NAME.svg, NAME.png and NAME.txt (what was found, in words) for
    every NAME. Finished work is kept as it ends: after an interruption the same command goes on
    where it stopped.

    For example:

        spectralmirror reproduce figure2 --quick --output reproduction

        spectralmirror reproduce all --output reproduction
    """
    chosen = _chosen(names)
    if jobs == 0 or jobs < -1:
        _fail(f"--jobs must be at least 1, or -1 for one a core, got {jobs}.")
    _make_folder(output)
    try:
        for name in chosen:
            _reproduce(name, output, "quick" if quick else "full", jobs, quiet)
    except KeyboardInterrupt:
        errors.print("Interrupted. What is finished is kept: the same command goes on from there.")
        raise typer.Exit(1) from None
    except OSError as problem:
        errors.print(f"Cannot write to {output}: {problem.strerror or problem}.")
        raise typer.Exit(1) from None


def _reproduce(name: str, output: Path, scale: str, jobs: int, quiet: bool) -> None:
    """Run one experiment behind a progress bar, and say where it is."""
    from spectralmirror.reproduction import reproduce as one

    start, already = time.monotonic(), []
    with _progress(quiet) as progress:
        task = progress.add_task(name, total=None)

        def listen(done: int, total: int) -> None:
            already.append(done)
            progress.update(task, completed=done, total=total)

        one(name, output, scale=scale, n_jobs=jobs, listen=listen)
    if quiet:
        return
    kept = f", {already[0]} from an earlier run" if already[0] else ""
    seconds = time.monotonic() - start
    console.print(
        f"{name}: {EXPERIMENTS[name].title}. {already[-1]} cells{kept}, {seconds:.0f} s. "
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
            _fail(f"There is no experiment {name!r}: choose from {', '.join(NAMES)}.")
    return list(EXPERIMENTS) if "all" in names else list(dict.fromkeys(names))


def _make_folder(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        _fail(f"--output {output} is a file: name a folder.")
    except OSError as problem:
        _fail(f"--output {output} cannot be made: {problem.strerror}.")


def _fail(sentence: str) -> None:
    """Say what is wrong with what the user gave, and end with exit code 2."""
    errors.print(sentence, markup=False)
    raise typer.Exit(2)

"""The command line: ``spectralmirror``."""

from __future__ import annotations

import signal
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from spectralmirror import __version__
from spectralmirror.experiments import EXPERIMENTS
from spectralmirror.files import sweep

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
#: Where there is no terminal for a bar, a line is printed every so many seconds.
TELL_AFTER = 60.0


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
    from spectralmirror.reproduction import scale_of

    chosen, scale = _chosen(names), "quick" if quick else "full"
    if jobs == 0 or jobs < -1:
        _fail(f"--jobs must be at least 1, or -1 for one a core, got {jobs}.")
    _make_folder(output)
    full = [name for name in chosen if quick and scale_of(name, output) == "full"]
    if full:
        _fail(f"{output} holds the full run of {', '.join(full)}: choose another --output.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    try:
        for name in chosen:
            _reproduce(name, output, scale, jobs, quiet)
    except KeyboardInterrupt:
        _end("Interrupted. The same command goes on from there.")
    except (BrokenExecutor, MemoryError) as problem:
        _end(f"A process was killed, or memory ran out ({type(problem).__name__}): try --jobs 1.")
    except OSError as problem:
        _end(f"{problem.strerror or problem}, in {output} or where this is printed.")
    except RuntimeError as problem:
        _end(f"{problem}")


def _end(sentence: str) -> NoReturn:
    """Say why the work ended early, and end with exit code 1."""
    errors.print(f"{sentence} What is finished is kept.", markup=False)
    raise typer.Exit(1)


def _reproduce(name: str, output: Path, scale: str, jobs: int, quiet: bool) -> None:
    """Run one experiment behind a progress bar, and say where it is."""
    from spectralmirror.reproduction import reproduce as one

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
            _fail(f"There is no experiment {name!r}: choose from {', '.join(NAMES)}.")
    return list(EXPERIMENTS) if "all" in names else list(dict.fromkeys(names))


def _make_folder(output: Path) -> None:
    """Make the folder, see that it can be written to, and sweep it."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=output):
            sweep(output)
    except FileExistsError:
        _fail(f"--output {output} is a file: name a folder.")
    except OSError as problem:
        _fail(f"--output {output} cannot be written to: {problem.strerror}.")


def _fail(sentence: str) -> NoReturn:
    """Say what is wrong with what the user gave, and end with exit code 2."""
    errors.print(sentence, markup=False)
    raise typer.Exit(2)

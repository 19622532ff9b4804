"""What all commands share: how they speak, fail, and show that they are at work."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = [
    "AsJson",
    "Listen",
    "Missing",
    "Quiet",
    "Seed",
    "check_output",
    "console",
    "end",
    "errors",
    "fail",
    "interruptible",
    "print_json",
    "say",
    "told",
    "warn",
    "watching",
]

console = Console(highlight=False, soft_wrap=True, emoji=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)

#: A bar is shown for work that takes longer than this many seconds.
SHOW_AFTER = 1.0

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Seed = Annotated[int, typer.Option(help="Seed of random numbers.", min=0, max=2**31 - 1)]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="Missing values: error, impute (mean or most frequent level) or drop (the row).",
        autocompletion=lambda: ["error", "impute", "drop"],
        show_default=False,
    ),
]


def fail(sentence: str) -> NoReturn:
    """Say what is wrong with what the user gave, and end with exit code 2."""
    errors.print(sentence, markup=False)
    raise typer.Exit(2)


def end(sentence: str) -> NoReturn:
    """Say why the work ended early, and end with exit code 1."""
    errors.print(sentence, markup=False)
    raise typer.Exit(1)


def say(quiet: bool, text: str = "") -> None:
    """Print a line, unless nothing shall be printed."""
    if not quiet:
        console.print(text, markup=False)


def warn(text: str, quiet: bool) -> None:
    """Print a warning on standard error, unless nothing shall be printed."""
    if not quiet:
        errors.print(f"Warning: {text}", markup=False)


def print_json(data: Any) -> None:
    """Print data as JSON, for programs: in plain ASCII, which every terminal can print."""
    typer.echo(json.dumps(data, indent=2, allow_nan=False, default=str))


@contextmanager
def told(quiet: bool = False, kept: str = "Nothing was written.") -> Iterator[None]:
    """Turn what goes wrong into one sentence and an exit code: 2 for bad input, else 1."""
    try:
        with interruptible(), warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = _warner(quiet)
            yield
    except KeyboardInterrupt:
        end(f"Interrupted. {kept}".strip())
    except (BrokenExecutor, MemoryError) as problem:
        end(f"A process was killed, or memory ran out ({type(problem).__name__}). {kept}")
    except BrokenPipeError:
        os._exit(1)  # whoever read this has gone; nothing more can be said
    except (ValueError, FileNotFoundError, IsADirectoryError, PermissionError) as problem:
        fail(_sentence(problem))
    except OSError as problem:
        end(f"{_sentence(problem)} {kept}".strip())
    except (typer.Exit, typer.Abort):
        raise
    except Exception as problem:
        if os.environ.get("SPECTRALMIRROR_TRACEBACK"):
            raise
        end(
            f"This is a fault of spectralmirror ({type(problem).__name__}: {problem}). {kept} "
            "Please report it, with what SPECTRALMIRROR_TRACEBACK=1 before the command shows."
        )


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt for Ctrl-C and for SIGTERM alike, so that work can be cleaned up.

    Also where it was taken for something else on its way, as extension modules do while they are
    imported: whatever is raised after a signal is an interruption.
    """
    numbers = signal.SIGINT, signal.SIGTERM
    came = []

    def stop(number: int, frame: Any) -> None:
        came.append(number)
        raise KeyboardInterrupt

    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    except Exception:
        if came:
            raise KeyboardInterrupt from None
        raise
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _sentence(problem: Exception) -> str:
    if isinstance(problem, OSError) and problem.strerror:
        where = f": {problem.filename}" if problem.filename else ""
        return f"{problem.strerror}{where}."
    return " ".join(str(problem).split()) or type(problem).__name__


def _warner(quiet: bool) -> Callable[..., None]:
    """Return what prints warnings of ours, each once, as a line without place.

    Those of mixtures are part of their status, which is printed with what was found.
    """
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        ours = category.__module__.startswith("spectralmirror")
        ours = ours and category.__name__ != "MixtureWarning"
        if ours and str(message) not in said:
            said.add(str(message))
            warn(str(message), quiet)

    return show


Listen = Callable[[str, int, int | None], None]


@contextmanager
def watching(quiet: bool) -> Iterator[Listen]:
    """Show a bar on terminals once the work takes longer than a second.

    Yields a function that is told the stage of the work, how many rows were read, and how many
    there are, where that is known; rows beyond these begin another pass.
    """
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rows]}"),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=quiet or not errors.is_terminal,
    )
    task = progress.add_task("starting", total=None, rows="")
    n_read, last = 0, ""

    def listen(stage: str, n_rows: int, total: int | None = None) -> None:
        nonlocal n_read, last
        n_read = n_rows if stage != last else n_read + n_rows
        last = stage
        passes, within = divmod(max(n_read - 1, 0), total) if total else (0, n_read)
        again = f", pass {passes + 1}" if passes else ""
        rows = f"{within:,} rows" if n_read else ""
        progress.update(task, description=stage + again, total=total, completed=within, rows=rows)

    timer = Timer(SHOW_AFTER, progress.start)
    timer.start()
    try:
        yield listen
    finally:
        timer.cancel()
        timer.join()
        progress.stop()


def check_output(output: Path, *inputs: str | Path) -> None:
    """Raise where a file cannot be written, before any work is done."""
    if output.is_dir():
        fail(f"--output {output} is a folder: name a file.")
    if output.exists() and not output.is_file():
        fail(f"--output {output} is a device or a pipe: name a file.")
    if output.exists() and any(output.samefile(path) for path in _files(inputs)):
        fail(f"--output {output} is a file that is read: name another one.")
    try:
        folder = next(parent for parent in output.absolute().parents if parent.exists())
        with TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        fail(f"--output {output} cannot be written: {problem.strerror}.")


def _files(inputs: Sequence[str | Path]) -> Iterator[Path]:
    """Yield the files that are read, those of folders and globs too."""
    from spectralmirror.rows.files.readers import paths_of

    for one in inputs:
        with suppress(OSError, ValueError):  # what is not there is told where it is read
            yield from paths_of(one)

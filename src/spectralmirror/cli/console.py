"""What all commands share: how they print, fail, and show progress."""

from __future__ import annotations

import json
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event, Thread, Timer
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from spectralmirror.rows.extras import needs_extra
from spectralmirror.rows.parameter_names import translated
from spectralmirror.rows.progress import hear_progress

__all__ = [
    "OPTIONS",
    "Listen",
    "check_output",
    "console",
    "counted",
    "errors",
    "fail",
    "interruptible",
    "one_sentence_errors",
    "print_json",
    "progress_bar",
    "say",
    "warn",
    "with_options",
]

#: The options of the command line for the parameters that messages name.
OPTIONS = {
    "n_components": "-k",
    "n_init": "--starts",
    "max_iter": "--max-iter",
    "l2": "--l2",
    "spread": "--spread",
    "criterion": "--criterion",
    "response": "--response",
    "groups": "--group",
    "random_state": "--seed",
}

console = Console(highlight=False, soft_wrap=True, emoji=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)

#: The progress bar appears after this many seconds.
SHOW_AFTER = 1.0
#: Seconds between two lines of progress, which replace the bar if there is no terminal.
SECONDS_BETWEEN_LINES = 10.0


def with_options(text: str) -> str:
    """Return a message of the library with options instead of parameters."""
    return translated(text, OPTIONS)


def fail(sentence: str, code: int = 2) -> NoReturn:
    """Print why the command ends, and end it: code 2 for bad input, 1 for anything else."""
    errors.print(sentence, markup=False)
    raise typer.Exit(code)


def say(text: str, quiet: bool = False) -> None:
    """Print a line, unless `quiet`."""
    if not quiet:
        console.print(text, markup=False)


def counted(n: int, thing: str) -> str:
    """Return how many of a thing there are, such as "1 row" or "12,000 rows"."""
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def warn(text: str, quiet: bool) -> None:
    """Print a warning on standard error, unless `quiet`."""
    if not quiet:
        errors.print(f"Warning: {text}", markup=False)


def print_json(data: Any) -> None:
    """Print data as JSON, in ASCII, which every terminal can show."""
    typer.echo(json.dumps(data, indent=2, allow_nan=False, default=str))


@contextmanager
def one_sentence_errors(quiet: bool = False, kept: str = "Nothing was written.") -> Iterator[None]:
    """Turn exceptions into one sentence and an exit code: 2 for bad input, 1 for anything else.

    Parameters
    ----------
    quiet : bool
        Whether to print no warnings.
    kept : str
        What is on disk after a failure. It ends the sentence.
    """
    try:
        with interruptible(), warnings.catch_warnings(), needs_extra("cli", "This command"):
            warnings.simplefilter("always")
            warnings.showwarning = _print_warnings_once(quiet)
            yield
    except KeyboardInterrupt:
        fail(f"Interrupted. {kept}".strip(), code=1)
    except (BrokenExecutor, MemoryError) as problem:
        killed = f"A process was killed, or memory ran out ({type(problem).__name__})."
        fail(f"{killed} {kept}", code=1)
    except BrokenPipeError:
        os._exit(1)  # nobody reads the output any more
    except (ValueError, FileNotFoundError, IsADirectoryError, PermissionError) as problem:
        fail(_sentence(problem))
    except (ImportError, OSError) as problem:
        fail(f"{_sentence(problem)} {kept}".strip(), code=1)
    except (typer.Exit, typer.Abort):
        raise
    except Exception as problem:
        if os.environ.get("SPECTRALMIRROR_TRACEBACK"):
            raise
        fail(
            f"This is a bug in spectralmirror ({type(problem).__name__}: {problem}). {kept} Please "
            "report it, with the output of the same command after SPECTRALMIRROR_TRACEBACK=1.",
            code=1,
        )


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt on Ctrl-C and on SIGTERM, so that unfinished files are removed.

    An extension module may turn it into an error of its own while it is being imported: any
    exception after a signal counts as the interruption.
    """
    numbers = signal.SIGINT, signal.SIGTERM
    received = []

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        raise KeyboardInterrupt

    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    except Exception:
        if received:
            raise KeyboardInterrupt from None
        raise
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _sentence(problem: Exception) -> str:
    if isinstance(problem, OSError) and problem.strerror:
        where = f": {problem.filename}" if problem.filename else ""
        return f"{problem.strerror}{where}."
    sentences = getattr(problem, "sentences", ())
    if len(sentences) > 1:
        return "\n".join([f"There are {len(sentences)} problems:", *(f"- {s}" for s in sentences)])
    return with_options(" ".join(str(problem).split())) or type(problem).__name__


def _print_warnings_once(quiet: bool) -> Callable[..., None]:
    """Return a ``warnings.showwarning`` that prints each of our warnings once, without its place.

    The warnings of mixtures are left out: they are in the status, which is printed with the model.
    """
    printed: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        ours = category.__module__.startswith("spectralmirror")
        ours = ours and category.__name__ != "MixtureWarning"
        if ours and str(message) not in printed:
            printed.add(str(message))
            warn(with_options(str(message)), quiet)

    return show


#: Called with the stage of the work, the rows just read, and the rows of one pass if known.
Listen = Callable[[str, int, int | None], None]


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Listen]:
    """Show a progress bar on terminals if the work takes longer than a second.

    Elsewhere, a line now and then says what the work is at. Yields the function that advances the
    bar. Rows beyond those of one pass begin the next one. Fits say themselves what they are at.
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

    def hear(text: str) -> None:
        progress.update(task, description=text, total=None, rows="")

    lines = nullcontext() if quiet or errors.is_terminal else _lines(progress, task)
    timer = Timer(SHOW_AFTER, progress.start)
    timer.start()
    try:
        with hear_progress(hear), lines:
            yield listen
    finally:
        timer.cancel()
        timer.join()
        progress.stop()


@contextmanager
def _lines(progress: Progress, task: TaskID) -> Iterator[None]:
    """Print now and then what the work is at, from another thread."""
    started, ended = time.monotonic(), Event()

    def say_where() -> None:
        while not ended.wait(SECONDS_BETWEEN_LINES):
            seconds = time.monotonic() - started
            errors.print(f"{progress.tasks[task].description} ({seconds:.0f} s)", markup=False)

    thread = Thread(target=say_where, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def check_output(output: Path, *inputs: str | Path) -> None:
    """Fail before any work is done if a file cannot be written, or is one of the inputs."""
    if output.is_dir():
        fail(f"--output {output} is a folder: name a file.")
    if output.exists() and not output.is_file():
        fail(f"--output {output} is a device or a pipe: name a file.")
    if output.exists() and any(output.samefile(path) for path in _files(inputs)):
        fail(f"--output {output} is an input file, too: name another one.")
    try:
        folder = next(parent for parent in output.absolute().parents if parent.exists())
        with TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        fail(f"--output {output} cannot be written: {problem.strerror}.")


def _files(inputs: Sequence[str | Path]) -> Iterator[Path]:
    """Yield the input files, including those of folders and globs."""
    from spectralmirror.rows.files.paths import paths_of

    for one in inputs:
        with suppress(OSError, ValueError):  # reported when it is read
            yield from paths_of(one)

"""The command line: ``spectralmirror``."""

from __future__ import annotations

import inspect as python
import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from spectralmirror import __version__
from spectralmirror.cli.console import console
from spectralmirror.cli.demo_simulate import demo, simulate
from spectralmirror.cli.fit import fit
from spectralmirror.cli.inspect_report import inspect, report
from spectralmirror.cli.predict_cluster import cluster, predict
from spectralmirror.cli.reproduce import reproduce

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def told_by(command: Callable[..., Any]) -> str:
    """Return the help of a command: its docstring, for terminals of 80 columns.

    Lines of text do not end where those of the code do, and examples are indented less.
    """
    paragraphs = (python.getdoc(command) or "").split("\n\n")
    return "\n\n".join(p[2:] if p[0] == " " else p.replace("\n", " ") for p in paragraphs)


for command in (demo, fit, inspect, report, predict, cluster, simulate, reproduce):
    app.command(help=told_by(command))(command)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a letter gets another one
            stream.reconfigure(errors="replace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as problem:  # nobody reads what is printed, or there is no room for it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(problem, BrokenPipeError):
            sys.stderr.write(f"{problem.strerror}, where this is printed.\n")
        sys.exit(1)


def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Find the hidden linear classifiers behind binary labels.

    A file of rows and yes/no labels goes in; out come the classifiers that made the labels, how
    often each was at work, and which one made a label. Try it on data that it makes itself:

        spectralmirror demo

    And on a file of yours:

        spectralmirror fit ratings.csv --label liked --group session -o model.skops

        spectralmirror report model.skops ratings.csv -o report.html
    """
    if show:
        console.print(f"spectralmirror {__version__}")
        raise typer.Exit()


app.callback(invoke_without_command=True, help=told_by(version))(version)

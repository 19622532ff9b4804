"""The command line: ``spectralmirror``."""

from __future__ import annotations

from typing import Annotated

import typer

from spectralmirror import __version__
from spectralmirror.cli.apply import cluster, predict
from spectralmirror.cli.console import console
from spectralmirror.cli.fit import fit
from spectralmirror.cli.look import inspect, report
from spectralmirror.cli.made import demo, simulate
from spectralmirror.cli.reproduce import reproduce

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, fit, inspect, report, predict, cluster, simulate, reproduce):
    app.command()(command)


def main() -> None:
    """Run the command line."""
    app()


@app.callback(invoke_without_command=True)
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

"""The command line: ``spectralmirror``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from inspect import getdoc
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from spectralmirror import __version__
from spectralmirror.cli.bootstrap import bootstrap
from spectralmirror.cli.cluster import cluster
from spectralmirror.cli.compare import compare
from spectralmirror.cli.console import say
from spectralmirror.cli.demo import demo
from spectralmirror.cli.effects import effects
from spectralmirror.cli.fit import fit
from spectralmirror.cli.inspect import inspect
from spectralmirror.cli.predict import predict
from spectralmirror.cli.report import report
from spectralmirror.cli.reproduce import reproduce
from spectralmirror.cli.simulate import simulate

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def help_text(command: Callable[..., Any]) -> str:
    """Return the docstring of a command as help for a terminal of 80 columns.

    Each paragraph becomes one line, which the terminal wraps, and examples lose two spaces.
    """
    paragraphs = (getdoc(command) or "").split("\n\n")
    return "\n\n".join(p[2:] if p[0] == " " else p.replace("\n", " ") for p in paragraphs)


class Command(TyperCommand):
    """A command whose options are given once, unless they take several values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; fail if one of two values of an option would be lost."""
        given = self.make_parser(ctx).parse_args(args=list(args))[2]
        for option in dict.fromkeys(given):
            if takes_one_value(option) and given.count(option) > 1:
                ctx.fail(f"{max(option.opts, key=len)} was given {given.count(option)} times.")
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


def takes_one_value(parameter: Any) -> bool:
    """Return whether a parameter of a command is an option with a single value."""
    is_option = parameter.param_type_name == "option"
    return is_option and not (parameter.multiple or parameter.is_flag)


for command in (
    demo,
    compare,
    fit,
    inspect,
    report,
    predict,
    cluster,
    bootstrap,
    effects,
    simulate,
    reproduce,
):
    app.command(help=help_text(command), cls=Command)(command)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a character that the terminal lacks becomes "?"
            stream.reconfigure(errors="replace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as problem:  # nobody reads the output, or the disk is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(problem, BrokenPipeError):
            sys.stderr.write(f"{problem.strerror}: the output could not be printed.\n")
        sys.exit(1)


def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Find the hidden linear classifiers behind binary labels.

    A file of rows and yes/no labels goes in; out come the classifiers that made the labels, how
    often each was at work, and which one made each label. Try it on simulated data:

        spectralmirror demo

    And on your own file:

        spectralmirror fit ratings.csv --label liked --group session -o model.skops

        spectralmirror report model.skops ratings.csv -o report.html
    """
    if show:
        say(f"spectralmirror {__version__}")
        raise typer.Exit()


app.callback(invoke_without_command=True, help=help_text(version))(version)

"""What all commands share: help, completion, JSON, interruptions, progress."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from spectralmirror import __version__
from spectralmirror.cli import app
from spectralmirror.cli.options import CriterionName, ResponseName, SpreadName
from spectralmirror.mixture.selection import CRITERIA
from spectralmirror.mixture.spread import KINDS
from spectralmirror.responses import RESPONSES
from tests.helpers.command_line import COMMAND, run


def test_json_is_all_that_is_printed(fitted, tmp_path):
    fitted_model = json.loads(
        run("fit", fitted / "ratings.csv", "--label", "liked", "--drop", "person", "-k", 2,
            "-o", tmp_path / "m.skops", "--json").stdout
    )  # fmt: skip
    assert fitted_model["n_components"] == 2
    assert sum(c["weight"] for c in fitted_model["classifiers"]) == pytest.approx(1)
    terms = [term["term"] for term in fitted_model["classifiers"][0]["terms"]]
    assert terms == ["(weight)", "(intercept)", *fitted_model["features"]]
    inspected = json.loads(run("inspect", tmp_path / "m.skops", "--json").stdout)
    assert inspected["written_by"].startswith("spectralmirror 0.")
    assert inspected["classifiers"] == fitted_model["classifiers"]
    for command in ("predict", "cluster"):
        out = tmp_path / "out.parquet"
        arguments = (command, tmp_path / "m.skops", fitted / "ratings.csv", "-o", out)
        assert json.loads(run(*arguments, "--json").stdout)["n_rows"] == 2_000
        assert run(*arguments, "--quiet").output == ""


@pytest.mark.parametrize("command", ["demo", "fit", "inspect", "report", "predict", "cluster",
                                     "simulate", "reproduce"])  # fmt: skip
def test_help_has_examples(command):
    shown = run(command, "--help").stdout
    assert "For example:" in shown
    assert f"spectralmirror {command}" in shown.split("For example:")[1]


@pytest.mark.parametrize("command", [None, *app.registered_commands])
def test_help_reads_well_on_80_columns(command):
    text = app.registered_callback.help if command is None else command.help
    arguments = ["--help"] if command is None else [command.callback.__name__, "--help"]
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "NO_COLOR": "1"}).stdout
    lines = [line.rstrip() for line in shown.split("╭")[0].splitlines()]
    examples = [line for line in text.splitlines() if line.startswith("  ")]
    assert examples
    assert {f" {line}" for line in examples} <= set(lines)  # indented, each on a line
    wrapped = [line for line in lines if line.startswith(" ") and not line.startswith("   ")]
    for line, following in pairwise(wrapped):
        if following in lines[lines.index(line) + 1 : lines.index(line) + 2]:  # goes on
            assert len(f"{line} {following.split()[0]}") > 79  # no line ends early


def test_help_does_not_wait_for_imports():
    code = "import sys, spectralmirror.cli; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert not {"sklearn", "scipy", "pyarrow", "polars", "matplotlib", "skops"} & set(
        modules.split()
    )


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("spectralmirror reproduce fig", ["figure1", "figure2", "figure3", "figure4"]),
        ("spectralmirror fit ratings.csv --label l", ["liked"]),
        ("spectralmirror predict model.skops ratings.csv --keep p", ["person", "price"]),
        ("spectralmirror fit no.csv --label l", []),
        ("spectralmirror fit ratings.csv --missing i", ["impute"]),
        ("spectralmirror fit ratings.csv --spread d", ["diagonal"]),
    ],
)
def test_completion_offers_names_and_columns(fitted, words, offered):
    shown = subprocess.run(
        [Path(sys.executable).with_name("spectralmirror")],
        env={
            **os.environ,
            "_SPECTRALMIRROR_COMPLETE": "complete_bash",
            "COMP_CWORD": str(len(words.split()) - 1),
            "COMP_WORDS": words,
        },
        cwd=fitted,
        capture_output=True,
        text=True,
    )
    assert shown.stdout.split() == offered


#: A command whose work never ends, once it has printed that it is under way.
ENDLESS = """
import time
from spectralmirror.mixture import LinearClassifierMixture
import spectralmirror.report.writer

def work(*_, **__):
    print("under way", flush=True)
    time.sleep(600)

LinearClassifierMixture.{method} = work
from spectralmirror.__main__ import main
main()
"""


APPLIED = ["model.skops", "ratings.csv", "-o"]
FIT = ["fit", "ratings.csv", "--label", "liked", "--drop", "person", "-o", "new/m.skops"]


@pytest.mark.parametrize(
    ("method", "arguments", "sent"),
    [
        ("fit", FIT, signal.SIGINT),
        ("fit", FIT, signal.SIGTERM),
        ("predict_proba", ["predict", *APPLIED, "new/p.parquet"], signal.SIGINT),
        ("component_proba", ["cluster", *APPLIED, "new/c.csv"], signal.SIGTERM),
        ("predict_proba", ["report", *APPLIED, "new/r.html"], signal.SIGINT),
    ],
    ids=["fit, Ctrl-C", "fit, SIGTERM", "predict", "cluster", "report"],
)
def test_an_interruption_leaves_nothing(fitted, tmp_path, method, arguments, sent):
    for name in ("ratings.csv", "model.skops"):
        os.link(fitted / name, tmp_path / name)
    command = [sys.executable, "-c", ENDLESS.format(method=method), *arguments]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as work:
        assert work.stdout.readline() == "under way\n"
        work.send_signal(sent)
        _, printed = work.communicate(timeout=60)
    assert work.returncode == 1
    assert printed.strip() == "Interrupted. Nothing was written."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.skops", "ratings.csv"]


#: The command line, but the bar is shown without waiting for a second.
AT_ONCE = """
import spectralmirror.cli.console
spectralmirror.cli.console.SHOW_AFTER = 0
from spectralmirror.__main__ import main
main()
"""


def test_a_bar_is_shown_on_a_terminal_and_nowhere_else(tmp_path, monkeypatch):
    data = tmp_path / "data.parquet"
    run("simulate", "-o", data, "-n", 5_000, "-d", 4)
    command = [sys.executable, "-c", AT_ONCE, "fit", "data.parquet", "--label", "label", "-k", "2"]
    ours, theirs = pty.openpty()
    work = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert work.wait(60) == 0
    assert b"2 classes: " in shown
    monkeypatch.setattr("spectralmirror.cli.console.SHOW_AFTER", 0)
    plain = run("fit", data, "--label", "label", "-k", 2, "-o", tmp_path / "model.skops")
    assert plain.stderr == ""
    assert "2 hidden classifiers" in plain.stdout


def test_without_a_terminal_a_line_now_and_then_says_what_a_fit_is_at(
    fitted, tmp_path, monkeypatch
):
    monkeypatch.setattr("spectralmirror.cli.console.SECONDS_BETWEEN_LINES", 0.01)
    fit = ("fit", fitted / "ratings.csv", "--label", "liked", "--drop", "person", "-k", 2)
    done = run(*fit, "-o", tmp_path / "m.skops")
    lines = done.stderr.splitlines()
    assert any(re.fullmatch(r"2 classes: start \d+ \(\d+ s\)", line) for line in lines)
    assert "classes: start" not in done.stdout
    assert run(*fit, "-o", tmp_path / "m.skops", "--quiet").output == ""


def test_version():
    assert run("--version").stdout == f"spectralmirror {__version__}\n"


def test_choices_are_those_that_exist():
    assert list(get_args(ResponseName)) == list(RESPONSES)
    assert list(get_args(CriterionName)) == list(CRITERIA)
    assert list(get_args(SpreadName)) == ["none", *KINDS, "auto"]


def test_a_missing_package_gets_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = run("simulate", "-o", tmp_path / "s.csv", code=1)
    assert done.output == (
        "This command needs pyarrow, which is not installed: pip install 'spectralmirror[cli]'. "
        "Nothing was written.\n"
    )


def test_a_bug_gets_one_sentence_and_a_traceback_on_demand(monkeypatch, fitted):
    def broken(path):
        raise KeyError("colour")

    monkeypatch.setattr("spectralmirror.tables.storage.load_with_version", broken)
    done = run("inspect", fitted / "model.skops", code=1)
    assert "This is a bug in spectralmirror (KeyError: 'colour')." in done.output
    monkeypatch.setenv("SPECTRALMIRROR_TRACEBACK", "1")
    with pytest.raises(KeyError, match="colour"):
        CliRunner().invoke(app, ["inspect", "model.skops"], catch_exceptions=False)


def test_nothing_but_files_is_written(fitted):
    arguments = ("fit", fitted / "ratings.csv", "--label", "liked", "--drop", "person")
    assert "is a device or a pipe" in run(*arguments, "-o", "/dev/null", code=2).output


@pytest.mark.parametrize("command", [["--help"], ["inspect", "model.skops"],
                                     ["inspect", "model.skops", "--json"]])  # fmt: skip
def test_a_full_disk_for_the_output_gets_one_sentence(fitted, command):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *command], cwd=fitted, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert re.fullmatch(r"No space left on device.*\n", done.stderr)

"""The commands of each page run in order, and print what the page shows."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spectralmirror.cli import app

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "```console" in page.read_text()]


def test_there_are_pages_with_commands():
    assert {"start.md", "command-line.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(), re.S | re.M)
    for line, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.M):
        program, *arguments = shlex.split(line)
        assert program == "spectralmirror"
        done = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
        assert done.exit_code == 0, f"{line}\n{done.output}"
        if shown.strip():
            assert done.stdout.split() == shown.split(), line

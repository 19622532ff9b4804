"""Commands in the documentation run, one after the other, and print what the pages show."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "```console" in page.read_text()]


def test_there_are_pages_with_commands():
    assert {"start.md", "command-line.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run_and_print_what_is_shown(page, tmp_path):
    folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "COLUMNS": "100"}
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(), re.S | re.M)
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.M):
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if shown.strip():
            assert done.stdout.split() == shown.split(), command

"""The README's Python runs, and prints what its comments say."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_examples_print_what_they_say():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    said = [
        line.split("#")[-1].strip()
        for block in blocks
        for line in block.splitlines()
        if line.startswith("print(")
    ]
    printed, names = io.StringIO(), {}
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(block, names)
    assert len(said) >= 3
    assert printed.getvalue().splitlines() == said


def test_files_that_it_names_exist():
    for name in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        assert (README.parent / name).exists()

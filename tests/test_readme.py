"""The README's Python runs, and prints what its comments say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"


@pytest.mark.parametrize("page", [README, DOCS / "scale.md"], ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:dask")
def test_examples_print_what_they_say(page):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
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


@pytest.mark.parametrize("page", [README, *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name)
def test_files_and_headings_that_pages_name_exist(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        name, _, heading = target.partition("#")
        if name.startswith("http"):
            continue
        assert (page.parent / name).exists(), target
        if heading:
            text = (page.parent / name if name else page).read_text()
            headings = re.findall(r"^#+ (.*)$", text, re.M)
            slugs = {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in headings}
            assert heading in slugs, target

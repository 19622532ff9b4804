"""The documentation: its Python runs, its links are valid, and its site builds."""

import contextlib
import importlib
import inspect
import io
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import sklearn

import spectralmirror

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Modules whose public names belong to the reference.
MODULES = ("baselines", "choices", "datasets", "effects", "metrics", "plotting", "report")
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks_of(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)


@pytest.mark.parametrize("page", list(filter(blocks_of, PAGES)), ids=name_of)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:dask")
def test_examples_print_what_they_say(page, tmp_path, monkeypatch):
    """A page is one program; its printed output follows as a comment, or below, after ``# ->``."""
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(page)
    said = re.findall(r"^(?:print\(.*\)  # |# -> ?)(.*)$", "".join(blocks), re.M)
    printed, names = io.StringIO(), {"__name__": "__page__"}
    with contextlib.redirect_stdout(printed), sklearn.config_context():
        for block in blocks:
            exec(block, names)
    assert said
    assert printed.getvalue().splitlines() == said


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_and_headings_that_pages_name_exist(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        name, _, heading = target.partition("#")
        if name.startswith("http"):
            continue
        assert (page.parent / name).exists(), target
        if heading and not heading.startswith("spectralmirror."):  # an entry of the reference
            text = (page.parent / name if name else page).read_text()
            headings = re.findall(r"^#+ (.*)$", text, re.M)
            slugs = {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in headings}
            assert heading in slugs, target


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT, folder)
    assert built.returncode == 0, built.stderr
    return folder


def build(root, folder):
    """Build the site; warnings are errors (with --quiet, mkdocs would not count them)."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )


class Resources(HTMLParser):
    """The resources that a browser loads to show a page."""

    def __init__(self):
        super().__init__()
        self.loaded = []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "link" and attrs.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(attrs["href"])
        elif tag != "a":
            self.loaded += [attrs[name] for name in ("src", "srcset", "data") if attrs.get(name)]


def test_site_has_every_page_and_loads_nothing_from_elsewhere(site):
    for page in PAGES[1:]:
        html = site / page.relative_to(DOCS).with_suffix(".html")
        parser = Resources()
        parser.feed(html.read_text())
        assert len(parser.loaded) >= 3
        for name in parser.loaded:
            assert not re.match(r"(\w+:)?//", name), (page, name)
            assert (html.parent / name.partition("?")[0]).exists(), (page, name)
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text()), style


def test_site_fails_on_a_broken_link(tmp_path):
    for name in ("mkdocs.yml", "docs", "tools", "src"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path)
    page = tmp_path / "docs" / "start.md"
    links = ("nowhere.md", "tutorial.md#no-such-heading", "api.md#spectralmirror.Nothing")
    page.write_text(page.read_text() + "".join(f"\n[broken]({link})\n" for link in links))
    built = build(tmp_path, tmp_path / "site")
    assert built.returncode != 0
    for link in links:
        assert link.rpartition("#")[2] in built.stderr


def test_reference_leaves_out_nothing_public(site):
    entries = set(re.findall(r'id="(spectralmirror[\w.]*)"', (site / "api.html").read_text()))
    modules = ["", *(f".{name}" for name in MODULES)]
    for module in (f"spectralmirror{name}" for name in modules):
        for name in importlib.import_module(module).__all__:
            assert name == "__version__" or f"{module}.{name}" in entries
    for estimator in (
        "LinearClassifierMixture",
        "ChoiceMixture",
        "SpectralMirror",
        "PrincipalHessianDirections",
    ):
        cls = getattr(spectralmirror, estimator)
        for name, method in inspect.getmembers(cls, inspect.isfunction):
            if not name.startswith("_") and method.__module__.startswith("spectralmirror"):
                assert f"spectralmirror.{estimator}.{name}" in entries


def test_code_that_the_map_of_the_paper_names_exists():
    text = (DOCS / "paper-to-code.md").read_text()
    names = set(re.findall(r"`((?:\w+\.)+\w+)`", text))
    assert len(names) >= 50
    for name in names:
        assert find(f"spectralmirror.{name}") is not None, name


def find(name):
    """Import the longest module prefix of a dotted name, and look up the rest as attributes."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            found = getattr(found, attribute)
        return found
    return None

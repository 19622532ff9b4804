"""A change of code invalidates stored cells only if it can change their numbers."""

import re

import pytest

from spectralmirror.experiments import EXPERIMENTS, sources

#: What imports the experiments, and is not imported by them.
AFTER = ["plotting", "report", "cli", "tables", "experiments.figures"]
AFTER += ["experiments.findings", "experiments.reproduce"]
FIGURE3 = EXPERIMENTS["figure3"].module


@pytest.fixture
def digest(monkeypatch):
    """Return a function that gives the digest of figure 3 after a change of one module."""

    def digest(name=None, change=None):
        with monkeypatch.context() as patch:
            if name is not None:
                before = sources.SOURCES[f"spectralmirror.{name}"]
                after = change(before)
                assert after != before
                patch.setitem(sources.SOURCES, f"spectralmirror.{name}", after)
            forget()
            found = sources.code_digest(FIGURE3)
        forget()
        return found

    return digest


def forget():
    sources.modules_behind.cache_clear()
    sources.code_digest.cache_clear()


def with_a_statement(source):
    return source + "\nCHANGED = 1\n"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_numbers_depend_on_the_library_and_not_on_what_comes_after(name):
    behind = sources.modules_behind(EXPERIMENTS[name].module)
    for needed in ("rows.kernels", "subspace.stacked.method", "datasets.simulated"):
        assert f"spectralmirror.{needed}" in behind
    for room in AFTER:
        modules = {m for m in sources.SOURCES if f"{m}.".startswith(f"spectralmirror.{room}.")}
        assert modules, f"there is no {room} any more"
        assert not modules.intersection(behind)


def test_an_experiment_depends_on_what_it_imports_only():
    assert "spectralmirror.mixture.em" in sources.modules_behind(EXPERIMENTS["figure4"].module)
    assert "spectralmirror.mixture.em" not in sources.modules_behind(FIGURE3)
    others = [e.module for e in EXPERIMENTS.values() if e.module != FIGURE3]
    assert not set(others).intersection(sources.modules_behind(FIGURE3))


@pytest.mark.parametrize(
    "name",
    [
        "experiments.figure3",
        "experiments.data",
        "datasets.simulated",
        "responses",
        "rows.kernels",
        "rows.memory",
        "subspace.algorithm1",
        "subspace.stacked.method",
    ],
)
def test_changed_code_is_measured_again(digest, name):
    assert digest(name, with_a_statement) != digest()


@pytest.mark.parametrize(
    "name",
    ["report", "report.text.formatting", "cli", "cli.reproduce", "plotting.mirror",
     "tables.storage", "experiments.findings", "experiments.figures.paper", "experiments.reproduce",
     "experiments.figure2"],
)  # fmt: skip
def test_code_that_cannot_change_a_number_may_change(digest, name):
    assert digest(name, with_a_statement) == digest()


def test_words_may_change_anywhere(digest):
    """Comments, docstrings and layout of the very code that makes the numbers."""
    name, same = "subspace.stacked.method", digest()
    assert digest(name, lambda source: source + "\n# a comment\n") == same
    assert digest(name, lambda source: source.replace('"""', '"""Well. ', 1)) == same
    assert digest(name, lambda source: source.replace("\n", "\n\n", 1)) == same


@pytest.mark.parametrize(
    ("source", "included", "left_out"),
    [
        ("import spectralmirror.subspace.whitening", "subspace.whitening", "mixture.em"),
        ("from spectralmirror.subspace import whitening", "subspace.whitening", "mixture.em"),
        ("def f():\n    from spectralmirror.rows import kernels", "rows.kernels", "mixture.em"),
        ("from spectralmirror import SpectralMirror", "subspace.algorithm1", None),
        ("from spectralmirror.mixture import LinearClassifierMixture", "mixture.em", "cli.fit"),
        # an __init__.py may load its modules when they are used, so a name stands for all of them
        ("from spectralmirror.lazy import something", "lazy.inner", "mixture.em"),
    ],
)
def test_every_kind_of_import_is_followed(monkeypatch, source, included, left_out):
    for name, text in (("invented", source), ("lazy", ""), ("lazy.inner", "")):
        monkeypatch.setitem(sources.SOURCES, f"spectralmirror.{name}", text)
    behind = sources.modules_behind("spectralmirror.invented")
    forget()
    assert f"spectralmirror.{included}" in behind
    assert f"spectralmirror.{left_out}" not in behind


def test_no_import_is_relative():
    """They would not be followed."""
    for name, source in sources.SOURCES.items():
        assert not re.search(r"^\s*from \.", source, re.M), name

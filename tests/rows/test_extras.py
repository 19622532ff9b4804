"""Packages outside the core: one sentence names the extra that has them."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import spectralmirror
from spectralmirror.rows.extras import import_function, needs_extra

ROOT = Path(__file__).parents[2]
#: Packages that come with extras, and not with the core.
PACKAGES = [
    *("dask", "distributed", "jinja2", "matplotlib", "polars", "pyarrow", "pyspark", "rich"),
    *("skops", "typer"),
]
SENTENCE = (
    "Plotting needs missing_package, which is not installed: pip install 'spectralmirror[plot]'."
)


def test_a_missing_package_is_reported_with_its_extra():
    with pytest.raises(ImportError) as raised, needs_extra("plot", "Plotting"):
        import missing_package.part  # noqa: F401
    assert str(raised.value) == SENTENCE
    assert raised.value.name == "missing_package"


def test_a_missing_module_of_ours_is_not_a_missing_extra():
    ours = pytest.raises(ModuleNotFoundError, match=r"^No module named 'spectralmirror\.nothing'")
    with ours, needs_extra("plot", "Plotting"):
        import spectralmirror.nothing  # noqa: F401


def test_other_errors_pass():
    with pytest.raises(ImportError, match=r"^broken$"), needs_extra("plot", "Plotting"):
        raise ImportError("broken")


def test_functions_that_are_there_are_imported():
    assert import_function("os.path", "join", "files") is os.path.join


def test_functions_that_cannot_be_imported_say_so_when_called(monkeypatch):
    monkeypatch.setitem(sys.modules, "missing_module", None)
    function = import_function("missing_module", "scan", "files")
    for _ in range(2):
        with pytest.raises(ImportError, match=r"^spectralmirror\.scan needs missing_module, which"):
            function("rows.csv", label="y")


def test_named_extras_exist():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    sources = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    named = {name for text in sources for name in re.findall(r'needs_extra\("(\w+)"', text)}
    assert named >= {"cli", "dask", "plot", "spark"}
    assert named | set(spectralmirror._EXTRA_OF.values()) <= set(extras)


def test_importing_the_package_imports_no_extra():
    code = "import sys, spectralmirror; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {*PACKAGES, "numpy", "sklearn"} & set(done.stdout.split())


def test_the_core_works_alone(tmp_path):
    """`make wheel` runs the same program where the packages are really not installed."""
    hide = f"import sys; sys.modules.update(dict.fromkeys({PACKAGES}))"
    (tmp_path / "sitecustomize.py").write_text(hide)
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "tests" / "core.py"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_type_checkers_see_the_names_that_are_there():
    tree = ast.parse(Path(spectralmirror.__file__).read_text())
    imported = {
        alias.asname: node.module.removeprefix("spectralmirror.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert imported == spectralmirror._MODULE_OF
    assert set(spectralmirror.__all__) == {"__version__", *imported}
    for name in spectralmirror.__all__:
        assert hasattr(spectralmirror, name)

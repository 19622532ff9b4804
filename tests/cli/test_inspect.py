"""`spectralmirror inspect`: what a model holds."""

from pathlib import Path

from tests.helpers.command_line import run


def test_inspect_shows_columns_and_estimates(fitted):
    printed = run("inspect", fitted / "model.skops").stdout
    for text in (
        "written by spectralmirror 0.",
        "group 'person'",
        "colour: green, blue; compared with red",
        "Classifier B",
        "smoker=true",
        "std. error",
    ):
        assert text in printed


def test_the_model_is_read_once(fitted, monkeypatch):
    read, read_bytes = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or read_bytes(path))
    run("inspect", fitted / "model.skops", "--json")
    assert read == [fitted / "model.skops"]

"""`spectralmirror inspect`: what a model holds."""

import json
from pathlib import Path

from spectralmirror import load
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


def test_inspect_shows_how_people_differ(different):
    printed = run("inspect", different / "model.skops").stdout
    assert "spread: diagonal" in printed
    assert "above no spread" in printed
    within = printed.split("Within a class, persons differ")[1]
    assert [name in within for name in ("(intercept)", "taste", "price")] == [True] * 3
    said = json.loads(run("inspect", different / "model.skops", "--json").stdout)["spread"]
    mixture = load(different / "model.skops").mixture
    assert (said["kind"], said["from_data"]) == ("diagonal", False)
    assert said["evidence"] == mixture.spread_evidence_
    lines = {line["term"]: line for line in said["standard_deviations"]}
    assert list(lines) == ["(intercept)", "taste", "price"]
    assert lines["price"]["estimate"] == mixture.spread_deviation_[1]
    assert lines["price"]["standard_error"] == mixture.spread_standard_error_[1]
    assert lines["price"]["lower"] < lines["price"]["estimate"] < lines["price"]["upper"]


def test_the_model_is_read_once(fitted, monkeypatch):
    read, read_bytes = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or read_bytes(path))
    run("inspect", fitted / "model.skops", "--json")
    assert read == [fitted / "model.skops"]

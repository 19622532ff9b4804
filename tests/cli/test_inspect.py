"""`spectralmirror inspect`: what a model holds."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from spectralmirror import LinearClassifierMixture, load
from spectralmirror.cli.inspect import ratios_of
from spectralmirror.effects import ratios
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


def test_inspect_prints_ratios_of_coefficients(different):
    model = different / "model.skops"
    mixture = load(model).mixture
    expected = ratios(mixture, "taste", "price")
    printed = run("inspect", model, "--ratio", "taste/price", "--ratio", "price/taste").stdout
    assert printed.rstrip().endswith(str(ratios(mixture, "price", "taste")))
    assert str(expected) in printed
    said = json.loads(run("inspect", model, "--json", "--ratio", "taste/price").stdout)["ratios"]
    assert [(one["numerator"], one["denominator"]) for one in said] == [("taste", "price")]
    for c, line in enumerate(said[0]["lines"]):
        assert line["component"] == expected.components[c]
        assert line["bounded"] == expected.bounded[c]
        for key in ("estimate", "standard_error", "lower", "upper"):
            value = getattr(expected, key)[c]
            assert line[key] == (value if np.isfinite(value) else None)
    assert "ratios" not in json.loads(run("inspect", model, "--json").stdout)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("taste", "--ratio taste: name two features as A/B, such as minutes/price."),
        ("taste/prize", "there is no feature 'prize'; did you mean 'price'?"),
        ("a/b/c", "there is no feature 'a'."),
        ("price/price", "--ratio price/price is always 1: name two features"),
    ],
)
def test_ratios_of_unknown_features(different, asked, sentence):
    result = run("inspect", different / "model.skops", "--ratio", asked, code=2)
    assert sentence in result.stderr


def test_a_label_belongs_to_ratios(different):
    result = run("inspect", different / "model.skops", "--label", "1", code=2)
    assert "--label says whose coefficients --ratio A/B means: add --ratio." in result.stderr


def test_names_may_contain_slashes():
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((200, 2)), columns=["a/b", "c"])
    mixture = LinearClassifierMixture(1).fit(X, X["c"] + X["a/b"] > 0.3 * X["a/b"] ** 2)
    fitted = SimpleNamespace(mixture=mixture)
    assert str(ratios_of(fitted, "a/b/c")) == str(ratios(mixture, "a/b", "c"))

"""`spectralmirror effects`: what features do to probabilities, from files."""

import json

import numpy as np
import polars as pl
import pytest

from spectralmirror import load
from spectralmirror.effects import average_effects, ratios
from tests.helpers.command_line import encoded, run


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """A folder with choices of 40 persons, survey.csv, and a model of them, choices.skops."""
    folder = tmp_path_factory.mktemp("choices")
    run("simulate", "-o", folder / "survey.csv", "--rows", 960, "--features", 2,
        "--group-size", 8, "--alternatives", 3)  # fmt: skip
    run("fit", folder / "survey.csv", "--choice-set", "case", "--alternative", "alternative",
        "--chosen", "chosen", "--group", "person", "-k", 2, "--spread", "none",
        "-o", folder / "choices.skops")  # fmt: skip
    return folder


def test_effects_are_those_of_the_library(people, fitted):
    model, file = fitted / "model.skops", fitted / "ratings.csv"
    table = load(model)
    X = table.named(encoded(people[0], table))
    expected = average_effects(
        table.mixture, X, exclusive=[["colour=green", "colour=blue"], ["smoker=true"]]
    )
    said = json.loads(run("effects", model, file, "--json").stdout)
    assert (said["label"], said["level"]) == ("yes", 0.95)
    classes = [name for name in ("A", "B", "overall") for _ in table.recipe.names]
    assert [one["component"] for one in said["effects"]] == classes
    assert [one["feature"] for one in said["effects"][:5]] == table.recipe.names
    for key in ("estimate", "standard_error", "lower", "upper"):
        found = np.array([one[key] for one in said["effects"]])
        np.testing.assert_allclose(found, getattr(expected, key).ravel(), rtol=1e-6)
    printed = run("effects", model, file).stdout
    assert printed.startswith("Average effects on P(liked = yes)")
    lines = printed.partition("Overall")[2]
    figure = expected.estimate[2][table.recipe.names.index("colour=green")]
    assert f"{figure:.4g}" in next(x for x in lines.splitlines() if "colour=green" in x)


def test_columns_labels_levels_and_rows_without_labels(people, fitted, tmp_path):
    model = fitted / "model.skops"
    people[0].drop("liked", "person").write_parquet(tmp_path / "offers.parquet")
    asked = ["effects", model, tmp_path / "offers.parquet", "--features", "colour", "--json"]
    yes = json.loads(run(*asked).stdout)["effects"]
    names = [name for name in load(model).recipe.names if name.startswith("colour=")]
    assert [one["feature"] for one in yes] == names * 3
    assert {one["change"] for one in yes} == {"0 to 1"}
    no = json.loads(run(*asked, "--label", "no", "--level", "0.5").stdout)["effects"]
    for one, other in zip(yes, no, strict=True):
        assert one["estimate"] == -other["estimate"]
        assert other["upper"] - other["lower"] < 0.4 * (one["upper"] - one["lower"])


def test_ratios_have_the_level_that_is_asked_for(fitted):
    model = fitted / "model.skops"
    printed = run("effects", model, fitted / "ratings.csv", "--features", "price",
                  "--ratio", "taste/price", "--level", "0.8").stdout  # fmt: skip
    assert str(ratios(load(model).mixture, "taste", "price", level=0.8)) in printed


def test_missing_values_and_new_levels(people, fitted, tmp_path):
    frame = people[0].with_columns(
        price=pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise(pl.col("price"))
    )
    frame.write_csv(tmp_path / "gaps.csv")
    asked = ["effects", fitted / "model.skops", tmp_path / "gaps.csv"]
    assert "missing" in run(*asked, code=2).stderr
    left_out = json.loads(run(*asked, "--missing", "drop", "--json").stdout)
    frame[3:].write_csv(tmp_path / "rest.csv")
    rest = json.loads(run(*asked[:2], tmp_path / "rest.csv", "--json").stdout)
    assert left_out["effects"] == rest["effects"]


def test_elasticities_of_choices(chosen):
    model, file = chosen / "choices.skops", chosen / "survey.csv"
    frame, mixture = pl.read_csv(file), load(model).mixture
    expected = mixture.elasticities(
        frame.select("x0", "x1"), "x1", choices=frame["case"].to_numpy(),
        alternatives=frame["alternative"].to_numpy(),
    )  # fmt: skip
    asked = ["effects", model, file, "--features", "x1"]
    said = json.loads(run(*asked, "--json").stdout)["elasticities"]
    assert [one["feature"] for one in said] == ["x1"]
    assert said[0]["alternatives"] == ["a", "b", "c"]
    np.testing.assert_allclose(said[0]["overall"], expected.overall)
    np.testing.assert_allclose(said[0]["by_class"], expected.by_class)
    line = next(x for x in run(*asked).stdout.splitlines() if x.startswith("b "))
    own = [expected.overall[1, 1], *expected.by_class[:, 1, 1]]
    np.testing.assert_allclose(list(map(float, line.split()[1:])), own, rtol=1e-3)
    both = json.loads(run(*asked[:3], "--json").stdout)["elasticities"]
    assert [one["feature"] for one in both] == ["x0", "x1"]


def test_own_effects_of_choices(chosen):
    model, file = chosen / "choices.skops", chosen / "survey.csv"
    frame, mixture = pl.read_csv(file), load(model).mixture
    expected = average_effects(
        mixture, frame.select(*mixture.feature_names_in_), choices=frame["case"].to_numpy(),
        level=0.9,
    )  # fmt: skip
    said = json.loads(run("effects", model, file, "--level", "0.9", "--json").stdout)
    assert said["level"] == 0.9
    for key in ("estimate", "standard_error", "lower", "upper"):
        values = [one[key] for one in said["effects"]]
        np.testing.assert_allclose(values, getattr(expected, key).ravel())
    printed = run("effects", model, file, "--level", "0.9").stdout
    assert printed.count("Average effects on P(") == 1
    assert [line for line in printed.splitlines() if line.startswith("x1 ")]


def test_labels_belong_to_labels(chosen):
    result = run("effects", chosen / "choices.skops", chosen / "survey.csv", "--label", "1", code=2)
    assert "--label belongs to labels" in result.stderr

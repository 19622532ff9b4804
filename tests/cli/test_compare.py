"""`spectralmirror compare`: how many classifiers, from files; and the report that shows it."""

import json

import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.selection import ComponentComparison, compare_components
from tests.helpers.command_line import run

QUICK = ["--max-components", 2, "--resamples", 4, "--parts", 2]


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    """Ratings of 60 people, ratings.csv, and how one and two classifiers of them compare."""
    folder = tmp_path_factory.mktemp("compare")
    frame = people[0].filter(pl.col("person") < "p060").drop("colour", "smoker")
    frame.write_csv(folder / "ratings.csv")
    done = run("compare", folder / "ratings.csv", "--label", "liked", "--group", "person", *QUICK,
               "-o", folder / "comparison.json", "--plot", folder / "comparison.svg")  # fmt: skip
    (folder / "printed.txt").write_text(done.stdout)
    return folder


def test_a_comparison_is_that_of_the_library(folder):
    frame = pl.read_csv(folder / "ratings.csv")
    expected = compare_components(
        LinearClassifierMixture(random_state=0), frame.select("taste", "price"),
        frame["liked"].to_numpy(), groups=frame["person"].to_numpy(), max_components=2,
        n_resamples=4, n_splits=2, random_state=0,
    )  # fmt: skip
    found = ComponentComparison.load(folder / "comparison.json")
    assert str(found) == str(expected)
    printed = (folder / "printed.txt").read_text()
    table = str(expected).splitlines()[:6]
    assert printed.splitlines()[:6] == table
    assert "compare with --spread auto." in printed
    assert (folder / "comparison.svg").read_text().startswith("<?xml")
    about = json.loads((folder / "comparison.json").read_text())["about"]
    assert (about["label"], about["group"], about["features"]) == ("liked", "person",
                                                                   ["taste", "price"])  # fmt: skip
    assert about["n_rows"] == len(frame)


def test_jobs_change_nothing_and_json_has_everything(folder):
    asked = ["compare", folder / "ratings.csv", "--label", "liked", "--group", "person", *QUICK]
    said = json.loads(run(*asked, "--json", "--jobs", 2).stdout)
    found = json.loads((folder / "comparison.json").read_text())["comparison"]
    assert said["columns"] == found["columns"]
    assert said["resampled"] == found["resampled"]
    assert said["about"]["source"].endswith("ratings.csv")


def test_choices_with_missing_values(tmp_path):
    run("simulate", "-o", tmp_path / "survey.csv", "--rows", 480, "--features", 2,
        "--group-size", 4, "--alternatives", 3)  # fmt: skip
    frame = pl.read_csv(tmp_path / "survey.csv").with_columns(empty=pl.lit(None, dtype=pl.String))
    frame.write_csv(tmp_path / "survey.csv")
    printed = run("compare", tmp_path / "survey.csv", "--choice-set", "case", "--chosen", "chosen",
                  "--group", "person", "--drop", "alternative", "--missing", "drop",
                  "--max-components", 2, "--resamples", 0, "--parts", 2).stdout  # fmt: skip
    assert "Comparison of 1 to 2 classes, 40 groups" in printed
    assert "Note: " in printed
    assert "'empty'" in printed


def test_the_report_shows_a_comparison(folder, tmp_path):
    model = tmp_path / "model.skops"
    ratings = folder / "ratings.csv"
    given = ["--label", "liked", "-k", 2, "--spread", "none", "-o", model]
    run("fit", ratings, *given, "--group", "person")
    shown = ["--comparison", folder / "comparison.json", "-o", tmp_path / "report.html"]
    data = json.loads(run("report", model, ratings, *shown, "--json").stdout)["comparison"]
    assert [row["n_components"] for row in data["table"]] == [1, 2]
    page = (tmp_path / "report.html").read_text()
    assert "How many classes?" in page
    assert page.count("comparison-held-out") > 0
    assert data["conclusions"][1] in page
    without = run("report", model, ratings, "-o", tmp_path / "plain.html", "--json")
    assert json.loads(without.stdout)["comparison"] is None
    run("fit", ratings, *given, "--drop", "person")
    (tmp_path / "report.html").unlink()
    refused = run("report", model, ratings, *shown, code=2)
    assert "compares models of group 'person', but the model was fitted to None" in refused.stderr
    assert not (tmp_path / "report.html").exists()

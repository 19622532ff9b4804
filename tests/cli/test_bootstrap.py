"""`spectralmirror bootstrap`: refits to resamples of files, and the models that carry them."""

import json

import numpy as np
import polars as pl
import pytest

from spectralmirror import load
from spectralmirror.mixture.bootstrap import KEPT
from tests.helpers.command_line import encoded, run


@pytest.fixture(scope="module")
def resampled(fitted, tmp_path_factory):
    """A model that carries 8 resamples, resampled.skops, and what was printed."""
    folder = tmp_path_factory.mktemp("resampled")
    done = run("bootstrap", fitted / "model.skops", fitted / "ratings.csv", "-n", 8,
               "-o", folder / "resampled.skops")  # fmt: skip
    return folder / "resampled.skops", done.stdout


def test_resamples_are_those_of_the_library(people, fitted, resampled):
    frame, table = people[0], load(fitted / "model.skops")
    X = table.named(encoded(frame, table))
    expected = table.mixture.bootstrap(
        X, frame["liked"].to_numpy(), groups=frame["person"].to_numpy(), n=8, random_state=0
    )
    found = load(resampled[0]).mixture.resamples_
    for name in KEPT:
        np.testing.assert_allclose(found[name], getattr(expected, name), rtol=1e-6, atol=1e-9)
    assert resampled[1].startswith("Bootstrap: 8 resamples of 200 groups")
    assert expected.summary().splitlines()[-1].split()[0] in resampled[1]


def test_a_model_shows_what_it_carries(fitted, resampled):
    printed = run("inspect", resampled[0]).stdout
    assert resampled[1].partition("\nModel:")[0].strip() in printed
    said = json.loads(run("inspect", resampled[0], "--json").stdout)["bootstrap"]
    assert (said["n"], said["units"], said["level"]) == (8, "200 groups", 0.95)
    draws = load(resampled[0]).mixture.resamples_["coef"][:, 1, 0]
    line = said["classifiers"][1]["terms"][2]
    assert line["standard_error"] == pytest.approx(draws.std(ddof=1))
    assert line["lower"] == pytest.approx(np.quantile(draws, 0.025))
    assert json.loads(run("inspect", fitted / "model.skops", "--json").stdout)["bootstrap"] is None


def test_the_report_shows_both_intervals(fitted, resampled, tmp_path):
    done = run("report", resampled[0], fitted / "ratings.csv", "-o", tmp_path / "r.html", "--json")
    assert json.loads(done.stdout)["bootstrap"]["n"] == 8
    page = (tmp_path / "r.html").read_text()
    assert "again to 8 resamples of the 200 groups" in page
    assert page.count("from resamples</th>") == 2


def test_a_model_may_be_replaced_and_a_level_chosen(fitted, tmp_path):
    model = tmp_path / "model.skops"
    model.write_bytes((fitted / "model.skops").read_bytes())
    done = run("bootstrap", model, fitted / "ratings.csv", "-n", 4, "--level", 0.5, "-o", model,
               "--json", "--jobs", 2)  # fmt: skip
    said = json.loads(done.stdout)
    assert (said["n"], said["level"]) == (4, 0.5)
    assert len(load(model).mixture.resamples_["coef"]) == 4


def test_choices_membership_known_classes_and_missing_values(tmp_path):
    run("simulate", "-o", tmp_path / "all.csv", "--rows", 720, "--features", 2, "--group-size", 4,
        "--alternatives", 3)  # fmt: skip
    frame = pl.read_csv(tmp_path / "all.csv")
    age = (pl.col("person").hash(seed=1) % 50).alias("age")
    known = pl.when(pl.col("person") % 6 == 0).then(pl.lit("A")).alias("kind")
    hole = pl.when(pl.int_range(pl.len()) == 7).then(None).otherwise(pl.col("x0")).alias("x0")
    frame.with_columns(hole, age, known).write_csv(tmp_path / "survey.csv")
    asked = "--choice-set case --chosen chosen --group person --drop alternative --membership age"
    asked = [*asked.split(), "--known", "kind", "--missing", "drop"]
    model = tmp_path / "model.skops"
    run("fit", tmp_path / "survey.csv", *asked, "-k", 2, "--spread", "none", "-o", model)
    given = ["bootstrap", model, tmp_path / "survey.csv", "-n", 3]
    said = json.loads(run(*given, "--known", "kind", "--json").stdout)
    assert said["units"] == "60 groups"
    assert "log-likelihood" in run(*given, code=2).stderr  # the known classes are missing


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame[:500], "to rows 2000, not 500. Name the files that were fitted."),
        (lambda frame: frame.with_columns(price=pl.col("price") + 1), "has the log-likelihood"),
        (lambda frame: frame.drop("liked"), "has no column 'liked'"),
        (lambda frame: frame.drop("person"), "has no column 'person'"),
    ],
)  # fmt: skip
def test_other_rows_are_refused(people, fitted, tmp_path, change, sentence):
    change(people[0]).write_csv(tmp_path / "other.csv")
    given = ["bootstrap", fitted / "model.skops", tmp_path / "other.csv", "-o", tmp_path / "m"]
    assert sentence in run(*given, code=2).stderr
    assert not (tmp_path / "m").exists()

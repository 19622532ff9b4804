"""A label column of three values, from `fit` to predictions."""

import json

import numpy as np
import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture, load
from spectralmirror.datasets import make_multinomial_mixture
from spectralmirror.effects import ratios
from tests.helpers.command_line import run

WAYS = np.array(["bike", "car", "rail"])


def features(frame, model):
    return model.named(frame.select(model.recipe.names).to_numpy())


@pytest.fixture(scope="module")
def travel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("travel")
    X, y, truth = make_multinomial_mixture(1_200, 3, 2, group_size=8, random_state=0)
    frame = pl.DataFrame(X, schema=["rain", "hurry", "distance"]).with_columns(
        way=pl.Series(WAYS[y]), person=pl.Series(truth.groups)
    )
    frame.write_csv(folder / "ways.csv")
    made = run("fit", folder / "ways.csv", "--label", "way", "--group", "person", "-k", 2,
               "--json", "-o", folder / "model.skops")  # fmt: skip
    return folder, frame, made


def test_the_model_is_that_of_the_library_and_survives_its_file(travel):
    folder, frame, made = travel
    model = load(folder / "model.skops")
    X = features(frame, model)
    own = LinearClassifierMixture(2, random_state=0, spread="auto")
    own.fit(X, frame["way"].to_numpy(), groups=frame["person"].to_numpy())
    np.testing.assert_allclose(model.mixture.coef_, own.coef_, rtol=1e-9)
    assert model.mixture.coef_.shape == (2, 3, 3)
    described = json.loads(made.stdout)
    assert described["classes"] == WAYS.tolist()
    terms = described["classifiers"][1]["terms"]
    one = next(t for t in terms if t.get("label") == "car" and t["term"] == "hurry")
    assert one["estimate"] == model.mixture.coef_[1, 1, 1]


def test_predictions_and_assignments_of_rows(travel):
    folder, frame, _ = travel
    model = load(folder / "model.skops")
    P = model.mixture.predict_proba(features(frame, model))
    run("predict", folder / "model.skops", folder / "ways.csv", "-o", folder / "out.parquet")
    table = pl.read_parquet(folder / "out.parquet")
    np.testing.assert_allclose(table.select(pl.selectors.starts_with("probability")).to_numpy(), P)
    assert table.columns[1:3] == ["prediction", "probability_bike"]
    assert (table["prediction"].to_numpy() == WAYS[P.argmax(axis=1)]).all()
    run("predict", folder / "model.skops", folder / "ways.csv", "-o", folder / "known.parquet",
        "--history", folder / "ways.csv")  # fmt: skip
    known = pl.read_parquet(folder / "known.parquet")["prediction"] == frame["way"]
    assert known.mean() > (table["prediction"] == frame["way"]).mean() + 0.05
    run("cluster", folder / "model.skops", folder / "ways.csv", "-o", folder / "who.parquet")
    found = pl.read_parquet(folder / "who.parquet")
    R = model.mixture.component_proba(
        features(frame, model), frame["way"].to_numpy(), frame["person"].to_numpy()
    )
    np.testing.assert_allclose(found["group_probability_A"].to_numpy(), R[:, 0], atol=1e-8)


def test_what_the_terminal_shows(travel):
    folder, *_ = travel
    shown = run("inspect", folder / "model.skops").stdout
    assert "label 'way': 'bike', 'car', 'rail'" in shown
    assert shown.count("label rail") == 2
    made = run("fit", folder / "ways.csv", "--label", "way", "-k", 1, "-o", folder / "one.skops")
    assert "behind 'way' ('bike', 'car' or 'rail') in 1,200 rows" in made.stdout
    assert "of way = 'rail', against the average of all labels" in made.stdout
    assert "spectralmirror report" in made.stdout


def test_ratios_are_those_of_a_label(travel):
    folder, _, _ = travel
    model = load(folder / "model.skops")
    label = model.mixture.classes_.tolist()[1]
    expected = str(ratios(model.mixture, "rain", "hurry", label=label))
    asked = ["inspect", folder / "model.skops", "--ratio", "rain/hurry"]
    assert expected in run(*asked, "--label", "car").stdout
    assert "--label is missing: name one of" in run(*asked, code=2).stderr
    rows = ["effects", folder / "model.skops", folder / "ways.csv", *asked[2:], "--label", "car"]
    assert expected in run(*rows).stdout


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["fit", "typo.csv", "--label", "way"], "of which 'cra' occurs in 1 row only: correct it"),
        (["fit", "ways.csv", "--label", "way", "--positive", "car"], "--positive is for labels of"),
        (["fit", "ways.csv", "--label", "way", "--response", "probit"], "response='probit'"),
        (["fit", "ways.csv", "--label", "person"], "of files may be of up to 50 kinds"),
        (["predict", "model.skops", "typo.csv", "--history", "typo.csv"], "holds 'cra'"),
    ],
)
def test_one_clear_sentence(travel, command, sentence, monkeypatch):
    folder, frame, _ = travel
    monkeypatch.chdir(folder)
    typo = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("cra")).otherwise("way")
    frame.with_columns(way=typo).write_csv("typo.csv")
    suffix = {"fit": "skops", "predict": "csv"}[command[0]]
    refused = run(*command, "-o", f"refused.{suffix}", code=2)
    assert sentence in " ".join(refused.stderr.split())
    assert "Traceback" not in refused.stderr

"""`spectralmirror predict`: predictions are those of the model, row by row."""

import json
from functools import partial

import numpy as np
import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture, load
from tests.helpers.command_line import encoded, run


def test_predictions_are_those_of_the_model(people, fitted, tmp_path):
    model = load(fitted / "model.skops")
    P = model.mixture.predict_proba(model.named(encoded(people[0], model)))
    for suffix, read in (("parquet", pl.read_parquet), ("csv", pl.read_csv), ("arrow", pl.read_ipc),
                         ("csv.gz", pl.read_csv)):  # fmt: skip
        out = tmp_path / f"out.{suffix}"
        run("predict", fitted / "model.skops", fitted / "ratings.csv", "-o", out, "--keep", "price")
        table = read(out)
        assert table.columns == [
            "person",
            "price",
            "prediction",
            "probability_no",
            "probability_yes",
        ]
        np.testing.assert_allclose(table["probability_yes"].to_numpy(), P[:, 1], rtol=1e-12)
        assert table["prediction"].to_list() == np.where(P[:, 1] > 0.5, "yes", "no").tolist()
        assert table["person"].to_list() == people[0]["person"].to_list()


def test_a_history_predicts_everybody_by_their_own_classifier(people, fitted, tmp_path):
    frame = people[0].with_row_index()
    past = frame.filter(pl.int_range(10).over("person") < 6).drop("index")
    future = frame.filter(pl.int_range(10).over("person") >= 6).drop("index", "liked")
    truth = frame.filter(pl.int_range(10).over("person") >= 6)["liked"]
    past.write_csv(tmp_path / "past.csv")
    future.write_parquet(tmp_path / "future.parquet")
    shares = []
    for history in ([], ["--history", tmp_path / "past.csv"]):
        out = tmp_path / "out.parquet"
        run("predict", fitted / "model.skops", tmp_path / "future.parquet", "-o", out, *history)
        shares.append((pl.read_parquet(out)["prediction"] == truth).mean())
    # 800 rows: the error of a difference of shares is below 0.025, and this one is 0.13
    assert shares[1] > shares[0] + 0.07
    model = load(fitted / "model.skops")
    y, groups = past["liked"].to_numpy(), past["person"].to_numpy()
    R = model.mixture.component_proba(model.named(encoded(past, model)), y, groups=groups)
    of = dict(zip(groups, R, strict=True))
    weights = np.array([of[p] for p in future["person"]])
    P = model.mixture.predict_proba(model.named(encoded(future, model)), weights)
    np.testing.assert_allclose(pl.read_parquet(out)["probability_yes"], P[:, 1], rtol=1e-9)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_history_predicts_everybody_by_their_own_coefficients(
    different, tmp_path, monkeypatch, suffix
):
    monkeypatch.setattr("spectralmirror.tables.known_rows.BLOCK_BYTES", 5_000)  # ratings are apart
    new, past = (pl.read_parquet(different / f"{name}.parquet") for name in ("new", "past"))
    arguments = ("predict", different / "model.skops", different / "new.parquet")
    history, out = ("--history", different / f"past.{suffix}"), tmp_path / "p.parquet"
    told = json.loads(run(*arguments, *history, "--json", "-o", out).stdout)
    assert told["n_without_history"] == 10
    columns, mixture = ["taste", "price"], load(different / "model.skops").mixture
    earlier = past[columns], past["liked"].to_numpy(), past["person"].to_numpy()
    persons = new["person"].to_numpy()
    P = mixture.predict_proba(new[columns], groups=persons, history=earlier)
    found = pl.read_parquet(out)["probability_yes"].to_numpy()
    np.testing.assert_allclose(found, P[:, 1], rtol=1e-8)
    strangers = mixture.predict_proba(new[columns])
    np.testing.assert_allclose(found[-10:], strangers[-10:, 1], rtol=1e-12)
    # their coefficients say more than their classes do
    of = dict(zip(earlier[2], mixture.component_proba(*earlier), strict=True))
    by_class = mixture.predict_proba(new[columns][:240], [of[p] for p in persons[:240]])
    yes = (new["liked"] == "yes").to_numpy()[:240]
    losses = [
        -np.log(np.where(yes, p, 1 - p)).mean()
        for p in (found[:240], by_class[:, 1], strangers[:240, 1])
    ]
    # 240 rows: the errors of these differences are 0.02 and 0.03, and they are 0.05 and 0.13
    assert losses[0] < losses[1] - 0.02
    assert losses[1] < losses[2] - 0.05


def test_a_history_of_other_groups_is_refused(people, fitted, tmp_path):
    people[0].with_columns(person=pl.int_range(2_000)).write_csv(tmp_path / "other.csv")
    arguments = ("predict", fitted / "model.skops", fitted / "ratings.csv")
    history = ("--history", tmp_path / "other.csv")
    done = run(*arguments, *history, "-o", tmp_path / "new" / "p.csv", code=2)
    assert "No value of 'person' occurs in the history, which has values such as 0" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_missing_values_are_refused_filled_or_left_out(people, tmp_path):
    frame = people[0].with_columns(
        taste=pl.when(pl.int_range(2_000) % 10 == 3).then(None).otherwise("taste"),
        colour=pl.when(pl.int_range(2_000) % 20 == 4).then(None).otherwise("colour"),
    )
    frame.write_csv(tmp_path / "gaps.csv")
    fit = ["fit", tmp_path / "gaps.csv", "--label", "liked", "--drop", "person", "-k", 1]
    done = run(*fit, "-o", tmp_path / "m.skops", code=2)
    assert "missing in some of 2,000 rows: 'taste' 200, 'colour' 100." in done.output
    assert not (tmp_path / "m.skops").exists()
    assert (
        "300 of 2,000 rows were left out"
        in run(*fit, "--missing", "drop", "-o", tmp_path / "drop.skops").stdout
    )
    run(*fit, "--missing", "impute", "-o", tmp_path / "impute.skops")
    kept = frame.drop_nulls()
    model = load(tmp_path / "drop.skops")
    plain = LinearClassifierMixture(1).fit(encoded(kept, model), kept["liked"].to_numpy())
    np.testing.assert_allclose(model.mixture.coef_, plain.coef_, rtol=1e-7)
    filled = frame.with_columns(
        taste=pl.col("taste").fill_null(pl.col("taste").mean()),
        colour=pl.col("colour").fill_null("red"),
    )
    model = load(tmp_path / "impute.skops")
    plain = LinearClassifierMixture(1).fit(encoded(filled, model), filled["liked"].to_numpy())
    np.testing.assert_allclose(model.mixture.coef_, plain.coef_, rtol=1e-7)
    # every row gets a line; rows with gaps get no answer, or that of the filled row
    run("predict", tmp_path / "drop.skops", tmp_path / "gaps.csv", "-o", tmp_path / "p.parquet")
    table = pl.read_parquet(tmp_path / "p.parquet")
    assert len(table) == 2_000
    assert table["prediction"].null_count() == table["probability_yes"].null_count() == 300
    rows = frame.with_row_index().drop_nulls()["index"]
    P = load(tmp_path / "drop.skops").mixture.predict_proba(
        load(tmp_path / "drop.skops").named(encoded(kept, model))
    )
    np.testing.assert_allclose(table["probability_yes"].gather(rows), P[:, 1], rtol=1e-9)
    run("predict", tmp_path / "impute.skops", tmp_path / "gaps.csv", "-o", tmp_path / "p.parquet")
    assert pl.read_parquet(tmp_path / "p.parquet").null_count().sum_horizontal().item() == 0


def test_filled_rows_are_counted(people, fitted, tmp_path):
    people[0].with_columns(
        colour=pl.when(pl.int_range(2_000) < 7).then(pl.lit("mauve")).otherwise("colour"),
        taste=pl.when(pl.int_range(2_000) < 10).then(None).otherwise("taste"),
    ).write_csv(tmp_path / "gaps.csv")
    done = run("predict", fitted / "model.skops", tmp_path / "gaps.csv", "--missing", "impute",
               "-o", tmp_path / "p.csv")  # fmt: skip
    assert "were filled in 10 rows" in done.stdout


def test_infinity_is_not_a_missing_value(fitted, people, tmp_path):
    frame = people[0].with_columns(
        taste=pl.when(pl.int_range(2_000) == 5).then(np.inf).otherwise(1)
    )
    frame.write_parquet(tmp_path / "inf.parquet")
    arguments = ("predict", fitted / "model.skops", tmp_path / "inf.parquet", "--missing", "impute")
    done = run(*arguments, "-o", tmp_path / "p.csv", code=2)
    assert "Column 'taste'" in done.output
    assert "infinity" in done.output


def test_columns_must_be_what_they_were(people, fitted, tmp_path):
    for change, sentence in (
        ({"price": pl.col("price").cast(pl.String)}, "Column 'price' of"),
        ({"price": pl.lit(0).cast(pl.Datetime)}, "but was a number when the model was fitted"),
        ({"smoker": pl.lit(0).cast(pl.Date)}, "but was a category when the model was fitted"),
    ):
        people[0].with_columns(**change).write_parquet(tmp_path / "new.parquet")
        arguments = ("predict", fitted / "model.skops", tmp_path / "new.parquet")
        assert sentence in run(*arguments, "-o", tmp_path / "p.csv", code=2).output
    for i, kind in enumerate((pl.Boolean, pl.Int8)):
        people[0].with_columns(pl.col("smoker").cast(kind)).write_parquet(tmp_path / f"{i}.parquet")
    files = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    done = run("fit", *files, "--label", "liked", "--drop", "person", code=2)
    assert "files that are read together must agree" in done.output


def test_truth_values_mean_the_same_in_text(people, tmp_path):
    words = pl.col("smoker").cast(pl.String).str.to_titlecase()
    maybe = pl.when(pl.int_range(2_000) < 50).then(pl.lit("?")).otherwise(words)
    frame = people[0].select("taste", "liked", maybe=maybe)
    frame.write_csv(tmp_path / "words.csv")  # True, False and ?
    frame[50:].write_csv(tmp_path / "truth.csv")  # read as truth values
    model, out = tmp_path / "m.skops", tmp_path / "p.parquet"
    run("fit", tmp_path / "words.csv", "--label", "liked", "-k", 1, "-o", model)
    run("predict", model, tmp_path / "words.csv", "-o", out)
    expected = pl.read_parquet(out)[50:]
    run("predict", model, tmp_path / "truth.csv", "-o", out)
    assert pl.read_parquet(out).equals(expected)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_files_that_differ_in_what_is_there_are_written_together(people, tmp_path, suffix):
    person = pl.col("person").cast(pl.Categorical)
    frame = people[0].with_columns(id=pl.int_range(2_000), person=person)
    frame[:1_000].with_columns(taste=pl.lit(None, pl.Float64)).write_parquet(tmp_path / "0.parquet")
    frame[1_000:].with_columns(id=pl.col("id") + 0.5).write_parquet(
        tmp_path / "1.parquet", row_group_size=200
    )
    model, out = tmp_path / "m.skops", tmp_path / "out" / f"p.{suffix}"
    files = sorted(tmp_path.glob("?.parquet"))
    run("fit", *files, "--label", "liked", "--group", "person", "--drop", "id", "-k", 2,
        "--missing", "drop", "--spread", "none", "-o", model)  # fmt: skip
    run("predict", model, *files, "--keep", "id", "-o", out)
    read_csv = partial(pl.read_csv, infer_schema_length=None)
    table = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "csv": read_csv}[suffix](out)
    assert table["id"].dtype == pl.Float64
    assert table["prediction"].null_count() == 1_000
    assert table["person"].cast(pl.String).to_list() == people[0]["person"].to_list()


def test_files_of_folders_and_globs_are_not_written_over(people, fitted, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for i in range(2):
        people[0][1_000 * i : 1_000 * (i + 1)].write_csv(data / f"{i}.csv")
    before = (data / "1.csv").read_bytes()
    for source in ([data], [data / "*.csv"], [data / "0.csv", "--history", data / "1.csv"]):
        done = run("predict", fitted / "model.skops", *source, "-o", data / "1.csv", code=2)
        assert "is an input file, too" in done.output
    assert (data / "1.csv").read_bytes() == before

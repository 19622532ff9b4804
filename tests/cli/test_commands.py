"""The command line on files: what it finds, what it writes, and one sentence for bad input."""

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from typer.testing import CliRunner

from spectralmirror import LinearClassifierMixture, load, pairwise_differences
from spectralmirror.cli import app
from spectralmirror.cli.reproduce import NAMES
from spectralmirror.experiments import EXPERIMENTS
from spectralmirror.metrics import component_error
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.table_sample import sample_rows

COMMAND = [sys.executable, "-c", "from spectralmirror.cli import main; main()"]


def run(*arguments, code=0):
    done = CliRunner().invoke(
        app, list(map(str, arguments)), env={"COLUMNS": "200", "NO_COLOR": "1"}
    )
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done


@pytest.fixture(scope="module")
def people():
    """Ratings of 200 people of two kinds, ten each, in no order; and who is of which kind."""
    rng = np.random.default_rng(5)
    n = 2_000
    person = rng.permutation(np.repeat(np.arange(200), 10))
    kind = (np.arange(200) % 3 == 0).astype(int)
    x = rng.normal(size=(n, 2))
    colour = rng.choice(["red", "green", "blue"], size=n, p=[0.5, 0.3, 0.2])
    smoker = rng.uniform(size=n) < 0.3
    scores = np.column_stack(
        [
            2 * x[:, 0] + x[:, 1] + 2.0 * (colour == "green") - smoker,
            -2 * x[:, 0] + x[:, 1] - 1.0 * (colour == "green") + smoker,
        ]
    )
    liked = rng.uniform(size=n) < expit(scores[np.arange(n), kind[person]])
    frame = pl.DataFrame(
        {
            "person": [f"p{i:03d}" for i in person],
            "taste": x[:, 0],
            "price": 100 + 20 * x[:, 1],
            "colour": colour,
            "smoker": smoker,
            "liked": np.where(liked, "yes", "no"),
        }
    )
    return frame, kind


@pytest.fixture(scope="module")
def fitted(people, tmp_path_factory):
    """A folder with ratings.csv and model.skops."""
    folder = tmp_path_factory.mktemp("fitted")
    people[0].write_csv(folder / "ratings.csv")
    run("fit", folder / "ratings.csv", "--label", "liked", "--group", "person",
        "-k", 2, "-o", folder / "model.skops")  # fmt: skip
    return folder


def matrix(frame, model):
    """Encode by hand."""
    columns = {
        **{name: frame[name].to_numpy() for name in ("taste", "price")},
        **{f"colour={c}": (frame["colour"] == c).to_numpy() for c in ("red", "green", "blue")},
        "smoker=true": frame["smoker"].to_numpy(),
    }
    return np.column_stack([columns[name] for name in model.recipe.names]).astype(float)


def test_fit_is_the_fit_of_the_encoded_columns(people, fitted):
    model = load(fitted / "model.skops")
    X, y, groups = matrix(people[0], model), people[0]["liked"].to_numpy(), people[0]["person"]
    assert model.recipe.references == {
        "colour=green": "red", "colour=blue": "red", "smoker=true": "false"
    }  # fmt: skip
    plain = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=groups.to_numpy())
    np.testing.assert_allclose(model.mixture.coef_, plain.coef_, rtol=1e-8)
    assert model.mixture.feature_names_in_.tolist() == model.recipe.names


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow", "folder", "glob", "many"])
def test_all_kinds_of_files_give_the_same_model(people, fitted, tmp_path, kind):
    frame = people[0]
    source = [tmp_path / f"data.{kind}"]
    if kind == "csv":
        frame.write_csv(source[0])
    elif kind == "csv.gz":
        source[0].write_bytes(gzip.compress(frame.write_csv().encode()))
    elif kind == "parquet":
        frame.with_columns(pl.col("colour").cast(pl.Categorical)).write_parquet(source[0])
    elif kind == "arrow":
        frame.write_ipc(source[0])
    else:
        (tmp_path / "data").mkdir()
        parts = [tmp_path / "data" / f"{i}.parquet" for i in range(3)]
        for i, part in enumerate(parts):
            frame[700 * i : 700 * (i + 1)].write_parquet(part)
        source = {"folder": [tmp_path / "data"], "glob": [tmp_path / "data" / "*.parquet"],
                  "many": parts}[kind]  # fmt: skip
    model = tmp_path / "model.skops"
    run("fit", *source, "--label", "liked", "--group", "person", "-k", 2, "-o", model)
    expected, found = load(fitted / "model.skops"), load(model)
    np.testing.assert_allclose(found.mixture.coef_, expected.mixture.coef_, rtol=1e-8)
    assert found.recipe.names == expected.recipe.names
    assert found.recipe.references == expected.recipe.references
    means = [[term.mean for term in model.recipe.terms[:2]] for model in (found, expected)]
    np.testing.assert_allclose(*means, rtol=1e-12)


def test_rows_beyond_memory_give_the_same_model(people, fitted, tmp_path, monkeypatch):
    monkeypatch.setattr("spectralmirror.tables.fit_table.IN_MEMORY", 0)
    run("fit", fitted / "ratings.csv", "--label", "liked", "--group", "person", "-k", 2,
        "-o", tmp_path / "streamed.skops")  # fmt: skip
    streamed, expected = load(tmp_path / "streamed.skops"), load(fitted / "model.skops")
    assert streamed.mixture.n_scans_ > 3
    np.testing.assert_allclose(streamed.mixture.coef_, expected.mixture.coef_, rtol=1e-6)
    assert streamed.about["n_rows"] == 2_000


def test_predictions_are_those_of_the_model(people, fitted, tmp_path):
    model = load(fitted / "model.skops")
    P = model.mixture.predict_proba(model.named(matrix(people[0], model)))
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
    R = model.mixture.component_proba(model.named(matrix(past, model)), y, groups=groups)
    of = dict(zip(groups, R, strict=True))
    weights = np.array([of[p] for p in future["person"]])
    P = model.mixture.predict_proba(model.named(matrix(future, model)), weights)
    np.testing.assert_allclose(pl.read_parquet(out)["probability_yes"], P[:, 1], rtol=1e-9)


def test_clusters_are_posteriors_of_rows_and_of_groups(people, fitted, tmp_path):
    frame, kind = people
    model = load(fitted / "model.skops")
    X, y, groups = model.named(matrix(frame, model)), frame["liked"].to_numpy(), frame["person"]
    run("cluster", fitted / "model.skops", fitted / "ratings.csv", "-o", tmp_path / "who.parquet")
    who = pl.read_parquet(tmp_path / "who.parquet")
    alone = model.mixture.component_proba(X, y)
    together = model.mixture.component_proba(X, y, groups=groups.to_numpy())
    np.testing.assert_allclose(who[["row_probability_A", "row_probability_B"]], alone, rtol=1e-9)
    np.testing.assert_allclose(
        who[["group_probability_A", "group_probability_B"]], together, rtol=1e-7, atol=1e-12
    )
    assert who["group_classifier"].to_list() == ["AB"[j] for j in together.argmax(axis=1)]
    told = json.loads(
        run("cluster", fitted / "model.skops", fitted / "ratings.csv", "--by-group", "--json",
            "-o", tmp_path / "people.csv").stdout
    )  # fmt: skip
    assert told["n_groups"] == 200
    table = pl.read_csv(tmp_path / "people.csv").sort("person")
    assert table["n_rows"].to_list() == [10] * 200
    # ten labels each: two of three people are named with near certainty
    assert component_error(kind, (table["classifier"] == "B").to_numpy()) < 0.05


def test_comparisons(tmp_path):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 1_500, 2))
    brands = rng.choice(["x", "y"], size=(2, 1_500))
    d = (A - B) @ [2.0, -1.0] + (brands[0] == "y") * 1.0 - (brands[1] == "y")
    won = rng.uniform(size=1_500) < expit(d)
    frame = pl.DataFrame(
        {"a_price": A[:, 0], "a_time": A[:, 1], "a_brand": brands[0], "b_time": B[:, 1],
         "b_price": B[:, 0], "b_brand": brands[1], "age": 7, "won": np.where(won, "A", "B")}
    )  # fmt: skip
    frame.write_csv(tmp_path / "pairs.csv")
    done = run("fit", tmp_path / "pairs.csv", "--pairs", "a_", "b_", "--winner", "won", "-k", 1,
               "-o", tmp_path / "m.skops")  # fmt: skip
    assert "left out: 'age'" in done.stdout
    model = load(tmp_path / "m.skops")
    level = model.recipe.terms[2].levels[1]
    sides = [np.column_stack([S, b == level]) for S, b in zip((A, B), brands, strict=True)]
    X, y = pairwise_differences(*sides, won)
    plain = LinearClassifierMixture(1, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.mixture.coef_, plain.coef_, rtol=1e-7)
    run("predict", tmp_path / "m.skops", tmp_path / "pairs.csv", "-o", tmp_path / "p.parquet")
    table = pl.read_parquet(tmp_path / "p.parquet")
    np.testing.assert_allclose(table["probability_a"], plain.predict_proba(X)[:, 1], rtol=1e-6)


def test_winners_are_judged_over_all_files(tmp_path):
    for i, winners in enumerate(([1, 2, 1, 2], [0, 1, 0, 1])):  # 0 might be a tie
        pl.DataFrame({"a_x": [1, 2, 3, 5], "b_x": [4, 3, 1, 1], "won": winners}).write_parquet(
            tmp_path / f"{i}.parquet"
        )
    done = run("fit", tmp_path, "--pairs", "a_", "b_", "--winner", "won",
               "-o", tmp_path / "m.skops", code=2)  # fmt: skip
    assert "got '0', '1', '2'" in done.output


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
    plain = LinearClassifierMixture(1).fit(matrix(kept, model), kept["liked"].to_numpy())
    np.testing.assert_allclose(model.mixture.coef_, plain.coef_, rtol=1e-7)
    filled = frame.with_columns(
        taste=pl.col("taste").fill_null(pl.col("taste").mean()),
        colour=pl.col("colour").fill_null("red"),
    )
    model = load(tmp_path / "impute.skops")
    plain = LinearClassifierMixture(1).fit(matrix(filled, model), filled["liked"].to_numpy())
    np.testing.assert_allclose(model.mixture.coef_, plain.coef_, rtol=1e-7)
    # every row gets a line; rows with gaps get no answer, or that of the filled row
    run("predict", tmp_path / "drop.skops", tmp_path / "gaps.csv", "-o", tmp_path / "p.parquet")
    table = pl.read_parquet(tmp_path / "p.parquet")
    assert len(table) == 2_000
    assert table["prediction"].null_count() == table["probability_yes"].null_count() == 300
    rows = frame.with_row_index().drop_nulls()["index"]
    P = load(tmp_path / "drop.skops").mixture.predict_proba(
        load(tmp_path / "drop.skops").named(matrix(kept, model))
    )
    np.testing.assert_allclose(table["probability_yes"].gather(rows), P[:, 1], rtol=1e-9)
    run("predict", tmp_path / "impute.skops", tmp_path / "gaps.csv", "-o", tmp_path / "p.parquet")
    assert pl.read_parquet(tmp_path / "p.parquet").null_count().sum_horizontal().item() == 0


BAD = [
    (["fit", "no.csv", "--label", "liked"], "There is no file 'no.csv'"),
    (["fit", "ratings.csv"], "Which column holds the labels?"),
    (["fit", "ratings.csv", "--label", "likd"], "has no column 'likd'; did you mean 'liked'?"),
    (["fit", "ratings.csv", "--label", "liked", "--group", "persn"], "did you mean 'person'?"),
    (["fit", "ratings.csv", "--label", "liked", "-k", "two"], "-k must be auto or a whole number"),
    (["fit", "ratings.csv", "--label", "liked", "-k", "0"], "-k must be auto or a whole number"),
    (["fit", "ratings.csv", "--label", "liked", "--lable", "x"], "No such option: --lable"),
    (["fit", "ratings.csv", "--label", "liked", "--missing", "zero"], "--missing must be error"),
    (["fit", "ratings.csv", "--label", "liked", "--response", "linear"], "--response must be"),
    (["fit", "ratings.csv", "--label", "liked", "--l2", "-1"], "--l2 must be 0 or more"),
    (["fit", "ratings.csv", "--label", "liked", "--l2", "nan"], "--l2 must be 0 or more"),
    (["fit", "ratings.csv", "--label", "liked"], "'person' (such as 'p"),
    (["fit", "ratings.csv", "--label", "person", "--drop", "liked"], "has 200 different values"),
    (["fit", "dates.csv", "--label", "liked"], "'when' (dates or times)"),
    (["fit", "one.csv", "--label", "liked", "--drop", "person"], "only one class, 'yes'"),
    (["fit", "empty.csv", "--label", "liked"], "Empty CSV file"),
    (["fit", "header.csv", "--label", "liked"], "has no rows"),
    (["fit", "fake.parquet", "--label", "liked"], "is no Parquet file that can be read"),
    (["fit", "notes.txt", "--label", "liked"], "is not of a kind that can be read"),
    (["fit", "void", "--label", "liked"], "is a folder without a file"),
    (["fit", "ratings.csv", "--label", "liked", "-o", "ratings.csv"], "is a file that is read"),
    (["fit", "ratings.csv", "--label", "liked", "-o", "void"], "is a folder: name a file"),
    (["fit", "ratings.csv", "--winner", "liked"], "--winner belongs to --pairs"),
    (["fit", "ratings.csv", "--pairs", "a_", "b_", "--label", "liked"], "needs --winner COLUMN"),
    (["fit", "ratings.csv", "--pairs", "a_", "b_", "--winner", "liked"], "No column occurs twice"),
    (["predict", "no.skops", "ratings.csv"], "There is no file 'no.skops'"),
    (["predict", "ratings.csv", "ratings.csv"], "is not a model of spectralmirror"),
    (["predict", "model.skops", "dates.csv"], "has no column 'taste'"),
    (["predict", "model.skops", "mauve.csv"], "holds 'mauve', which did not occur"),
    (["predict", "model.skops", "ratings.csv", "-o", "p.xlsx"], "must end in .parquet"),
    (["predict", "model.skops", "ratings.csv", "--keep", "id"], "has no column 'id'"),
    (["predict", "model.skops", "ratings.csv", "--history", "no.csv"], "There is no file"),
    (["cluster", "model.skops", "one.csv", "--keep", "row_classifier"], "cannot be kept"),
    (["cluster", "model.skops", "other.csv"], "holds 'maybe', but the labels that were fitted"),
    (["inspect", "cut.skops"], "or was cut off or damaged"),
    (["inspect", "notes.txt"], "is not a model of spectralmirror"),
    (["report", "model.skops", "no.csv"], "There is no file 'no.csv'"),
    (["simulate", "--rows", "0"], "Invalid value for '--rows'"),
    (["simulate", "--norm", "-1", "-o", "s.csv"], "profile_norm must be a positive number"),
    (["simulate", "-o", "s.txt"], "must end in .parquet"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=lambda value: " ".join(value)[:60])
def test_bad_input_gets_one_sentence_and_leaves_nothing(
    people, fitted, tmp_path, monkeypatch, arguments, sentence
):
    monkeypatch.chdir(tmp_path)
    frame = people[0]
    for name in ("ratings.csv", "model.skops"):
        os.link(fitted / name, name)
    pl.DataFrame({"when": ["2020-01-01", "2020-01-02"], "liked": [1, 0]}).write_csv("dates.csv")
    frame.filter(pl.col("liked") == "yes").write_csv("one.csv")
    frame[:50].with_columns(colour=pl.lit("mauve")).write_csv("mauve.csv")
    frame[:50].with_columns(liked=pl.lit("maybe")).write_csv("other.csv")
    for name, text in (("empty.csv", ""), ("header.csv", "a,b,liked\n"), ("fake.parquet", "hm"),
                       ("notes.txt", "a,liked\n1,2\n")):  # fmt: skip
        (tmp_path / name).write_text(text)
    (tmp_path / "void").mkdir()
    (tmp_path / "cut.skops").write_bytes((fitted / "model.skops").read_bytes()[:-900])
    before = sorted(tmp_path.rglob("*"))
    done = run(*arguments, code=2)
    assert sentence in " ".join(done.output.split())
    assert sorted(tmp_path.rglob("*")) == before


def test_json_is_all_that_is_printed(fitted, tmp_path):
    told = json.loads(
        run("fit", fitted / "ratings.csv", "--label", "liked", "--drop", "person", "-k", 2,
            "-o", tmp_path / "m.skops", "--json").stdout
    )  # fmt: skip
    assert told["n_components"] == 2
    assert sum(c["weight"] for c in told["classifiers"]) == pytest.approx(1)
    terms = [term["term"] for term in told["classifiers"][0]["terms"]]
    assert terms == ["(weight)", "(intercept)", *told["features"]]
    inspected = json.loads(run("inspect", tmp_path / "m.skops", "--json").stdout)
    assert inspected["written_by"].startswith("spectralmirror 0.")
    assert inspected["classifiers"] == told["classifiers"]
    for command in ("predict", "cluster"):
        out = tmp_path / "out.parquet"
        arguments = (command, tmp_path / "m.skops", fitted / "ratings.csv", "-o", out)
        assert json.loads(run(*arguments, "--json").stdout)["n_rows"] == 2_000
        assert run(*arguments, "--quiet").output == ""


def test_inspect_shows_columns_and_estimates(fitted):
    told = run("inspect", fitted / "model.skops").stdout
    for words in (
        "written by spectralmirror 0.",
        "group 'person'",
        "colour: green, blue; compared with red",
        "Classifier B",
        "smoker=true",
        "std. error",
    ):
        assert words in told


def test_simulated_data_have_the_truth_that_they_tell(tmp_path):
    out, truth = tmp_path / "s.parquet", tmp_path / "truth.json"
    run(
        "simulate",
        "-o",
        out,
        "-n",
        4_000,
        "-d",
        3,
        "--group-size",
        20,
        "--truth",
        truth,
        "--reveal",
    )
    told = json.loads(truth.read_text())
    frame = pl.read_parquet(out)
    assert frame.columns == ["x0", "x1", "x2", "label", "group", "classifier"]
    scores = frame[["x0", "x1", "x2"]].to_numpy() @ np.array(told["profiles"]).T
    p = expit(scores[np.arange(4_000), frame["classifier"].to_numpy()])
    z = ((frame["label"].to_numpy() == 1) - p).sum() / np.sqrt((p * (1 - p)).sum())
    assert abs(z) < 4
    again = tmp_path / "again.parquet"
    run("simulate", "-o", again, "-n", 4_000, "-d", 3, "--group-size", 20, "--reveal")
    assert frame.equals(pl.read_parquet(again))


def test_names_of_experiments_are_those_that_exist():
    assert [*EXPERIMENTS, "all"] == NAMES


@pytest.mark.parametrize("command", ["demo", "fit", "inspect", "report", "predict", "cluster",
                                     "simulate", "reproduce"])  # fmt: skip
def test_help_has_examples(command):
    told = run(command, "--help").stdout
    assert "For example:" in told
    assert f"spectralmirror {command}" in told.split("For example:")[1]


@pytest.mark.parametrize("command", [None, *app.registered_commands])
def test_help_reads_well_on_80_columns(command):
    told = app.registered_callback.help if command is None else command.help
    arguments = ["--help"] if command is None else [command.callback.__name__, "--help"]
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "NO_COLOR": "1"}).stdout
    lines = [line.rstrip() for line in shown.split("╭")[0].splitlines()]
    examples = [line for line in told.splitlines() if line.startswith("  ")]
    assert examples
    assert {f" {line}" for line in examples} <= set(lines)  # indented, each on a line
    text = [line for line in lines if line.startswith(" ") and not line.startswith("   ")]
    for line, following in pairwise(text):
        if following in lines[lines.index(line) + 1 : lines.index(line) + 2]:  # goes on
            assert len(f"{line} {following.split()[0]}") > 79  # no line ends early


def test_help_does_not_wait_for_imports():
    code = "import sys, spectralmirror.cli; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert not {"sklearn", "scipy", "pyarrow", "polars", "matplotlib", "skops"} & set(
        modules.split()
    )


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("spectralmirror reproduce fig", ["figure1", "figure2", "figure3", "figure4"]),
        ("spectralmirror fit ratings.csv --label l", ["liked"]),
        ("spectralmirror predict model.skops ratings.csv --keep p", ["person", "price"]),
        ("spectralmirror fit no.csv --label l", []),
        ("spectralmirror fit ratings.csv --missing i", ["impute"]),
    ],
)
def test_completion_offers_names_and_columns(fitted, words, offered):
    shown = subprocess.run(
        [Path(sys.executable).with_name("spectralmirror")],
        env={
            **os.environ,
            "_SPECTRALMIRROR_COMPLETE": "complete_bash",
            "COMP_CWORD": str(len(words.split()) - 1),
            "COMP_WORDS": words,
        },
        cwd=fitted,
        capture_output=True,
        text=True,
    )
    assert shown.stdout.split() == offered


#: Work that never ends, once it has told that it is under way.
ENDLESS = """
import time
from spectralmirror.mixture import LinearClassifierMixture
import spectralmirror.report.writer

def work(*_, **__):
    print("under way", flush=True)
    time.sleep(600)

LinearClassifierMixture.{method} = work
from spectralmirror.__main__ import main
main()
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        (
            "fit",
            ["fit", "ratings.csv", "--label", "liked", "--drop", "person", "-o", "new/m.skops"],
        ),
        ("predict_proba", ["predict", "model.skops", "ratings.csv", "-o", "new/p.parquet"]),
        ("component_proba", ["cluster", "model.skops", "ratings.csv", "-o", "new/c.csv"]),
        ("predict_proba", ["report", "model.skops", "ratings.csv", "-o", "new/r.html"]),
    ],
    ids=["fit", "predict", "cluster", "report"],
)
def test_an_interruption_leaves_nothing(fitted, tmp_path, sent, method, arguments):
    for name in ("ratings.csv", "model.skops"):
        os.link(fitted / name, tmp_path / name)
    command = [sys.executable, "-c", ENDLESS.format(method=method), *arguments]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as work:
        assert work.stdout.readline() == "under way\n"
        work.send_signal(sent)
        _, told = work.communicate(timeout=60)
    assert work.returncode == 1
    assert told.strip() == "Interrupted. Nothing was written."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.skops", "ratings.csv"]


def test_a_bar_is_shown_on_a_terminal_and_nowhere_else(tmp_path):
    run("simulate", "-o", tmp_path / "data.parquet", "-n", 20_000, "-d", 10, "-k", 3)
    command = [*COMMAND, "fit", "data.parquet", "--label", "label", "-k", "3"]
    ours, theirs = pty.openpty()
    work = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert work.wait(60) == 0
    assert b"fitting" in shown
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert plain.stderr == ""
    assert "3 hidden classifiers" in plain.stdout


def test_report_is_written_and_its_data_printed(fitted, tmp_path):
    page = tmp_path / "new" / "report.html"
    report = ("report", fitted / "model.skops", fitted / "ratings.csv", "-o", page)
    data = json.loads(run(*report, "--json").stdout)
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert len(text) < 2_000_000
    for words in ("liked", "colour", "Classifier B", "against ‘red’"):
        assert words in text
    assert data["rows"]["looked_at"] == 2_000
    assert data["held_out"]["history"]["verdict"] == "better"
    before = page.read_bytes()
    assert run(*report, "--quiet").output == ""
    assert page.read_bytes() == before  # the same rows, the same page


def test_demo_finds_the_two_people(tmp_path):
    folder = tmp_path / "demo"
    told = json.loads(run("demo", "-o", folder, "--json").stdout)
    assert told["n_components"] == 2
    assert told["evenings_named_rightly"] > 0.97  # 0.994, with an error of 0.0035
    assert sorted(path.name for path in folder.iterdir()) == [
        "model.skops", "ratings.csv", "report.html"
    ]  # fmt: skip
    assert told["references"]["language=french"] == "english"
    printed = run("demo", "-o", folder).stdout
    assert f"Report: {folder / 'report.html'}" in printed


def test_samples_for_reports_are_whole_groups_however_files_are_divided(
    people, fitted, tmp_path, monkeypatch
):
    model = load(fitted / "model.skops")
    for i in range(3):
        people[0][700 * i : 700 * (i + 1)].write_csv(tmp_path / f"{i}.csv")
    drawn = []
    for most in (10_000_000, 3_000):
        monkeypatch.setattr("spectralmirror.tables.table_sample.MOST_VALUES", most)
        for source in (fitted / "ratings.csv", tmp_path):
            drawn.append(sample_rows(model, readers_of(source), None, lambda n: None))
    assert [rows.n_rows for rows in drawn] == [2_000] * 4
    whole, _, some, parts = drawn
    assert len(whole.X) == 2_000
    assert (whole.groups == people[0]["person"].to_numpy()).all()
    assert 100 < len(some.X) <= 1_000
    assert set(np.unique(some.groups, return_counts=True)[1]) == {10}
    np.testing.assert_array_equal(some.X, parts.X)
    assert some.table.equals(parts.table)
    assert some.table.columns == ["taste", "price", "colour", "smoker"]


def test_files_of_folders_and_globs_are_not_written_over(people, fitted, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for i in range(2):
        people[0][1_000 * i : 1_000 * (i + 1)].write_csv(data / f"{i}.csv")
    before = (data / "1.csv").read_bytes()
    for source in ([data], [data / "*.csv"], [data / "0.csv", "--history", data / "1.csv"]):
        done = run("predict", fitted / "model.skops", *source, "-o", data / "1.csv", code=2)
        assert "is a file that is read" in done.output
    assert (data / "1.csv").read_bytes() == before


def test_a_history_of_other_groups_is_refused(people, fitted, tmp_path):
    people[0].with_columns(person=pl.int_range(2_000)).write_csv(tmp_path / "other.csv")
    arguments = ("predict", fitted / "model.skops", fitted / "ratings.csv")
    history = ("--history", tmp_path / "other.csv")
    done = run(*arguments, *history, "-o", tmp_path / "new" / "p.csv", code=2)
    assert "No value of 'person' occurs in the history, which has values such as 0" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_nothing_but_files_is_written(fitted):
    arguments = ("fit", fitted / "ratings.csv", "--label", "liked", "--drop", "person")
    assert "is a device or a pipe" in run(*arguments, "-o", "/dev/null", code=2).output


@pytest.mark.parametrize("command", [["--help"], ["inspect", "model.skops"],
                                     ["inspect", "model.skops", "--json"]])  # fmt: skip
def test_no_room_for_what_is_printed_is_told(fitted, command):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *command], cwd=fitted, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert re.fullmatch(r"No space left on device.*\n", done.stderr)


GROUPS = {
    "date": lambda g: g.cast(pl.Date),
    "nanoseconds": lambda g: (g * 10**9).cast(pl.Datetime("ns")),
    "duration": lambda g: g.cast(pl.Duration("us")),
    "beyond int64": lambda g: g.cast(pl.UInt64) + (2**63 + 5),
    "category": lambda g: g.cast(pl.String).cast(pl.Categorical),
    "float": lambda g: g * 0.5,
}


@pytest.mark.parametrize("kind", GROUPS)
def test_groups_of_all_kinds_keep_their_values(tmp_path, kind):
    rng = np.random.default_rng(0)
    g = np.repeat(np.arange(40), 10)
    x = rng.normal(size=(400, 2))
    y = rng.uniform(size=400) < expit(4 * np.where(g % 2, -1, 1) * x[:, 0])
    groups = GROUPS[kind](pl.Series("g", g))
    data = tmp_path / "data.parquet"
    pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "g": groups, "y": y}).write_parquet(data)
    model, out = tmp_path / "model.skops", tmp_path / "out.parquet"
    run("fit", data, "--label", "y", "--group", "g", "-k", 2, "-o", model)
    run("cluster", model, data, "--by-group", "-o", out)
    found = pl.read_parquet(out)
    assert list(map(str, found["g"].to_list())) == list(map(str, groups[::10].to_list()))
    assert component_error(np.arange(40) % 2, (found["classifier"] == "B").to_numpy()) < 0.1
    run("predict", model, data, "--history", data, "-o", out)
    assert pl.read_parquet(out)["g"].to_list() == groups.to_list()


def test_labels_mean_the_same_in_files_of_other_kinds(people, tmp_path):
    frame = people[0].select("taste", "price", liked=(pl.col("liked") == "yes").cast(int).cast(str))
    frame.write_parquet(tmp_path / "text.parquet")
    frame.write_csv(tmp_path / "numbers.csv")
    model, found = tmp_path / "m.skops", []
    run("fit", tmp_path / "text.parquet", "--label", "liked", "-k", 2, "-o", model)
    for name in ("text.parquet", "numbers.csv"):
        run("cluster", model, tmp_path / name, "-o", tmp_path / "out.parquet")
        found.append(pl.read_parquet(tmp_path / "out.parquet"))
    assert found[0].equals(found[1])


def test_reports_on_other_rows_say_how_many_were_fitted(people, fitted, tmp_path):
    people[0][:300].write_csv(tmp_path / "some.csv")
    told = run("report", fitted / "model.skops", tmp_path / "some.csv", "--json",
               "-o", tmp_path / "r.html").stdout  # fmt: skip
    assert json.loads(told)["rows"]["fitted"] == 2_000
    assert json.loads(told)["rows"]["looked_at"] == 300
    page = (tmp_path / "r.html").read_text()
    for words in ("label_names", "looked at"):
        assert words not in page
    assert f"300\u00a0rows of {tmp_path / 'some.csv'}" in page


ODD = {
    "twice": (["a.csv", "--label", "y", "--group", "y"], "cannot be both the label and the group"),
    "late": (["late.csv", "--label", "y"], "column 'x': "),
    "bytes": (["bytes.parquet", "--label", "y"], "'t' (bytes, or text that is not UTF-8"),
    "empty": (["empty.parquet", "--label", "y"], "missing in some of 4 rows: 'c' 1"),
    "nested": (["nested.parquet", "--label", "y", "--group", "g"], "must be a single value"),
    "types": (["a.csv", "b.csv", "--label", "y"], "holds string in b.csv, but int64 in a.csv"),
    "classes": (["a.csv", "--label", "x"], "Label 'x' has 4 different values"),
    "gaps": (["gaps.parquet", "--label", "y", "--group", "g"], "rows: 'g' 1. Leave these rows out"),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_tables_get_one_sentence(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    x, y = [1, 5, 2, 7], [0, 1, 0, 1]
    pl.DataFrame({"x": x, "y": y}).write_csv("a.csv")
    pl.DataFrame({"x": list("uvwu"), "y": y}).write_csv("b.csv")
    late = "x,y\n" + "1.5,0\n2.5,1\n" * 100_000 + "many,0\n"
    (tmp_path / "late.csv").write_text(late)
    pl.DataFrame({"t": [b"a", b"b"] * 2, "y": y}).write_parquet("bytes.parquet")
    pl.DataFrame({"c": ["u", "", "v", "u"], "y": y}).write_parquet("empty.parquet")
    pl.DataFrame({"x": x, "g": [[1], [2]] * 2, "y": y}).write_parquet("nested.parquet")
    pl.DataFrame({"x": x, "g": [1, None, 2, 3], "y": y}).write_parquet("gaps.parquet")
    arguments, sentence = ODD[kind]
    assert sentence in run("fit", *arguments, code=2).output


def test_infinity_is_no_missing_value(fitted, people, tmp_path):
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


def test_filled_rows_are_counted(people, fitted, tmp_path):
    people[0].with_columns(
        colour=pl.when(pl.int_range(2_000) < 7).then(pl.lit("mauve")).otherwise("colour"),
        taste=pl.when(pl.int_range(2_000) < 10).then(None).otherwise("taste"),
    ).write_csv(tmp_path / "gaps.csv")
    done = run("predict", fitted / "model.skops", tmp_path / "gaps.csv", "--missing", "impute",
               "-o", tmp_path / "p.csv")  # fmt: skip
    assert "were filled in 10 rows" in done.stdout


def test_rows_that_are_left_out_do_not_make_features(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "x": rng.normal(size=100),
            "c": ["only", *["u", "v", "w"] * 33],
            "flat": [7.0, *[3.0] * 99],
            "far": [1e6, *rng.normal(size=99)],
            "y": [None, *rng.choice([0, 1], size=99)],
        }
    )
    frame.write_parquet(tmp_path / "d.parquet")
    arguments = ("fit", tmp_path / "d.parquet", "--label", "y", "-k", 1, "-o", tmp_path / "m.skops")
    for missing in ("drop", "impute"):
        told = run(*arguments, "--missing", missing).stdout
        assert "'flat' holds the same value in all rows" in told
        recipe = load(tmp_path / "m.skops").recipe
        assert not [name for name in recipe.names if "only" in name or name == "flat"]
        assert abs(recipe.terms[2].mean) < 1
    gap = frame.with_columns(y=frame["y"].fill_null(1), x=pl.when(pl.int_range(100) > 0).then("x"))
    gap.write_parquet(tmp_path / "d.parquet")
    run(*arguments, "--missing", "drop")
    assert load(tmp_path / "m.skops").recipe.names == recipe.names


def test_comparisons_leave_out_what_both_sides_share(tmp_path):
    rng = np.random.default_rng(0)
    x, age = rng.normal(size=(2, 200)), rng.integers(20, 60, size=200).astype(float)
    sex, brand = rng.choice(["f", "m"], size=200), rng.choice(["u", "v"], size=(2, 200))
    won = rng.uniform(size=200) < expit(2 * (x[0] - x[1]))
    pl.DataFrame(
        {"a_x": x[0], "b_x": x[1], "a_age": age, "b_age": age, "a_sex": sex, "b_sex": sex,
         "a_brand": brand[0], "b_brand": brand[1], "a_code": rng.integers(1, 4, 200),
         "b_code": rng.integers(1, 4, 200), "won": won}
    ).write_parquet(tmp_path / "pairs.parquet")  # fmt: skip
    arguments = ("fit", tmp_path / "pairs.parquet", "--pairs", "a_", "b_", "--winner", "won",
                 "-k", 1, "-o", tmp_path / "m.skops")  # fmt: skip
    told = run(*arguments, "--categorical", "a_code,b_code").stdout
    assert "'age' does not tell the sides apart" in told
    names = load(tmp_path / "m.skops").recipe.names
    assert [name.partition("=")[0] for name in names] == ["x", "brand", "code", "code"]
    run(*arguments, "--features", "a_x,brand")
    assert len(load(tmp_path / "m.skops").recipe.names) == 2


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
        "--missing", "drop", "-o", model)  # fmt: skip
    run("predict", model, *files, "--keep", "id", "-o", out)
    read_csv = partial(pl.read_csv, infer_schema_length=None)
    table = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "csv": read_csv}[suffix](out)
    assert table["id"].dtype == pl.Float64
    assert table["prediction"].null_count() == 1_000
    assert table["person"].cast(pl.String).to_list() == people[0]["person"].to_list()


def test_reports_of_comparisons_speak_of_sides(tmp_path):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 400, 2))
    won = np.where(rng.uniform(size=400) < expit(2 * (A - B)[:, 0]), "left", "right")
    columns = {"left_x": A[:, 0], "left_z": A[:, 1], "right_x": B[:, 0], "right_z": B[:, 1]}
    pl.DataFrame({**columns, "choice": won}).write_csv(tmp_path / "pairs.csv")
    model, page = tmp_path / "m.skops", tmp_path / "r.html"
    told = run("fit", tmp_path / "pairs.csv", "--pairs", "left_", "right_", "--winner", "choice",
               "-k", 2, "-o", model).stdout  # fmt: skip
    assert "behind 'choice' (left or right)" in told
    run("report", model, tmp_path / "pairs.csv", "-o", page)
    text = page.read_text()
    assert "left wins" in text
    assert "features are those of the left (left_...) less those of the right" in text
    assert "‘True’" not in text


def test_fit_tells_of_few_rows_and_of_numbers_almost_as_good(people, tmp_path):
    people[0][:60].write_csv(tmp_path / "few.csv")
    fit = ("--label", "liked", "--drop", "person", "-o", tmp_path / "m.skops")
    assert (
        "60 rows are few for 13 parameters"
        in run("fit", tmp_path / "few.csv", *fit, "-k", 2).stdout
    )
    run("simulate", "-o", tmp_path / "s.parquet", "-n", 1_500, "-d", 3, "-k", 2, "--norm", 2)
    fit = ("--label", "label", "-o", tmp_path / "m.skops", "--json")
    told = json.loads(run("fit", tmp_path / "s.parquet", *fit).stdout)
    path = sorted(told["bic_path"].values())
    printed = run("fit", tmp_path / "s.parquet", *fit[:-1]).stdout
    assert ("almost as good" in printed) == (path[1] - path[0] < 10)


REFUSED = {
    "?": ("numbers, but also '?'", lambda i: "?" if i == 3 else str(i)),
    "comma": ("numbers with a decimal comma, such as '0,5'", lambda i: f"{i},5"),
    "words": ("(such as 'word 0')", lambda i: f"word {i}"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_text_that_is_no_category_is_told_for_what_it_is(tmp_path, kind):
    sentence, value = REFUSED[kind]
    frame = pl.DataFrame({"x": [value(i) for i in range(60)], "y": [0, 1] * 30})
    frame.write_csv(tmp_path / "d.tsv", separator="\t")
    assert sentence in run("fit", tmp_path / "d.tsv", "--label", "y", code=2).output
    done = run("fit", tmp_path / "d.tsv", "--label", "y", "--features", "x", code=2)
    assert "remove it from --features" in done.output

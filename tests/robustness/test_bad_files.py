"""A table of bad files: one sentence from every command that reads them, and exit code 2."""

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from spectralmirror.cli import app

RNG = np.random.default_rng(0)
N = 200
A = RNG.normal(size=N)
FRAME = pl.DataFrame(
    {
        "a": A,
        "b": RNG.normal(size=N),
        "y": np.where(RNG.logistic(size=N) < 2 * A, "yes", "no"),
        "g": np.arange(N) // 4,
    }
)
CSV = FRAME.write_csv()
#: Numbers with a decimal comma in quotation marks, between commas.
COMMAS = FRAME.select(
    pl.format('"{}"', pl.col("a", "b").cast(pl.String).str.replace(r"\.", ",")), "y", "g"
).write_csv(quote_style="never")


def text(content, encoding="utf-8"):
    return lambda path: path.write_bytes(content.encode(encoding))


def table(**columns):
    return lambda path: FRAME.with_columns(**columns).write_parquet(path)


def folder(**frames):
    def write(path):
        path.mkdir()
        for name, frame in frames.items():
            frame.write_csv(path / f"{name}.csv")

    return write


NOT_PARQUET, NOT_ARROW = "is not a readable Parquet file", "is not a readable Arrow file"
#: Name of the file, how to write it, what `fit` says, and what commands say that apply a model;
#: None where the file is as good as any other.
FILES = [
    ("empty.csv", text(""), "Empty CSV file", "Empty CSV file"),
    ("header.csv", text("a,b,y,g\n"), "has no rows", "There are no rows"),
    ("blank.csv", text("  \n \n"), "has no columns 'y', 'g'", "has no columns 'a', 'b'"),
    ("ragged.csv", text(CSV + "1,2\n"), "Expected 4 columns, got 2", "Expected 4 columns, got 2"),
    ("long.csv", text(CSV + "1,2,yes,3,4\n"), "Expected 4 columns, got 5", "Expected 4 columns"),
    ("quote.csv", text(CSV + '"1,2,yes,3\n'), "cannot be read: CSV parse", "cannot be read: CSV"),
    ("twice.csv", text(CSV.replace("a,b", "a,a", 1)), "two columns named 'a'", "two columns named"),
    ("words.csv", text(CSV + "tall,2,yes,3\n"), "'a' (numbers, but also 'tall')", "holds string"),
    ("comma.csv", text(COMMAS), "a decimal comma", "holds string"),
    (
        "late.csv",
        text(CSV + CSV.partition("\n")[2] * 500 + "many,2,yes,3\n"),
        "column 'a': ",
        "column 'a'",
    ),
    ("mark.csv", text(CSV + "?,2,yes,3\n"), "'a' (numbers, but also '?')", "holds string"),
    ("gap.csv", text(CSV + ",2,yes,3\n"), "Values are missing in some of 201 rows: 'a' 1", "'a' 1"),
    ("huge.csv", text(CSV + "1e999,2,yes,3\n"), "Values are infinite", "'a' of huge.csv holds inf"),
    ("more.csv", text(CSV + "1,2,maybe,3\n"), "has 3 different values", "holds 'maybe'"),
    ("unsure.csv", text(CSV + "1,2,,3\n"), "are missing in some of 201 rows: 'y' 1", "'y' 1"),
    ("latin.csv", text(CSV.replace("yes", "jä"), "latin-1"), "is not UTF-8", "is not UTF-8"),
    ("utf16.csv", text(CSV, "utf-16"), "it is UTF-16 text. Save", "it is UTF-16 text"),
    (
        "cut.csv.gz",
        lambda p: p.write_bytes(gzip.compress(CSV.encode())[:-40]),
        "cut.csv.gz",
        "cut.c",
    ),
    ("plain.csv.gz", text(CSV), "Not a gzipped file", "Not a gzipped file"),
    ("one.csv", text("a,b,y,g\n1,2,yes,3\n"), "'y' has only one class, 'yes'", None),
    ("other.xlsx", text(CSV), "is not of a kind that can be read", "is not of a kind that can be"),
    ("text.parquet", text(CSV), f"text.parquet {NOT_PARQUET}", f"text.parquet {NOT_PARQUET}"),
    ("empty.parquet", text(""), f"empty.parquet {NOT_PARQUET}", f"empty.parquet {NOT_PARQUET}"),
    ("empty.arrow", text(""), f"empty.arrow {NOT_ARROW}", f"empty.arrow {NOT_ARROW}"),
    ("stream.arrow", lambda p: FRAME.write_ipc_stream(p), NOT_ARROW, NOT_ARROW),
    ("rows.parquet", lambda p: FRAME.head(0).write_parquet(p), "has no rows", "There are no rows"),
    ("infinite.parquet", table(a=pl.lit(np.inf)), "'a' 200. Correct them", "holds infinity"),
    ("null.parquet", table(a=pl.lit(None, pl.Float64)), None, "'a' 200"),
    (
        "label.parquet",
        table(y=pl.lit(None, pl.String)),
        "The label 'y' is missing in all",
        "'y' 200",
    ),
    (
        "group.parquet",
        table(g=pl.lit(None, pl.Int64)),
        "The group 'g' is missing in all",
        "'g' 200",
    ),
    ("some.parquet", table(g=pl.col("g").replace(7, None)), "'g' 4. Leave these rows out", "'g' 4"),
    ("number.parquet", table(y=pl.col("a")), "Label 'y' is continuous", "Label 'y' holds -"),
    ("same.parquet", table(y=pl.lit(True)), "only one class, True", "Label 'y' holds True"),
    ("dates.parquet", table(d=pl.date(2020, 1, 1)), "'d' (dates or times)", None),
    ("spans.parquet", table(d=pl.duration(days=pl.col("g"))), "'d' (dates or times)", None),
    ("bytes.parquet", table(d=pl.lit(b"x")), "'d' (bytes, or text that is not UTF-8", None),
    ("lists.parquet", table(d=pl.concat_list("a", "b")), "'d' (large_list", None),
    ("structs.parquet", table(d=pl.struct("a", "b")), "'d' (struct", None),
    ("texts.parquet", table(d=pl.col("a").cast(pl.String)), "'d' (such as", None),
    (
        "words.parquet",
        table(d=pl.format("word {}", pl.int_range(N))),
        "'d' (such as 'word 0')",
        None,
    ),
    ("blanks.parquet", table(d=pl.lit("")), None, None),
    (
        "label_list.parquet",
        table(y=pl.concat_list("a", "b")),
        "a label or group must be a single value",
        "a label or group must be",
    ),
    (
        "nothing",
        lambda path: path.mkdir(),
        "is a folder without a file",
        "is a folder without a fi",
    ),
    ("kinds", folder(p=FRAME, q=FRAME.with_columns(b=pl.lit("x"))), "must agree", "must agree"),
    (
        "group_list.parquet",
        table(g=pl.concat_list("a", "b")),
        "a label or group must be a single value",
        "a label or group must be",
    ),
    (
        "less",
        folder(p=FRAME, q=FRAME.drop("b")),
        "less/q.csv has no column 'b'",
        "has no column 'b'",
    ),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    FRAME.write_parquet(folder / "rows.parquet")
    options = ["--label", "y", "--group", "g", "-k", "1", "-o", folder / "model.skops"]
    assert run("fit", folder / "rows.parquet", *options).exit_code == 0
    return folder / "model.skops"


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def assert_one_sentence(sentence, *arguments):
    before = sorted(Path().rglob("*"))
    done = run(*arguments)
    printed = " ".join(done.output.split())
    assert (done.exit_code, sentence in printed) == (2, True), f"{done.exit_code}: {printed}"
    assert "Traceback" not in printed
    assert "bug in spectralmirror" not in printed
    assert sorted(Path().rglob("*")) == before  # nothing was written, not even half


@pytest.mark.parametrize(("name", "write", "of_fit", "of_others"), FILES, ids=[f[0] for f in FILES])
def test_bad_files(model, tmp_path, monkeypatch, name, write, of_fit, of_others):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / name)
    fit = ("fit", name, "--label", "y", "--group", "g", "-k", "1", "-o", "m.skops")
    if of_fit is None:
        assert run(*fit, "--spread", "none").exit_code == 0
    else:
        assert_one_sentence(of_fit, *fit)
    if of_others is None:
        assert run("predict", model, name, "-o", "p.csv").exit_code == 0
        return
    assert_one_sentence(of_others, "cluster", model, name, "-o", "c.csv", "--by-group")
    assert_one_sentence(of_others, "report", model, name, "-o", "r.html")


def test_all_problems_of_a_file_are_told_at_once(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    row = pl.int_range(N)
    FRAME.with_columns(
        when=pl.date(2020, 1, 1),
        note=pl.format("word {}", row),
        far=pl.when(row == 3).then(np.inf).otherwise(1.5),
        b=pl.when(row < 9).then(None).otherwise(pl.col("b")),
        nothing=pl.lit(None),
        y=pl.when(row == 5).then(pl.lit("maybe")).otherwise(pl.col("y")),
    ).write_parquet("many.parquet")
    done = run("fit", "many.parquet", "--label", "y", "--group", "g", "-o", "m.skops")
    first, *problems = done.output.splitlines()
    assert (done.exit_code, first) == (2, "There are 5 problems:")
    told = ["'when' (dates", "'note' (such as", "'far' 1", "Label 'y' has 3", "rows: 'b' 9. Impute"]
    for problem, what in zip(problems, told, strict=True):
        assert problem.startswith("- ")
        assert what in problem
    FRAME.with_columns(a=pl.lit("tall"), b=pl.lit("wide")).write_parquet("words.parquet")
    done = run("predict", model, "words.parquet", "-o", "p.csv")
    assert done.output.count("string, but was a number") == 2  # "large_string" with newer polars
    assert list(tmp_path.glob("*.skops")) == []


@pytest.mark.parametrize("name", ["words.csv", "gap.csv", "empty.parquet", "rows.parquet", "less"])
def test_predictions_of_bad_files(model, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write, sentence = next(
        (write, of_others) for known, write, _, of_others in FILES if known == name
    )
    write(tmp_path / name)
    assert_one_sentence(sentence, "predict", model, name, "-o", "p.parquet")
    assert_one_sentence(sentence, "predict", model, name, "-o", "p.parquet", "--json")

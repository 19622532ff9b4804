"""A table of bad command lines: one sentence each, exit code 2, and nothing is written.

What is wrong inside a file is in tests/robustness/test_bad_files.py.
"""

import os
from pathlib import Path

import polars as pl
import pytest

from spectralmirror import SpectralMirror, save
from spectralmirror.datasets import make_linear_classifier_mixture
from tests.helpers.command_line import run

FIT = ["fit", "ratings.csv", "--label", "liked"]
GROUPED = [*FIT, "--group", "person"]
PAIRS = ["fit", "ratings.csv", "--pairs", "a_", "b_"]
COMPARE = ["compare", "ratings.csv", "--label", "liked"]
PREDICT = ["predict", "model.skops", "ratings.csv"]
#: Arguments, and part of the sentence.
BAD = [
    # options of fit
    (["fit", "no.csv", "--label", "liked"], "There is no file 'no.csv'"),
    (["fit", "ratings.csv"], "Which column holds the labels?"),
    (["fit", "ratings.csv", "--label", "likd"], "has no column 'likd'; did you mean 'liked'?"),
    ([*FIT, "--group", "persn"], "did you mean 'person'?"),
    ([*FIT, "--group", "persn", "--drop", "prize"], "did you mean 'person'? - ratings.csv has no"),
    ([*FIT, "--positive", "maybe"], "--positive must be a label of 'liked', 'no' or 'yes', got"),
    ([*PAIRS, "--winner", "liked", "--positive", "yes"], "--positive belongs to --label"),
    ([*FIT, "--separator", "ab"], "--separator must be one character, tab or space, got 'ab'"),
    ([*FIT, "--separator", "tab"], "has no column"),
    ([*FIT, "--group", "liked"], "cannot be both the label and the group"),
    ([*FIT, "--label", "price"], "--label was given 2 times"),
    ([*FIT, "-k", "2", "--components", "3"], "--components was given 2 times"),
    ([*FIT, "-k", "two"], "-k must be auto or an integer of at least 1, got 'two'"),
    ([*FIT, "-k", "0"], "-k must be auto or an integer of at least 1, got '0'"),
    ([*FIT, "--lable", "x"], "No such option: --lable"),
    ([*FIT, "--missing", "zero"], "'zero' is not one of 'error', 'impute', 'drop'"),
    ([*FIT, "--response", "linear"], "'linear' is not one of 'logistic', 'probit', 'hard'"),
    ([*FIT, "--l2", "-1"], "--l2 must be auto or a number of at least 0, got '-1'"),
    ([*FIT, "--l2", "nan"], "--l2 must be auto or a number of at least 0, got 'nan'"),
    ([*FIT, "--l2", "inf"], "--l2 must be auto or a number of at least 0, got 'inf'"),
    ([*FIT, "--l2", "Auto"], "--l2 must be auto or a number of at least 0, got 'Auto'"),
    ([*FIT, "--l2", ""], "--l2 must be auto or a number of at least 0, got ''"),
    ([*FIT, "--l2", "0"], "evidence, which needs a penalty: use --l2 auto or a number above 0"),
    ([*FIT, "--criterion", "aic"], "'aic' is not one of 'evidence', 'bic', 'icl'"),
    ([*FIT, "--spread", "diag"], "'diag' is not one of 'none', 'intercept', 'diagonal', 'factor'"),
    ([*FIT, "--spread", "diagonal"], "name the column of persons with --group COLUMN"),
    ([*GROUPED, "--spread", "full", "--response", "hard"], "needs --response logistic or probit"),
    ([*GROUPED, "--spread", "intercept", "--no-intercept"], "--spread intercept needs intercepts"),
    ([*PAIRS, "--winner", "liked", "--group", "person", "--spread", "intercept"],
     "--spread intercept needs intercepts, which --no-intercept and --pairs leave out"),
    ([*FIT, "--spred", "auto"], "No such option: --spred"),
    ([*FIT, "--starts", "0"], "Invalid value for '--starts'"),
    ([*FIT, "--seed", "-1"], "Invalid value for '--seed'"),
    (FIT, "'person' (such as 'p"),
    ([*FIT, "--features", "person"], "remove it from --features"),
    (["fit", "ratings.csv", "--label", "person", "--drop", "liked"], "has 200 different values"),
    ([*FIT, "-o", "ratings.csv"], "is an input file, too"),
    ([*FIT, "-o", "folder"], "is a folder: name a file"),
    ([*FIT, "-o", "/dev/null"], "is a device or a pipe: name a file"),
    (["fit", "ratings.csv", "--winner", "liked"], "--winner belongs to --pairs"),
    ([*PAIRS, "--label", "liked"], "needs --winner COLUMN"),
    ([*PAIRS, "--winner", "liked"], "No column occurs twice"),
    # models, files and columns of those that apply a model
    (["predict", "no.skops", "ratings.csv"], "There is no file 'no.skops'"),
    (["predict", "ratings.csv", "ratings.csv"], "is not a model of spectralmirror"),
    (["predict", "mirror.skops", "ratings.csv"], "holds a SpectralMirror, which has no columns"),
    (["predict", "model.skops", "dates.csv"], "has no columns 'taste', 'price'"),
    (["predict", "model.skops", "mauve.csv"], "holds 'mauve', which did not occur"),
    ([*PREDICT, "-o", "p.xlsx"], "must end in .parquet"),
    ([*PREDICT, "-o", "model.skops"], "is an input file, too"),
    ([*PREDICT, "--keep", "id"], "has no column 'id'"),
    ([*PREDICT, "--missing", "zero"], "'zero' is not one of 'error', 'impute', 'drop'"),
    ([*PREDICT, "--history", "no.csv"], "There is no file 'no.csv'"),
    ([*PREDICT, "--history", "nobody.csv"], "has no column 'person'"),
    (["predict", "spread.skops", "past.csv", "--history", "dates.csv"], "has no columns 'taste', "),
    (["predict", "spread.skops", "past.csv", "--history", "nobody.csv"], "has no column 'person'"),
    (["predict", "spread.skops", "nobody.csv", "--history", "past.csv"],
     "--history needs the groups of the rows: column 'person'"),
    (["predict", "spread.skops", "past.csv", "--history", "ratings.csv"],
     "No value of 'person' occurs in the history, which has values such as 'p"),
    (["cluster", "spread.skops", "nobody.csv"], "has no column 'person'"),
    (["cluster", "spread.skops", "maybe.csv", "--by-group"], "holds 'maybe', but the labels"),
    (["cluster", "model.skops", "ratings.csv", "--keep", "row_classifier"], "cannot be kept"),
    (["cluster", "model.skops", "ratings.csv", "--keep", "price", "--by-group"], "leave one out"),
    (["cluster", "single.skops", "ratings.csv", "--by-group"], "was fitted without --group"),
    (["cluster", "model.skops", "maybe.csv"], "holds 'maybe', but the labels that were fitted"),
    (["inspect", "cut.skops"], "or was cut off or damaged"),
    (["inspect", "dates.csv"], "is not a model of spectralmirror"),
    (["report", "model.skops", "no.csv"], "There is no file 'no.csv'"),
    (["effects", "model.skops", "ratings.csv", "--features", "prize"],
     "There is no feature 'prize'; did you mean 'price'?"),
    (["effects", "model.skops", "ratings.csv", "--label", "maybe"], "name one of 'no', 'yes'"),
    (["effects", "model.skops", "ratings.csv", "--level", "95"], "Invalid value for '--level'"),
    (["effects", "model.skops", "ratings.csv", "--ratio", "price"], "name two features as A/B"),
    (["effects", "model.skops", "mauve.csv"], "holds 'mauve', which did not occur"),
    (["effects", "mirror.skops", "ratings.csv"], "holds a SpectralMirror, which has no columns"),
    (["report", "model.skops", "ratings.csv", "--comparison", "dates.csv"], "is no comparison"),
    (["report", "model.skops", "ratings.csv", "--comparison", "no.json"], "There is no file 'no.j"),
    (["bootstrap", "model.skops", "ratings.csv", "-n", "1"], "Invalid value for '--resamples'"),
    (["bootstrap", "model.skops", "ratings.csv", "-o", "ratings.csv"], "is an input file, too"),
    (["bootstrap", "model.skops", "ratings.csv", "--jobs", "-2"], "--jobs must be at least 1"),
    (["bootstrap", "model.skops", "ratings.csv", "--known", "kind"], "has no column 'kind'"),
    # comparisons
    (COMPARE[:2], "Which column holds the labels?"),
    ([*COMPARE, "--max-components", "1"], "Invalid value for '--max-components'"),
    ([*COMPARE, "--resamples", "-1"], "Invalid value for '--resamples'"),
    ([*COMPARE, "--jobs", "0"], "--jobs must be at least 1, or -1"),
    ([*COMPARE, "--plot", "p.txt"], "must end in .svg, .png or .pdf"),
    ([*COMPARE, "--plot", "p.svg", "-o", "p.svg"], "--plot and --output cannot both be p.svg"),
    ([*COMPARE, "-o", "ratings.csv"], "is an input file, too"),
    ([*COMPARE, "--spread", "diagonal"], "name the column of persons with --group COLUMN"),
    ([*COMPARE, "-k", "2"], "No such option: -k"),
    ([*COMPARE, "--drop", "prize"], "has no column 'prize'; did you mean 'price'?"),
    # simulate and reproduce
    (["simulate", "--rows", "0"], "Invalid value for '--rows'"),
    (["simulate", "--norm", "-1", "-o", "s.csv"], "profile_norm must be a positive number"),
    (["simulate", "--response", "linear"], "'linear' is not one of 'logistic', 'probit', 'hard'"),
    (["simulate", "-o", "s.txt"], "must end in .parquet"),
    (["simulate", "-o", "s.csv", "--truth", "s.csv"], "--truth and --output cannot both be s.csv"),
    (["reproduce"], "Missing argument 'NAME"),
    (["reproduce", "figure9"], "'figure9' is not one of 'figure1', 'figure2'"),
    (["reproduce", "figure1", "Figure2"], "'Figure2' is not one of"),
    (["reproduce", "figure1", "--jobs", "0"], "--jobs must be at least 1, or -1"),
    (["reproduce", "figure1", "--jobs", "-3"], "--jobs must be at least 1, or -1"),
    (["reproduce", "figure1", "--jobs", "two"], "Invalid value for '--jobs' / '-j'"),
    (["reproduce", "figure1", "--quik"], "No such option: --quik"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(people, fitted, different, tmp_path_factory):
    """Files that the table names."""
    folder, frame = tmp_path_factory.mktemp("bad"), people[0]
    for name in ("ratings.csv", "model.skops"):
        os.link(fitted / name, folder / name)
    os.link(different / "model.skops", folder / "spread.skops")
    os.link(different / "past.csv", folder / "past.csv")
    (folder / "cut.skops").write_bytes((fitted / "model.skops").read_bytes()[:-900])
    run("fit", folder / "ratings.csv", "--label", "liked", "--drop", "person", "-k", 1,
        "-o", folder / "single.skops")  # fmt: skip
    X, y, _ = make_linear_classifier_mixture(500, 3, random_state=0)
    save(SpectralMirror(1, random_state=0).fit(X, y), folder / "mirror.skops")
    dates = pl.DataFrame({"when": ["2020-01-01", "2020-01-02"], "liked": [1, 0]})
    dates.write_csv(folder / "dates.csv")
    frame[:50].with_columns(colour=pl.lit("mauve")).write_csv(folder / "mauve.csv")
    frame[:50].with_columns(liked=pl.lit("maybe")).write_csv(folder / "maybe.csv")
    frame[:50].drop("person").write_csv(folder / "nobody.csv")
    (folder / "folder").mkdir()
    return folder


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=lambda value: " ".join(value)[:60])
def test_bad_input_gets_one_sentence_and_leaves_nothing(folder, monkeypatch, arguments, sentence):
    monkeypatch.chdir(folder)
    before = sorted(Path().rglob("*"))
    done = run(*arguments, code=2)
    text = " ".join(done.output.replace("│", " ").split())
    assert sentence in text
    assert sorted(Path().rglob("*")) == before

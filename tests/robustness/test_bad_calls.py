"""A table of bad calls: entry point, what is passed, and the sentence that it gets.

test_bad_input.py has the same for what is passed to ``fit``, test_bad_files.py for commands.
"""

import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    SpectralMirror,
    WeakSignalWarning,
    load,
    pairwise_differences,
    save,
    scan,
)
from spectralmirror.datasets import make_linear_classifier_mixture as make
from spectralmirror.metrics import component_error, profile_error, subspace_error
from spectralmirror.plotting import plot_mirror, plot_profiles
from spectralmirror.report import write_report

X, Y, TRUTH = make(300, 3, random_state=0)
FRAME = pl.DataFrame(X, schema=list("abc")).with_columns(y=pl.Series(Y))
NAN = np.full((2, 3), np.nan)
EYE = np.eye(2)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.write_parquet("rows.parquet")
    Path("notes.txt").write_text("a,y\n1,2\n")
    before = sorted(tmp_path.rglob("*"))
    yield
    assert sorted(tmp_path.rglob("*")) == before  # nothing was written, not even half


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        return {
            "mixture": LinearClassifierMixture(1).fit(X, Y),
            "mirror": SpectralMirror(2, random_state=0).fit(X, Y),
        }


def fitted(**options):
    return LinearClassifierMixture(**options).fit(X, Y)


def source(**options):
    return scan("rows.parquet", **{"label": "y", **options})


PLAIN = {
    "make: no rows": (lambda: make(0), "n_samples must be a whole number of at least 1, got 0"),
    "make: half a row": (lambda: make(2.5), "n_samples must be a whole number"),
    "make: no features": (lambda: make(10, 0), "n_features must be a whole number"),
    "make: no components": (lambda: make(9, 2, n_components=0), "n_components must be a whole"),
    "make: no group": (lambda: make(9, 2, group_size=0), "group_size must be a whole number"),
    "make: response": (lambda: make(9, 2, response="logit"), "must be one of 'logistic', 'probit'"),
    "make: weights": (lambda: make(9, 2, weights=[0.5, 0.6]), "sum to 1, got"),
    "make: one weight": (lambda: make(9, 2, weights=[1.0]), "one number for each of 2 profiles"),
    "make: text weights": (lambda: make(9, 2, weights="ab"), "weights must hold numbers"),
    "make: NaN weights": (lambda: make(9, 2, weights=[np.nan, 1]), "weights must be 0 or more"),
    "make: mean": (lambda: make(9, 2, mean=[1, 2, 3]), "hold one for each of 2 features"),
    "make: covariance": (lambda: make(9, 2, covariance=np.eye(3)), r"must have shape \(2, 2\)"),
    "make: negative": (lambda: make(9, 2, covariance=-EYE), "positive variances on its diagonal"),
    "make: one profile": (lambda: make(9, profiles=[1, 2]), r"must be a table.*\[profiles\] for a"),
    "make: NaN profile": (lambda: make(9, profiles=NAN), "Input profiles contains NaN"),
    "make: norm": (lambda: make(9, 2, profile_norm=-1), "profile_norm must be a positive number"),
    "make: seed": (lambda: make(9, 2, random_state="a"), "'a' cannot be used to seed"),
    "truth: features": (lambda: TRUTH.expected_label(X[:, :2]), "X has 2 features, but the prof"),
    "truth: NaN": (lambda: TRUTH.expected_label(NAN), "contains NaN in column 0"),
    "span: columns": (lambda: subspace_error(EYE, np.eye(3)), "same number of columns, got 2 and"),
    "span: zero": (lambda: subspace_error(np.zeros((1, 2)), EYE), "A has only zero rows"),
    "span: NaN": (lambda: subspace_error(EYE, NAN), "Input B contains NaN"),
    "span: a vector": (lambda: subspace_error([1, 2], EYE), r"A must be a table.*use \[A\] for a"),
    "components: length": (lambda: component_error([1, 2], [1]), "inconsistent numbers of samples"),
    "components: none": (lambda: component_error([], []), "true and found are empty"),
    "components: NaN": (lambda: component_error([1, np.nan], [1, 2]), "true has missing values"),
    "profiles: shapes": (lambda: profile_error(EYE, np.eye(3)), "must have the same shape"),
    "profiles: zero": (lambda: profile_error(EYE * 0, EYE), "true has only zero profiles"),
    "pairs: rows": (lambda: pairwise_differences(X[:3], X[:2], [1, 0, 1]), "must have the same sh"),
    "pairs: winners": (lambda: pairwise_differences(X[:3], X[:3], [1, 0]), "winner has 2 values"),
    "pairs: ties": (
        lambda: pairwise_differences(X[:3], X[:3], ["left", "right", "tie"]),
        "The winner must be called left or right.*got 'left', 'right', 'tie'",
    ),
    "pairs: no winner": (
        lambda: pairwise_differences(X[:2], X[:2], ["left", None]),
        "winner is missing in row 1: leave such comparisons out",
    ),
    "pairs: columns": (
        lambda: pairwise_differences(FRAME[["a"]], FRAME[["b"]], Y > 0),
        r"must have the same columns; only one has \['a', 'b'\]",
    ),
    "pairs: text": (lambda: pairwise_differences([["a"]], [["b"]], [1]), "left must hold numbers"),
    "moments: features": (
        lambda: FeatureMoments.from_rows(X) + FeatureMoments.from_rows(X[:, :2]),
        "Only moments of the same features can be added",
    ),
    "moments: a row": (lambda: FeatureMoments.from_rows(X[0]), "must be a table of rows and col"),
    "load: nothing": (lambda: load("no.skops"), "There is no file 'no.skops'"),
    "load: a folder": (lambda: load("."), "is a folder, not a model"),
    "load: text": (lambda: load("notes.txt"), "notes.txt is not a model of spectralmirror"),
    "scan: nothing": (lambda: scan("no.csv", label="y"), "There is no file 'no.csv'"),
    "scan: empty glob": (lambda: scan("*.arrow", label="y"), r"There is no file '\*.arrow'"),
    "scan: kind": (lambda: scan("notes.txt", label="y"), "is not of a kind that can be read"),
    "scan: a number": (lambda: scan(5, label="y"), "scan cannot read int: pass paths"),
    "scan: no list": (lambda: scan({"a": 1}, label="y"), "scan cannot read dict"),
    "scan: label": (lambda: source(label="z"), "rows.parquet has no column 'z'"),
    "scan: misspelt": (lambda: source(label="yy"), "no column 'yy'; did you mean 'y'"),
    "scan: feature": (lambda: source(features=["a", "q"]), "has no column 'q'"),
    "scan: no feature": (lambda: source(features=[]), "has no column of numbers besides"),
    "scan: twice": (lambda: source(features=["a", "a"]), "'a' stands twice among the features"),
    "scan: label as feature": (lambda: source(features=["y"]), "'y' can be only one thing"),
    "scan: label as group": (lambda: source(groups="y"), "'y' can be only one thing"),
    "scan: groups": (lambda: source(groups="g"), "has no column 'g'"),
    "fit: scan and labels": (lambda: SpectralMirror(2).fit(source(), Y), "belong to the scan"),
    "fit: a path": (lambda: SpectralMirror(2).fit("rows.parquet"), "X is a path.*scan"),
    "fit: a Path": (lambda: SpectralMirror(2).fit(Path("a"), Y), "X is a path, 'a': fit spectral"),
    "fit: nothing": (lambda: SpectralMirror(2).fit(None, Y), "X must be a table.*got NoneType"),
    "fit: a dict": (lambda: SpectralMirror(2).fit({"a": [1]}, Y), "X must be a table.*got dict"),
    "fit: ragged": (lambda: SpectralMirror(2).fit([[1, 2], [1]], [0, 1]), "not all equally long"),
    "fit: one label": (lambda: SpectralMirror(2).fit(X, 1), "y must hold one label for each row"),
    "fit: a set": (lambda: SpectralMirror(2).fit(X, {0, 1}), "y must hold one label for each row"),
    "fit: k": (lambda: fitted(n_components=10**6), "n_components=1000000 exceeds the number of r"),
    "fit: l2": (lambda: fitted(l2=float("nan")), "'l2' parameter.*Got nan instead"),
    "fit: tol": (lambda: fitted(tol=0), "'tol' parameter"),
    "fit: seed": (lambda: fitted(random_state="a"), "'random_state' parameter"),
    "fit: a start": (lambda: fitted(init=[1.0, 2, 3]), r"init must be a table.*use \[init\]"),
}

OF_MODELS = {
    "predict: a row": (lambda m, _: m.predict(X[0]), "has one dimension.*reshape"),
    "predict: text": (lambda m, _: m.predict([["a", "b", "c"]]), "X must hold numbers, but column"),
    "predict: nothing": (lambda m, _: m.predict(None), "X must be a table.*got NoneType"),
    "predict: no rows": (lambda m, _: m.predict(X[:0]), "Found array with 0 sample"),
    "predict: infinity": (lambda m, _: m.predict(X[:1] * np.inf), "contains infinity in column 0"),
    "predict: a scan": (lambda m, _: m.predict(source()), r"source.map_to\('out.parquet'"),
    "predict: a path": (lambda m, _: m.predict("rows.parquet"), "X is a path"),
    "who: no label": (lambda m, _: m.component_proba(X, None), "y must hold one label for each"),
    "bic: labels": (lambda m, _: m.bic(X, Y[:3]), "X has 300 rows but y has 3 labels"),
    "sample: none": (lambda m, _: m.sample(0), "n_samples must be a whole number of at least 1"),
    "summary: level": (lambda m, _: m.summary(level=2), "level must lie between 0 and 1, got 2"),
    "transform: features": (lambda _, s: s.transform(X[:, :1]), "X has 1 features, but SpectralMi"),
    "transform: NaN": (lambda _, s: s.transform(NAN), "contains NaN in column 0: remove or impute"),
    "save: a folder": (lambda m, _: save(m, "."), "is a folder: name the file to write"),
    "report: labels": (
        lambda m, _: write_report(m, X, Y[:3], "r.html"),
        "X has 300 rows but y has",
    ),
    "report: others": (lambda m, _: write_report(m, X, Y > 0, "r.html"), "y must hold the labels"),
    "report: features": (lambda m, _: write_report(m, X[:, :2], Y, "r.html"), "X has 2 features"),
    "report: NaN": (
        lambda m, _: write_report(m, X * np.nan, Y, "r.html"),
        "contains NaN in column",
    ),
    "report: a folder": (lambda m, _: write_report(m, X, Y, "."), "is a folder: name the file"),
    "plot: labels": (lambda _, s: plot_mirror(s, X, Y * 2), "y must hold the labels that were fi"),
    "plot: NaN": (lambda _, s: plot_mirror(s, X * np.nan, Y), "contains NaN in column 0"),
    "map: a column": (
        lambda m, _: source().map_to("out.parquet", m.predict_proba, keep=["q"]),
        "rows.parquet has no column 'q' to keep",
    ),
    "map: features": (
        lambda m, _: source(features=["a"]).map_to("out.parquet", m.predict_proba),
        r"X has 1 features, but.*expecting 3 features as input \(rows.parquet, rows 0 to 299\)",
    ),
}


def assert_told(call, sentence):
    with pytest.raises((ValueError, OSError), match=sentence) as error:
        call()
    assert len(str(error.value)) < 400
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("call", "sentence"), PLAIN.values(), ids=PLAIN)
def test_one_clear_sentence(call, sentence):
    assert_told(call, sentence)


@pytest.mark.parametrize(("call", "sentence"), OF_MODELS.values(), ids=OF_MODELS)
def test_one_clear_sentence_of_fitted_models(models, call, sentence):
    assert_told(lambda: call(models["mixture"], models["mirror"]), sentence)


def test_things_of_another_kind(models):
    """A TypeError, as Python itself raises: no value of that kind would do."""
    for call, sentence in (
        (lambda: save(3, "x.skops"), "save stores models of spectralmirror, got int"),
        (lambda: load(3), "expected str, bytes or os.PathLike object, not int"),
        (lambda: FeatureMoments.from_rows(X) + 3, "unsupported operand"),
        (lambda: write_report(models["mirror"], X, Y, "r.html"), "got SpectralMirror"),
        (lambda: plot_profiles(models["mirror"]), "SpectralMirror"),
        (lambda: SpectralMirror(2).fit([{"a": 1}] * 4, [0, 1] * 2), "not 'dict'"),
    ):
        with pytest.raises(TypeError, match=sentence):
            call()

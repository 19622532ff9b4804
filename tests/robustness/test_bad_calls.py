"""Functions that are called incorrectly: one table for each.

test_bad_tables.py, test_bad_labels.py and test_bad_parameters.py have the same for ``fit``,
test_bad_use.py for fitted models, test_bad_files.py for commands.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from spectralmirror import FeatureMoments, SpectralMirror, load, pairwise_differences, save, scan
from spectralmirror.datasets import make_linear_classifier_mixture as make
from spectralmirror.metrics import component_error, profile_error, subspace_error
from tests.helpers.refusals import assert_refused

X, Y, TRUTH = make(300, 3, random_state=0)
FRAME = pl.DataFrame(X, schema=list("abc")).with_columns(y=pl.Series(Y))
NAN = np.full((2, 3), np.nan)
EYE = np.eye(2)
ONES = np.ones((2, 1))
HUGE = 10**400


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.write_parquet("rows.parquet")
    Path("notes.txt").write_text("a,y\n1,2\n")
    Path("notes.xlsx").write_text("")
    before = sorted(tmp_path.rglob("*"))
    yield
    assert sorted(tmp_path.rglob("*")) == before  # nothing was written, not even half


def source(**options):
    return scan("rows.parquet", **{"label": "y", **options})


MAKE = {
    "no rows": (lambda: make(0), "n_samples must be a whole number of at least 1, got 0"),
    "half a row": (lambda: make(2.5), "n_samples must be a whole number"),
    "no features": (lambda: make(10, 0), "n_features must be a whole number"),
    "no components": (lambda: make(9, 2, n_components=0), "n_components must be a whole"),
    "no group": (lambda: make(9, 2, group_size=0), "group_size must be a whole number"),
    "response": (lambda: make(9, 2, response="logit"), "must be one of 'logistic', 'probit'"),
    "weights": (lambda: make(9, 2, weights=[0.5, 0.6]), "weights must be 0 or more and sum to 1"),
    "negative weight": (lambda: make(9, 2, weights=[1.5, -0.5]), "weights must be 0 or more"),
    "one weight": (lambda: make(9, 2, weights=[1.0]), "one number for each of 2 profiles, got 1"),
    "text weights": (lambda: make(9, 2, weights="ab"), "weights must hold numbers"),
    "NaN weights": (lambda: make(9, 2, weights=[np.nan, 1]), "weights must be 0 or more"),
    "mean": (lambda: make(9, 2, mean=[1, 2, 3]), "mean must be.* one for each of 2 features"),
    "covariance": (lambda: make(9, 2, covariance=np.eye(3)), r"must have shape \(2, 2\), got"),
    "negative": (lambda: make(9, 2, covariance=-EYE), "positive variances on its diagonal"),
    "variances": (lambda: make(9, 2, covariance=[-1, -1]), "must hold positive, finite variances"),
    "singular": (lambda: make(9, 2, covariance=np.ones((2, 2))), "must be positive definite"),
    "not symmetric": (lambda: make(9, 2, covariance=np.tri(2)), "covariance must be symmetric"),
    "one profile": (lambda: make(9, profiles=[1, 2]), r"must be a table.*\[profiles\] for a"),
    "NaN profile": (lambda: make(9, profiles=NAN), "Input profiles contains NaN"),
    "long profile": (lambda: make(9, profiles=[[1e300, -1e300]], mean=1e10), "too large for float"),
    "norm": (lambda: make(9, 2, profile_norm=-1), "profile_norm must be a positive number or None"),
    "norm of 0": (lambda: make(9, 2, profile_norm=0.0), "profile_norm must be a positive number"),
    "seed": (lambda: make(9, 2, random_state="a"), "'a' cannot be used to seed"),
}
EXPECTED_LABEL = {
    "features": (lambda: TRUTH.expected_label(X[:, :2]), "X has 2 features, but the profiles have"),
    "NaN": (lambda: TRUTH.expected_label(NAN), "contains NaN in column 0"),
}
SUBSPACE_ERROR = {
    "columns": (lambda: subspace_error(EYE, np.eye(3)), "same number of columns, got 2 and 3"),
    "zero": (lambda: subspace_error(np.zeros((1, 2)), EYE), "A has only zero rows"),
    "NaN": (lambda: subspace_error(EYE, NAN), "Input B contains NaN"),
    "a vector": (lambda: subspace_error([1, 2], EYE), r"A must be a table.*use \[A\] for a"),
    "masked": (lambda: subspace_error(np.ma.masked_array(EYE, EYE), EYE), "A has masked values"),
}
COMPONENT_ERROR = {
    "length": (lambda: component_error([1, 2], [1]), "inconsistent numbers of samples"),
    "none": (lambda: component_error([], []), "true and found are empty"),
    "NaN": (lambda: component_error([1, np.nan], [1, 2]), "true has missing values: leave such"),
    "None": (lambda: component_error([None, 1], [0, 1]), "true has missing values"),
    "NA": (
        lambda: component_error([0, 1], pd.Series([None, 1], dtype="Int64")),
        "found has missing values",
    ),
}
PROFILE_ERROR = {
    "shapes": (lambda: profile_error(EYE, np.eye(3)), r"same shape, got \(2, 2\) and \(3, 3\)"),
    "zero": (lambda: profile_error(EYE * 0, EYE), "true has only zero profiles"),
    "huge": (
        lambda: profile_error(EYE, np.array([[HUGE, 0], [0, 1]], dtype=object)),
        "found holds whole numbers that are too large",
    ),
}
PAIRWISE_DIFFERENCES = {
    "rows": (lambda: pairwise_differences(X[:3], X[:2], [1, 0, 1]), "must have the same sh"),
    "winners": (lambda: pairwise_differences(X[:3], X[:3], [1, 0]), "winner has 2 values"),
    "ties": (
        lambda: pairwise_differences(X[:3], X[:3], ["left", "right", "tie"]),
        "The winner must be called left or right.*got 'left', 'right', 'tie'",
    ),
    "no winner": (
        lambda: pairwise_differences(X[:2], X[:2], ["left", None]),
        "winner is missing in row 1: leave such comparisons out",
    ),
    "NA": (
        lambda: pairwise_differences(ONES, ONES, pd.Series([1, None], dtype="Int64")),
        "winner is missing in row 1",
    ),
    "winner of uint64": (
        lambda: pairwise_differences(ONES, ONES, np.array([2**64 - 1, 0], dtype=np.uint64)),
        "winner must",
    ),
    "winners in lists": (
        lambda: pairwise_differences(ONES, ONES, [[1], [0]]),
        "winner must hold one value for each comparison",
    ),
    "columns": (
        lambda: pairwise_differences(FRAME[["a"]], FRAME[["b"]], Y > 0),
        r"must have the same columns; only one has \['a', 'b'\]",
    ),
    "text": (lambda: pairwise_differences([["a"]], [["b"]], [1]), "left must hold numbers"),
    "complex": (lambda: pairwise_differences(ONES + 0j, ONES, [1, 0]), "left must hold numbers"),
    "dates": (
        lambda: pairwise_differences(ONES.astype("M8[s]"), ONES, [1, 0]),
        "left must hold numbers",
    ),
    "integers of 400 digits": (
        lambda: pairwise_differences([[HUGE], [1]], ONES, [1, 0]),
        "left must hold numbers",
    ),
    "masked": (
        lambda: pairwise_differences(ONES, np.ma.masked_array(ONES, ONES > 0), [1, 0]),
        "right has masked values",
    ),
}
MOMENTS = {
    "other features": (
        lambda: FeatureMoments.from_rows(X) + FeatureMoments.from_rows(X[:, :2]),
        "Only moments of the same features can be added",
    ),
    "a row": (lambda: FeatureMoments.from_rows(X[0]), "must be a table of rows and col"),
    "collinear": (
        lambda: FeatureMoments.from_rows(X[:, [0, 1, 0]]).whitening,
        "X is collinear",
    ),
}
LOAD = {
    "nothing": (lambda: load("no.skops"), "There is no file 'no.skops'"),
    "a folder": (lambda: load("."), "is a folder, not a model"),
    "text": (lambda: load("notes.txt"), "notes.txt is not a model of spectralmirror"),
}
SCAN = {
    "nothing": (lambda: scan("no.csv", label="y"), "There is no file 'no.csv'"),
    "empty glob": (lambda: scan("*.arrow", label="y"), r"There is no file '\*.arrow'"),
    "kind": (lambda: scan("notes.xlsx", label="y"), "is not of a kind that can be read"),
    "a number": (lambda: scan(5, label="y"), "scan cannot read int: pass paths"),
    "no list": (lambda: scan({"a": 1}, label="y"), "scan cannot read dict"),
    "label": (lambda: source(label="z"), "rows.parquet has no column 'z'"),
    "misspelt": (lambda: source(label="yy"), "no column 'yy'; did you mean 'y'"),
    "feature": (lambda: source(features=["a", "q"]), "has no column 'q'"),
    "no feature": (lambda: source(features=[]), "has no column of numbers besides"),
    "twice": (lambda: source(features=["a", "a"]), "'a' is among the features twice"),
    "label as feature": (lambda: source(features=["y"]), "'y' can be only one thing"),
    "label as group": (lambda: source(groups="y"), "'y' can be only one thing"),
    "groups": (lambda: source(groups="g"), "has no column 'g'"),
}
FIT = {
    "scan and labels": (lambda: SpectralMirror(2).fit(source(), Y), "belong to the scan"),
    "a path": (lambda: SpectralMirror(2).fit("rows.parquet"), "X is a path.*scan"),
    "a Path": (lambda: SpectralMirror(2).fit(Path("a"), Y), "X is a path, 'a': fit spectral"),
}
TABLES = {
    "make_linear_classifier_mixture": MAKE,
    "expected_label": EXPECTED_LABEL,
    "subspace_error": SUBSPACE_ERROR,
    "component_error": COMPONENT_ERROR,
    "profile_error": PROFILE_ERROR,
    "pairwise_differences": PAIRWISE_DIFFERENCES,
    "FeatureMoments": MOMENTS,
    "load": LOAD,
    "scan": SCAN,
    "fit": FIT,
}
CASES = {f"{entry}: {case}": row for entry, table in TABLES.items() for case, row in table.items()}


@pytest.mark.parametrize(("call", "sentence"), CASES.values(), ids=CASES)
def test_one_clear_sentence(call, sentence):
    assert_refused(call, sentence, (ValueError, OSError))


def test_things_of_another_kind():
    """A TypeError, as Python itself raises: no value of that kind would do."""
    for call, sentence in (
        (lambda: save(3, "x.skops"), "save stores models of spectralmirror, got int"),
        (lambda: load(3), "expected str, bytes or os.PathLike object, not int"),
        (lambda: FeatureMoments.from_rows(X) + 3, "unsupported operand"),
        (lambda: SpectralMirror(2).fit([{"a": 1}] * 4, [0, 1] * 2), "not 'dict'"),
    ):
        assert_refused(call, sentence, TypeError)

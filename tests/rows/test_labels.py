"""Labels come back as they came, whatever holds them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from spectralmirror import (
    LinearClassifierMixture,
    PrincipalHessianDirections,
    SpectralMirror,
    scan,
)
from spectralmirror.rows.labels import check_labels, unique_labels

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3))
POSITIVE = X[:, 0] + RNG.standard_normal(300) > 0
NAMES = ["a", "b", "c"]
BOOLS, INTS, TEXT = POSITIVE, POSITIVE + 3, np.where(POSITIVE, "yes", "no")
#: pandas dtype, labels, and the NumPy kind of what comes back.
NULLABLE = {
    "boolean": (BOOLS, "b"),
    "Int64": (INTS, "i"),
    "UInt8": (INTS, "u"),
    "Float64": (INTS / 2, "f"),
    "string": (TEXT, "U"),
    "bool[pyarrow]": (BOOLS, "b"),
    "int64[pyarrow]": (INTS, "i"),
    "string[pyarrow]": (TEXT, "U"),
    "object": (BOOLS, "b"),
}
ESTIMATORS = [SpectralMirror(1), LinearClassifierMixture(1), PrincipalHessianDirections(1)]


def series(dtype):
    return pd.Series(NULLABLE[dtype][0]).astype(dtype)


def assert_as_they_came(fitted, labels, kind):
    assert fitted.classes_.dtype.kind == kind
    assert fitted.classes_.tolist() == np.unique(labels).tolist()
    if hasattr(fitted, "predict"):
        found = fitted.predict(X)
        assert found.dtype == fitted.classes_.dtype
        assert set(found.tolist()) == set(np.unique(labels).tolist())
        assert [type(v) for v in fitted.classes_.tolist()] == [
            type(v) for v in np.unique(labels).tolist()
        ]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("dtype", NULLABLE)
def test_nullable_labels_come_back_as_they_came(estimator, dtype):
    labels, kind = NULLABLE[dtype]
    y = series(dtype)
    assert_as_they_came(estimator.fit(X, y), labels, kind)
    assert_as_they_came(estimator.fit(X, y.array), labels, kind)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y)
    assert_as_they_came(estimator.fit(X, frame["y"]), labels, kind)
    if dtype != "object":
        source = scan(frame, label="y", features=NAMES)
        assert_as_they_came_of_scan(estimator.fit(source), labels, kind)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def assert_as_they_came_of_scan(fitted, labels, kind):
    assert fitted.classes_.dtype.kind == kind
    assert fitted.classes_.tolist() == np.unique(labels).tolist()
    if hasattr(fitted, "predict"):
        found = fitted.predict(pd.DataFrame(X, columns=NAMES))
        assert found.dtype == fitted.classes_.dtype


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("dtype", ["boolean", "Int64", "string"])
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_a_frame_of_one_column_holds_labels(estimator, dtype):
    labels, kind = NULLABLE[dtype]
    assert_as_they_came(estimator.fit(X, series(dtype).to_frame()), labels, kind)


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "string", "int64[pyarrow]"])
def test_dask_series(dtype):
    dd = pytest.importorskip("dask.dataframe")
    labels, kind = NULLABLE[dtype]
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(y=series(dtype)), npartitions=2)
    for estimator in ESTIMATORS:
        fitted = estimator.fit(frame[NAMES], frame["y"])
        assert_as_they_came_of_scan(fitted, labels, kind)


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "string", "bool[pyarrow]"])
def test_missing_labels_are_refused(dtype):
    y = series(dtype)
    y[7] = pd.NA
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y)
    for estimator in ESTIMATORS:
        with pytest.raises(ValueError, match=r"\(a missing label\) in row 7: drop such rows"):
            estimator.fit(X, y)
        with pytest.raises(ValueError, match=r"\(a missing label\) in row 7 of the table: drop"):
            estimator.fit(scan(frame, label="y", features=NAMES))


def test_labels_that_predictions_are_judged_by():
    mixture = LinearClassifierMixture(1).fit(X, series("Int64"))
    expected = mixture.score_samples(X, INTS)
    for y in (series("Int64"), pl.Series(INTS), pa.array(INTS), INTS.astype(object)):
        np.testing.assert_array_equal(mixture.score_samples(X, y), expected)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([True, False], "bool"),
        ([2, 1], "int64"),
        (["b", "a"], "<U1"),
        ([2**70, 1], "object"),
        (["a\0", "a"], "object"),  # NumPy's text would drop the end
        ([True, 2], "object"),
    ],
)
def test_classes_have_the_type_of_their_values(values, dtype):
    found = unique_labels(np.array(values, dtype=object))
    assert found.dtype == dtype
    assert found.tolist() == sorted(values)


def test_complex_labels():
    with pytest.raises(ValueError, match="Complex data not supported"):
        check_labels(np.array([1j, 1]))

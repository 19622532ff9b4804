"""Arrow columns as arrays, and back."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from spectralmirror.rows.files.arrow import STRIP, as_column, column_values, matrix, unique_values

DAYS = [dt.date(2020, 1, 2), dt.date(2020, 1, 1), dt.date(2020, 1, 2)]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, 2, 3]), np.array([1, 2, 3])),
        (pa.array([True, False]), np.array([True, False])),
        (pa.array([1.5, None]), np.array([1.5, np.nan])),
        (pa.array([1, None], pa.int8()), np.array([1, np.nan])),
        (pa.array(["a", None]), np.array(["a", None], dtype=object)),
        (pa.array(["a", "b", None]).dictionary_encode(), np.array(["a", "b", None], dtype=object)),
        (pa.array([1, 2]).cast(pa.decimal128(25, 2)), np.array([1.0, 2.0])),
    ],
    ids=str,
)
def test_values(column, expected, chunked):
    found = column_values(pa.chunked_array([column[:1], column[1:]]) if chunked else column)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist() or np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_matrix_of_many_strips(dtype):
    X = np.random.default_rng(0).standard_normal((2 * STRIP + 7, 3))
    columns = [pa.array(X[:, 0]), pa.chunked_array([X[:5, 1], X[5:, 1]]), pa.array(X[:, 2] > 0)]
    found = matrix(columns, np.dtype(dtype))
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found[:, :2], X[:, :2].astype(dtype))
    np.testing.assert_array_equal(found[:, 2], X[:, 2] > 0)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["b", "a", "b"]),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pa.array(DAYS),
        pa.array([dt.datetime(2020, 1, 1, i) for i in (3, 1, 3)]),
        pa.chunked_array([[5, 4], [5]]),
    ],
    ids=lambda column: str(column.type),
)
def test_unique_values_come_back(column):
    values, index = unique_values(column)
    assert index.tolist() == [0, 1, 0]
    assert as_column(values, column.type).take(pa.array(index)).to_pylist() == column.to_pylist()

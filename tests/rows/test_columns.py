"""Columns of files: which can be used, and where a value is missing."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import spectralmirror
from spectralmirror import scan
from tests.helpers.agreement import mixture_rows
from tests.helpers.scans import NAMES, SOURCES, mirror, mixture, scanned, table, to_parquet


def test_a_file_with_other_columns_or_types(rows, tmp_path):
    frame = table(*rows)
    frame[:2000].write_parquet(tmp_path / "1.parquet")
    other = tmp_path / "2.parquet"
    for part, told in [
        (frame[2000:].rename({"c": "cc"}), f"{other} has no column 'c'; did you mean 'cc'"),
        (frame[2000:].with_columns(c=pl.lit("x")), f"column 'c' of {other} holds"),
        (frame[2000:].with_columns(y=pl.lit(1)), f"Column 'y' holds int32 in {other}"),
    ]:
        part.write_parquet(other)
        with pytest.raises(ValueError, match=r"2\.parquet") as error:
            scanned(tmp_path)
        assert told in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("value", [np.nan, np.inf, None])
def test_a_value_that_is_missing(kind, value, rows, tmp_path):
    X, y, groups, weight = rows
    frame = table(X, y, groups, weight)
    values = frame["c"].to_list()
    values[2345] = value
    path = SOURCES[kind](frame.with_columns(c=pl.Series(values)), tmp_path)
    what = "infinity" if value == np.inf else "NaN"
    with pytest.raises(ValueError, match=f"contains {what} in column 'c'") as error:
        mixture().fit(scanned(path))
    # row 2,345 is row 844 of the fourth file, and blocks have 200 rows
    place = "part-3.parquet, rows 699 to 898" if kind == "parquet" else "rows 2,200 to 2,399"
    assert place in str(error.value)
    assert f"{tmp_path}" in str(error.value)


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("y", None, "missing label"),
        ("y", "maybe", "y has 3 different values"),
        ("who", None, "groups has missing values"),
        ("w", -1.0, "must be finite and not negative, but is -1.0"),
        ("w", None, "must be finite and not negative, but is nan"),
    ],
)
def test_invalid_labels_groups_and_weights_are_refused(column, value, told, rows, tmp_path):
    frame = table(*rows)
    values = frame[column].to_list()
    values[3000] = value
    path = to_parquet(frame.with_columns(pl.Series(column, values)), tmp_path)
    with pytest.raises(ValueError, match=told) as error:
        mirror().fit(scanned(path, groups="who", sample_weight="w"))
    assert "\n" not in str(error.value)
    assert "part-3.parquet" in str(error.value) or value == "maybe"


def test_features_are_all_other_numbers(rows, tmp_path):
    path = tmp_path / "rows.parquet"
    table(*rows).write_parquet(path)
    assert scan(path, label="y", groups="who", sample_weight="w").feature_names == NAMES
    assert scan(path, label="y").feature_names == [*NAMES, "who", "w"]
    assert spectralmirror.scan is scan


@pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")
def test_categories_that_fill_their_type():
    X, y, _, _ = mixture_rows(1280, 3)
    names = [f"c{i}" for i in range(128)]
    who = pa.DictionaryArray.from_arrays(pa.array(np.arange(1280) % 128, pa.int8()), names)
    columns = {name: X[:, j] for j, name in enumerate("abc")}
    whole = pa.table({**columns, "y": y, "who": who})
    found = mirror().fit(scan(whole, label="y", groups="who"))
    expected = mirror().fit(X, y, groups=[names[i % 128] for i in range(1280)])
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-8)

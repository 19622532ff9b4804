"""Rows of files as features, in parts of any size."""

import numpy as np
import polars as pl
import pytest

from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables import encoded_rows
from spectralmirror.tables.encoded_rows import EncodedRows
from spectralmirror.tables.features import Category, Number, Recipe

RECIPE = Recipe((Number("x", 0.5), Category("c", ("u", "v", "w"))))


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "x": rng.normal(size=50),
            "c": rng.choice(["u", "v", "w"], size=50),
            "who": np.repeat(np.arange(10), 5),
            "y": rng.choice(["no", "yes"], size=50),
        }
    )


def rows_of(frame, folder, recipe=RECIPE, missing="error", group="who", listen=lambda n: None):
    """Write the frame in two files, and return its rows."""
    frame[:17].write_parquet(folder / "1.parquet", row_group_size=5)
    frame[17:].write_parquet(folder / "2.parquet")
    return EncodedRows(readers_of(folder), recipe, "y", group, missing, listen)


@pytest.mark.parametrize("size", [1, 7, 17, 50, 99])
@pytest.mark.parametrize("strip", [3, 8_192])
def test_parts_of_every_size_are_the_rows(frame, tmp_path, size, strip, monkeypatch):
    monkeypatch.setattr(encoded_rows, "STRIP", strip)
    parts = list(rows_of(frame, tmp_path).read(size, np.dtype(np.float64)))
    assert [len(part) for part in parts[:-1]] == [size] * (len(parts) - 1)
    X = np.concatenate([part.X for part in parts])
    np.testing.assert_array_equal(X, RECIPE.encode(frame.to_arrow()))
    assert np.concatenate([part.y for part in parts]).tolist() == frame["y"].to_list()
    assert np.concatenate([part.groups for part in parts]).tolist() == frame["who"].to_list()
    assert parts[0].where(0).startswith("0 of ")
    assert parts[-1].where(len(parts[-1]) - 1) == f"32 of {tmp_path / '2.parquet'}"


def test_rows_in_memory_are_stored_by_columns_and_not_copied_to_be_named(frame, tmp_path):
    from spectralmirror.tables.table_model import named_features

    part = rows_of(frame, tmp_path).collect(50)
    assert part.X.flags.f_contiguous
    np.testing.assert_array_equal(part.X, RECIPE.encode(frame.to_arrow()))
    named = named_features(part.X, RECIPE.names)
    assert named.columns == RECIPE.names
    assert np.shares_memory(np.asarray(named), part.X)


def test_a_survey_of_labels_reads_no_features(frame, tmp_path):
    read = []
    rows = rows_of(frame, tmp_path)
    for reader in rows.readers:
        batches = reader.batches
        reader.batches = lambda columns, *a, of=batches: read.append(columns) or of(columns, *a)
    survey = list(rows.survey())
    assert sum(len(part) for part in survey) == 50
    assert all(part.X.shape[1] == 0 for part in survey)
    assert read == [["y", "who"]] * 2


@pytest.mark.parametrize(("missing", "n_kept"), [("drop", 47), ("impute", 49)])
def test_rows_with_missing_values_are_left_out_or_imputed(frame, tmp_path, missing, n_kept):
    frame = frame.with_row_index().with_columns(
        x=pl.when(pl.col("index") != 3).then("x"),
        c=pl.when(pl.col("index") != 20).then("c"),
        y=pl.when(pl.col("index") != 40).then("y"),
    )
    counted = []
    rows = rows_of(frame, tmp_path, missing=missing, listen=counted.append)
    part = rows.collect(n_kept)
    assert sum(counted) == 50
    left_out = [40] if missing == "impute" else [3, 20, 40]
    kept = frame.filter(~pl.col("index").is_in(left_out))
    np.testing.assert_array_equal(part.X, RECIPE.encode(kept.to_arrow(), impute=True))
    assert part.y.tolist() == kept["y"].to_list()
    assert sum(len(part) for part in rows.survey()) == n_kept


def test_labels_of_comparisons_are_whether_the_left_won(frame, tmp_path):
    frame = frame.with_columns(a_x="x", b_x=-pl.col("x"), y=pl.col("y").replace({"yes": "Left"}))
    recipe = Recipe((Number("x", 0.0),), ("a_", "b_"), ("left", "no"))
    part = rows_of(frame, tmp_path, recipe, group=None).collect(50)
    np.testing.assert_array_equal(part.X[:, 0], 2 * frame["x"].to_numpy())
    np.testing.assert_array_equal(part.y, (frame["y"] == "Left").to_numpy())
    assert part.groups is None


def test_no_row_at_all(frame, tmp_path):
    frame = frame.with_columns(y=pl.lit(None, pl.String))
    with pytest.raises(ValueError, match="No row is left"):
        rows_of(frame, tmp_path).collect(50)

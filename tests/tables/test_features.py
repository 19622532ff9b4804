"""Columns of tables as features."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.choose_features import choose_features
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.features import Category, Number, Recipe


def census_of(frame, **question):
    frame = frame.to_arrow() if isinstance(frame, pl.DataFrame) else frame
    return choose_features(readers_of(frame), ColumnRoles("y", **question), lambda n: None)


def frame_of(**columns):
    n = len(next(iter(columns.values())))
    return pl.DataFrame({**columns, "y": [True, False] * (n // 2) + [True] * (n % 2)})


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.floats(-1e6, 1e6),
            st.sampled_from(["red", "blue", "green", "ärger", "a b"]),
            st.booleans(),
        ),
        min_size=2,
        max_size=30,
    )
)
def test_agrees_with_one_hot_of_scikit_learn(rows):
    x, colour, flag = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"x": x, "colour": colour, "flag": flag, "y": np.arange(len(x)) % 2})
    if len(set(x)) == len(set(colour)) == len(set(flag)) == 1:
        with pytest.raises(ValueError, match="No column is left"):
            census_of(table)
        return
    recipe = census_of(table).recipe
    X = recipe.encode(table)
    expected = {}
    if len(set(x)) > 1:
        expected["x"] = np.array(x)
    for name, values in (("colour", colour), ("flag", [str(v).lower() for v in flag])):
        encoder = OneHotEncoder(sparse_output=False).fit(np.array(values)[:, None])
        hot = encoder.transform(np.array(values)[:, None])
        expected |= {f"{name}={c}": h for c, h in zip(encoder.categories_[0], hot.T, strict=True)}
    for name, column in zip(recipe.names, X.T, strict=True):
        np.testing.assert_array_equal(column, expected[name])
    for name, level in recipe.references.items():  # the most frequent level has no feature
        values = colour if name.startswith("colour=") else [str(v).lower() for v in flag]
        assert values.count(level) == max(map(values.count, values))
        assert f"{name.split('=')[0]}={level}" not in recipe.names


def test_gaps_are_nan_or_filled():
    table = pa.table({"x": [1.0, None, 5.0, np.nan], "c": ["u", "v", None, "u"]})
    recipe = Recipe((Number("x", 3.0), Category("c", ("u", "v"))))
    nan = np.nan
    np.testing.assert_array_equal(recipe.encode(table), [[1, 0], [nan, 1], [5, nan], [nan, 0]])
    np.testing.assert_array_equal(
        recipe.encode(table, impute=True), [[1, 0], [3, 1], [5, 0], [3, 0]]
    )


def test_comparisons_are_differences_of_encoded_sides():
    table = pa.table(
        {"a_x": [1.0, 2.0], "b_x": [0.5, 4.0], "a_c": ["u", "v"], "b_c": ["v", "v"], "y": [1, 0]}
    )
    recipe = census_of(table, pairs=("a_", "b_")).recipe
    assert recipe.names == ["x", "c=u"]  # v is more frequent over both sides
    np.testing.assert_array_equal(recipe.encode(table), [[0.5, 1], [-2, 0]])
    swapped = Recipe(recipe.terms, ("b_", "a_"), recipe.winner)
    np.testing.assert_array_equal(swapped.encode(table), -recipe.encode(table))


@pytest.mark.parametrize(
    "codes", [[1, 2, 2, 1], [1.0, 2.0, 2.0, np.nan], pd.array([1, 2, 2, None], dtype="Int64")]
)
def test_codes_can_be_categories_however_they_are_stored(codes):
    frame = pd.DataFrame({"region": codes, "y": [0, 1, 0, 1]})
    recipe = census_of(frame, categorical=["region"], missing="impute").recipe
    assert set(recipe.terms[0].levels) == {"1", "2"}


def test_a_mean_far_from_0_keeps_its_digits():
    x = 1e9 + np.arange(9_999) * 1e-3
    recipe = census_of(frame_of(x=x, z=np.sin(np.arange(9_999)))).recipe
    assert abs(recipe.terms[0].mean - x.mean()) < 1e-5


def test_single_precision_stays_so_unless_something_is_double():
    x = np.arange(4, dtype=np.float32)[::-1]
    assert census_of(frame_of(x=x, c=["u", "v"] * 2)).recipe.dtype == "float32"
    assert census_of(frame_of(x=x, z=x.astype(float))).recipe.dtype == "float64"


def test_notes_tell_what_was_left_out_or_looks_like_an_identifier():
    told = " ".join(census_of(frame_of(id=range(5), x=[3.0, 1, 2, 9, 5], one=[1] * 5)).notes)
    assert "'one' holds the same value in all rows" in told
    assert "'id' counts up" in told
    assert "'x'" not in told


@pytest.mark.parametrize(
    ("frame", "question", "sentence"),
    [
        (frame_of(x=[1, 2]), {"group": "gruppe"}, "no column 'gruppe'; its columns are 'x', 'y'"),
        (frame_of(x=[1, 2], age=[3, 1]), {"drop": ["agee"]}, "did you mean 'age'?"),
        (frame_of(x=[1, 2]), {"features": ["y"]}, "cannot be a feature and the label"),
        (frame_of(x=[1, 2]), {"features": ["x"], "drop": ["x"]}, "a feature and dropped"),
        (frame_of(x=[1, None], z=[1, 2]), {}, "missing in some of 2 rows: 'x' 1. Impute them"),
        (frame_of(x=[1.0, np.inf]), {}, "infinite in some of 2 rows: 'x' 1"),
        (frame_of(t=[[1], [2]]), {}, "'t' (large_list<item: int64>)"),
        (frame_of(x=[1, 1]), {}, "No column is left that can be a feature"),
        (frame_of(t=[f"word {i}" for i in range(60)]), {}, "Text with more than 50 different"),
        (frame_of(**{"c": ["u", "v"], "c=v": [1, 2], "d": ["v", "v"]}), {}, "named 'c=v'"),
        (pl.DataFrame({"y": [1, 0]}), {}, "no column besides label and group"),
        (pl.DataFrame({"x": [], "y": []}), {}, "has no rows"),
    ],
)
def test_what_cannot_be_is_refused_by_name(frame, question, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        census_of(frame, **question)

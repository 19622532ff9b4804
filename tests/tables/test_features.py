"""Columns of tables as features."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.choose_features import choose_features
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.features import Category, Number, Recipe


def recipe_of(table, **roles):
    return choose_features(readers_of(table), ColumnRoles("y", **roles), lambda n: None).recipe


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
            recipe_of(table)
        return
    recipe = recipe_of(table)
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
    recipe = recipe_of(table, pairs=("a_", "b_"))
    assert recipe.names == ["x", "c=u"]  # v is more frequent over both sides
    np.testing.assert_array_equal(recipe.encode(table), [[0.5, 1], [-2, 0]])
    swapped = Recipe(recipe.terms, ("b_", "a_"), recipe.winner)
    np.testing.assert_array_equal(swapped.encode(table), -recipe.encode(table))


def test_labels_are_values_or_whether_the_left_won():
    column = pa.chunked_array([["Left", "right"], ["left"]])
    assert Recipe(()).labels(column).tolist() == ["Left", "right", "left"]
    compared = Recipe((), ("a_", "b_"), ("left", "right"))
    assert compared.labels(column).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="must be 'left' or 'right', got 'tie'"):
        compared.labels(pa.array(["left", "tie"]))

"""Columns of both sides of a comparison, by prefix or by suffix."""

import pytest

from spectralmirror.tables.sides import column_of, feature_of, paired_features, sides_of


@pytest.mark.parametrize(
    ("side", "column"),
    [("", "price"), ("a_", "a_price"), ("*1", "price1"), ("the_*_a", "the_price_a")],
)
def test_a_side_and_a_feature_make_a_column(side, column):
    assert column_of(side, "price") == column
    assert feature_of(side, column) == "price"


@pytest.mark.parametrize(
    ("side", "column"), [("a_", "b_x"), ("a_", "a_"), ("*1", "x2"), ("*1", "1")]
)
def test_columns_of_another_side_and_sides_alone_are_no_features(side, column):
    assert feature_of(side, column) is None


@pytest.mark.parametrize(
    ("words", "columns", "sides", "features"),
    [
        (("a_", "b_"), "a_x b_x a_z b_z", ("a_", "b_"), ["x", "z"]),
        (("left", "right"), "left_x right_x left_z right_z", ("left_", "right_"), ["x", "z"]),
        (("1", "2"), "x1 x2 z1 z2", ("*1", "*2"), ["x", "z"]),
        (("1", "2"), "x_1 x_2 z_1 z_2", ("*_1", "*_2"), ["x", "z"]),
        (("_a", "_b"), "x_a x_b", ("*_a", "*_b"), ["x"]),
        (("left", "right"), "x.left x.right", ("*.left", "*.right"), ["x"]),
        (("1", "2"), "x1 x2 z_1 z_2", ("*1", "*2"), ["x", "z_"]),  # no mark that all have
        (("a", "b"), "a_x b_x x_a x_b", ("a_", "b_"), ["x"]),  # prefixes go before suffixes
        (("a*z", "b*z"), "axz bxz", ("a*z", "b*z"), ["x"]),
        (("1", "2"), "x y", ("1", "2"), []),
        (("1", "2"), "_1 _2", ("*1", "*2"), ["_"]),  # nothing would be left of the name
    ],
)
def test_words_are_prefixes_or_else_suffixes(words, columns, sides, features):
    assert sides_of(words, columns.split()) == sides
    assert paired_features(sides, columns.split()) == features

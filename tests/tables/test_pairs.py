"""Comparisons as differences."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectralmirror import LinearClassifierMixture, pairwise_differences

A, B = np.array([[3.0, 1.0], [0.0, 2.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [1.0, 0.0], [0, 0]])


@pytest.mark.parametrize(
    "winner",
    [
        ["left", "right", "left"],
        ["Left", " RIGHT", "left"],
        ["a", "b", "a"],
        [True, False, True],
        [1, 0, 1],
        [1, 2, 1],
        np.array([1.0, -1.0, 1.0]),
        pd.Series(["left", "right", "left"]),
        pd.Series(["left", "right", "left"], dtype="category"),
        pl.Series(["left", "right", "left"]),
    ],
    ids=lambda winner: f"{type(winner).__name__}-{list(winner)[1]}",
)
def test_winners_of_all_kinds(winner):
    X, y = pairwise_differences(A, B, winner)
    np.testing.assert_array_equal(X, A - B)
    assert y.tolist() == [True, False, True]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names_and_match_columns_by_them(frame):
    left = frame({"price": A[:, 0], "time": A[:, 1]})
    right = frame({"time": B[:, 1], "price": B[:, 0]})
    X, _ = pairwise_differences(left, right, ["left"] * 3)
    assert list(X.columns) == ["price", "time"]
    np.testing.assert_array_equal(X.to_numpy(), A - B)


def test_swapping_sides_changes_the_sign_and_not_the_fit():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 2_000, 3))
    won = rng.uniform(size=2_000) < 1 / (1 + np.exp(-(left - right) @ [2.0, -1.0, 0.5]))
    swap = rng.uniform(size=2_000) < 0.5
    first, second = np.where(swap[:, None], right, left), np.where(swap[:, None], left, right)
    fits = [
        LinearClassifierMixture(1, fit_intercept=False).fit(*pairwise_differences(*sides))
        for sides in ((left, right, won), (first, second, won ^ swap))
    ]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-3)


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.booleans())
def test_words_for_truth_values_give_the_same(won, flip):
    left = np.zeros((len(won), 1))
    words = {True: "left", False: "right"}
    _, y = pairwise_differences(left, left, [words[value ^ flip] for value in won])
    assert y.tolist() == [value ^ flip for value in won]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((A, B[:2], ["left"] * 3), "must have the same shape"),
        ((A[0], B[0], ["left"]), "must be a table of rows and columns"),
        ((A, B, ["left"] * 2), "There are 3 comparisons, but winner has 2"),
        ((A, B, ["left", None, "right"]), "winner is missing in row 1"),
        ((A, B, [1.0, np.nan, 0.0]), "winner is missing in row 1"),
        ((A, B, np.array([1.0, 0.0, np.nan])), "winner is missing in row 2"),
        ((A, B, ["left", "tie", "right"]), "got 'left', 'right', 'tie'"),
        ((A, B, [1, 0, 2]), "got '0', '1', '2'"),
        ((A, B, [1.0, 0.5, 0.0]), "got '0', '0.5', '1'"),
        (([["x"]], [["y"]], ["left"]), "left must hold numbers"),
        ((pd.DataFrame(A, columns=["a", "b"]), pd.DataFrame(B, columns=["a", "c"]), [1, 1, 1]),
         "only one has ['b', 'c']"),
    ],
)  # fmt: skip
def test_bad_comparisons_get_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        pairwise_differences(*arguments)

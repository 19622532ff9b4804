"""Errors about rows are phrased once, and survive the way from another process."""

import pickle

import numpy as np
import pandas as pd
import pytest

from spectralmirror.rows.messages import (
    CollinearError,
    ColumnError,
    did_you_mean,
    did_you_mean_or_list,
    first_missing,
    listed,
    named_columns,
    numbers,
    one_line,
    shortened,
)


def test_columns_by_number_or_by_name():
    error = ColumnError("X is odd in {columns}{place}: mend it.", [0, 2], "a{b}.csv, rows 3 to 9")
    assert str(error) == "X is odd in columns 0, 2 (a{b}.csv, rows 3 to 9): mend it."
    assert error.describe(["a", "b", "c"]).startswith("X is odd in columns 'a', 'c' (a{b}")
    assert str(ColumnError("In {columns}{place}.", range(12))) == (
        "In columns 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more."
    )


@pytest.mark.parametrize("kind", [ColumnError, CollinearError])
def test_errors_of_workers(kind):
    error = pickle.loads(pickle.dumps(kind("In {columns}{place}.", np.array([1]), "here")))
    assert type(error) is kind
    assert str(error) == "In column 1 (here)."


def test_the_names_that_an_estimator_has_seen():
    class Fitted:
        feature_names_in_ = np.array(["a", "b"], dtype=object)

    for estimator, name in ((Fitted(), "'b'"), (object(), "1")):
        with pytest.raises(ValueError, match=f"^In column {name}[.]$"), named_columns(estimator):
            raise ColumnError("In {columns}{place}.", [1])


@pytest.mark.parametrize(
    ("values", "row"),
    [
        (np.array([1, 2]), None),
        (np.array([1.0, np.nan]), 1),
        (np.array(["a", "b"]), None),
        (np.array(["2020", "NaT"], dtype="M8[D]"), 1),
        (np.array(["a", None], dtype=object), 1),
        (np.array(["a", "b", float("nan")], dtype=object), 2),
        (np.array([pd.NA, "b"], dtype=object), 0),
        (np.array([("a", 1), None, ["b"]], dtype=object), 1),
        (np.array([], dtype=object), None),
    ],
)
def test_the_first_missing_value(values, row):
    assert first_missing(values) == row


def test_the_end_of_a_sentence_about_an_unknown_name():
    assert did_you_mean("incme", ["income", "age"]) == "; did you mean 'income'?"
    assert did_you_mean("Y", ["income", "y"]) == "; did you mean 'y'?"
    assert did_you_mean("x", ["income", "age"]) == "."
    assert did_you_mean_or_list("x", ["income", "age"]) == "; its columns are 'income', 'age'."
    assert listed(map(str, range(14))).endswith("'11' and 2 more")


def test_short_texts():
    assert shortened("x" * 100) == "'" + "x" * 56 + "..."
    assert one_line(ValueError("wrong\nsecond line")) == "wrong."
    assert one_line(ValueError()) == "ValueError."


def test_numbers():
    np.testing.assert_array_equal(numbers(["1", 2], "no"), [1, 2])
    for value in (["a"], [1j], [[1], [1, 2]], np.array(["2020"], dtype="M8[D]")):
        with pytest.raises(ValueError, match=r"^no$"):
            numbers(value, "no")

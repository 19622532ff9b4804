"""How columns become features, decided from all rows."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.choose_features import choose_features
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.problems import missing_sentence


def chosen_from(columns, label="y", **roles):
    n_read = []
    table = pa.table(columns)
    chosen = choose_features(readers_of(table), ColumnRoles(label, **roles), n_read.append)
    return chosen, sum(n_read) // table.num_rows


def test_rows_are_read_once_and_all_are_kept_unless_values_are_missing():
    chosen, passes = chosen_from({"x": [1, 2, 4], "y": [0, 1, 0]})
    assert (passes, chosen.n_rows, chosen.n_kept) == (1, 3, 3)


def test_imputed_rows_are_kept_except_those_without_label():
    columns = {"x": [1.0, None, 4.0, 5.0], "y": [0, 1, None, 0]}
    chosen, passes = chosen_from(columns, missing="impute")
    assert (passes, chosen.n_kept, chosen.missing) == (1, 3, {"x": 1, "y": 1})
    assert chosen.recipe.terms[0].mean == 3


def test_dropped_rows_do_not_count():
    columns = {"x": [1.0, None, 4.0, 9.0], "c": ["u", "v", "w", None], "y": [0, 1, 1, 0]}
    chosen, passes = chosen_from(columns, missing="drop")
    assert (passes, chosen.n_rows, chosen.n_kept) == (2, 4, 2)
    assert chosen.recipe.terms[0].mean == 2.5
    assert set(chosen.recipe.terms[1].levels) == {"u", "w"}


def test_a_column_that_becomes_constant_costs_no_rows():
    """In complete rows c is "u" only: without c, the rows in which only c is missing stay."""
    columns = {
        "x": [1.0, 2.0, 5.0, None],
        "c": ["u", "u", None, "v"],
        "y": [0, 1, 0, 1],
    }
    chosen, passes = chosen_from(columns, missing="drop")
    assert chosen.recipe.names == ["x"]
    assert (passes, chosen.n_kept) == (3, 3)
    assert chosen.recipe.terms[0].mean == pytest.approx(8 / 3)
    assert "Column 'c' holds the same value in all rows and was left out." in chosen.notes


def test_labels_must_be_two_and_are_named_as_the_user_does():
    with pytest.raises(ValueError, match=r"Label 'y' has 3 different values \('a', 'b', 'c'\)"):
        chosen_from({"x": [1, 2, 4], "y": ["a", "b", "c"]})
    with pytest.raises(ValueError, match="Label 'y' has only one class, 'a'"):
        chosen_from({"x": [1, 2, 4], "y": ["a", "a", "a"]})
    with pytest.raises(ValueError, match="Label 'won' has only one class, True"):
        chosen_from({"a_x": [1, 2], "b_x": [2, 0], "won": ["a", "A"]}, "won", pairs=("a_", "b_"))


def test_winners_are_stored_as_they_are_called():
    columns = {"home_x": [1, 2], "away_x": [2, 0], "alone": [1, 2], "won": ["Home", "away"]}
    chosen, _ = chosen_from(columns, "won", pairs=("home_", "away_"))
    assert chosen.recipe.winner == ("home", "away")
    assert any("no partner" in note and "'alone'" in note for note in chosen.notes)
    assert "home_x" not in " ".join(chosen.notes)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (lambda i: f"{i},5", "numbers with a decimal comma, such as '0,5'"),
        (lambda i: "n/a" if i == 7 else str(i), "numbers, but also 'n/a'"),
        (lambda i: f"word {i}", "such as 'word 0'"),
    ],
)
def test_text_that_is_not_a_category_is_described(text, sentence):
    frame = pd.DataFrame({"t": [text(i) for i in range(60)], "y": [0, 1] * 30})
    with pytest.raises(ValueError, match=re.escape(sentence)):
        choose_features(readers_of(frame), ColumnRoles("y"), lambda n: None)


def test_missing_values_are_listed_most_frequent_first():
    counts = {f"c{i}": i + 1 for i in range(14)}
    told = missing_sentence(counts, 1_000)
    assert told.startswith("Values are missing in some of 1,000 rows: 'c13' 14, 'c12' 13")
    assert told.endswith("'c2' 3 and 2 more columns.")


def chosen_of(frame, **roles):
    frame = frame.to_arrow() if isinstance(frame, pl.DataFrame) else frame
    return choose_features(readers_of(frame), ColumnRoles("y", **roles), lambda n: None)


def frame_of(**columns):
    n = len(next(iter(columns.values())))
    return pl.DataFrame({**columns, "y": [True, False] * (n // 2) + [True] * (n % 2)})


@pytest.mark.parametrize(
    "codes", [[1, 2, 2, 1], [1.0, 2.0, 2.0, np.nan], pd.array([1, 2, 2, None], dtype="Int64")]
)
def test_codes_can_be_categories_however_they_are_stored(codes):
    frame = pd.DataFrame({"region": codes, "y": [0, 1, 0, 1]})
    recipe = chosen_of(frame, categorical=["region"], missing="impute").recipe
    assert set(recipe.terms[0].levels) == {"1", "2"}


def test_a_mean_far_from_0_keeps_its_digits():
    x = 1e9 + np.arange(9_999) * 1e-3
    recipe = chosen_of(frame_of(x=x, z=np.sin(np.arange(9_999)))).recipe
    assert abs(recipe.terms[0].mean - x.mean()) < 1e-5


def test_single_precision_stays_so_unless_something_is_double():
    x = np.arange(4, dtype=np.float32)[::-1]
    assert chosen_of(frame_of(x=x, c=["u", "v"] * 2)).recipe.dtype == "float32"
    assert chosen_of(frame_of(x=x, z=x.astype(float))).recipe.dtype == "float64"


def test_notes_mention_what_was_left_out_or_looks_like_an_identifier():
    told = " ".join(chosen_of(frame_of(id=range(5), x=[3.0, 1, 2, 9, 5], one=[1] * 5)).notes)
    assert "'one' holds the same value in all rows" in told
    assert "'id' counts up" in told
    assert "'x'" not in told


@pytest.mark.parametrize(
    ("frame", "roles", "sentence"),
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
def test_invalid_columns_are_refused_by_name(frame, roles, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        chosen_of(frame, **roles)


@pytest.mark.parametrize("missing", ["error", "impute", "drop"])
def test_an_empty_column_is_left_out_whatever_is_done_about_missing_values(missing):
    frame = frame_of(x=[1.0, 3, 2, 4], e=[None] * 4, s=[""] * 4)
    chosen = chosen_of(frame, missing=missing)
    assert (chosen.recipe.names, chosen.n_kept, chosen.missing) == (["x"], 4, {})
    assert chosen.notes == [f"Column {name!r} is empty and was left out." for name in "es"]


def test_a_column_that_settles_the_label_is_pointed_out():
    rng = np.random.default_rng(0)
    y = rng.uniform(size=50) < 0.5
    frame = pl.DataFrame({"x": rng.normal(size=50), "copy": y.astype(int), "y": y})
    note = "Column 'copy' alone settles the label 'y': if it is known only together with the label,"
    assert chosen_of(frame).notes == [f"{note} leave it out (--drop copy)."]
    assert chosen_of(frame, features=["copy"]).notes == [
        f"{note} leave it out (remove it from --features)."
    ]
    assert chosen_of(frame, drop=["copy"]).notes == []
    gaps = frame.with_columns(copy=pl.when(pl.int_range(50) > 4).then("copy"))
    assert note in " ".join(chosen_of(gaps, missing="drop").notes)

"""Rows of files as a fitted table takes them."""

import numpy as np
import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.fit_table import fit_table
from spectralmirror.tables.known_rows import known_rows

FRAME = pl.DataFrame(
    {
        "x": [3.0, 5.0, 2.0, 8.0, 6.0, 1.0, 9.0, 4.0],
        "c": ["u", "u", "v", "u", "v", "v", "u", "u"],
        "who": [1, 1, 2, 2, 3, 3, 4, 4],
        "y": [1, 0, 1, 0, 0, 1, 1, 0],
    }
)


@pytest.fixture(scope="module")
def model():
    roles, mixture = ColumnRoles("y", "who"), LinearClassifierMixture(1, l2=1)
    return fit_table(readers_of(FRAME.to_arrow()), roles, mixture, source="a frame")


def known(model, frame, **options):
    (rows,) = known_rows(model, readers_of(frame.to_arrow()), **options)
    return rows


def test_features_labels_and_groups(model):
    rows = known(model, FRAME, labelled=True, grouped=True, keep=["who"])
    np.testing.assert_array_equal(rows.X, model.recipe.encode(FRAME.to_arrow()))
    assert rows.y.tolist() == FRAME["y"].to_list()
    assert rows.groups.tolist() == FRAME["who"].to_list()
    assert rows.complete.all()
    assert rows.group_values("who")[0] == [1, 2, 3, 4]
    assert np.shares_memory(np.asarray(model.named(rows.X)), rows.X)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x": pl.lit(None, pl.Float64)}, "Values are missing in some of 8 rows: 'x' 8"),
        ({"x": pl.lit(np.inf)}, "'x' of the table holds infinity"),
        ({"c": pl.lit("z")}, r"'c' holds 'z', which did not occur .*it knows u, v"),
        ({"c": pl.lit(2.5), "x": pl.lit("a")}, "'x' of the table holds .*string.* was a number"),
        ({"y": pl.lit(7)}, r"Label 'y' holds 7, but the labels that were fitted are \[0, 1\]"),
    ],
)
def test_rows_that_cannot_be_taken_are_refused(model, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        known(model, FRAME.with_columns(**change), labelled=True)


def test_incomplete_rows_are_marked_or_imputed(model):
    gaps = FRAME.with_columns(x=pl.when(pl.col("x") != 5).then("x"), c=pl.col("c").replace("v", ""))
    dropped = known(model, gaps, missing="drop")
    assert dropped.complete.tolist() == [True, False, False, True, False, False, True, True]
    assert dropped.X.shape == (4, 2)
    assert dropped.spread(np.arange(4.0)).to_pylist() == [0, None, None, 1, None, None, 2, 3]
    imputed = known(model, gaps, missing="impute")
    assert imputed.complete.all()
    assert imputed.n_filled == 4
    assert imputed.X[1, 0] == model.recipe.terms[0].mean


def test_labels_may_be_stored_as_text_where_the_model_was_fitted_to_numbers(model):
    frame = FRAME.with_columns(pl.col("y").cast(pl.String))
    assert known(model, frame, labelled=True).y.tolist() == FRAME["y"].to_list()

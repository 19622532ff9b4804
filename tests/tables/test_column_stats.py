"""Statistics of columns from one pass."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables import column_stats
from spectralmirror.tables.column_stats import (
    MOST_LABELS,
    ColumnStats,
    check_present,
    n_missing,
    present,
    table_stats,
)

numbers = st.lists(st.floats(-1e6, 1e6), max_size=20)


def stats_of(table, kinds, others=("y",), pairs=None, **options):
    return table_stats(readers_of(table), kinds, list(others), pairs, lambda n: None, **options)


@given(st.lists(numbers, max_size=4))
def test_numbers_that_come_in_batches_are_those_that_come_at_once(batches):
    column, every = ColumnStats("number"), np.concatenate([*map(np.array, batches), []])
    for batch in batches:
        column.add(pa.array(batch, pa.float64()))
    assert (column.n, column.n_finite) == (len(every), len(every))
    assert column.is_empty == (len(every) == 0)
    if len(every):
        np.testing.assert_allclose(column.mean, every.mean(), atol=1e-6)
        assert (column.low, column.high) == (every.min(), every.max())
        assert column.is_constant == (len(set(every.tolist())) == 1)


def test_missing_and_infinite_numbers_are_counted_apart():
    column = ColumnStats("number")
    column.add(pa.array([1.0, None, np.nan, np.inf, -np.inf, 3.0]))
    assert (column.n, column.n_finite, column.n_infinite) == (6, 2, 2)
    assert column.mean == 2


@pytest.mark.parametrize(
    ("batches", "expected"),
    [([[1, 2], [5]], True), ([[1, 2], [2]], False), ([[1.5, 2]], False), ([[2, 1]], False)],
)
def test_numbers_that_count_up_do_so_over_all_batches(batches, expected):
    column = ColumnStats("number")
    for batch in batches:
        column.add(pa.array(batch, pa.float64()))
    assert column.counts_up == expected


def test_sides_of_a_comparison_merge():
    left, right = ColumnStats("number"), ColumnStats("number")
    left.add_numbers(np.array([1.0, 2.0, 3.0]))
    right.add_numbers(np.array([10.0]))
    both = left + right
    assert (both.mean, both.low, both.high, both.n_finite) == (4, 1, 10, 4)
    assert not both.counts_up


def test_a_table_in_many_batches(monkeypatch):
    monkeypatch.setattr(column_stats, "BATCH_ROWS", 2)
    table = pa.table(
        {
            "x": [1.0, None, 3.0, 5.0, 7.0],
            "c": ["u", "v", "", "u", "u"],
            "y": ["no", "yes", "no", None, "yes"],
        }
    )
    kinds = {"x": "number", "c": "category"}
    stats = stats_of(table, kinds)
    assert (stats.n_rows, stats.n_kept) == (5, 4)  # rows without label are not kept
    assert stats.missing == {"x": 1, "c": 1, "y": 1}
    assert stats.columns["x"].mean == pytest.approx(11 / 3)
    assert stats.columns["c"].levels == Counter(u=2, v=1)
    assert stats.labels == ["no", "yes"]
    complete = stats_of(table, kinds, complete=True)
    assert (complete.n_rows, complete.n_kept) == (5, 2)
    assert complete.columns["x"].mean == 4
    assert complete.columns["c"].levels == Counter(u=2)


def test_features_that_never_tell_the_sides_apart():
    table = pa.table(
        {
            "a_x": [1.0, 2.0], "b_x": [0.0, 1.0],  # always 1 more
            "a_z": [1.0, 2.0], "b_z": [2.0, 1.0],
            "a_c": ["u", "v"], "b_c": ["u", "v"],  # always the same
            "a_d": ["u", "v"], "b_d": ["v", "u"],  # always different
            "y": [1, 0],
        }
    )  # fmt: skip
    kinds = {"x": "number", "z": "number", "c": "category", "d": "category"}
    assert stats_of(table, kinds, pairs=("a_", "b_")).alike == {"x", "c"}


def test_labels_are_not_collected_without_end():
    table = pa.table({"x": [1.0] * 5_000, "y": np.arange(5_000)})
    assert len(stats_of(table, {"x": "number"}).labels) == MOST_LABELS


def test_what_is_missing():
    table = pa.table({"x": [1.0, np.nan, None], "t": ["", "a", None]})
    table = table.append_column("d", table["t"].dictionary_encode())
    assert [n_missing(table[name]) for name in table.column_names] == [2, 2, 2]
    assert present(table, ["x"]).tolist() == [True, False, False]
    assert present(table, ["d"]).tolist() == [False, True, False]
    assert present(table, ["x", "t"]).tolist() == [False] * 3
    with pytest.raises(ValueError, match="has no column 'tt'; did you mean 't'"):
        check_present(readers_of(table)[0], ["x", "tt"])

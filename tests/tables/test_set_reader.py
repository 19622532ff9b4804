"""Whole choice sets from files, and what is wrong with sets."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from spectralmirror.rows.files.frames import table_reader
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.set_columns import SET
from spectralmirror.tables.set_reader import SetReader
from tests.helpers.choices import survey


def reader_of(frame, **options):
    return SetReader([table_reader(frame.to_arrow())], ["case"], "who", **options)


def read(reader, n_rows=1_000, columns=("case", SET)):
    return [batch.table for batch in reader.batches(list(columns), n_rows)]


@pytest.mark.parametrize("n_rows", [1, 7, 1_000_000])
def test_batches_hold_whole_sets_and_number_them(n_rows):
    frame = survey(20)
    tables = read(reader_of(frame), n_rows)
    cases = [table.column("case").to_numpy() for table in tables]
    assert not any(set(a) & set(b) for a, b in pairwise(cases))
    together = np.concatenate(cases)
    np.testing.assert_array_equal(together, frame["case"])
    numbers = np.concatenate([table.column(SET).to_numpy() for table in tables])
    np.testing.assert_array_equal(numbers, np.unique(together, return_inverse=True)[1])


def test_several_files_and_several_columns(tmp_path):
    frame = survey(20).with_columns(task=pl.col("case") % 8)
    frame[:0].write_parquet(tmp_path / "0.parquet")
    cut = int(np.flatnonzero(frame["who"].to_numpy() == 9)[0])
    frame[:cut].write_parquet(tmp_path / "1.parquet")
    frame[cut:].write_parquet(tmp_path / "2.parquet")
    reader = SetReader(readers_of(tmp_path), ["who", "task"], "who")
    numbers = np.concatenate([t.column(SET).to_numpy() for t in read(reader, 100, [SET])])
    np.testing.assert_array_equal(numbers, np.unique(frame["case"], return_inverse=True)[1])


def test_incomplete_sets_are_left_out():
    frame = survey(20)
    price = frame["price"].to_list()
    price[5] = None
    frame = frame.with_columns(price=pl.Series(price))
    kept = pl.concat(map(pl.from_arrow, read(reader_of(frame, needed=["price"]), 10)))
    assert kept["case"].to_list() == [
        case for case in frame["case"].to_list() if case != frame["case"][5]
    ]


def changed(column, row, value):
    frame = survey(5, sizes=False)
    values = frame[column].to_list()
    values[row] = value
    return frame.with_columns(pl.Series(column, values, strict=False))


BAD = [
    ("chosen", 4, 1, r"Set 101 of 'case' \(row 4 of the table\) has 2 chosen rows: exactly one"),
    ("case", 7, 99, r"Set 99 of 'case' \(row 7 of the table\) has a single alternative"),
    ("who", 2, 7, r"Column 'who' changes inside set 100 of 'case' \(row 0 of the table\)"),
    ("case", 3, None, r"'case' is missing in row 3 of the table: every row belongs to a choice"),
]


@pytest.mark.parametrize(("column", "row", "value", "sentence"), BAD)
@pytest.mark.parametrize("n_rows", [5, 1_000])
def test_bad_sets_are_named(column, row, value, sentence, n_rows):
    frame = changed(column, row, value)
    chosen = [r for r in (4, 5, 6, 7) if frame["chosen"][r]]
    if column == "chosen" and chosen == [4]:
        frame = changed(column, 5, value)
    reader = reader_of(frame, chosen=lambda table: table.column("chosen").to_numpy() == 1)
    with pytest.raises(ValueError, match=sentence):
        read(reader, n_rows, ["case", "chosen", SET])


def test_nothing_chosen():
    frame = survey(5, sizes=False).with_columns(
        chosen=pl.when(pl.col("case") != 103).then("chosen").otherwise(0)
    )
    reader = reader_of(frame, chosen=lambda table: table.column("chosen").to_numpy() == 1)
    with pytest.raises(ValueError, match=r"Set 103 of 'case' \(row 12 of .*\) has no chosen row"):
        read(reader, 5, ["case", "chosen", SET])


@pytest.mark.parametrize("n_rows", [5, 1_000])
def test_a_set_that_comes_again_is_named(n_rows):
    frame = survey(5, sizes=False)
    again = pl.concat([frame, frame[4:8].with_columns(who=pl.lit(99, frame["who"].dtype))])
    with pytest.raises(ValueError, match=r"Set 101 of 'case' begins in row 4 of the table and "
                       r"comes again in row 160 of the table.*--choice-set who,case"):  # fmt: skip
        read(reader_of(again), n_rows)

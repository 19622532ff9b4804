"""Choices with one line each become rows for each alternative."""

import numpy as np
import polars as pl
import pytest

from spectralmirror.rows.files.frames import table_reader
from spectralmirror.tables.set_columns import SET
from spectralmirror.tables.wide_form import ALTERNATIVE
from spectralmirror.tables.wide_reader import WideReader
from tests.helpers.choices import NAMES, survey, widened


def read(frame, columns, n_rows=1_000, **options):
    reader = WideReader.of([table_reader(frame.to_arrow())], "choice", **options)
    tables = [batch.table for batch in reader.batches(columns, n_rows)]
    return pl.concat(map(pl.from_arrow, tables))


@pytest.mark.parametrize("n_rows", [4, 40, 1_000])
@pytest.mark.parametrize("pattern", ["{}_{}", "{1}.{0}"])
def test_it_is_the_long_form(n_rows, pattern):
    frame = survey(20)
    long = read(widened(frame, pattern), [*NAMES, "who", "choice", ALTERNATIVE, SET], n_rows)
    assert long.equals(
        frame.select(
            *NAMES,
            "who",
            (pl.col("chosen") == 1).alias("choice"),
            pl.col("alt").alias(ALTERNATIVE),
            pl.Series(SET, np.unique(frame["case"], return_inverse=True)[1]),
        )
    )


WIDE = pl.DataFrame(
    {"choice": ["a", "none", "b"], "price_a": [1.0, 2, 3], "price_b": [4.0, 5, 6],
     "wait_b": [7, 8, 9], "av_a": [1, 1, 0], "av_b": [1, 0, 1]}
)  # fmt: skip


def test_outside_options_features_of_some_and_availability():
    found = read(WIDE, ["price", "wait", "choice", ALTERNATIVE], outside="none", available="av")
    assert found.rows() == [
        (1.0, 0, True, "a"), (4.0, 7, False, "b"), (0.0, 0, False, "none"),
        (2.0, 0, False, "a"), (0.0, 0, True, "none"),
        (6.0, 9, True, "b"), (0.0, 0, False, "none"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "options", "sentence"),
    [
        ({"choice": ["a", "b", "b"], "av_b": [1, 0, 1]}, {"available": "av"},
         "Row 1 of the table has 1 of the alternatives 'a', 'b'"),
        ({"choice": ["b", "none", "a"]}, {"available": "av", "outside": "none"},
         "Row 2 of the table: 'a' was chosen, but was not available"),
        ({"av_a": [1, 2, 0]}, {"available": "av", "outside": "none"}, "'av_a' .* must hold 1 or 0"),
        ({"alternative": [1, 2, 3]}, {"outside": "none"}, "'alternative' has the name that"),
        ({"choice": [None, None, None]}, {}, "'choice' is empty"),
    ],
)  # fmt: skip
def test_bad_tables(changes, options, sentence):
    frame = WIDE.with_columns(**{name: pl.Series(values) for name, values in changes.items()})
    with pytest.raises(ValueError, match=sentence):
        read(frame, ["price", "choice"], **options)


def test_an_alternative_that_is_new_is_named():
    reader = WideReader.of([table_reader(WIDE.to_arrow())], "choice", outside="none")
    other = WIDE.with_columns(choice=pl.Series(["a", "c", "b"]))
    again = WideReader([table_reader(other.to_arrow())], reader.form)
    with pytest.raises(ValueError, match="Row 1 of the table: 'c' was chosen, but is no alternat"):
        list(again.batches(["choice"], 10))

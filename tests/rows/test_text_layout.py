"""Text files of every layout: separators, white space, decimal commas, numbered rows."""

import gzip

import numpy as np
import polars as pl
import pytest

from spectralmirror.rows.files.readers import readers_of
from spectralmirror.rows.files.text_layout import Layout, opened

FRAME = pl.DataFrame(
    {"price, EUR": [1.5, -2.25, 3.0], "n": [10, 20, 30], "who": ["a b", "c", "d;e"]}
)


def read(path, separator=None):
    """Read a file back as a frame."""
    (reader,) = readers_of(path, separator)
    return pl.concat(
        pl.from_arrow(batch.table) for batch in reader.batches(list(reader.types), 1_000)
    )


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", ["csv", "txt", "dat", "tsv", "txt.gz", "dat.gz"])
@pytest.mark.parametrize("known", [True, False])
def test_separators_are_found_or_given(tmp_path, separator, suffix, known):
    path, text = tmp_path / f"data.{suffix}", FRAME.write_csv(separator=separator).encode()
    path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    assert read(path, separator if known else None).equals(FRAME)


def test_an_unusual_separator_can_be_given(tmp_path):
    path = tmp_path / "data.csv"
    FRAME.write_csv(path, separator=":")
    assert read(path, ":").equals(FRAME)


@pytest.mark.parametrize("block", [1 << 16, 7])
def test_any_amount_of_white_space_separates(tmp_path, block):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(500, 3)), schema=list("abc"))
    lines = frame.write_csv().splitlines()
    gaps = ["  ", "\t ", " ", "    "]
    text = "\n".join(f"  {line.replace(',', gaps[i % 4])}  " for i, line in enumerate(lines))
    path = tmp_path / "data.dat"
    path.write_text(text + "\n\n")
    assert read(path).equals(frame)
    assert read(path, " ").equals(frame)
    with opened(path, squeeze=True) as file:
        pieces = b"".join(iter(lambda: file.read(block), b""))
    assert pieces.decode() == frame.write_csv(separator=" ")


def test_decimal_commas(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(100, 2)), schema=["a", "b"]).with_columns(
        n=np.arange(100), c=pl.Series(["x,y", "z"] * 50)
    )
    text = frame.with_columns(pl.col("a", "b").cast(pl.String).str.replace(r"\.", ","))
    path = tmp_path / "data.csv"
    text.write_csv(path, separator=";")
    assert read(path).equals(frame)
    frame.write_csv(path, separator=";")
    assert read(path).equals(frame)


def test_numbered_rows_of_r(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text('"x" "y z"\n"1" 0.5 "yes"\n"2" 0.25 "no"\n')
    assert list(readers_of(path)[0].types) == ["", "x", "y z"]
    assert read(path)["x"].to_list() == [0.5, 0.25]
    path.write_text("x,y\n0.3,0.5,yes\n")  # a value that nobody named is no row number
    assert Layout.of(path).names is None


def test_a_folder_is_not_searched_for_notes(tmp_path):
    FRAME.write_csv(tmp_path / "data.csv")
    (tmp_path / "README.txt").write_text("Read this first.\n")
    assert [reader.path.name for reader in readers_of(tmp_path)] == ["data.csv"]

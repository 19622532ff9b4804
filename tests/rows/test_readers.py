"""Files of every format: only needed columns are read, and damage is reported in one sentence."""

import shutil

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spectralmirror import SpectralMirror, scan
from spectralmirror.rows.reduce import reduce
from spectralmirror.subspace.moments import LabelledMoments
from tests.helpers.agreement import assert_alike, mixture_rows
from tests.helpers.scans import NAMES, SMALL, SOURCES, mirror, mixture, scanned, table, to_parquet


def damaged(rows, folder, column, group=2):
    """Write a file and flip bytes of one column in one row group."""
    path = folder / "damaged.parquet"
    written = table(*rows).to_arrow()
    pq.write_table(written, path, row_group_size=1000, write_page_checksum=True)
    metadata = pq.ParquetFile(path).metadata
    place = {metadata.schema.column(i).name: i for i in range(metadata.num_columns)}[column]
    chunk = metadata.row_group(group).column(place)
    with path.open("r+b") as file:
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        file.seek(start + chunk.total_compressed_size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 0xFF]))
    return path


def test_only_needed_columns_are_read(rows, tmp_path):
    """A column that is damaged does no harm to a fit without it."""
    path = damaged(rows, tmp_path, "w")
    mirror().fit(scanned(path))
    with pytest.raises(ValueError, match="column 'w' cannot be read in rows 2,000 to 2,999"):
        mirror().fit(scanned(path, sample_weight="w"))


def test_a_damaged_row_group(rows, tmp_path):
    path = damaged(rows, tmp_path, "c")
    with pytest.raises(ValueError, match="damaged") as error:
        mixture().fit(scanned(path))
    told = str(error.value)
    assert told.startswith(f"{path} is damaged: column 'c' cannot be read in rows 2,000 to 2,999")
    assert "\n" not in told
    fitted = mirror().fit(pl.DataFrame(rows[0], schema=NAMES), rows[1])
    (tmp_path / "out.parquet").write_text("what was there before")
    with pytest.raises(ValueError, match="damaged"):
        scanned(path).map_to(tmp_path / "out.parquet", fitted.transform)
    assert (tmp_path / "out.parquet").read_text() == "what was there before"
    assert not list(tmp_path.glob(".unfinished*"))


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow", "rows.csv", "rows.csv.gz"])
def test_files_that_are_something_else(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"\x00nonsense" * 50)
    with pytest.raises(ValueError, match=str(path)) as error:
        mirror().fit(scan(path, label="y"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv.gz"])
def test_files_that_end_too_early(kind, rows, tmp_path):
    path = SOURCES[kind](table(*rows), tmp_path)
    path = tmp_path / "part-3.parquet" if kind == "parquet" else path
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(ValueError, match=str(path)) as error:
        mirror().fit(scanned(tmp_path if kind == "parquet" else path))
    assert "\n" not in str(error.value)


def vanishing(rows, folder, act):
    """Return a source of which one file is changed after the first pass."""
    to_parquet(table(*rows), folder)
    source = scanned(folder)
    rowset, _ = source.grouped_rows()
    reduce(rowset.rows, LabelledMoments.of)
    act(folder / "part-3.parquet")
    return rowset.rows


def test_a_file_that_vanishes_between_passes(rows, tmp_path):
    source = vanishing(rows, tmp_path, lambda path: path.unlink())
    with pytest.raises(FileNotFoundError, match=r"part-3\.parquet is gone"):
        reduce(source, LabelledMoments.of)


def test_a_file_that_changes_between_passes(rows, tmp_path):
    longer = lambda path: shutil.copy(path.parent / "part-1.parquet", path)  # noqa: E731
    source = vanishing(rows, tmp_path, longer)
    with pytest.raises(ValueError, match=r"part-3\.parquet has changed since it was scanned"):
        reduce(source, LabelledMoments.of)


def test_a_file_that_grows_between_passes(rows, tmp_path):
    def grow(path):
        frame = pl.read_parquet(path)
        pl.concat([frame, frame]).write_parquet(path)

    source = vanishing(rows, tmp_path, grow)
    with pytest.raises(ValueError, match=r"part-3\.parquet has changed since it was scanned"):
        reduce(source, LabelledMoments.of)


def test_whole_numbers_that_others_follow(tmp_path):
    """The type of a column of text is not what its first megabyte looks like."""
    path = tmp_path / "rows.csv"
    n = 300_000
    a = ["1", "2"] * (n // 2)
    a[-1] = "2.5"
    lines = [f"{v},{i % 7},{i % 2}" for i, v in enumerate(a)]
    path.write_text("a,b,y\n" + "\n".join(lines) + "\n")
    assert pa.types.is_integer(scan(path, label="y").parts.readers[0].types["a"])
    rowset, _ = scan(path, label="y").grouped_rows()
    found = reduce(rowset.rows, LabelledMoments.of).features
    assert found.weight == n
    assert found.mean[0] == pytest.approx((1.5 * n + 0.5) / n, abs=1e-12)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_numbers_in_csv_stay_what_they_are(separator, tmp_path):
    X, y, _, _ = mixture_rows(1500, 5)
    ids = 2**60 + np.arange(1500) // 5
    frame = pl.DataFrame(X, schema=NAMES).with_columns(y=np.where(y == "yes", 1, 0), id=ids)
    path = tmp_path / "ids.csv"
    frame.write_csv(path, separator=separator)
    source = scan(path, label="y", features=NAMES, groups="id", block_bytes=SMALL)
    fitted = mixture().fit(source)
    assert fitted.classes_.dtype.kind == "i"
    assert_alike(fitted, mixture().fit(frame[NAMES], frame["y"], groups=ids))
    source.map_to(tmp_path / "out.parquet", fitted.predict, keep=["id"])
    assert pl.read_parquet(tmp_path / "out.parquet")["id"].to_list() == ids.tolist()


def test_missing_text_in_csv_is_missing(tmp_path):
    lines = ["a,y,who", *(f"{i % 13},{['yes', ''][i % 2]},x" for i in range(60))]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"missing label\) in row 1 of"):
        SpectralMirror(1).fit(scan(tmp_path / "rows.csv", label="y"))
    source = scan(tmp_path / "rows.csv", label="who", features="a", groups="y")
    with pytest.raises(ValueError, match="groups has missing values"):
        SpectralMirror(1).fit(source)


def test_a_csv_without_rows_and_one_that_begins_with_nothing(rows, tmp_path):
    frame = table(*rows)
    frame[:0].write_csv(tmp_path / "0.csv")
    frame.with_columns(c=pl.Series([None] * 3500 + frame["c"].to_list()[3500:])).write_csv(
        tmp_path / "1.csv"
    )
    assert scan(tmp_path, label="y", groups="who", sample_weight="w").feature_names == NAMES
    with pytest.raises(ValueError, match="NaN in column 'c'"):
        mirror().fit(scan(tmp_path, label="y", features=NAMES))


def test_folders_without_what_is_hidden(rows, tmp_path):
    frame = table(*rows)
    frame.write_parquet(tmp_path / "a[1].parquet")
    for name in (".checkpoints/a.parquet", "_temporary/b.parquet", ".c.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        frame.write_parquet(tmp_path / name)
    assert [reader.path.name for reader in scanned(tmp_path).parts.readers] == ["a[1].parquet"]
    assert scanned(tmp_path / "a[1].parquet").feature_names == NAMES
    (tmp_path / "nowhere.parquet").symlink_to(tmp_path / "gone.parquet")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        scanned(tmp_path / "nowhere.parquet")


def test_frames_and_batches_in_memory(rows):
    frame = table(*rows)
    expected = mirror().fit(frame[NAMES], rows[1])
    for source in (frame, frame.to_pandas(), frame.to_arrow().to_batches()[0], frame.lazy()):
        assert_alike(mirror().fit(scanned(source)), expected)
    for wrong in (frame["a"], pa.array([1, 2]), {"a": 1}, None, b"rows.parquet"):
        with pytest.raises(ValueError, match="scan cannot read"):
            scan(wrong, label="y")
    with pytest.raises(ValueError, match="the LazyFrame cannot be collected"):
        mirror().fit(scan(frame.lazy().with_columns(pl.col("a").str.head(1)), label="y"))
    with pytest.raises(ValueError, match="two columns named 'a'"):
        scan(pa.Table.from_arrays([pa.array([1, 2])] * 3, names=["a", "a", "y"]), label="y")

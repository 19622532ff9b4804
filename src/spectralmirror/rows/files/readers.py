"""Files, one kind after the other, as batches of Arrow columns in bounded memory.

Parquet is read by pyarrow with a small buffer for each column: its memory does not grow with the
row groups, as that of other readers does, and page checksums are verified where a file has them.
"""

from __future__ import annotations

import glob
import gzip
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq

__all__ = ["Batch", "Reader", "count_rows", "open_reader", "paths_of", "readers_of"]

#: Bytes of a column chunk that are buffered at a time.
BUFFER = 1 << 16
#: Bytes of a row group that are read without buffers.
SMALL_GROUP = 1 << 25
#: Bytes of text that are parsed at a time.
CSV_BLOCK = 1 << 20
NO_PARQUET = "is no Parquet file that can be read"
#: What readers raise where files are damaged.
DAMAGE = (OSError, EOFError, zlib.error, pa.ArrowException)
KINDS = ".parquet, .arrow, .feather, .csv, .csv.gz or .tsv"


@dataclass(frozen=True)
class Batch:
    """Columns of some rows, and where they come from."""

    table: Any
    name: str
    first_row: int


class Reader(Protocol):
    """One file, or what stands for one."""

    name: str

    @property
    def types(self) -> Mapping[str, Any]:
        """The columns and their Arrow types."""

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Read some columns, at most so many rows at a time, or about a megabyte of text.

        Columns of numbers are read as such even where a text file begins with whole numbers.
        """


def paths_of(source: Any) -> list[Path]:
    """Return the files of a path, a folder, a glob or a list of these."""
    if source == "":
        raise ValueError("scan was given an empty path.")
    if not isinstance(source, str | Path):
        return [path for one in source for path in paths_of(one)]
    path = Path(source)
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if one.is_file() and _is_shown(one, path))
        if not found:
            raise FileNotFoundError(f"{source} is a folder without a file that ends in {KINDS}.")
        return found
    if path.exists():
        return [path]
    found = sorted(one for one in map(Path, glob.glob(str(source), recursive=True)) if one.exists())
    if not found:
        raise FileNotFoundError(f"There is no file {str(source)!r}.")
    return [one for path in found for one in paths_of(path)]


def _is_shown(path: Path, folder: Path) -> bool:
    """Whether a file is of a kind that can be read, and neither hidden nor left by somebody."""
    names = path.relative_to(folder).parts
    return bool(_kind(path)) and not any(name.startswith((".", "_")) for name in names)


def _kind(path: Path) -> str | None:
    name = path.name.lower()
    for suffix in (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".csv.gz", ".tsv"):
        if name.endswith(suffix):
            return suffix
    return None


def open_reader(path: Path) -> Reader:
    """Return a reader of the kind that the file's name says."""
    kind = _kind(path)
    if kind in (".parquet", ".pq"):
        return ParquetReader(path)
    if kind in (".arrow", ".feather", ".ipc"):
        return ArrowReader(path)
    if kind in (".csv", ".csv.gz", ".tsv"):
        return CsvReader(path)
    hint = ", or one .npy file by itself" if path.suffix == ".npy" else ""
    raise ValueError(f"{path} is not of a kind that can be read: use {KINDS}{hint}.")


def readers_of(source: Any) -> list[Reader]:
    """Return the readers of files, a polars frame, a pyarrow table or a dataset."""
    name = f"{type(source).__module__.split('.')[0]}.{type(source).__name__}"
    if name in ("polars.LazyFrame", "polars.DataFrame"):
        return [LazyReader(source.lazy())]
    if name == "pandas.DataFrame":
        source = pa.Table.from_pandas(source, preserve_index=False)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return [TableReader(source)]
    if name.startswith("pyarrow.") and name.endswith("Dataset"):
        return [DatasetReader(source)]
    if not isinstance(source, str | Path | list | tuple):
        raise ValueError(
            f"scan cannot read {name}: pass paths, a polars or pandas frame, a pyarrow table or "
            "dataset, an array, or something that yields tuples (X, y)."
        )
    return [open_reader(path) for path in paths_of(source)]


def count_rows(readers: Sequence[Reader]) -> int | None:
    """Return how many rows there are, where files tell without being read: Parquet does."""
    n_rows = 0
    for reader in readers:
        if not isinstance(reader, ParquetReader):
            return None
        with _told(reader.path, NO_PARQUET):
            n_rows += pq.read_metadata(reader.path).num_rows
    return n_rows


def _types(schema: Any, name: str) -> Mapping[str, Any]:
    """Return the columns and their types; two of the same name cannot be told apart."""
    for column in schema.names:
        if schema.names.count(column) > 1:
            raise ValueError(f"{name} has two columns named {column!r}: rename one of them.")
    return dict(zip(schema.names, schema.types, strict=True))


def _without_views(schema: Any) -> Any:
    """Return a schema with plain text in the place of views of text, which few functions take."""
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return pa.schema([(field.name, plain.get(field.type, field.type)) for field in schema])


@contextmanager
def _told(path: Path, what: str) -> Iterator[None]:
    """Raise one sentence where a file cannot be opened or read."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is gone: it was there before. Files must stay until the work has ended."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} {what}: its text is not UTF-8.") from None
    except DAMAGE as error:
        raise ValueError(f"{path} {what}: {_first_line(error)}") from None


def _still_there(path: str, names: Sequence[str], columns: Sequence[str]) -> None:
    for column in columns:
        if column not in names:
            raise ValueError(f"{path} has changed since it was scanned: {column!r} is gone.")


class _OneFile:
    """What the readers of files share: they notice when somebody writes to the file meanwhile."""

    path: Path
    name: str

    @cached_property
    def _as_scanned(self) -> tuple[int, ...]:
        return self._now()

    def _now(self) -> tuple[int, ...]:
        with _told(self.path, "cannot be read"):
            found = self.path.stat()
        return found.st_size, found.st_mtime_ns, found.st_ino

    def _check_unchanged(self) -> None:
        if self._now() != self._as_scanned:
            raise ValueError(
                f"{self.path} has changed since it was scanned: do not change files while they are "
                "being used."
            )


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines() or [type(error).__name__]
    return text[0] if text[0].endswith((".", "!", "?")) else f"{text[0]}."


@dataclass
class ParquetReader(_OneFile):
    """A Parquet file."""

    path: Path
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = str(self.path)

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """The columns and their types."""
        _ = self._as_scanned
        with _told(self.path, NO_PARQUET):
            schema = pq.read_schema(self.path)
        return _types(schema, self.name)

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Read some columns, so many rows at a time."""
        row = 0
        self._check_unchanged()
        with _told(self.path, "cannot be read"), self._open() as file:
            _still_there(self.name, file.schema_arrow.names, columns)
            n_rows_told = file.metadata.num_rows
            batches = file.iter_batches(n_rows, columns=list(columns), use_threads=True)
            while n_rows_told:  # without any, pyarrow 18 asks for a row group that is not there
                try:
                    table = next(batches, None)
                    if table is None:
                        break
                    table.validate(full=True)
                except (OSError, pa.ArrowException) as error:
                    raise self._damaged(file, row, columns, error) from None
                yield Batch(table, self.name, row)
                row += table.num_rows
            self._check_unchanged()
            if row != n_rows_told:  # pages of a kind that is not known are passed over
                raise ValueError(
                    f"{self.path} is damaged: it has {row:,} rows where {n_rows_told:,} should be. "
                    "Write the file again, or leave it out."
                )

    def _open(self) -> Any:
        """Open the file, with buffers where its row groups are large.

        A buffer takes any length that a page claims to have, up to gigabytes; without one, pages
        end where their column does.
        """
        known = pq.read_metadata(self.path)
        groups = (known.row_group(i) for i in range(known.num_row_groups))
        largest = max((group.total_byte_size for group in groups), default=0)
        small = min(largest, self.path.stat().st_size) <= SMALL_GROUP
        return pq.ParquetFile(
            self.path,
            metadata=known,
            pre_buffer=False,
            buffer_size=0 if small else BUFFER,
            page_checksum_verification=True,
        )

    def _damaged(self, file: Any, row: int, columns: Sequence[str], error: Exception) -> ValueError:
        """Find the row group and the column that cannot be read."""
        first = 0
        for group in range(file.num_row_groups):
            last = first + file.metadata.row_group(group).num_rows
            for column in columns if last > row else ():
                try:
                    file.read_row_group(group, columns=[column]).validate(full=True)
                except (OSError, pa.ArrowException) as found:
                    return ValueError(
                        f"{self.path} is damaged: column {column!r} cannot be read in rows "
                        f"{first:,} to {last - 1:,} ({_first_line(found)[:-1]}). Write the file "
                        "again, or leave it out."
                    )
            first = last
        return ValueError(f"{self.path} cannot be read from row {row:,} on: {_first_line(error)}")


@dataclass
class ArrowReader(_OneFile):
    """An Arrow file (IPC, Feather)."""

    path: Path
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = str(self.path)

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """The columns and their types."""
        _ = self._as_scanned
        with _told(self.path, "is no Arrow file that can be read"), self._open() as file:
            return _types(_without_views(file.schema), self.name)

    @contextmanager
    def _open(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=columns)
        with pa.OSFile(str(self.path)) as raw, pa.ipc.open_file(raw, options=options) as file:
            yield file

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Read some columns, so many rows at a time."""
        self._check_unchanged()
        with _told(self.path, "cannot be read"), self._open() as file:
            names = file.schema.names
        _still_there(self.name, names, columns)
        wanted, row = sorted(names.index(name) for name in columns), 0
        what = "is damaged and cannot be read"
        with _told(self.path, what), self._open(wanted) as file:
            for i in range(file.num_record_batches):
                with _told(self.path, f"is damaged, and cannot be read from row {row:,} on"):
                    table = file.get_batch(i)
                    table.validate(full=True)  # places in text that lie outside end the process
                    table = table.cast(_without_views(table.schema))
                for start in range(0, table.num_rows, n_rows):
                    yield Batch(table.slice(start, n_rows), self.name, row + start)
                row += table.num_rows
        self._check_unchanged()


@dataclass
class CsvReader(_OneFile):
    """A CSV file, also a compressed one."""

    path: Path
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = str(self.path)

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """The columns and their types, as far as the first megabyte tells."""
        _ = self._as_scanned
        with _told(self.path, "cannot be read"), self._open(None) as file:
            return _types(file.schema, self.name)

    def _open(self, columns: Sequence[str] | None, numbers: Collection[str] = ()) -> Any:
        options = pa.csv.ConvertOptions(strings_can_be_null=True)
        if columns is not None:
            options.include_columns = list(columns)
            # the first megabyte may have whole numbers only, or nothing at all
            options.column_types = {
                name: pa.float64() if name in numbers and not pa.types.is_boolean(kind) else kind
                for name, kind in self.types.items()
                if name in columns
            }
        return pa.csv.open_csv(
            self.path,
            read_options=pa.csv.ReadOptions(block_size=CSV_BLOCK, use_threads=False),
            parse_options=pa.csv.ParseOptions(delimiter=self._delimiter),
            convert_options=options,
        )

    @cached_property
    def _delimiter(self) -> str:
        """What separates the columns of the first line: a comma, or what is more frequent there."""
        opened = gzip.open if self.path.name.lower().endswith(".gz") else open
        with opened(self.path, "rb") as file:
            line = file.readline(CSV_BLOCK)
        return max(",;\t|", key=lambda mark: line.count(mark.encode()))

    def _named(self, problem: str) -> str:
        """Call a column by its name instead of its number."""
        names = list(self.types)
        return re.sub(r"CSV column #(\d+)", lambda m: f"column {names[int(m[1])]!r}", problem)

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Read some columns, about a megabyte of text at a time."""
        row = 0
        self._check_unchanged()
        for column in columns:
            if pa.types.is_binary(self.types.get(column, pa.null())):
                raise ValueError(
                    f"{self.path} cannot be read: column {column!r} holds text that is not UTF-8. "
                    "Save the file as UTF-8."
                )
        with _told(self.path, "cannot be read"), self._open(columns, numbers) as file:
            while True:
                with _told(self.path, f"cannot be read from row {row:,} on"):
                    try:
                        table = file.read_next_batch()
                    except StopIteration:
                        break
                    except pa.ArrowInvalid as error:
                        raise pa.ArrowInvalid(self._named(str(error))) from None
                yield Batch(table, self.name, row)
                row += table.num_rows
        self._check_unchanged()


@dataclass
class LazyReader:
    """A polars LazyFrame."""

    frame: Any
    name: str = "the LazyFrame"

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """The columns and their types."""
        with _polars_told():
            return dict(self.frame.collect_schema())

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Collect some columns, so many rows at a time."""
        row = 0
        with _polars_told():
            frame = self.frame.select(columns)
            for part in frame.collect_batches(chunk_size=n_rows, maintain_order=True):
                yield Batch(part.to_arrow(), self.name, row)
                row += len(part)


@contextmanager
def _polars_told() -> Iterator[None]:
    from polars.exceptions import PolarsError

    try:
        yield
    except PolarsError as error:
        raise ValueError(f"the LazyFrame cannot be collected: {_first_line(error)}") from None


@dataclass
class TableReader:
    """A pyarrow table."""

    table: Any
    name: str = "the table"

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """The columns and their types."""
        return _types(self.table.schema, self.name)

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Take some columns, so many rows at a time."""
        table = self.table.select(list(columns))
        for row in range(0, table.num_rows, n_rows):
            yield Batch(table.slice(row, n_rows), self.name, row)


@dataclass
class DatasetReader:
    """A pyarrow dataset, whose memory follows its row groups."""

    dataset: Any
    name: str = "the dataset"

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """The columns and their types."""
        return _types(self.dataset.schema, self.name)

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Read some columns, at most so many rows at a time."""
        row = 0
        scanned = self.dataset.to_batches(
            columns=list(columns), batch_size=n_rows, batch_readahead=1, fragment_readahead=1
        )
        while True:
            with _told(Path(self.name), f"cannot be read from row {row:,} on"):
                table = next(scanned, None)
            if table is None:
                return
            yield Batch(table, self.name, row)
            row += table.num_rows

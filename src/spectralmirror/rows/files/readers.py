"""The right reader for each file, data frame, table or dataset."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from spectralmirror.rows.files.arrow_file import ArrowReader
from spectralmirror.rows.files.csv_file import CsvReader
from spectralmirror.rows.files.frames import dataset_reader, lazy_reader, table_reader
from spectralmirror.rows.files.parquet import ParquetReader
from spectralmirror.rows.files.paths import SUFFIXES, file_suffix, paths_of
from spectralmirror.rows.files.reader import FileReader, Reader

__all__ = ["count_rows", "is_readable", "open_reader", "readers_of"]

_FORMATS: dict[str, type[FileReader]] = {
    **dict.fromkeys((".parquet", ".pq"), ParquetReader),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), ArrowReader),
}


def open_reader(path: Path, separator: str | None = None) -> Reader:
    """Return a reader for the format that the suffix of the file name determines.

    `separator` stands between the columns of text files; None finds out what does.
    """
    suffix = file_suffix(path)
    if suffix is None:
        hint = ", or a single .npy file" if path.suffix == ".npy" else ""
        raise ValueError(f"{path} is not of a kind that can be read: use {SUFFIXES}{hint}.")
    return _FORMATS[suffix](path) if suffix in _FORMATS else CsvReader(path, separator)


def is_readable(source: Any) -> bool:
    """Return whether a source is meant as files or tables, not as arrays or a reader of blocks."""
    if isinstance(source, str | Path):
        return True
    if isinstance(source, list | tuple):
        return len(source) > 0 and all(isinstance(one, str | Path) for one in source)
    exchanges = ("__arrow_c_stream__", "__arrow_c_array__", "collect_schema", "scanner")
    return any(hasattr(source, name) for name in exchanges)


def readers_of(source: Any, separator: str | None = None) -> list[Reader]:
    """Return the readers of files, a data frame, a pyarrow table or a dataset.

    `separator` is as in :func:`open_reader`.
    """
    if isinstance(source, str | Path | list | tuple):
        return [open_reader(path, separator) for path in paths_of(source)]
    if hasattr(source, "collect_schema"):  # polars, lazy or not
        return [lazy_reader(source.lazy())]
    if hasattr(source, "scanner"):
        return [dataset_reader(source)]
    if isinstance(source, getattr(sys.modules.get("pandas"), "DataFrame", ())):
        source = pa.Table.from_pandas(source, preserve_index=False)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return [table_reader(source)]
    raise ValueError(
        f"scan cannot read {type(source).__name__}: pass paths, a polars or pandas frame, a "
        "pyarrow table or dataset, an array, or something that yields tuples (X, y)."
    )


def count_rows(readers: Sequence[Reader]) -> int | None:
    """Return the number of rows if all files are Parquet, whose metadata has it, or else None."""
    counts = [reader.n_rows for reader in readers if isinstance(reader, ParquetReader)]
    return sum(counts) if len(counts) == len(readers) else None

"""CSV files, plain or compressed."""

from __future__ import annotations

import gzip
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.csv

from spectralmirror.rows.files.reader import FileReader

__all__ = ["CsvReader"]

#: Bytes of text that are parsed at a time.
CSV_BLOCK = 1 << 20


class CsvReader(FileReader):
    """A CSV file; the first megabyte decides the types of its columns."""

    def _schema(self) -> Any:
        with self._open(None) as file:
            return file.schema

    def _open(self, columns: Sequence[str] | None, numbers: Collection[str] = ()) -> Any:
        options = pa.csv.ConvertOptions(strings_can_be_null=True)
        if columns is not None:
            options.include_columns = list(columns)
            # the first megabyte may hold integers only, or no values at all
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
        """The most frequent separator of the first line; a comma if there is none."""
        opened = gzip.open if self.path.name.lower().endswith(".gz") else open
        with opened(self.path, "rb") as file:
            line = file.readline(CSV_BLOCK)
        return max(",;\t|", key=lambda mark: line.count(mark.encode()))

    def _tables(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str]
    ) -> Iterator[Any]:
        for column in columns:
            if pa.types.is_binary(self.types.get(column, pa.null())):
                raise ValueError(
                    f"{self.path} cannot be read: column {column!r} holds text that is not UTF-8. "
                    "Save the file as UTF-8."
                )
        with self._open(columns, numbers) as file:
            while True:
                try:
                    table = file.read_next_batch()
                except StopIteration:
                    return
                except pa.ArrowInvalid as error:
                    raise pa.ArrowInvalid(self._with_name(str(error))) from None
                yield table

    def _with_name(self, problem: str) -> str:
        """Name the column, which Arrow's message gives by number only."""
        names = list(self.types)
        return re.sub(r"CSV column #(\d+)", lambda m: f"column {names[int(m[1])]!r}", problem)

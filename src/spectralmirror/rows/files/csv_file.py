"""CSV files and other text with separators, plain or compressed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.csv

from spectralmirror.rows.files.reader import FileReader
from spectralmirror.rows.files.text_layout import Layout, opened

__all__ = ["CsvReader"]

#: Bytes of text that are parsed at a time.
CSV_BLOCK = 1 << 20


@dataclass
class CsvReader(FileReader):
    """A text file with separators; the first megabyte decides the types of its columns.

    Attributes
    ----------
    separator : str or None
        What stands between two columns: a character, or " " for any amount of white space; None
        finds out.
    """

    separator: str | None = None

    def _schema(self) -> Any:
        with self._open(None, decimal_point=self._decimal_point) as file:
            return file.schema

    @cached_property
    def _layout(self) -> Layout:
        return Layout.of(self.path, self.separator)

    @cached_property
    def _decimal_point(self) -> str:
        """A comma if it makes more columns numbers than a point does."""
        if self._layout.separator == ",":
            return "."
        n_numbers = {}
        for mark in ".,":
            with self._open(None, decimal_point=mark) as file:
                n_numbers[mark] = sum(map(pa.types.is_floating, file.schema.types))
        return max(n_numbers, key=lambda mark: n_numbers[mark])  # a point if they are equal

    def _open(
        self,
        columns: Sequence[str] | None,
        numbers: Collection[str] = (),
        *,
        decimal_point: str,
    ) -> Any:
        options = pa.csv.ConvertOptions(strings_can_be_null=True, decimal_point=decimal_point)
        if columns is not None:
            options.include_columns = list(columns)
            # the first megabyte may hold integers only, or no values at all
            options.column_types = {
                name: pa.float64() if name in numbers and not pa.types.is_boolean(kind) else kind
                for name, kind in self.types.items()
                if name in columns
            }
        layout = self._layout
        return pa.csv.open_csv(
            opened(self.path, squeeze=True) if layout.separator == " " else self.path,
            read_options=pa.csv.ReadOptions(
                block_size=CSV_BLOCK,
                use_threads=False,
                column_names=layout.names,
                skip_rows=0 if layout.names is None else 1,
            ),
            parse_options=pa.csv.ParseOptions(delimiter=layout.separator),
            convert_options=options,
        )

    def _tables(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str]
    ) -> Iterator[Any]:
        for column in columns:
            if pa.types.is_binary(self.types.get(column, pa.null())):
                raise ValueError(
                    f"{self.path} cannot be read: column {column!r} holds text that is not UTF-8. "
                    "Save the file as UTF-8."
                )
        with self._open(columns, numbers, decimal_point=self._decimal_point) as file:
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

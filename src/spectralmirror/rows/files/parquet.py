"""Parquet files, read in memory that does not grow with their row groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from spectralmirror.rows.files.reader import FileReader, readable
from spectralmirror.rows.messages import one_line

__all__ = ["ParquetReader"]

#: Bytes of a column chunk that are buffered at a time.
BUFFER = 1 << 16
#: Row groups of up to this size in bytes are read without buffers.
SMALL_GROUP = 1 << 25


class ParquetReader(FileReader):
    """A Parquet file, read with a small buffer per column; page checksums are verified."""

    no_such_file: ClassVar[str] = "is not a readable Parquet file"

    @property
    def n_rows(self) -> int:
        """Number of rows, from the metadata."""
        with readable(self.path, self.no_such_file):
            return int(pq.read_metadata(self.path).num_rows)

    def _schema(self) -> Any:
        return pq.read_schema(self.path)

    def _tables(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str]
    ) -> Iterator[Any]:
        row = 0
        with self._open() as file:
            self._check_columns(file.schema_arrow.names, columns)
            expected = file.metadata.num_rows
            batches = file.iter_batches(n_rows, columns=list(columns), use_threads=True)
            while expected:  # pyarrow 18 asks an empty file for a row group
                try:
                    table = next(batches, None)
                    if table is None:
                        break
                    table.validate(full=True)
                except (OSError, pa.ArrowException) as error:
                    raise self._damage(file, row, columns, error) from None
                yield table
                row += table.num_rows
        self._check_unchanged()
        if row != expected:  # pages of an unknown kind are skipped
            raise ValueError(
                f"{self.path} is damaged: it has {row:,} rows where {expected:,} should be. "
                "Write the file again, or leave it out."
            )

    def _open(self) -> Any:
        """Open the file, with buffers if its row groups are large.

        A buffer has any length that a page claims, up to gigabytes; without buffers, a page ends
        where its column chunk does.
        """
        metadata = pq.read_metadata(self.path)
        groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
        largest = max((group.total_byte_size for group in groups), default=0)
        is_small = min(largest, self.path.stat().st_size) <= SMALL_GROUP
        return pq.ParquetFile(
            self.path,
            metadata=metadata,
            pre_buffer=False,
            buffer_size=0 if is_small else BUFFER,
            page_checksum_verification=True,
        )

    def _damage(self, file: Any, row: int, columns: Sequence[str], error: Exception) -> ValueError:
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
                        f"{first:,} to {last - 1:,}: {one_line(found)} Write the file again, or "
                        "leave it out."
                    )
            first = last
        return ValueError(f"{self.path} cannot be read from row {row:,} on: {one_line(error)}")

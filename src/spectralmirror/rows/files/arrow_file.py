"""Arrow files (IPC, Feather)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.ipc

from spectralmirror.rows.files.reader import FileReader

__all__ = ["ArrowReader"]


class ArrowReader(FileReader):
    """An Arrow file."""

    no_such_file: ClassVar[str] = "is not a readable Arrow file"
    broken: ClassVar[str] = "is damaged, and cannot be read"

    def _schema(self) -> Any:
        with self._open() as file:
            return _without_views(file.schema)

    @contextmanager
    def _open(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=columns)
        with pa.OSFile(str(self.path)) as raw, pa.ipc.open_file(raw, options=options) as file:
            yield file

    def _tables(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str]
    ) -> Iterator[Any]:
        with self._open() as file:
            names = file.schema.names
        self._check_columns(names, columns)
        with self._open(sorted(names.index(name) for name in columns)) as file:
            for i in range(file.num_record_batches):
                table = file.get_batch(i)
                table.validate(full=True)  # offsets outside of the text would crash the process
                table = table.cast(_without_views(table.schema))
                for start in range(0, table.num_rows, n_rows):
                    yield table.slice(start, n_rows)


def _without_views(schema: Any) -> Any:
    """Return a schema with plain text instead of views of text, which few functions accept."""
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return pa.schema([(field.name, plain.get(field.type, field.type)) for field in schema])

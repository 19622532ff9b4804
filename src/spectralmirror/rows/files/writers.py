"""Write tables part by part, in the format that the suffix of the file name determines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq

from spectralmirror.rows.files.atomic import written_whole

__all__ = ["KINDS", "check_kind", "writing"]

KINDS = (".parquet", ".arrow", ".feather", ".csv", ".csv.gz")


def check_kind(path: Path) -> None:
    """Raise if a path is a folder, or if its suffix is not that of a known format."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name the file to write.")
    if not path.name.lower().endswith(KINDS):
        raise ValueError(f"{path} must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}.")


@contextmanager
def writing(path: Path) -> Iterator[Callable[[Any], None]]:
    """Yield a function that appends a table; the file is written whole or not at all."""
    check_kind(path)
    with written_whole(path) as unfinished, ExitStack() as stack:
        writer: Any = None

        def append(table: Any) -> None:
            nonlocal writer
            if writer is None:
                writer = stack.enter_context(_writer(unfinished, table.schema, stack))
            writer.write_table(table.cast(writer.schema) if hasattr(writer, "schema") else table)

        yield append
        if writer is None:
            raise ValueError("There are no rows (0 samples) to write.")


def _writer(path: Path, schema: Any, stack: ExitStack) -> Any:
    name = path.name.lower()
    if name.endswith(".parquet"):
        return pq.ParquetWriter(path, schema)
    if name.endswith((".arrow", ".feather")):
        return pa.ipc.new_file(stack.enter_context(pa.OSFile(str(path), "wb")), schema)
    compression = "gzip" if name.endswith(".gz") else None
    stream = stack.enter_context(pa.output_stream(str(path), compression=compression))
    return pa.csv.CSVWriter(stream, schema)

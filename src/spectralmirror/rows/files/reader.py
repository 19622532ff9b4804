"""What every reader does: yield batches of Arrow columns, in bounded memory."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from spectralmirror.rows.messages import one_line

__all__ = ["Batch", "FileReader", "Reader", "column_types", "readable"]

#: What libraries raise if a file is damaged.
DAMAGE = (OSError, EOFError, zlib.error, pa.ArrowException)


@dataclass(frozen=True)
class Batch:
    """Columns of consecutive rows, and where they come from.

    Attributes
    ----------
    table : pyarrow table or record batch
        The columns.
    name : str
        Name of the file.
    first_row : int
        Number of the first row in the file.
    """

    table: Any
    name: str
    first_row: int


class Reader(Protocol):
    """A file, or a table that is read like one.

    Attributes
    ----------
    name : str
        What errors call it.
    types : mapping
        Types of the columns by name.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def types(self) -> Mapping[str, Any]: ...  # noqa: D102

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Yield some columns, at most `n_rows` rows at a time, or about a megabyte of text.

        Columns in `numbers` are read as floats even if a text file begins with integers.
        """


@dataclass
class FileReader(ABC):
    """A reader of one file, which notices if somebody writes to the file meanwhile.

    Attributes
    ----------
    path : Path
        The file.
    """

    path: Path

    #: What errors say of a file of another format, and of one that cannot be read to its end.
    no_such_file: ClassVar[str] = "cannot be read"
    broken: ClassVar[str] = "cannot be read"

    @property
    def name(self) -> str:
        """What errors call the file."""
        return str(self.path)

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """Types of the columns by name."""
        _ = self._state_at_first
        with readable(self.path, self.no_such_file):
            return column_types(self._schema(), self.name)

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Yield some columns, at most `n_rows` rows at a time, or about a megabyte of text."""
        self._check_unchanged()
        tables, row = self._tables(columns, n_rows, numbers), 0
        while True:
            with readable(self.path, f"{self.broken} from row {row:,} on"):
                table = next(tables, None)
            if table is None:
                break
            yield Batch(table, self.name, row)
            row += table.num_rows
        self._check_unchanged()

    @abstractmethod
    def _schema(self) -> Any:
        """Return the Arrow schema."""

    @abstractmethod
    def _tables(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str]
    ) -> Iterator[Any]:
        """Yield the rows in order."""

    @cached_property
    def _state_at_first(self) -> tuple[int, ...]:
        return self._state()

    def _state(self) -> tuple[int, ...]:
        with readable(self.path, "cannot be read"):
            found = self.path.stat()
        return found.st_size, found.st_mtime_ns, found.st_ino

    def _check_unchanged(self) -> None:
        if self._state() != self._state_at_first:
            raise ValueError(
                f"{self.path} has changed since it was scanned: do not change files while they are "
                "being used."
            )

    def _check_columns(self, names: Sequence[str], columns: Sequence[str]) -> None:
        """Raise if a column has vanished."""
        for column in columns:
            if column not in names:
                raise ValueError(
                    f"{self.path} has changed since it was scanned: {column!r} is gone."
                )


def column_types(schema: Any, name: str) -> Mapping[str, Any]:
    """Return the types of columns by name, which must be different."""
    for column in schema.names:
        if schema.names.count(column) > 1:
            raise ValueError(f"{name} has two columns named {column!r}: rename one of them.")
    return dict(zip(schema.names, schema.types, strict=True))


@contextmanager
def readable(path: Path | str, what: str) -> Iterator[None]:
    """Raise one sentence if a file cannot be opened or read."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is gone: it was there before. Files must stay until the work has ended."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} {what}: its text is not UTF-8.") from None
    except DAMAGE as error:
        raise ValueError(f"{path} {what}: {one_line(error)}") from None

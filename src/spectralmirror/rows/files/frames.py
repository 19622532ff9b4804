"""Tables that are not files, read like them: Arrow tables and datasets, frames of polars."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from spectralmirror.rows.files.reader import Batch, column_types, readable
from spectralmirror.rows.messages import one_line

__all__ = ["FrameReader", "dataset_reader", "lazy_reader", "table_reader"]


@dataclass(frozen=True, eq=False)
class FrameReader:
    """A table that is read like a file.

    Attributes
    ----------
    name : str
        What errors call it.
    types : mapping
        Types of the columns by name.
    read : callable
        read(columns, n_rows) yields the rows in order, as Arrow tables of at most `n_rows` rows.
    """

    name: str
    types: Mapping[str, Any]
    read: Callable[[list[str], int], Iterator[Any]]

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Yield some columns, at most `n_rows` rows at a time."""
        row = 0
        for table in self.read(list(columns), n_rows):
            yield Batch(table, self.name, row)
            row += table.num_rows


def table_reader(table: Any) -> FrameReader:
    """Return a reader of a pyarrow table."""

    def read(columns: list[str], n_rows: int) -> Iterator[Any]:
        chosen = table.select(columns)
        return (chosen.slice(row, n_rows) for row in range(0, len(chosen), n_rows))

    return FrameReader("the table", column_types(table.schema, "the table"), read)


def dataset_reader(dataset: Any) -> FrameReader:
    """Return a reader of a pyarrow dataset, whose memory grows with its row groups."""

    def read(columns: list[str], n_rows: int) -> Iterator[Any]:
        with readable("the dataset", "cannot be read"):
            yield from dataset.to_batches(
                columns=columns, batch_size=n_rows, batch_readahead=1, fragment_readahead=1
            )

    return FrameReader("the dataset", column_types(dataset.schema, "the dataset"), read)


def lazy_reader(frame: Any) -> FrameReader:
    """Return a reader of a polars LazyFrame."""

    def read(columns: list[str], n_rows: int) -> Iterator[Any]:
        with _collectable():
            chosen = frame.select(columns)
            for part in chosen.collect_batches(chunk_size=n_rows, maintain_order=True):
                yield part.to_arrow()

    with _collectable():
        types = dict(frame.collect_schema())
    return FrameReader("the LazyFrame", types, read)


@contextmanager
def _collectable() -> Iterator[None]:
    from polars.exceptions import PolarsError

    try:
        yield
    except PolarsError as error:
        raise ValueError(f"the LazyFrame cannot be collected: {one_line(error)}") from None

"""Rows of files, encoded as features while they are read: what a mixture is fitted to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spectralmirror.rows.files.arrow import column_values
from spectralmirror.rows.files.reader import Batch, Reader
from spectralmirror.rows.part import SURVEYED, Part
from spectralmirror.rows.traits import TraitColumns
from spectralmirror.tables.column_stats import present
from spectralmirror.tables.features import Recipe
from spectralmirror.tables.known_classes import known_numbers

__all__ = ["EncodedRows"]

#: Number of rows that are encoded at a time: their features fit into the processor's cache.
STRIP = 8_192


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Features, labels and groups of files, for a :class:`~spectralmirror.rows.files.scan.Scan`.

    Attributes
    ----------
    readers : list of Reader
        The files.
    recipe : Recipe
        How columns become features.
    label : str
        The column of labels, or of winners.
    group : str or None
        The column of groups.
    missing : {"error", "impute", "drop"}
        Rows without label or group are left out. Missing features are imputed, or their rows are
        left out; with "error" there are none.
    listen : callable
        Called with the number of rows of every batch.
    choices : str or None
        The column of choice sets; the readers yield whole sets.
    membership : Recipe or None
        How columns become covariates of groups.
    known : str or None
        The column of known classes.
    """

    readers: Sequence[Reader]
    recipe: Recipe
    label: str
    group: str | None
    missing: str
    listen: Callable[[int], None]
    has_labels: bool = True
    choices: str | None = None
    membership: Recipe | None = None
    known: str | None = None

    @property
    def trait_columns(self) -> TraitColumns | None:
        """What is known about the group of each row."""
        names = () if self.membership is None else tuple(self.membership.names)
        found = TraitColumns(names, self.known is not None)
        return found if len(found) else None

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return self.recipe.names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the features."""
        return np.dtype(self.recipe.dtype)

    @property
    def set_column(self) -> str | None:
        """What errors call the choice sets, which the readers have checked."""
        return None if self.choices is None else "choices"

    @property
    def has_groups(self) -> bool:
        """Whether there is a column of groups."""
        return self.group is not None

    def survey(self) -> Iterator[Part]:
        """Yield the labels and groups, without features."""
        columns = self._required if self.missing == "drop" else self._others
        for batch in self._batches(list(dict.fromkeys([*columns, *self._of_groups])), SURVEYED):
            block = _Block(self, np.empty((batch.table.num_rows, 0)))
            block.add(batch, 0)
            yield block.part()

    def read(self, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield parts of exactly `n_rows` rows, except for the last."""
        if keep:
            raise ValueError("Encoded rows have no columns to keep.")
        yield from self._parts(lambda: np.empty((n_rows, self.n_features), dtype=dtype))

    def collect(self, n_rows: int) -> Part:
        """Return the first `n_rows` rows as one part.

        Its features are stored column by column, as data frames store them.
        """
        X = np.empty((n_rows, self.n_features), dtype=self.dtype, order="F")
        part = next(self._parts(lambda: X), None)
        if part is None:
            raise ValueError("No row is left (0 samples).")
        return part

    def _parts(self, allocate: Callable[[], NDArray[Any]]) -> Iterator[Part]:
        block = _Block(self, allocate())
        columns = list(dict.fromkeys([*self._required, *self._of_groups]))
        for batch in self._batches(columns, len(block.X)):
            start = 0
            while start < batch.table.num_rows:
                start += block.add(batch, start)
                if block.is_full:
                    yield block.part()
                    block = _Block(self, allocate())
        if block.length:
            yield block.part()

    @property
    def _others(self) -> list[str]:
        names = (self.label, self.group, self.choices)
        return [name for name in names if name is not None]

    @property
    def _of_groups(self) -> list[str]:
        """The columns of covariates, and of known classes."""
        return [*self._covariates, *([] if self.known is None else [self.known])]

    @property
    def _covariates(self) -> list[str]:
        return [] if self.membership is None else self.membership.columns

    @property
    def _required(self) -> list[str]:
        """The columns without which a row is left out if missing values are dropped."""
        return list(dict.fromkeys([*self.recipe.columns, *self._others, *self._covariates]))

    def _batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Batch]:
        """Yield the rows that are not left out."""
        needed = self._required if self.missing == "drop" else self._others
        of_groups = [] if self.membership is None else self.membership.numbers
        numbers = [name for name in (*self.recipe.numbers, *of_groups) if name in columns]
        for reader in self.readers:
            for batch in reader.batches(columns, n_rows, numbers):
                rows = present(batch.table, needed)
                self.listen(len(rows))
                table = batch.table if rows.all() else batch.table.filter(pa.array(rows))
                if table.num_rows:
                    yield Batch(table, batch.name, batch.first_row)


class _Block:
    """A part that is assembled from batches."""

    def __init__(self, source: EncodedRows, X: NDArray[Any]):
        self.source, self.X, self.length = source, X, 0
        self.labels: list[NDArray[Any]] = []
        self.groups: list[NDArray[Any]] = []
        self.choices: list[NDArray[Any]] = []
        self.traits: list[NDArray[Any]] = []
        self.places: list[tuple[str, int, int]] = []

    @property
    def is_full(self) -> bool:
        return self.length == len(self.X)

    def add(self, batch: Batch, start: int) -> int:
        """Add rows of a batch from `start` on; return how many there was room for."""
        source = self.source
        count = int(min(batch.table.num_rows - start, len(self.X) - self.length))
        rows = batch.table.slice(start, count)
        for first in range(0, count if self.X.shape[1] else 0, STRIP):
            strip = rows.slice(first, STRIP)
            place = self.length + first
            self.X[place : place + strip.num_rows] = source.recipe.encode(
                strip, impute=source.missing == "impute"
            )
        self.labels.append(source.recipe.labels(rows.column(source.label)))
        if source.group is not None:
            self.groups.append(column_values(rows.column(source.group)))
        if source.choices is not None:
            self.choices.append(column_values(rows.column(source.choices)))
        if source.trait_columns is not None:
            self.traits.append(self._traits(rows))
        first_row = batch.first_row + start
        self.places.append((batch.name, first_row, first_row + count - 1))
        self.length += count
        return count

    def _traits(self, rows: Any) -> NDArray[Any]:
        """Return the covariates and the known class of the group of each row."""
        source, found = self.source, []
        if source.membership is not None:
            found.append(source.membership.encode(rows, impute=source.missing == "impute"))
        if source.known is not None:
            found.append(known_numbers(rows.column(source.known), source.known)[:, None])
        return np.hstack(found)

    def part(self) -> Part:
        groups = np.concatenate(self.groups) if self.groups else None
        y = np.concatenate(self.labels)
        choices = np.concatenate(self.choices) if self.choices else None
        traits = np.concatenate(self.traits) if self.traits else None
        X, places = self.X[: self.length], tuple(self.places)
        return Part(X, y, None, groups, places, choices=choices, traits=traits)

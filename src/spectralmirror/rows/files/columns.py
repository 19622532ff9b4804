"""Columns of files, put together as parts of exactly so many rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spectralmirror.rows.files.arrow import (
    check_columns,
    column_values,
    common_dtype,
    family,
    fill,
    is_number,
    nearest,
)
from spectralmirror.rows.files.readers import Reader
from spectralmirror.rows.part import SURVEYED, Part

__all__ = ["Columns"]


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of files.

    Attributes
    ----------
    readers : list of Reader
        The files, in their order.
    features : list of str
        Columns of numbers.
    label, groups, weight : str or None
        The other columns that are needed.
    dtype : dtype
        Precision of the features.
    """

    readers: list[Reader]
    features: list[str]
    label: str | None
    groups: str | None
    weight: str | None
    dtype: np.dtype[Any]

    @classmethod
    def of(
        cls,
        readers: list[Reader],
        label: str | None,
        features: Sequence[str] | None,
        groups: str | None,
        weight: str | None,
    ) -> Columns:
        """Look at the names and types of the columns in every file."""
        others = [name for name in (label, groups, weight) if name is not None]
        features = [features] if isinstance(features, str) else features
        for name in (*others, *(features or ())):
            if not isinstance(name, str):
                raise ValueError(f"Columns are named by text, got {type(name).__name__}.")
        first = {name: _known_type(readers, name) for name in readers[0].types}
        if features is None:
            features = [n for n, kind in first.items() if n not in others and is_number(kind)]
        features = list(features)
        if not features:
            raise ValueError(f"{readers[0].name} has no column of numbers besides {others}.")
        for name in (name for name in others if [*others, *features].count(name) > 1):
            raise ValueError(
                f"Column {name!r} can be only one thing: label, groups, weight or feature."
            )
        for name in (name for name in features if features.count(name) > 1):
            raise ValueError(f"Column {name!r} stands twice among the features: name it once.")
        for reader in readers:
            types = reader.types
            for name in [*others, *features]:
                if name not in types:
                    raise ValueError(
                        f"{reader.name} has no column {name!r}{nearest(name, types)}"
                        + ("" if nearest(name, types) else ".")
                    )
            numbers = features if weight is None else [*features, weight]
            check_columns({name: types[name] for name in numbers}, f" of {reader.name}")
            if label is not None and "binary" in str(types[label]):
                raise ValueError(
                    f"Label {label!r} of {reader.name} holds bytes, or text that is not UTF-8: "
                    "save the file as UTF-8."
                )
            for name in others:
                if str(types[name]) != "null" and family(types[name]) != family(first[name]):
                    raise ValueError(
                        f"Column {name!r} holds {types[name]} in {reader.name}, but {first[name]} "
                        f"in {readers[0].name}: files that are read together must agree."
                    )
        kinds = {str(reader.types[name]) for reader in readers for name in features}
        return cls(readers, features, label, groups, weight, common_dtype(kinds))

    def with_features(self, features: list[str]) -> Columns:
        """Return the same files with other features."""
        return Columns.of(self.readers, self.label, features, self.groups, self.weight)

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return self.features

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @property
    def has_labels(self) -> bool:
        """Whether there is a column of labels."""
        return self.label is not None

    @property
    def has_groups(self) -> bool:
        """Whether there is a column of groups."""
        return self.groups is not None

    def survey(self) -> Iterator[Part]:
        """Yield everything but the features."""
        yield from replace(self, features=[]).read(SURVEYED, self.dtype)

    def read(self, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield parts of `n_rows` rows with the columns to keep; the last may be shorter."""
        others = [name for name in (self.label, self.weight, self.groups) if name is not None]
        columns = list(dict.fromkeys([*self.features, *others, *keep]))
        for reader in self.readers:
            for name in keep:
                if name not in reader.types:
                    raise ValueError(f"{reader.name} has no column {name!r} to keep.")
        part = _Assembly(self, n_rows, dtype, keep)
        as_they_are = {self.label, self.groups, *keep}
        numbers = [n for n in (*self.features, self.weight) if n and n not in as_they_are]
        for reader in self.readers:
            for batch in reader.batches(columns, n_rows, numbers):
                start = 0
                while start < batch.table.num_rows:
                    start += part.add(batch, start)
                    if part.is_full:
                        yield part.finished()
                        part = _Assembly(self, n_rows, dtype, keep)
        if part.length:
            yield part.finished()


class _Assembly:
    """A part that is put together from batches."""

    def __init__(self, columns: Columns, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str]):
        self.columns, self.n_rows, self.keep = columns, n_rows, keep
        self.X = np.empty((n_rows, len(columns.features)), dtype=dtype)
        self.length = 0
        self.pieces: dict[str, list[Any]] = {}
        self.places: list[tuple[str, int, int]] = []

    @property
    def is_full(self) -> bool:
        return self.length == self.n_rows

    def add(self, batch: Any, start: int) -> int:
        """Take rows of a batch from a place on, as many as there is room for."""
        count = int(min(batch.table.num_rows - start, self.n_rows - self.length))
        rows = batch.table.slice(start, count)
        self.columns_of(rows, self.X[self.length : self.length + count])
        others = (self.columns.label, self.columns.weight, self.columns.groups, *self.keep)
        for name in dict.fromkeys(others):
            if name is not None:
                self.pieces.setdefault(name, []).append(rows.column(name))
        row = batch.first_row + start
        if self.places and self.places[-1][0] == batch.name:
            row = self.places.pop()[1]
        self.places.append((batch.name, row, batch.first_row + start + count - 1))
        self.length += count
        return count

    def columns_of(self, rows: Any, X: NDArray[Any]) -> None:
        fill(X, [rows.column(name) for name in self.columns.features])

    def finished(self) -> Part:
        """Return the part."""
        columns, n = self.columns, self.length
        label, weight, groups = (
            None if name is None else np.concatenate(list(map(column_values, self.pieces[name])))
            for name in (columns.label, columns.weight, columns.groups)
        )
        y = np.empty(n) if label is None else label
        kept = {name: _one_array(self.pieces[name]) for name in self.keep}
        return Part(self.X[:n], y, weight, groups, tuple(self.places), kept)


def _one_array(pieces: list[Any]) -> Any:
    chunks = [c for p in pieces for c in (p.chunks if isinstance(p, pa.ChunkedArray) else [p])]
    return pa.concat_arrays(chunks) if len(chunks) != 1 else chunks[0]


def _known_type(readers: list[Reader], name: str) -> Any:
    """Return the type of a column in the first file in which it has one."""
    kinds = [reader.types[name] for reader in readers if name in reader.types]
    return next((kind for kind in kinds if str(kind).lower() != "null"), kinds[0])

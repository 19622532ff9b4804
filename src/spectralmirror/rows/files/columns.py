"""Columns of files, assembled into parts of a given number of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from spectralmirror.rows.column_types import check_columns, common_dtype, family, is_number
from spectralmirror.rows.files.arrow import column_values, fill
from spectralmirror.rows.files.reader import Batch, Reader
from spectralmirror.rows.messages import did_you_mean
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
        features: str | Sequence[str] | None,
        groups: str | None,
        weight: str | None,
    ) -> Columns:
        """Check the names and types of the columns in every file."""
        others = [name for name in (label, groups, weight) if name is not None]
        types = {name: _known_type(readers, name) for name in readers[0].types}
        if features is None:
            numbers = [name for name, kind in types.items() if is_number(kind)]
            features = [name for name in numbers if name not in others]
        features = [features] if isinstance(features, str) else list(features)
        _check_names(others, features, readers[0].name)
        for reader in readers:
            _check_file(reader, others, features, label, weight)
            _check_agreement(reader, others, types, readers[0].name)
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
        for reader in self.readers:
            for name in keep:
                if name not in reader.types:
                    raise ValueError(f"{reader.name} has no column {name!r} to keep.")
        others = [name for name in (self.label, self.weight, self.groups) if name is not None]
        columns = list(dict.fromkeys([*self.features, *others, *keep]))
        unchanged = {self.label, self.groups, *keep}
        numbers = [n for n in (*self.features, self.weight) if n and n not in unchanged]
        part = _Assembly(self, n_rows, dtype, keep)
        for reader in self.readers:
            for batch in reader.batches(columns, n_rows, numbers):
                start = 0
                while start < batch.table.num_rows:
                    start += part.add(batch, start)
                    if part.is_full:
                        yield part.finish()
                        part = _Assembly(self, n_rows, dtype, keep)
        if part.length:
            yield part.finish()


def _check_names(roles: list[str], features: list[str], first: str) -> None:
    """Raise if a column is named by anything but text, or named twice."""
    for name in (*roles, *features):
        if not isinstance(name, str):
            raise ValueError(f"Columns are named by text, got {type(name).__name__}.")
    if not features:
        raise ValueError(f"{first} has no column of numbers besides {roles}.")
    for name in roles:
        if [*roles, *features].count(name) > 1:
            raise ValueError(
                f"Column {name!r} can be only one thing: label, groups, weight or feature."
            )
    for name in features:
        if features.count(name) > 1:
            raise ValueError(f"Column {name!r} is among the features twice: name it once.")


def _check_file(
    reader: Reader, others: list[str], features: list[str], label: str | None, weight: str | None
) -> None:
    """Raise if a column is missing in a file, or of a type that cannot be used."""
    types = reader.types
    for name in (*others, *features):
        if name not in types:
            raise ValueError(f"{reader.name} has no column {name!r}{did_you_mean(name, types)}")
    numbers = features if weight is None else [*features, weight]
    check_columns({name: types[name] for name in numbers}, f" of {reader.name}")
    if label is not None and "binary" in str(types[label]):
        raise ValueError(
            f"Label {label!r} of {reader.name} holds bytes, or text that is not UTF-8: "
            "save the file as UTF-8."
        )


def _check_agreement(reader: Reader, names: list[str], types: dict[str, Any], first: str) -> None:
    """Raise if a column has values of another kind than in the first file; null is of any kind."""
    for name in names:
        kind = reader.types[name]
        if str(kind) != "null" and family(kind) != family(types[name]):
            raise ValueError(
                f"Column {name!r} holds {kind} in {reader.name}, but {types[name]} in {first}: "
                "files that are read together must agree."
            )


def _known_type(readers: list[Reader], name: str) -> Any:
    """Return the type of a column in the first file in which it is not null."""
    kinds = [reader.types[name] for reader in readers if name in reader.types]
    return next((kind for kind in kinds if str(kind).lower() != "null"), kinds[0])


class _Assembly:
    """A part that is assembled from batches."""

    def __init__(self, columns: Columns, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str]):
        self.columns, self.n_rows, self.keep = columns, n_rows, keep
        self.X = np.empty((n_rows, len(columns.features)), dtype=dtype)
        self.length = 0
        self.pieces: dict[str, list[Any]] = {}
        self.places: list[tuple[str, int, int]] = []

    @property
    def is_full(self) -> bool:
        return self.length == self.n_rows

    def add(self, batch: Batch, start: int) -> int:
        """Append rows of a batch from `start` on, as many as there is room for."""
        count = int(min(batch.table.num_rows - start, self.n_rows - self.length))
        rows = batch.table.slice(start, count)
        X = self.X[self.length : self.length + count]
        fill(X, [rows.column(name) for name in self.columns.features])
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

    def finish(self) -> Part:
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

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
from spectralmirror.rows.traits import CLASSES, ENCODE, TraitColumns, stacked

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
    membership : tuple of str
        Columns of covariates of the groups.
    known : str or None
        The column of known classes.
    choices : str or None
        The column of choice sets.
    """

    readers: list[Reader]
    features: list[str]
    label: str | None
    groups: str | None
    weight: str | None
    dtype: np.dtype[Any]
    membership: tuple[str, ...] = ()
    known: str | None = None
    choices: str | None = None

    @classmethod
    def of(
        cls,
        readers: list[Reader],
        label: str | None,
        features: str | Sequence[str] | None,
        groups: str | None,
        weight: str | None,
        membership: str | Sequence[str] | None = None,
        known: str | None = None,
        choices: str | None = None,
    ) -> Columns:
        """Check the names and types of the columns in every file."""
        membership = (membership,) if isinstance(membership, str) else tuple(membership or ())
        named = (label, groups, weight, known, choices)
        others = [name for name in named if name is not None]
        types = {name: _known_type(readers, name) for name in readers[0].types}
        if features is None:
            numbers = [name for name, kind in types.items() if is_number(kind)]
            features = [name for name in numbers if name not in (*others, *membership)]
        features = [features] if isinstance(features, str) else list(features)
        _check_names(others, features, readers[0].name)
        _check_names(others, list(membership), readers[0].name, "membership")
        for reader in readers:
            _check_file(reader, others, features, label, weight)
            _check_traits(reader, membership, known)
            _check_agreement(reader, others, types, readers[0].name)
        kinds = {str(reader.types[name]) for reader in readers for name in features}
        dtype = common_dtype(kinds)
        return cls(readers, features, label, groups, weight, dtype, membership, known, choices)

    def with_features(self, features: list[str], membership: Sequence[str] = ()) -> Columns:
        """Return the same files with other features, and other covariates if some are given."""
        return Columns.of(
            self.readers, self.label, features, self.groups, self.weight,
            membership or self.membership, self.known, self.choices,
        )  # fmt: skip

    @property
    def trait_columns(self) -> TraitColumns | None:
        """What is known about the group of each row."""
        found = TraitColumns(self.membership, self.known is not None)
        return found if len(found) else None

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

    @property
    def set_column(self) -> str | None:
        """What errors call the column of choice sets; None if labels are binary."""
        return None if self.choices is None else repr(self.choices)

    @property
    def others(self) -> list[str]:
        """The columns that are needed besides features."""
        named = (self.label, self.weight, self.groups, *self.membership, self.known, self.choices)
        return list(dict.fromkeys(name for name in named if name is not None))

    def survey(self) -> Iterator[Part]:
        """Yield everything but the features."""
        yield from replace(self, features=[]).read(SURVEYED, self.dtype)

    def read(self, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield parts of `n_rows` rows with the columns to keep; the last may be shorter."""
        for reader in self.readers:
            for name in keep:
                if name not in reader.types:
                    raise ValueError(f"{reader.name} has no column {name!r} to keep.")
        columns = list(dict.fromkeys([*self.features, *self.others, *keep]))
        unchanged = {self.label, self.groups, self.choices, *keep}
        floats = (*self.features, *self.membership, self.weight, self.known)
        numbers = [n for n in floats if n and n not in unchanged]
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


def _check_names(
    roles: list[str], features: list[str], first: str, what: str = "the features"
) -> None:
    """Raise if a column is named by anything but text, or named twice."""
    for name in (*roles, *features):
        if not isinstance(name, str):
            raise ValueError(f"Columns are named by text, got {type(name).__name__}.")
    if not features and what == "the features":
        raise ValueError(f"{first} has no column of numbers besides {roles}.")
    for name in roles:
        if [*roles, *features].count(name) > 1:
            raise ValueError(
                f"Column {name!r} can be only one thing: label, groups, weight, known or feature."
            )
    for name in features:
        if features.count(name) > 1:
            raise ValueError(f"Column {name!r} is among {what} twice: name it once.")


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


def _check_traits(reader: Reader, membership: Sequence[str], known: str | None) -> None:
    """Raise if a column of covariates or of known classes is missing, or holds no numbers."""
    types = reader.types
    for name in membership:
        if name not in types:
            raise ValueError(f"{reader.name} has no column {name!r}{did_you_mean(name, types)}")
        if not is_number(types[name]):
            raise ValueError(
                f"membership must hold numbers, but column {name!r} of {reader.name} holds "
                f"{types[name]}: {ENCODE}."
            )
    if known is not None and not is_number(types[known]):
        raise ValueError(f"{CLASSES}; column {known!r} of {reader.name} holds {types[known]}.")


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
        for name in dict.fromkeys((*self.columns.others, *self.keep)):
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
        values = {
            name: np.concatenate(list(map(column_values, self.pieces[name])))
            for name in columns.others
        }
        label, weight, groups, known = (
            None if name is None else values[name]
            for name in (columns.label, columns.weight, columns.groups, columns.known)
        )
        y = np.empty(n) if label is None else label
        kept = {name: _one_array(self.pieces[name]) for name in self.keep}
        choices = None if columns.choices is None else values[columns.choices]
        part = Part(self.X[:n], y, weight, groups, tuple(self.places), kept, choices=choices)
        if columns.trait_columns is None:
            return part
        membership = tuple(values[name] for name in columns.membership)
        return replace(part, traits=stacked(membership, known, n, part.place))


def _one_array(pieces: list[Any]) -> Any:
    chunks = [c for p in pieces for c in (p.chunks if isinstance(p, pa.ChunkedArray) else [p])]
    return pa.concat_arrays(chunks) if len(chunks) != 1 else chunks[0]

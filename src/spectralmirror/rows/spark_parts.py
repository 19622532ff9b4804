"""Partitions of a Spark DataFrame: how their columns become parts, and how these are summed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from spectralmirror.rows.extras import needs_extra
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.part import Part
from spectralmirror.rows.partitioned import RemoteRows
from spectralmirror.rows.partitioned_groups import joined_groups
from spectralmirror.rows.survey import Encoding
from spectralmirror.rows.traits import TraitColumns, stacked

with needs_extra("spark", "spectralmirror.spark"):
    from spectralmirror.rows.files.arrow import column_values, matrix
    from spectralmirror.rows.spark_store import StoredParts, merged

__all__ = ["Columns", "SparkGroups", "SparkParts"]

T = TypeVar("T")


@dataclass(frozen=True)
class Columns:
    """The role of each column; `width` is the length of arrays if features are in one column."""

    features: tuple[str, ...]
    width: int | None
    dtype: np.dtype[Any]
    label: str
    groups: str | None
    weight: str | None
    membership: tuple[str, ...]
    known: str | None
    choices: str | None

    @property
    def names(self) -> list[str] | None:
        """The names of the features; None if they are in one column."""
        return None if self.width is not None else list(self.features)

    @property
    def person(self) -> str:
        """The column whose values belong together: of groups, or of sets if there are none."""
        assert self.groups is not None or self.choices is not None
        return str(self.choices if self.groups is None else self.groups)

    @property
    def traits(self) -> TraitColumns | None:
        """What is known about the group of each row."""
        found = TraitColumns(self.membership, self.known is not None)
        return found if len(found) else None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features) if self.width is None else self.width

    @property
    def all(self) -> list[str]:
        """All columns that are needed."""
        named = [
            *self.features, self.label, self.groups, self.weight, *self.membership, self.known,
            self.choices,
        ]  # fmt: skip
        return list(dict.fromkeys(name for name in named if name is not None))

    def parts(self, batches: Iterator[Any], number: int) -> Iterator[Part]:
        """Yield the parts of partition `number`: an empty one if there are no rows."""
        n_read = 0
        for batch in batches:
            yield self.part(batch, number, n_read)
            n_read += batch.num_rows
        if not n_read:
            yield self.part(_empty(self), number)

    def part(self, batch: Any, number: int, before: int = 0) -> Part:
        """Turn an Arrow batch into a part; `before` rows of the partition came before it."""
        place = f"partition {number}"
        if self.width is None:
            X = matrix([batch.column(name) for name in self.features], self.dtype)
        else:
            arrays = batch.column(self.features[0])
            values = arrays.flatten()
            if arrays.null_count or len(values) != len(arrays) * self.width:
                raise ValueError(
                    f"Column {self.features[0]!r} must hold {self.width} numbers in every row, as "
                    f"in the first one, but does not in {place}."
                )
            X = column_values(values).astype(self.dtype, copy=False).reshape(-1, self.width)
        others: list[Any] = [
            None if name is None else column_values(batch.column(name))
            for name in (self.label, self.weight, self.groups, self.known, self.choices)
        ]
        membership = tuple(column_values(batch.column(name)) for name in self.membership)
        traits = None
        if self.traits is not None:
            traits = stacked(membership, others[3], len(X), place)
        places = ((place, before, before + len(X) - 1),)
        y, weight, groups, _, choices = others
        return Part(X, y, weight, groups, places, choices=choices, traits=traits)


@dataclass(frozen=True, eq=False)
class SparkParts:
    """The rows one by one: what :class:`RemoteRows` sums."""

    stored: StoredParts

    def map_reduce(self, function: Callable[[int, int, Part], T]) -> T | None:
        """Return the sum of function(number, rows before, part), by Spark's executors."""
        found: T | None = self.stored.reduce(functools.partial(_sum_parts, function))
        return found


@dataclass(frozen=True, eq=False)
class SparkGroups:
    """Partitions of whole groups."""

    stored: StoredParts
    encoding: Encoding

    @classmethod
    def of(cls, rows: RemoteRows, columns: Columns) -> SparkGroups:
        """Send every row to the partition that its group determines.

        Rows are not numbered: they may come in another order when they are read again after an
        executor was lost, and Spark then gives up if that changes what was computed from them.
        """
        df, n = rows.parts.stored.df, max(len(rows.survey.lengths), 1)
        df = df.repartition(n, columns.groups).sortWithinPartitions(columns.groups)
        rows.passes["rows"] += 1
        stored, _ = StoredParts.of(df, columns, _count)
        return cls(stored, rows.encoding)

    def map_reduce(self, function: Callable[[InMemoryGroups], T]) -> T | None:
        """Return the sum of a function of each partition of whole groups."""
        run = functools.partial(_sum_groups, function, self.encoding)
        found: T | None = self.stored.reduce(run)
        return found


def _count(_number: int, parts: Iterator[Part]) -> int:
    return sum(map(len, parts))


def _sum_parts(
    function: Callable[[int, int, Part], Any], number: int, parts: Iterator[Part]
) -> Any:
    total, before = None, 0
    for part in parts:
        total = merged(total, function(number, before, part))
        before += len(part) if part.weight is None else int((part.weight > 0).sum())
    return total


def _sum_groups(
    function: Callable[[InMemoryGroups], Any],
    encoding: Encoding,
    _number: int,
    parts: Iterator[Part],
) -> Any:
    blocks = (encoding.rows(part, keyed=True) for part in parts if len(part))
    found = map(function, joined_groups(rows for rows in blocks if len(rows)))
    return functools.reduce(merged, found, None)


def _empty(columns: Columns) -> Any:
    import pyarrow as pa

    kinds = {name: pa.float64() for name in columns.all}
    if columns.width is not None:
        kinds[columns.features[0]] = pa.list_(pa.float64())
    arrays = [pa.array([], type=kind) for kind in kinds.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(kinds))

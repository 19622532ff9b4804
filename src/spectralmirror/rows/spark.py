"""Spark DataFrames: partitions are summed by their executors, and the sums merged as a tree.

    import spectralmirror.spark
    source = spectralmirror.spark.scan(df, label="y", features=["f0", "f1"])
    LinearClassifierMixture(n_components=2).fit(source)

Rows go from Spark to Python once, as Arrow batches (``mapInArrow``), and stay on the local disks of
the executors (:mod:`spark_store`). Only sums and a bounded sample of rows come to the driver.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from spectralmirror.rows.column_types import check_columns, common_dtype
from spectralmirror.rows.extras import needs_extra
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.messages import did_you_mean
from spectralmirror.rows.part import Part
from spectralmirror.rows.partitioned import RemoteRows
from spectralmirror.rows.partitioned_groups import PartitionedGroups, group_rows, joined_groups
from spectralmirror.rows.survey import Encoding, Survey
from spectralmirror.rows.traits import CLASSES, ENCODE, TraitColumns, stacked

with needs_extra("spark", "spectralmirror.spark"):
    from spectralmirror.rows.files.arrow import column_values, matrix
    from spectralmirror.rows.spark_store import StoredParts, merged

__all__ = ["SparkSource", "scan"]

T = TypeVar("T")
_NUMBER = "__spectralmirror_number"


def scan(
    df: Any,
    *,
    label: str,
    features: str | Sequence[str] | None = None,
    groups: str | None = None,
    sample_weight: str | None = None,
    membership: str | Sequence[str] | None = None,
    known: str | None = None,
) -> SparkSource:
    """Describe the rows of a Spark DataFrame, for ``fit``.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Spark 3.5 or newer, not through Spark Connect.
    label : str
        The column of labels.
    features : str or list of str, default=None
        Columns of numbers, or the name of one column that holds an array or an ML vector per row.
        None means all other columns of numbers.
    groups, sample_weight : str, default=None
        The columns of groups, and of weights.
    membership : str or list of str, default=None
        Columns of covariates on which the weights of the classes depend, the same in all rows of a
        group.
    known : str, default=None
        The column of known classes, counted from 0; -1 or null if a class is not known.

    Returns
    -------
    SparkSource
        What ``SpectralMirror().fit`` and ``LinearClassifierMixture().fit`` take.
    """
    with needs_extra("spark", "spectralmirror.spark"):
        import pyspark  # noqa: F401
    traits = (membership,) if isinstance(membership, str) else tuple(membership or ())
    others = {"groups": groups, "weight": sample_weight, "membership": traits, "known": known}
    return SparkSource.of(df, label, features, others)


@dataclass(frozen=True, eq=False)
class SparkSource:
    """The rows of a Spark DataFrame.

    Attributes
    ----------
    df : DataFrame
        The columns that are needed, and no others.
    columns : Columns
        The role of each of them.
    """

    df: Any
    columns: Columns

    @classmethod
    def of(cls, df: Any, label: str, features: Any, others: dict[str, Any]) -> SparkSource:
        """Check the columns; only the length of an array column is computed."""
        types = {field.name: field.dataType for field in df.schema.fields}
        single = label, others["groups"], others["weight"], others["known"]
        taken = [*(name for name in single if name is not None), *others["membership"]]
        wanted = [features] if isinstance(features, str) else features
        for name in [*taken, *(wanted or [])]:
            if name not in types:
                raise ValueError(f"The DataFrame has no column {name!r}{did_you_mean(name, types)}")
        kinds = {name: kind.simpleString() for name, kind in types.items()}
        for name in (*others["membership"], others["known"]):
            if name is not None and not _is_number(kinds[name]):
                what = f"{CLASSES};" if name == others["known"] else f"membership: {ENCODE};"
                raise ValueError(f"{what} column {name!r} holds {kinds[name]}.")
        if wanted is None:
            wanted = [n for n in types if n not in taken and _is_number(kinds[n])]
        if len(wanted) == 1 and not _is_number(kinds[wanted[0]]):
            df, width = _as_array(df, wanted[0], kinds[wanted[0]])
            kind = df.schema[wanted[0]].dataType.elementType.simpleString()
            columns = Columns(tuple(wanted), width, common_dtype([kind]), label, **others)
        else:
            check_columns({name: kinds[name] for name in wanted})
            dtype = common_dtype([kinds[name] for name in wanted])
            columns = Columns(tuple(wanted), None, dtype, label, **others)
        return cls(df.select(*columns.all), columns)

    def grouped_rows(self) -> tuple[PartitionedGroups, Any]:
        """Return the rows, and the names of the features if they have names."""
        columns = self.columns
        stored, surveys = StoredParts.of(self.df, columns, _survey)
        survey = functools.reduce(operator.add, (one.as_one_part() for one in surveys))
        rows = RemoteRows.of(SparkParts(stored), columns.n_features, columns.dtype, survey)
        names = None if columns.width is not None else list(columns.features)
        groups = None if columns.groups is None else SparkGroups.of(rows, columns)
        return group_rows(rows, groups, columns.traits), names


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
            for name in (self.label, self.weight, self.groups, self.known)
        ]
        membership = tuple(column_values(batch.column(name)) for name in self.membership)
        traits = None
        if self.traits is not None:
            traits = stacked(membership, others[3], len(X), place)
        places = ((place, before, before + len(X) - 1),)
        return Part(X, others[0], others[1], others[2], places, traits=traits)


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
        """Send every row to the partition that its group determines."""
        from pyspark.sql import functions

        df, n = rows.parts.stored.df, max(len(rows.survey.lengths), 1)
        df = df.withColumn(_NUMBER, functions.monotonically_increasing_id())
        df = df.repartition(n, columns.groups).sortWithinPartitions(columns.groups, _NUMBER)
        rows.passes["rows"] += 1
        stored, _ = StoredParts.of(df, columns, _count)
        return cls(stored, rows.encoding)

    def map_reduce(self, function: Callable[[InMemoryGroups], T]) -> T | None:
        """Return the sum of a function of each partition of whole groups."""
        run = functools.partial(_sum_groups, function, self.encoding)
        found: T | None = self.stored.reduce(run)
        return found


def _survey(_number: int, parts: Iterator[Part]) -> Survey:
    return functools.reduce(operator.add, map(Survey.of, parts))


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


def _is_number(kind: str) -> bool:
    return kind in ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean")


def _as_array(df: Any, name: str, kind: str) -> tuple[Any, int]:
    """Return the DataFrame with an array in place of a vector, and the length of the first one."""
    from pyspark.sql import functions

    if kind == "vector":
        from pyspark.ml.functions import vector_to_array

        df = df.withColumn(name, vector_to_array(name))
    elif not kind.startswith("array<") or not _is_number(kind[6:-1]):
        check_columns({name: kind})
    first = df.select(functions.size(name)).first()
    if first is None:
        raise ValueError("There are no rows (0 samples).")
    return df, int(first[0])

"""Choices in Spark DataFrames: the rows of a person, and so those of a set, are brought together.

Spark itself checks that a set belongs to one person, and sends every row to the partition that its
person determines. There, sets are checked and become the rows of a mixture, which executors keep.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from spectralmirror.rows.choice_parts import (
    PairRange,
    SetCounts,
    as_rows,
    no_rows,
    sets_of_part,
    whole_sets,
)
from spectralmirror.rows.part import Part
from spectralmirror.rows.partitioned import RemoteRows
from spectralmirror.rows.partitioned_groups import PartitionedGroups, group_rows
from spectralmirror.rows.sets import changes_inside
from spectralmirror.rows.spark_parts import Columns, SparkGroups, SparkParts
from spectralmirror.rows.spark_store import StoredParts
from spectralmirror.rows.survey import Survey

__all__ = ["spark_choices"]

_NUMBER = "__spectralmirror_number"


def spark_choices(df: Any, columns: Columns) -> tuple[PartitionedGroups, Any, int]:
    """Return the rows of a DataFrame, the names of the features, and the number of sets."""
    counts = _check_sets(df, columns)
    together = _of_persons(df, columns)
    in_pairs = counts.in_pairs
    stored, found = StoredParts.of(together, ChoiceReader(columns, in_pairs), _surveyed)
    if in_pairs:
        ranges = [one for _, one in found if one is not None]
        in_pairs = not ranges or functools.reduce(operator.add, ranges).varies
        if not in_pairs:
            stored, found = StoredParts.of(together, ChoiceReader(columns, in_pairs), _surveyed)
    survey = functools.reduce(operator.add, (one for one, _ in found)).of_choices()
    rows = RemoteRows.of(SparkParts(stored), columns.n_features, columns.dtype, survey)
    rows = replace(rows, has_sets=not in_pairs)
    rows.passes["rows"] += 1
    alone = columns.groups is None and in_pairs  # each set is a row of its own
    partitions = None if alone else SparkGroups(stored, rows.encoding)
    return group_rows(rows, partitions, columns.traits), columns.names, counts.n_sets


@dataclass(frozen=True)
class ChoiceReader:
    """Turns Arrow batches, in which the rows of a set follow each other, into rows of a mixture.

    Attributes
    ----------
    columns : Columns
        The role of each column.
    in_pairs : bool
        Whether the differences of sets of two are the rows.
    """

    columns: Columns
    in_pairs: bool

    def parts(self, batches: Iterator[Any], number: int) -> Iterator[Part]:
        """Yield the parts of partition `number`: an empty one if there are no rows."""
        assert self.columns.choices is not None
        column, found = repr(self.columns.choices), False
        # Rows have no places: those in a partition of persons are not known to anybody.
        parts = (replace(part, places=()) for part in self.columns.parts(batches, number))
        for part in whole_sets(parts, column):
            found = True
            yield as_rows(part, sets_of_part(part, column), in_pairs=self.in_pairs)
        if not found:
            yield no_rows(next(self.columns.parts(iter(()), number)), in_pairs=self.in_pairs)


def _check_sets(df: Any, columns: Columns) -> SetCounts:
    """Count the sets; raise if a set or person is missing, or a set belongs to several persons.

    Partitions of whole persons would not show the latter, but take such a set for several.
    """
    from pyspark.sql.functions import col, expr, isnan

    kinds = {field.name: field.dataType.simpleString() for field in df.schema.fields}

    def missing(name: str) -> Any:
        column = col(name)
        floats = kinds[name] in ("float", "double")
        return column.isNull() | isnan(column) if floats else column.isNull()

    assert columns.choices is not None
    rows = df.select(
        col(columns.choices).alias("name"),
        col(columns.person).alias("person"),
        missing(columns.choices).alias("unnamed"),
        missing(columns.person).alias("absent"),
    )
    sets = rows.groupBy("name").agg(
        expr("count(*) = 2").alias("pair"),
        expr("min(person) != max(person)").alias("several"),
        expr("max(unnamed)").alias("unnamed"),
        expr("max(absent)").alias("absent"),
    )
    found = sets.agg(
        expr("count(*)").alias("sets"),
        expr("count_if(pair)").alias("pairs"),
        expr("max(unnamed)").alias("unnamed"),
        expr("max(absent)").alias("absent"),
        expr("min(if(several, name, null))").alias("several"),
    ).first()
    if not found["sets"]:
        raise ValueError("There are no rows (0 samples).")
    if found["unnamed"]:
        raise ValueError(
            f"{columns.choices!r} is missing in some rows: every row belongs to a choice set."
        )
    if found["absent"]:
        raise ValueError("groups has missing values: give such rows a group of their own.")
    if found["several"] is not None:
        raise changes_inside("groups", f"set {found['several']!r} of {columns.choices!r}")
    return SetCounts(int(found["sets"]), int(found["pairs"]))


def _of_persons(df: Any, columns: Columns) -> Any:
    """Send every row to the partition that its person determines, in the order of their sets.

    The rows of a set stay in their order: of two, the first less the second becomes a row.
    """
    from pyspark.sql.functions import monotonically_increasing_id

    n = max(df.rdd.getNumPartitions(), 1)
    df = df.withColumn(_NUMBER, monotonically_increasing_id())
    names = dict.fromkeys([columns.person, columns.choices, _NUMBER])
    return df.repartition(n, columns.person).sortWithinPartitions(*names)


def _surveyed(_number: int, parts: Iterator[Part]) -> tuple[Survey, PairRange | None]:
    """Survey a partition; the range of its rows matters if they are differences of pairs."""
    survey: Any = None
    ranges: PairRange | None = None
    for part in parts:
        one = Survey.of(part)
        survey = one if survey is None else (survey + one).as_one_part()
        if part.choices is None and len(part):
            here = PairRange(part.X.min(axis=0), part.X.max(axis=0))
            ranges = here if ranges is None else ranges + here
    return survey, ranges

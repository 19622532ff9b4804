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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spectralmirror.rows.column_types import check_columns, common_dtype
from spectralmirror.rows.extras import needs_extra
from spectralmirror.rows.messages import did_you_mean
from spectralmirror.rows.part import Part
from spectralmirror.rows.partitioned import RemoteRows
from spectralmirror.rows.partitioned_groups import PartitionedGroups, group_rows
from spectralmirror.rows.survey import Survey
from spectralmirror.rows.traits import CLASSES, ENCODE

with needs_extra("spark", "spectralmirror.spark"):
    from spectralmirror.rows.spark_choices import spark_choices
    from spectralmirror.rows.spark_parts import Columns, SparkGroups, SparkParts
    from spectralmirror.rows.spark_store import StoredParts

__all__ = ["SparkSource", "scan"]


def scan(
    df: Any,
    *,
    label: str,
    features: str | Sequence[str] | None = None,
    groups: str | None = None,
    sample_weight: str | None = None,
    membership: str | Sequence[str] | None = None,
    known: str | None = None,
    choices: str | None = None,
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
    choices : str, default=None
        For :class:`ChoiceMixture`: the column of choice sets, whose rows may be anywhere. The label
        says which row of a set was chosen.

    Returns
    -------
    SparkSource
        What ``SpectralMirror().fit``, ``LinearClassifierMixture().fit`` and, with `choices`,
        ``ChoiceMixture().fit`` take.
    """
    with needs_extra("spark", "spectralmirror.spark"):
        import pyspark  # noqa: F401
    traits = (membership,) if isinstance(membership, str) else tuple(membership or ())
    others = {
        "groups": groups, "weight": sample_weight, "membership": traits, "known": known,
        "choices": choices,
    }  # fmt: skip
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
        single = label, *(others[name] for name in ("groups", "weight", "known", "choices"))
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
        if columns.choices is not None:
            raise ValueError("This scan has choices=: it can be fitted by ChoiceMixture only.")
        stored, surveys = StoredParts.of(self.df, columns, _survey)
        survey = functools.reduce(operator.add, (one.as_one_part() for one in surveys))
        rows = RemoteRows.of(SparkParts(stored), columns.n_features, columns.dtype, survey)
        groups = None if columns.groups is None else SparkGroups.of(rows, columns)
        return group_rows(rows, groups, columns.traits), columns.names

    def choice_rows(self) -> tuple[PartitionedGroups, Any, int]:
        """Return the rows of choices, the names of the features, and the number of sets."""
        if self.columns.choices is None:
            raise ValueError("The scan has no choice sets: name their column, scan(..., choices=).")
        return spark_choices(self.df, self.columns)


def _survey(_number: int, parts: Iterator[Part]) -> Survey:
    return functools.reduce(operator.add, map(Survey.of, parts))


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

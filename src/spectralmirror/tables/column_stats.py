"""Statistics of the columns of tables, from one pass over the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from spectralmirror.rows.files.arrow import column_values, unique_values
from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.messages import did_you_mean, listed
from spectralmirror.rows.sets import of_whole_sets
from spectralmirror.tables.features import as_text
from spectralmirror.tables.label_ties import LabelTies
from spectralmirror.tables.set_columns import SET
from spectralmirror.tables.sides import column_of
from spectralmirror.tables.table_error import refuse

__all__ = [
    "MOST_LEVELS",
    "ColumnStats",
    "TableStats",
    "absent_columns",
    "check_present",
    "n_missing",
    "present",
    "table_stats",
]

#: Text with more distinct values than this is not a category.
MOST_LEVELS = 50
#: Beyond this many distinct labels we stop collecting them: so many are not allowed.
MOST_LABELS = 1_000
#: Number of rows that are read at a time.
BATCH_ROWS = 65_536


@dataclass
class ColumnStats:
    """Statistics of one column, to which rows can be added.

    Attributes
    ----------
    kind : {"number", "category"}
        What the column holds.
    n : int
        Number of rows.
    n_finite, n_infinite : int
        How many numbers are finite, and how many are infinite.
    origin, total : float
        The first number, and the sum of all differences from it: a mean of 1e6 keeps its digits.
    low, high : float
        The smallest and the largest number.
    counts_up : bool
        Whether the numbers are integers that increase from row to row, as those of a key do.
    levels : Counter
        How often each category occurs.
    """

    kind: str
    n: int = 0
    n_finite: int = 0
    n_infinite: int = 0
    origin: float = 0.0
    total: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    counts_up: bool = True
    levels: Counter[str] = field(default_factory=Counter)

    def add(self, column: Any) -> None:
        """Add rows of an Arrow column."""
        self.n += len(column)
        if self.kind == "number":
            self.add_numbers(np.asarray(column_values(column), dtype=np.float64))
        elif len(self.levels) <= MOST_LEVELS:
            for pair in pc.value_counts(as_text(column).drop_null()).to_pylist():
                self.levels[pair["values"]] += pair["counts"]

    def add_numbers(self, x: NDArray[Any]) -> None:
        """Add numbers; NaN means missing."""
        present = x[~np.isnan(x)]
        finite = present[np.isfinite(present)]
        self.n_infinite += len(present) - len(finite)
        if len(finite) == 0:
            return
        whole = bool((finite == np.floor(finite)).all())
        self.counts_up &= whole and self.high < finite[0] and bool((np.diff(finite) > 0).all())
        if self.n_finite == 0:
            self.origin = float(finite[0])
        self.n_finite += len(finite)
        self.total += float((finite - self.origin).sum())
        self.low, self.high = min(self.low, finite.min()), max(self.high, finite.max())

    @property
    def mean(self) -> float:
        """The mean of the finite numbers."""
        return self.origin + self.total / max(self.n_finite, 1)

    @property
    def is_empty(self) -> bool:
        """Whether every value is missing."""
        return self.n_finite + self.n_infinite == 0 and not self.levels

    @property
    def is_constant(self) -> bool:
        """Whether all values are the same."""
        return self.low == self.high if self.kind == "number" else len(self.levels) == 1

    def __add__(self, other: ColumnStats) -> ColumnStats:
        """Merge the columns of both sides of a comparison."""
        both = ColumnStats(self.kind, self.n + other.n)
        both.n_finite = self.n_finite + other.n_finite
        both.n_infinite = self.n_infinite + other.n_infinite
        both.low, both.high = min(self.low, other.low), max(self.high, other.high)
        both.levels = self.levels + other.levels
        both.counts_up = False
        if both.n_finite:
            counts = self.n_finite, other.n_finite
            both.origin = float(np.average([self.mean, other.mean], weights=counts))
        return both


@dataclass(frozen=True)
class TableStats:
    """Statistics of the columns of files.

    Attributes
    ----------
    n_rows, n_kept : int
        Number of all rows, and of those that are kept.
    missing : dict
        How many values each column lacks, in all rows.
    columns : dict
        Statistics of the features, in the rows that are kept; of both sides together for
        comparisons.
    alike : set of str
        Features of comparisons that never tell the sides apart, and of choices that are the same
        for all alternatives of each set.
    labels : list
        The distinct labels, or winners, in the rows that are kept.
    settling : list of str
        Features that settle the label alone, in the rows that are kept.
    label_counts : list of int
        How often each of the labels occurs.
    """

    n_rows: int
    n_kept: int
    missing: dict[str, int]
    columns: dict[str, ColumnStats]
    alike: set[str]
    labels: list[Any]
    settling: list[str]
    label_counts: list[int] = field(default_factory=list)


def table_stats(
    readers: Sequence[Reader],
    kinds: Mapping[str, str],
    others: Sequence[str],
    pairs: tuple[str, str] | None,
    listen: Callable[[int], None],
    complete: bool = False,
) -> TableStats:
    """Read all rows once, and return the statistics of their columns.

    Parameters
    ----------
    readers : list of Reader
        The files.
    kinds : dict
        The features, and whether each is a "number" or a "category".
    others : list of str
        The label, and then the group: only rows that have both are kept, and if the numbers of
        choice sets are among these columns, only whole sets.
    pairs : pair of str or None
        The left and the right side, for comparisons.
    listen : callable
        Called with the number of rows of every batch.
    complete : bool, default=False
        Keep only rows in which no feature is missing either.

    Returns
    -------
    TableStats
        The statistics.
    """
    sides: tuple[str, ...] = pairs or ("",)
    stats = {
        column_of(side, name): ColumnStats(kind) for side in sides for name, kind in kinds.items()
    }
    ties = LabelTies(kinds, sides)
    differences = {name: ColumnStats("number") for name in kinds}
    columns = list(dict.fromkeys([*stats, *others]))
    labels: Counter[Any] = Counter()  # it keeps their order
    missing, n_rows, n_kept = Counter(dict.fromkeys(columns, 0)), 0, 0
    numbers = [name for name, column in stats.items() if column.kind == "number"]
    for reader in readers:
        check_present(reader, columns)
        for batch in reader.batches(columns, BATCH_ROWS, numbers):
            for name in columns:
                missing[name] += n_missing(batch.table.column(name))
            kept = present(batch.table, columns if complete else others)
            if SET in others:
                kept = of_whole_sets(kept, column_values(batch.table.column(SET)))
            table = batch.table.filter(pa.array(kept))
            n_rows, n_kept = n_rows + len(kept), n_kept + table.num_rows
            for name, column in stats.items():
                column.add(table.column(name))
            if len(labels) < MOST_LABELS:
                for pair in pc.value_counts(table.column(others[0])).to_pylist():
                    labels[pair["values"]] += pair["counts"]
            ties.add(table, others[0])
            for name, kind in kinds.items() if pairs is not None else ():
                differences[name].add_numbers(_difference(table, name, kind, sides))
            for name, kind in kinds.items() if SET in others else ():
                if not differences[name].high > 0:
                    differences[name].add_numbers(_changes_in_sets(table, name, kind))
            listen(len(kept))
    merged = {name: stats[column_of(sides[0], name)] for name in kinds}
    for side in sides[1:]:
        merged = {name: one + stats[column_of(side, name)] for name, one in merged.items()}
    alike = {
        name
        for name, column in differences.items()
        if column.is_constant and ((kinds[name] == "number" and pairs) or not column.high)
    }
    distinct, counts = list(labels)[:MOST_LABELS], list(labels.values())[:MOST_LABELS]
    return TableStats(
        n_rows, n_kept, dict(missing), merged, alike, distinct, ties.settling(), counts
    )


def _difference(table: Any, name: str, kind: str, sides: Sequence[str]) -> NDArray[Any]:
    """Return left - right for numbers, and 1 for categories that differ."""
    left, right = (table.column(column_of(side, name)) for side in sides)
    if kind == "number":
        a, b = (np.asarray(column_values(side), dtype=np.float64) for side in (left, right))
        return a - b
    differ = pc.not_equal(as_text(left), as_text(right)).fill_null(False)
    return np.asarray(column_values(differ), dtype=np.float64)


def _changes_in_sets(table: Any, name: str, kind: str) -> NDArray[Any]:
    """Return 0, or 1 if a value differs from that of another row of the set; at least one number.

    Missing values do not differ.
    """
    sets, column = column_values(table.column(SET)), table.column(name)
    if kind == "number":
        values = np.asarray(column_values(column), dtype=np.float64)
        known = ~np.isnan(values)
    else:
        text = as_text(column)
        values = np.asarray(unique_values(text.fill_null(""))[1], dtype=np.float64)
        known = ~column_values(text.is_null())
    sets, values = sets[known], values[known]
    apart = (values[1:] != values[:-1]) & (sets[1:] == sets[:-1])
    return np.append(apart, False).astype(np.float64)


def n_missing(column: Any) -> int:
    """Return how many values are missing: null, NaN or empty text."""
    return int(pc.sum(_is_missing(column)).as_py() or 0)


def present(table: Any, columns: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether each row has a value in all these columns."""
    rows = np.ones(table.num_rows, dtype=bool)
    for name in columns:
        rows &= ~column_values(_is_missing(table.column(name)))
    return rows


def _is_missing(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    missing = pc.is_null(column, nan_is_null=True)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        missing = pc.or_(missing, pc.equal(column, "").fill_null(True))
    return missing


def check_present(reader: Reader, columns: Sequence[str]) -> None:
    """Raise if a file lacks columns."""
    refuse(absent_columns(reader.name, reader.types, columns))


def absent_columns(name: str, types: Collection[str], columns: Iterable[str]) -> list[str]:
    """Say which columns a table of this name lacks, and which it has instead."""
    absent = [column for column in dict.fromkeys(columns) if column not in types]
    types = [column for column in types if column != SET]  # which is no column of the file
    close = {column: did_you_mean(column, types) for column in absent}
    said = [f"{name} has no column {one!r}{hint}" for one, hint in close.items() if hint != "."]
    others = [column for column, hint in close.items() if hint == "."]
    if others:
        plural = "s" if len(others) > 1 else ""
        said.append(
            f"{name} has no column{plural} {listed(others)}; its columns are {listed(types)}."
        )
    return said

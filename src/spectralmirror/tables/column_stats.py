"""What columns of tables hold, counted in one pass over the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from spectralmirror.rows.files.arrow import column_values, told_names
from spectralmirror.rows.files.readers import Reader
from spectralmirror.tables.features import as_text

__all__ = [
    "MOST_LEVELS",
    "Counts",
    "Tally",
    "check_present",
    "count_columns",
    "n_missing",
    "present",
]

#: Text with more different values than this is no category.
MOST_LEVELS = 50
#: Rows that are looked at together.
ROWS = 65_536


@dataclass
class Tally:
    """What a column holds, of the rows that are kept."""

    kind: str
    n: int = 0
    n_infinite: int = 0
    n_finite: int = 0
    origin: float = 0.0
    total: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    counts_up: bool = True
    levels: Counter[str] = field(default_factory=Counter)

    def add(self, column: Any) -> None:
        """Count more rows."""
        self.n += len(column)
        if self.kind == "number":
            self.add_numbers(np.asarray(column_values(column), dtype=np.float64))
        elif len(self.levels) <= MOST_LEVELS:
            for pair in pc.value_counts(as_text(column).drop_null()).to_pylist():
                self.levels[pair["values"]] += pair["counts"]

    def add_numbers(self, x: NDArray[Any]) -> None:
        """Count more numbers."""
        present = x[~np.isnan(x)]
        finite = present[np.isfinite(present)]
        self.n_infinite += len(present) - len(finite)
        if len(finite) == 0:
            return
        whole = bool((finite == np.floor(finite)).all())
        self.counts_up &= whole and self.high < finite[0] and bool((np.diff(finite) > 0).all())
        # sums of distances to the first value: a mean of 1e6 keeps its digits
        if self.n_finite == 0:
            self.origin = float(finite[0])
        self.n_finite += len(finite)
        self.total += float((finite - self.origin).sum())
        self.low, self.high = min(self.low, finite.min()), max(self.high, finite.max())

    @property
    def mean(self) -> float:
        """The mean of numbers."""
        return self.origin + self.total / max(self.n_finite, 1)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is there."""
        return self.n_finite + self.n_infinite == 0 and not self.levels

    @property
    def is_constant(self) -> bool:
        """Whether all values are the same."""
        return self.low == self.high if self.kind == "number" else len(self.levels) == 1

    def __add__(self, other: Tally) -> Tally:
        """Put the columns of both sides of a comparison together."""
        both = Tally(self.kind, self.n + other.n, self.n_infinite + other.n_infinite)
        both.n_finite = self.n_finite + other.n_finite
        both.low, both.high = min(self.low, other.low), max(self.high, other.high)
        both.levels = self.levels + other.levels
        both.counts_up = False
        if both.n_finite:
            counts = self.n_finite, other.n_finite
            both.origin = float(np.average([self.mean, other.mean], weights=counts))
        return both


@dataclass(frozen=True)
class Counts:
    """What the columns of files hold.

    Attributes
    ----------
    n_rows : int
        Number of all rows.
    missing : dict
        How many values each column lacks, in all rows.
    tallies : dict
        What the features hold, in the rows that are kept; of both sides together for comparisons.
    alike : set of str
        Features of comparisons that do not tell the sides apart.
    winners : Counter
        How often each value of the winner is there, for comparisons.
    """

    n_rows: int
    missing: dict[str, int]
    tallies: dict[str, Tally]
    alike: set[str]
    winners: Counter[str]


def count_columns(
    readers: Sequence[Reader],
    kinds: Mapping[str, str],
    others: Sequence[str],
    pairs: tuple[str, str] | None,
    listen: Callable[[int], None],
    complete: bool = False,
) -> Counts:
    """Look at all rows once.

    Parameters
    ----------
    readers : list of Reader
        The files.
    kinds : dict
        The features, and whether they are a "number" or a "category".
    others : list of str
        The label first, then the group: rows without them do not count.
    pairs : pair of str or None
        What the names of columns begin with, for comparisons.
    listen : callable
        Told how many rows were read.
    complete : bool, default=False
        Whether rows without some of the features do not count either.

    Returns
    -------
    Counts
        What there is.
    """
    sides: tuple[str, ...] = pairs or ("",)
    tallies = {side + name: Tally(kind) for side in sides for name, kind in kinds.items()}
    apart = {name: Tally("number") for name in kinds}
    winners, columns = Tally("category"), [*tallies, *others]
    missing, n_rows = Counter(dict.fromkeys(columns, 0)), 0
    numbers = [name for name, tally in tallies.items() if tally.kind == "number"]
    for reader in readers:
        check_present(reader, columns)
        for batch in reader.batches(columns, ROWS, numbers):
            table = batch.table
            n_rows += table.num_rows
            for name in columns:
                missing[name] += n_missing(table.column(name))
            table = table.filter(pa.array(present(table, columns if complete else others)))
            for name, tally in tallies.items():
                tally.add(table.column(name))
            if pairs is not None:
                winners.add(table.column(others[0]))
                for name, kind in kinds.items():
                    apart[name].add_numbers(_apart(table, name, kind, pairs))
            listen(batch.table.num_rows)
    merged = {name: tallies[sides[0] + name] for name in kinds}
    for side in sides[1:]:
        merged = {name: tally + tallies[side + name] for name, tally in merged.items()}
    alike = {n for n, t in apart.items() if t.is_constant and (kinds[n] == "number" or not t.high)}
    return Counts(n_rows, dict(missing), merged, alike, winners.levels)


def _apart(table: Any, name: str, kind: str, pairs: tuple[str, str]) -> NDArray[Any]:
    """Return by how much both sides of comparisons differ, or whether they do."""
    left, right = (table.column(side + name) for side in pairs)
    if kind == "number":
        a, b = (np.asarray(column_values(side), dtype=np.float64) for side in (left, right))
        return a - b
    differ = pc.not_equal(as_text(left), as_text(right)).fill_null(False)
    return np.asarray(column_values(differ), dtype=np.float64)


def n_missing(column: Any) -> int:
    """Return how many values are missing: null, NaN, or text without a letter."""
    return int(pc.sum(_is_missing(column)).as_py() or 0)


def present(table: Any, columns: Sequence[str]) -> NDArray[np.bool_]:
    """Return the rows in which none of the columns is missing."""
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
    """Raise where a file lacks a column."""
    for name in columns:
        if name not in reader.types:
            raise ValueError(
                f"{reader.name} has no column {name!r}{told_names(name, reader.types)}"
            )

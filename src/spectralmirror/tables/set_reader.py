"""A reader of choices in long form: every batch holds whole choice sets, which are checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spectralmirror.rows.contiguity import SetOrder
from spectralmirror.rows.files.arrow import unique_values
from spectralmirror.rows.files.reader import Batch, Reader
from spectralmirror.rows.hashing import group_keys, hashed
from spectralmirror.rows.messages import listed
from spectralmirror.rows.sets import ChoiceSets, check_chosen, check_same_in_sets, of_whole_sets
from spectralmirror.tables.column_roles import agreed_types
from spectralmirror.tables.column_stats import check_present, n_missing, present
from spectralmirror.tables.set_columns import SET

__all__ = ["SetReader", "check_chosen_in", "sets_of"]


@dataclass(eq=False)
class SetReader:
    """Several files of choices as one, in batches of whole sets, with a column of their numbers.

    The rows of a set follow each other in one file.

    Attributes
    ----------
    readers : sequence of Reader
        The files.
    columns : sequence of str
        The columns that together name the choice set of a row.
    group : str or None
        The column of persons, each of whose sets is their own.
    needed : sequence of str
        Sets in which one of these columns is missing are left out.
    chosen : callable or None
        Returns whether each row of a table was chosen; None if that is not known.
    """

    readers: Sequence[Reader]
    columns: Sequence[str]
    group: str | None = None
    needed: Sequence[str] = ()
    chosen: Callable[[Any], NDArray[np.bool_]] | None = None
    _is_ordered: bool = field(default=False, repr=False)

    @property
    def name(self) -> str:
        """What errors call the files."""
        return self.readers[0].name

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """Types of the columns of all files, and of the numbers of sets."""
        return {**agreed_types(self.readers), SET: pa.int64()}

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Yield some columns of whole sets, about `n_rows` rows at a time."""
        group = [name for name in (self.group,) if name is not None and name in self.types]
        wanted = [*columns, *self.columns, *group, *self.needed]
        read = [name for name in dict.fromkeys(wanted) if name != SET]
        order, n_sets = SetOrder(), 0
        for reader in self.readers:
            check_present(reader, read)
            for batch in _joined(reader.batches(read, n_rows, numbers), self._begins):
                keys = self._keys(batch)
                starts = _changes(keys)
                order.add(keys[starts])
                n = len(starts)
                sizes = np.diff(starts, append=len(keys))
                table = batch.table.append_column(
                    SET, pa.array(np.repeat(np.arange(n_sets, n_sets + n), sizes))
                )
                n_sets += n
                self._check(batch, starts)
                kept = of_whole_sets(present(table, self.needed), table.column(SET).to_numpy())
                table = table if kept.all() else table.filter(pa.array(kept))
                self._check_chosen(Batch(table, batch.name, batch.first_row), kept)
                yield Batch(table.select(list(dict.fromkeys(columns))), batch.name, batch.first_row)
        self._check_order(order, n_rows)

    def _check(self, batch: Batch, starts: NDArray[np.intp]) -> None:
        """Raise if a set has a single alternative, or two persons."""
        sets = sets_of(batch, np.arange(batch.table.num_rows), starts, self.columns)
        sets.check_sizes()
        if self.group is not None and self.group in batch.table.column_names:
            persons = unique_values(batch.table.column(self.group))[1]
            check_same_in_sets(persons, sets, f"Column {self.group!r}")

    def _check_chosen(self, kept: Batch, rows: NDArray[np.bool_]) -> None:
        """Raise unless exactly one row of each set was chosen."""
        if self.chosen is not None:
            check_chosen_in(kept, np.flatnonzero(rows), self.chosen(kept.table), self.columns)

    def _check_order(self, order: SetOrder, n_rows: int) -> None:
        """Raise if a set comes again after others, and name it."""
        if self._is_ordered:
            return
        key = order.twice()
        if key is not None:
            raise self._comes_again(key, n_rows)
        self._is_ordered = True

    def _comes_again(self, key: np.uint64, n_rows: int) -> ValueError:
        places: list[str] = []
        name: Any = None
        for reader in self.readers:
            for batch in _joined(reader.batches(self.columns, n_rows), self._begins):
                keys = self._keys(batch)
                starts = _changes(keys)
                sets = sets_of(batch, np.arange(len(keys)), starts, self.columns)
                for number in np.flatnonzero(keys[starts] == key).tolist():
                    name = sets.names[[number]].tolist()[0]
                    assert sets.where is not None
                    places.append(sets.where(int(starts[number])))
        advice = (
            "give each set a number of its own"
            if len(self.columns) > 1 or self.group is None
            else f"if {self.columns[0]!r} begins anew for each {self.group!r}, name both columns: "
            f"--choice-set {self.group},{self.columns[0]}"
        )
        return ValueError(
            f"Set {name!r} of {listed(self.columns)} begins in row {places[0]} and comes again in "
            f"row {places[1]}: the rows of a set must follow each other. Sort them, or {advice}."
        )

    def _begins(self, batch: Batch) -> NDArray[np.intp]:
        return _changes(self._keys(batch))

    def _keys(self, batch: Batch) -> NDArray[np.uint64]:
        """Return a key of each row's set."""
        keys: NDArray[np.uint64] | None = None
        for name in self.columns:
            column = batch.table.column(name)
            if n_missing(column):
                row = int(np.flatnonzero(~present(batch.table, [name]))[0])
                raise ValueError(
                    f"{name!r} is missing in row {batch.first_row + row:,} of {batch.name}: every "
                    "row belongs to a choice set."
                )
            values, codes = unique_values(column)
            own = group_keys(np.array(values))[codes]
            keys = own if keys is None else hashed(hashed(keys, 3) ^ own, 4)
        assert keys is not None
        return keys


def sets_of(
    batch: Batch, rows: NDArray[np.intp], starts: NDArray[np.intp], columns: Sequence[str]
) -> ChoiceSets:
    """Return contiguous sets, which errors name by their columns and places.

    Parameters
    ----------
    batch : Batch
        The rows.
    rows : ndarray of int
        Where each of them was in the file, counted from the first row of the batch.
    starts : ndarray of int
        Where each set begins.
    columns : sequence of str
        The columns that together name the set.
    """
    taken = [batch.table.column(name).take(pa.array(starts)) for name in columns]
    values = [column.to_pylist() for column in taken]
    names = np.empty(len(starts), dtype=object)
    names[:] = values[0] if len(values) == 1 else list(zip(*values, strict=True))

    def where(row: int) -> str:
        return f"{batch.first_row + int(rows[row]):,} of {batch.name}"

    return ChoiceSets(names, np.arange(batch.table.num_rows), starts, listed(columns), where)


def check_chosen_in(
    batch: Batch, rows: NDArray[np.intp], y: NDArray[np.bool_], columns: Sequence[str]
) -> None:
    """Raise unless exactly one row of each set was chosen; `batch` holds these rows only."""
    if batch.table.num_rows:
        starts = _changes(batch.table.column(SET).to_numpy())
        check_chosen(y, sets_of(batch, rows, starts, columns))


def _joined(
    batches: Iterator[Batch], begins: Callable[[Batch], NDArray[np.intp]]
) -> Iterator[Batch]:
    """Yield batches of whole sets; `begins` returns the first row of each set."""
    held: Batch | None = None
    for batch in batches:
        table = _as_table(batch.table)
        if not table.num_rows:
            continue
        first_row = batch.first_row
        if held is not None:
            table, first_row = pa.concat_tables([held.table, table]), held.first_row
        cut = int(begins(Batch(table, batch.name, first_row))[-1])
        if cut:
            yield Batch(table.slice(0, cut), batch.name, first_row)
        held = Batch(table.slice(cut), batch.name, first_row + cut)
    if held is not None:
        yield held


def _as_table(table: Any) -> Any:
    return pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table


def _changes(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return where a new value begins."""
    return np.flatnonzero(np.append(np.ones(min(len(values), 1), bool), values[1:] != values[:-1]))

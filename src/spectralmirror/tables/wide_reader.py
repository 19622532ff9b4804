"""A reader of choices in wide form that yields long form: a row for each alternative."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from spectralmirror.rows.column_types import is_number
from spectralmirror.rows.files.arrow import column_values
from spectralmirror.rows.files.reader import Batch, Reader
from spectralmirror.rows.messages import did_you_mean, listed
from spectralmirror.rows.sets import of_whole_sets
from spectralmirror.tables.column_roles import agreed_types
from spectralmirror.tables.column_stats import MOST_LEVELS, absent_columns, check_present, present
from spectralmirror.tables.features import as_text
from spectralmirror.tables.set_columns import SET
from spectralmirror.tables.table_error import refuse
from spectralmirror.tables.wide_form import ALTERNATIVE, WideForm, wide_form

__all__ = ["WideReader"]


@dataclass(eq=False)
class WideReader:
    """Several files of choices in wide form, in long form: batches of whole choice sets.

    An alternative is left out of a set if it was not available, or if all its columns are empty.

    Attributes
    ----------
    readers : sequence of Reader
        The files.
    form : WideForm
        Which columns describe which alternative.
    needed : sequence of str
        Sets in which one of these columns is missing are left out.
    chosen : object
        Not used: this reader knows what was chosen.
    """

    readers: Sequence[Reader]
    form: WideForm
    needed: Sequence[str] = ()
    chosen: Any = None

    @classmethod
    def of(
        cls,
        readers: Sequence[Reader],
        chosen: str,
        *,
        others: Collection[str] = (),
        outside: str | None = None,
        available: str | None = None,
    ) -> WideReader:
        """Read the choices once, and find out which columns describe which alternative."""
        types = agreed_types(readers)
        if chosen not in types:
            raise ValueError(f"{readers[0].name} has no column {chosen!r}"
                             f"{did_you_mean(chosen, types)}")  # fmt: skip
        if ALTERNATIVE in types:
            raise ValueError(
                f"Column {ALTERNATIVE!r} has the name that alternatives get: rename it."
            )
        values: dict[str, None] = {}
        for reader in readers:
            check_present(reader, [chosen])
            for batch in reader.batches([chosen], 65_536):
                texts = pc.unique(as_text(batch.table.column(chosen)).drop_null())
                values |= dict.fromkeys(texts.to_pylist())
                if len(values) > MOST_LEVELS:
                    raise ValueError(
                        f"Column {chosen!r} has more than {MOST_LEVELS} different values, which "
                        f"cannot be alternatives, such as {next(iter(values))!r}."
                    )
        if not values:
            raise ValueError(f"Column {chosen!r} is empty: it must name the chosen alternatives.")
        if outside is not None and outside not in values:
            raise ValueError(
                f"Column {chosen!r} never holds {outside!r}, the value of --outside; it holds "
                f"{listed(values)}."
            )
        ordered = sorted(values, key=_by_number)
        form = wide_form(
            list(types), ordered, chosen, others=others, outside=outside, available=available
        )
        return cls(readers, form)

    @property
    def name(self) -> str:
        """What errors call the files."""
        return self.readers[0].name

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """Types of the columns in long form."""
        types, form = agreed_types(self.readers), self.form
        refuse(absent_columns(self.name, types, form.lacking(types)))
        used = {form.column(f, side) for f in self._features for _, side in form.sides}
        long: dict[str, Any] = {SET: pa.int64(), ALTERNATIVE: pa.string(), form.chosen: pa.bool_()}
        for feature in form.features:
            long[feature] = next(
                types[name] for _, side in form.sides
                if (name := form.column(feature, side)) in types
            )  # fmt: skip
        rest = {n: kind for n, kind in types.items() if n not in used and n not in long}
        return {**rest, **long}

    @property
    def _features(self) -> list[str]:
        """The features, and the one that says what is available."""
        available = self.form.available
        return [*self.form.features, *([] if available is None else [available])]

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Yield some columns of whole sets, about `n_rows` rows at a time."""
        form, types = self.form, agreed_types(self.readers)
        wanted = list(dict.fromkeys([*columns, *self.needed]))
        has_labels = form.chosen in wanted
        sides = {f: [form.column(f, side) for _, side in form.sides] for f in self._features}
        sides = {f: [n if n in types else None for n in names] for f, names in sides.items()}
        own = [name for names in sides.values() for name in names if name is not None]
        shared = [n for n in wanted if n not in sides and n not in (SET, ALTERNATIVE, form.chosen)]
        read = list(dict.fromkeys([*own, *shared, *([form.chosen] if has_labels else [])]))
        as_floats = [n for f in numbers if f in sides for n in sides[f] if n is not None]
        as_floats += [n for n in numbers if n in shared]
        size, n_sets = max(n_rows // len(form.sides), 1), 0
        for reader in self.readers:
            check_present(reader, read)
            for batch in reader.batches(read, size, as_floats):
                table = self._long(batch, sides, shared, n_sets, has_labels=has_labels)
                n_sets += batch.table.num_rows
                kept = of_whole_sets(present(table, self.needed), column_values(table.column(SET)))
                table = table if kept.all() else table.filter(pa.array(kept))
                yield Batch(table.select(list(dict.fromkeys(columns))), batch.name, batch.first_row)

    def _long(
        self,
        batch: Batch,
        sides: Mapping[str, Sequence[str | None]],
        shared: Sequence[str],
        first_set: int,
        *,
        has_labels: bool,
    ) -> Any:
        """Return the available alternatives of the choices of a batch."""
        n = batch.table.num_rows
        there = self._available(batch, sides)
        few = np.flatnonzero(there.sum(axis=1) < 2)
        if len(few):
            raise ValueError(
                f"Row {batch.first_row + int(few[0]):,} of {batch.name} has "
                f"{int(there[few[0]].sum())} of the alternatives {listed(self.form.alternatives)}: "
                "leave out choices with less than two."
            )
        rows, alternatives = np.nonzero(there)  # set by set
        places = pa.array(alternatives * n + rows)
        columns = {
            SET: pa.array(first_set + rows),
            ALTERNATIVE: pa.array(self.form.alternatives).take(pa.array(alternatives)),
            **{name: batch.table.column(name).take(pa.array(rows)) for name in shared},
        }
        for feature in self.form.features:
            kind = self.types[feature]
            blocks = [_of_side(batch.table, name, kind, feature) for name in sides[feature]]
            columns[feature] = pa.concat_arrays(blocks).take(places)
        if has_labels:
            number = self._numbers(batch, there)
            of_rows = number[rows]
            columns[self.form.chosen] = pa.array(of_rows == alternatives, mask=of_rows < 0)
        return pa.table(columns)

    def _available(
        self, batch: Batch, sides: Mapping[str, Sequence[str | None]]
    ) -> NDArray[np.bool_]:
        """Return which alternatives each choice has, shape (n, J)."""
        found = np.ones((batch.table.num_rows, len(self.form.sides)), dtype=bool)
        for j in range(found.shape[1]):
            names = [n for f in self.form.features if (n := sides[f][j]) is not None]
            if names:
                found[:, j] = np.any([present(batch.table, [name]) for name in names], axis=0)
            flag = None if self.form.available is None else sides[self.form.available][j]
            if flag is not None:
                values = np.asarray(column_values(batch.table.column(flag)), dtype=np.float64)
                if not np.isin(values, (0.0, 1.0)).all():
                    raise ValueError(f"Column {flag!r} of {batch.name} must hold 1 or 0.")
                found[:, j] &= values == 1
        return found

    def _numbers(self, batch: Batch, there: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the number of the chosen alternative of each row, -1 if it is missing."""
        text = as_text(batch.table.column(self.form.chosen))
        if isinstance(text, pa.ChunkedArray):
            text = text.combine_chunks()
        known = pc.index_in(text, value_set=pa.array(self.form.alternatives))
        number = np.asarray(known.fill_null(-1).to_numpy(zero_copy_only=False))
        given = np.asarray(column_values(text.is_valid()), dtype=bool)
        odd = np.flatnonzero(given & ((number < 0) | ~there[np.arange(len(number)), number]))
        if len(odd):
            row, value = int(odd[0]), text[int(odd[0])].as_py()
            why = "is no alternative" if number[row] < 0 else "was not available"
            raise ValueError(
                f"Row {batch.first_row + row:,} of {batch.name}: {value!r} was chosen, but {why} "
                f"(there are {listed(self.form.alternatives)})."
            )
        return number


def _by_number(text: str) -> tuple[int, str]:
    """Return what sorts 2 before 10."""
    return (len(text), text) if text.isdigit() else (0, text)


def _of_side(table: Any, name: str | None, kind: Any, feature: str) -> Any:
    """Return the column of a feature of an alternative, 0 if there is none."""
    if name is None:
        if not is_number(kind):
            raise ValueError(
                f"Column {feature!r} holds text and is not there for all alternatives: add it, or "
                "leave it out with --drop."
            )
        return pa.array(np.zeros(table.num_rows), kind)
    column = table.column(name)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return column if column.type == kind else column.cast(kind)

"""Files whose columns become features while they are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from spectralmirror.rows.files.readers import Batch, Reader
from spectralmirror.tables.column_stats import present
from spectralmirror.tables.features import Recipe
from spectralmirror.tables.pairs import left_won

__all__ = ["EncodedReader"]

#: Rows that are encoded together.
MOST_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class EncodedReader:
    """A reader that yields features, by a recipe, instead of columns.

    Attributes
    ----------
    reader : Reader
        The file.
    recipe : Recipe
        How its columns become features.
    required : list of str
        Label and group: rows in which one of them is missing are left out, as are rows in which a
        feature is missing.
    impute : bool
        Fill features instead.
    listen : callable
        Told how many rows were read.
    """

    reader: Reader
    recipe: Recipe
    required: Sequence[str]
    impute: bool
    listen: Callable[[int], None]

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.reader.name

    @property
    def types(self) -> Mapping[str, Any]:
        """The features, and the columns that are required."""
        number = pa.from_numpy_dtype(np.dtype(self.recipe.dtype))
        types = {name: self.reader.types[name] for name in self.required}
        if self.recipe.pairs is not None:
            types[self.required[0]] = pa.bool_()
        return dict.fromkeys(self.recipe.names, number) | types

    def batches(
        self, columns: Sequence[str], n_rows: int, numbers: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Read rows, and turn columns into features."""
        raw = list(dict.fromkeys([*self.recipe.columns, *self.required]))
        for batch in self.reader.batches(raw, min(n_rows, MOST_ROWS), self.recipe.numbers):
            X = self.recipe.encode(batch.table, impute=self.impute)
            rows = present(batch.table, self.required) & ~np.isnan(X).any(axis=1)
            given = {name: batch.table.column(name) for name in self.required}
            if self.recipe.winner is not None:
                given[self.required[0]] = left_won(given[self.required[0]], self.recipe.winner)
            features = dict(zip(self.recipe.names, X.T, strict=True))
            chosen = {n: pa.array(features[n]) if n in features else given[n] for n in columns}
            table = pa.table(chosen)
            self.listen(batch.table.num_rows)
            yield replace(batch, table=table if rows.all() else table.filter(pa.array(rows)))

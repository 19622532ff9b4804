"""Answers beside the columns of files that are kept, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spectralmirror.rows.column_types import is_number
from spectralmirror.rows.files.arrow import column_values
from spectralmirror.rows.files.reader import Reader
from spectralmirror.tables.column_stats import check_present
from spectralmirror.tables.known_rows import NO_ROWS, KnownRows

__all__ = ["OutputRows"]


class OutputRows:
    """Put answers beside the columns that are kept, and count them."""

    def __init__(
        self,
        readers: Sequence[Reader],
        output: Path,
        keep: Sequence[str],
        names: Sequence[str],
        first: Any = None,
    ):
        self.output, self.names, self.first = output, list(names), first
        for name in set(keep) & set(names):
            raise ValueError(f"Column {name!r} cannot be kept: the output has one of that name.")
        for reader in readers:
            check_present(reader, keep)
        self.keep = {name: _kept_type(readers, name) for name in keep}
        self.n_rows = self.n_missing = self.n_filled = 0
        self.counts: Counter[str] = Counter()

    def table(self, known: KnownRows, values: list[NDArray[Any]]) -> Any:
        """Return the answers for a batch, null for rows in which something is missing."""
        counted = self.names[0]
        columns = {name: known.table.column(name).cast(kind) for name, kind in self.keep.items()}
        kinds = [self.first, *[None] * (len(values) - 1)]
        for name, value, kind in zip(self.names, values, kinds, strict=True):
            columns[name] = known.spread(value, kind)
        self.n_filled += known.n_filled
        self.n_rows += len(known.complete)
        self.n_missing += int((~known.complete).sum())
        answers = column_values(columns[counted].drop_null())
        word = {
            "prediction": "",
            "group_classifier": "by whole groups, classifier ",
            "class": "class ",
        }.get(counted, "classifier ")
        for value, count in zip(*np.unique(answers, return_counts=True), strict=True):
            self.counts[f"{word}{value}"] += int(count)
        return pa.table(columns)

    def summary(self) -> dict[str, Any]:
        """Return what was written, as plain data."""
        if self.n_missing == self.n_rows:
            raise ValueError(NO_ROWS)
        return {
            "output": str(self.output),
            "n_rows": self.n_rows,
            "n_missing": self.n_missing,
            "n_filled": self.n_filled,
            "counts": dict(sorted(self.counts.items())),
        }


def _kept_type(readers: Sequence[Reader], name: str) -> Any:
    """Return the type of a column that is kept, the same for all files."""
    kinds = [reader.types[name] for reader in readers]
    kinds = list(dict.fromkeys(kind for kind in kinds if not pa.types.is_null(kind))) or [pa.null()]
    if len(kinds) > 1 and all(map(is_number, kinds)):
        return pa.float64()
    first = kinds[0]
    return first.value_type if pa.types.is_dictionary(first) else first

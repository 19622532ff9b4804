"""A sample of the rows of files that fits into memory: whole groups, chosen by a hash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.hashing import group_keys, hashed
from spectralmirror.tables.known_rows import NO_ROWS, known_rows
from spectralmirror.tables.table_model import FittedTable

__all__ = ["TableSample", "sample_rows"]

#: The sample holds at most this many values, features and columns together.
MOST_VALUES = 10_000_000


@dataclass(frozen=True, eq=False)
class TableSample:
    """A sample of rows.

    Attributes
    ----------
    X, y, groups : ndarray
        Features, labels, and groups if there are any.
    table : polars DataFrame
        The columns from which the features were made.
    n_rows : int
        Number of complete rows in the files.
    choices : ndarray or None
        For choices: the number of each row's set.
    membership : ndarray or None
        Covariates of the groups.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    groups: NDArray[Any] | None
    table: Any
    n_rows: int
    choices: NDArray[Any] | None = None
    membership: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class _Piece:
    """Rows that are still in the sample, and the hash that decides whether they stay."""

    X: NDArray[Any]
    y: NDArray[Any]
    groups: NDArray[Any] | None
    table: Any
    keys: NDArray[np.uint64]
    choices: NDArray[Any] | None
    membership: NDArray[Any] | None

    def below(self, limit: int) -> _Piece:
        """Return the rows whose hash is below a limit."""
        if limit == 2**64:
            return self
        rows = self.keys < np.uint64(limit)
        groups, choices, membership = (
            None if values is None else values[rows]
            for values in (self.groups, self.choices, self.membership)
        )
        table = self.table.filter(pa.array(rows))
        return _Piece(
            self.X.T[:, rows].T, self.y[rows], groups, table, self.keys[rows], choices, membership
        )


def sample_rows(
    model: FittedTable,
    readers: Sequence[Reader],
    missing: str | None,
    listen: Callable[[int], None],
) -> TableSample:
    """Read files once; return all complete rows, or as many as fit into memory.

    A row stays in the sample if the hash of its number, or of its group, is below a limit, which
    is halved whenever there are too many rows: so groups stay whole.
    """
    import polars as pl

    grouped = model.group is not None
    keep = list(dict.fromkeys(model.recipe.columns))
    if model.choices is not None and model.choices.alternative is not None:
        keep = list(dict.fromkeys([*keep, model.choices.alternative]))
    most = max(1_000, MOST_VALUES // (len(model.recipe.names) + len(keep)))
    limit, n_rows, n_kept = 2**64, 0, 0
    pieces: list[_Piece] = []
    for known in known_rows(
        model, readers, labelled=True, grouped=grouped, keep=keep, missing=missing, listen=listen
    ):
        numbers = np.arange(n_rows, n_rows + len(known.X))
        numbers = numbers if known.choices is None else known.choices  # sets stay whole
        keys = hashed(numbers if known.groups is None else group_keys(known.groups), seed=7)
        columns = known.table.select(keep).filter(pa.array(known.complete))
        if isinstance(columns, pa.RecordBatch):
            columns = pa.Table.from_batches([columns])
        assert known.y is not None  # as labels were asked for
        own = known.X, known.y, known.groups, columns, keys, known.choices, known.membership
        pieces.append(_Piece(*own).below(limit))
        n_rows += len(known.X)
        n_kept += len(pieces[-1].keys)
        while n_kept > most:
            fewer = [piece.below(limit // 2) for piece in pieces]
            if not any(len(piece.keys) for piece in fewer):  # a single giant group is kept whole
                break
            pieces, limit = fewer, limit // 2
            n_kept = sum(len(piece.keys) for piece in pieces)
    if n_kept == 0:
        raise ValueError(NO_ROWS)
    return TableSample(
        np.concatenate([piece.X for piece in pieces]),
        np.concatenate([piece.y for piece in pieces]),
        np.concatenate([piece.groups for piece in pieces]) if grouped else None,
        pl.from_arrow(pa.concat_tables([p.table for p in pieces], promote_options="default")),
        n_rows,
        None if model.choices is None else np.concatenate([piece.choices for piece in pieces]),
        _joined([piece.membership for piece in pieces]),
    )


def _joined(parts: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known else None

"""A sample of the rows of files that fits into memory: whole groups, decided by a hash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spectralmirror.rows.files.readers import Reader
from spectralmirror.rows.hashing import group_keys, hashed
from spectralmirror.tables.table_model import NO_ROWS, FittedTable

__all__ = ["Drawn", "draw_rows"]

#: The most numbers that are kept, features and columns together.
MOST_VALUES = 10_000_000


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows that were drawn.

    Attributes
    ----------
    X, y, groups : ndarray
        Features, labels, and groups where there are any.
    table : polars DataFrame
        The columns of which the features were made.
    n_rows : int
        How many rows there are in the files, that have everything.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    groups: NDArray[Any] | None
    table: Any
    n_rows: int


def draw_rows(
    model: FittedTable,
    readers: Sequence[Reader],
    missing: str | None,
    listen: Callable[[int], None],
) -> Drawn:
    """Read files once, and keep all rows, or a share that is halved whenever they are too many.

    A row is kept when its hashed number, or that of its group, is small: so groups stay whole.
    """
    import polars as pl

    grouped = model.group is not None
    keep = list(dict.fromkeys(model.recipe.columns))
    most = max(1_000, MOST_VALUES // (len(model.recipe.names) + len(keep)))
    limit, n_rows, n_kept = 2**64, 0, 0
    pieces: list[tuple[Any, ...]] = []
    for known in model.known(
        readers, labelled=True, grouped=grouped, keep=keep, missing=missing, listen=listen
    ):
        numbers = np.arange(n_rows, n_rows + len(known.X))
        keys = hashed(numbers if known.groups is None else group_keys(known.groups), seed=7)
        raw = known.table.select(keep).filter(pa.array(known.there))
        raw = pa.Table.from_batches([raw]) if isinstance(raw, pa.RecordBatch) else raw
        pieces.append(_chosen((known.X, known.y, known.groups, raw, keys), limit))
        n_rows += len(known.X)
        n_kept += len(pieces[-1][-1])
        while n_kept > most:
            fewer = [_chosen(piece, limit // 2) for piece in pieces]
            if not any(len(piece[-1]) for piece in fewer):  # one giant group is kept whole
                break
            pieces, limit = fewer, limit // 2
            n_kept = sum(len(piece[-1]) for piece in pieces)
    if n_kept == 0:
        raise ValueError(NO_ROWS)
    X, y = (np.concatenate([piece[i] for piece in pieces]) for i in range(2))
    groups = np.concatenate([piece[2] for piece in pieces]) if grouped else None
    table = pa.concat_tables([piece[3] for piece in pieces], promote_options="default")
    return Drawn(X, y, groups, pl.from_arrow(table), n_rows)


def _chosen(piece: tuple[Any, ...], limit: int) -> tuple[Any, ...]:
    X, y, groups, table, keys = piece
    if limit == 2**64:
        return piece
    rows = keys < np.uint64(limit)
    chosen = None if groups is None else groups[rows]
    return X[rows], y[rows], chosen, table.filter(pa.array(rows)), keys[rows]

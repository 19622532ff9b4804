"""Dask arrays and DataFrames: partitions are summed where they are, and merged as a tree.

Nothing but sums, and a bounded sample of rows, comes to the client. Every pass computes the
partitions anew from what they are made of, unless they were persisted, so a worker that is lost in
the middle only costs the time to compute its partitions again.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import getitem
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from spectralmirror.rows.checks import is_dask
from spectralmirror.rows.extras import needs_extra
from spectralmirror.rows.grouped import Rowset
from spectralmirror.rows.partitioned import Encoding, Keyed, Part, Remote, Survey, keys_of
from spectralmirror.rows.partitioned_groups import PartedRowset, in_groups

with needs_extra("dask", "spectralmirror.dask"):
    from dask.sizeof import sizeof

    from spectralmirror.rows.files.arrow import check_columns, common_dtype

__all__ = ["dask_rowset", "lazily"]

T = TypeVar("T")
#: So many partial sums are merged by one task.
FAN_IN = 8
#: Options of glibc's mallopt, its default for the second, and as many bytes as a task may keep.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, MMAP_THRESHOLD, KEPT = -1, -3, 1 << 17, 1 << 30


def dask_rowset(X: Any, y: Any, groups: Any, sample_weight: Any) -> tuple[PartedRowset, Any]:
    """Return the rows of dask collections, and the names of the features where they have some."""
    names, dtype, blocks = _blocks(X)
    columns = {"y": y, "sample_weight": sample_weight, "groups": groups}
    aligned = [_aligned(name, values, X, len(blocks)) for name, values in columns.items()]
    parts = DaskParts(list(zip(blocks, *aligned, strict=True)))
    others = [_delayed(_survey, i, *row) for i, row in enumerate(zip(*aligned, strict=True))]
    survey = _computed(others)
    rows = Remote.of(parts, _n_features(X), dtype, survey)
    if groups is None:
        return PartedRowset(rows), names
    return in_groups(rows, DaskBundles.of(rows)), names


def lazily(method: Callable[..., Any], X: Any, *columns: Any, width: int | None, dtype: Any) -> Any:
    """Apply a method that takes rows to every partition; the result is a dask array.

    `width` is the number of columns that it returns, None for one number a row.
    """
    import dask.array as da

    _, _, blocks = _blocks(X)
    others = [_aligned("y", values, X, len(blocks)) for values in columns]
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(blocks)
    tail = () if width is None else (width,)
    empty = np.empty((0, *tail), dtype=dtype)
    shared = _literal(method)
    parts = [
        da.from_delayed(_delayed(_applied, shared, empty, *row), (n, *tail), dtype=dtype)
        for n, row in zip(lengths, zip(blocks, *others, strict=True), strict=True)
    ]
    return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)


@dataclass(frozen=True, eq=False)
class DaskParts:
    """Partitions: tasks that make features, labels, weights and groups.

    The task that sums a partition puts them together itself, so that it runs where they are.
    """

    tasks: list[tuple[Any, ...]]

    def map_reduce(self, function: Callable[[int, int, Part], T]) -> T | None:
        """Return the sum of function(number, 0, part), computed by whatever client is active."""
        shared = _literal(function)  # once in the graph, however many tasks use it
        values = [_delayed(_apply, shared, i, *row) for i, row in enumerate(self.tasks)]
        found: T | None = _computed(values)
        return found


@dataclass(frozen=True, eq=False)
class DaskBundles:
    """Partitions of whole groups, brought together by the keys of the groups and kept there."""

    tasks: list[Any]

    @classmethod
    def of(cls, rows: Remote) -> DaskBundles:
        """Send every row to the partition that the key of its group decides."""
        import dask

        n, encoding = len(rows.parts.tasks), _literal(rows.encoding)
        rows_of_parts = enumerate(rows.parts.tasks)
        split = [_delayed(_split, encoding, n, i, *row) for i, row in rows_of_parts]
        pieces = [[_delayed(getitem, one, j) for one in split] for j in range(n)]
        together = [_delayed(_together, *parts) for parts in pieces]
        rows.passes["rows"] += 1
        return cls(list(dask.persist(*together)))

    def map_reduce(self, function: Callable[[Rowset], T]) -> T | None:
        """Return the sum of a function of the bundles."""
        shared = _literal(function)
        values = [_delayed(_apply_to_bundle, shared, task) for task in self.tasks]
        found: T | None = _computed(values)
        return found


def _blocks(X: Any) -> tuple[Any, np.dtype[Any], list[Any]]:
    """Return the names of the features, their precision, and a task for the rows of each part."""
    if hasattr(X, "columns"):
        check_columns(dict(zip(X.columns, X.dtypes, strict=True)))
        return list(X.columns), common_dtype(X.dtypes), list(X.to_delayed())
    check_columns({"X": X.dtype} if X.dtype != object else {})
    if getattr(X, "ndim", 0) != 2 or np.isnan(X.shape[1]):
        raise ValueError(
            "X must be a table of rows and columns (Expected 2D array), with a known number of "
            "columns: use X.reshape(-1, 1) for a single feature."
        )
    return None, common_dtype([X.dtype]), list(X.rechunk({1: -1}).to_delayed()[:, 0])


def _n_features(X: Any) -> int:
    return len(X.columns) if hasattr(X, "columns") else int(X.shape[1])


def _aligned(name: str, values: Any, X: Any, n_parts: int) -> list[Any]:
    """Return a column in the parts in which X is."""
    if values is None:
        return [None] * n_parts
    if np.ndim(values) == 0 and name == "sample_weight":
        return [values] * n_parts
    if not is_dask(values):
        return _cut(np.asarray(values), X, name)
    if not hasattr(values, "columns") and hasattr(values, "chunks") and hasattr(X, "chunks"):
        known = not np.isnan([*values.chunks[0], *X.chunks[0]]).any()
        if known and len(values) != len(X):
            raise ValueError(f"X has {len(X)} rows but {name} has {len(values)} values.")
        if known and values.chunks[0] != X.chunks[0]:
            values = values.rechunk({0: X.chunks[0]})
    if hasattr(values, "chunks") and values.ndim == 2:
        values = values.rechunk({1: -1})
    found = list(np.ravel(values.to_delayed()))
    if len(found) != n_parts:
        raise ValueError(
            f"X has {n_parts} partitions but {name} has {len(found)}: make both from the same "
            "collection, or repartition them alike."
        )
    return found


def _cut(values: Any, X: Any, name: str) -> list[Any]:
    """Cut a column that is in memory as X is cut."""
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan]
    if np.isnan(lengths).any():
        import dask

        _, _, blocks = _blocks(X)
        lengths = dask.compute(*[_delayed(_length, block) for block in blocks])
    ends = np.cumsum(lengths)
    if values.shape[:1] != (ends[-1],):
        raise ValueError(f"X has {ends[-1]} rows but {name} has {len(values)} values.")
    return np.split(values, ends[:-1])


def _delayed(function: Callable[..., Any], *arguments: Any) -> Any:
    import dask

    return dask.delayed(function, pure=False)(*arguments)


def _literal(value: Any) -> Any:
    import dask

    return dask.delayed(value, pure=False, traverse=False)


def _computed(values: list[Any]) -> Any:
    while len(values) > 1:
        cut = range(0, len(values), FAN_IN)
        values = [_delayed(_merge, *values[i : i + FAN_IN]) for i in cut]
    return values[0].compute()


def _applied(method: Callable[..., Any], empty: Any, X: Any, *columns: Any) -> Any:
    """Apply a method to a partition, which may have no rows."""
    return method(X, *columns).astype(empty.dtype, copy=False) if X.shape[0] else empty


def _apply(function: Callable[[int, int, Part], T], number: int, *columns: Any) -> T:
    with _freed_memory_kept():
        return function(number, 0, _part(number, *columns))


def _apply_to_bundle(function: Callable[[Rowset], T], bundle: Keyed) -> T:
    with _freed_memory_kept():
        return function(bundle.rowset)


@contextmanager
def _freed_memory_kept() -> Iterator[None]:
    """Let a task keep the memory that it frees until it ends (glibc).

    Dask's workers hand every freed page back to the system at once (MALLOC_TRIM_THRESHOLD_), and
    every block of rows then has to ask for its memory again, page by page: sums took 1.7 times as
    long.
    """
    threshold = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    libc: Any = ctypes.CDLL(None) if sys.platform == "linux" and threshold.isdigit() else None
    if not hasattr(libc, "mallopt"):
        yield
        return
    libc.mallopt(M_TRIM_THRESHOLD, KEPT)
    libc.mallopt(M_MMAP_THRESHOLD, KEPT)
    try:
        yield
    finally:
        libc.mallopt(M_TRIM_THRESHOLD, int(threshold))
        libc.mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD)


def _merge(*values: Any) -> Any:
    known = [value for value in values if value is not None]
    return functools.reduce(operator.add, known) if known else None


def _survey(number: int, y: Any, weight: Any, groups: Any) -> Survey:
    n = len(_column(y))
    return Survey.of(_part(number, np.empty((n, 0)), y, weight, groups))


def _length(block: Any) -> int:
    return int(block.shape[0])


def _part(number: int, X: Any, y: Any, weight: Any, groups: Any) -> Part:
    place = f"partition {number}"
    matrix = X.tocsr() if sparse.issparse(X) else _matrix(X, place)
    n = matrix.shape[0]
    weight = np.full(n, weight) if weight is not None and np.ndim(weight) == 0 else weight
    columns = [None if v is None else _column(v) for v in (y, weight, groups)]
    for name, values in zip(("y", "sample_weight", "groups"), columns, strict=True):
        if values is not None and values.shape != (n,):
            raise ValueError(
                f"X has {n} rows in {place} but {name} has shape {values.shape}: "
                "partition them alike."
            )
    assert columns[0] is not None
    return Part(matrix, columns[0], columns[1], columns[2], ((place, 0, n - 1),))


def _matrix(X: Any, place: str) -> Any:
    """Return the rows of a partition as an array; NaN where nullable columns have no value."""
    matrix = np.asarray(X)
    if matrix.dtype != object:
        return matrix
    try:
        if hasattr(X, "columns"):
            return X.to_numpy(dtype=np.float64, na_value=np.nan)
        return matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers, but does not in {place}: {error}.") from None


def _column(values: Any) -> Any:
    array = np.asarray(values)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _split(encoding: Encoding, n: int, number: int, *columns: Any) -> list[Keyed]:
    part = _part(number, *columns)
    rows, keys = encoding.rows(part, 0), keys_of(part)
    target = keys % np.uint64(n)
    return [Keyed(rows, keys)[np.flatnonzero(target == j)] for j in range(n)]


def _together(*parts: Keyed) -> Keyed:
    return Keyed.joined(list(parts))


@sizeof.register(Keyed)  # type: ignore[untyped-decorator]  # Dask has no types
def _size(keyed: Keyed) -> int:
    """Let Dask know how much memory rows take."""
    rows = keyed.rows
    weight = 0 if rows.weight is None else rows.weight.nbytes
    X = rows.X.data.nbytes if sparse.issparse(rows.X) else rows.X.nbytes
    return int(X + rows.y.nbytes + weight + keyed.keys.nbytes)

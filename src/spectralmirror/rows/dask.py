"""Dask arrays and DataFrames: partitions are summed where they are, and merged as a tree.

Only sums, and a bounded sample of rows, come to the client. Every pass computes the partitions
again unless they were persisted, so a worker that is lost costs only the time to compute its
partitions once more.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from spectralmirror.rows.checks import is_dask
from spectralmirror.rows.dask_features import blocks_of, matrix_of, scipy_rows, whole_rows
from spectralmirror.rows.dask_shuffle import shuffled
from spectralmirror.rows.extras import needs_extra
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.part import Part
from spectralmirror.rows.partitioned import RemoteRows
from spectralmirror.rows.partitioned_groups import PartitionedGroups, group_rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.survey import Encoding, Survey
from spectralmirror.rows.traits import stacked, table_of_groups, trait_columns

with needs_extra("dask", "spectralmirror.dask"):
    from dask.sizeof import sizeof

__all__ = ["DaskFeatures", "dask_rows", "lazily"]

T = TypeVar("T")
#: Number of partial sums that one task merges.
FAN_IN = 8


def dask_rows(
    X: Any, y: Any, groups: Any, sample_weight: Any, membership: Any = None, known: Any = None
) -> tuple[PartitionedGroups, Any]:
    """Return the rows of Dask collections, and the names of the features if they have names."""
    X = whole_rows(X)
    names, dtype, blocks = blocks_of(X)
    columns = {
        "y": y, "sample_weight": sample_weight, "groups": groups, "membership": membership,
        "known": known,
    }  # fmt: skip
    of_groups = None
    if groups is not None and _is_table_of_groups(membership, X):
        of_groups, columns["membership"] = _literal(_OfGroups(membership)), None
    aligned = [_aligned(name, values, X, len(blocks)) for name, values in columns.items()]
    if of_groups is not None:
        aligned[3] = [of_groups] * len(blocks)
    parts = DaskParts(list(zip(blocks, *aligned, strict=True)))
    others = [_delayed(_survey, i, *row) for i, row in enumerate(zip(*aligned, strict=True))]
    survey = _computed(others)
    rows = RemoteRows.of(parts, int(X.shape[1]), dtype, survey)
    partitions = None if groups is None else DaskGroups.of(rows)
    return group_rows(rows, partitions, trait_columns(membership, known)), names


def lazily(
    method: Callable[..., Any],
    X: Any,
    *columns: Any,
    names: Sequence[str],
    width: int | None,
    dtype: Any,
) -> Any:
    """Apply a method that takes rows to every partition; the result is a Dask array.

    `names` says what errors call the columns.
    `width` is the number of columns that the method returns, or None for one number per row.
    """
    import dask.array as da

    X = whole_rows(X)
    _, _, blocks = blocks_of(X)
    named = zip(names, columns, strict=True)
    others = [_aligned(name, values, X, len(blocks)) for name, values in named]
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
class DaskFeatures:
    """Features without labels, to be summed partition by partition.

    Attributes
    ----------
    tasks : list of tuple
        The features of each partition, and its weights or None.
    check : callable
        Turns the features of a partition into an array or a sparse matrix.
    """

    tasks: list[tuple[Any, Any]]
    check: Callable[[Any], Any]
    is_remote = True

    @classmethod
    def of(cls, X: Any, sample_weight: Any, check: Callable[[Any], Any]) -> DaskFeatures:
        """Cut the weights into the partitions of X."""
        X = whole_rows(X)
        _, _, blocks = blocks_of(X)
        weights = _aligned("sample_weight", sample_weight, X, len(blocks))
        return cls(list(zip(blocks, weights, strict=True)), check)

    def reduce(self, statistic: Callable[[Rows], T], factor: int = 1) -> T:
        """Return the sum of ``statistic(block)`` over the blocks of all partitions."""
        shared = _literal((self.check, statistic, factor))
        found: T | None = _computed([_delayed(_of_features, shared, *row) for row in self.tasks])
        if found is None:
            raise ValueError("X has no rows.")
        return found


@dataclass(frozen=True, eq=False)
class DaskParts:
    """Partitions: tasks that compute features, labels, weights and groups.

    The task that sums a partition assembles them itself, so that it runs where they are.
    """

    tasks: list[tuple[Any, ...]]

    def map_reduce(self, function: Callable[[int, int, Part], T]) -> T | None:
        """Return the sum of function(number, 0, part), computed by the active client."""
        shared = _literal(function)  # in the graph only once
        values = [_delayed(_apply, shared, i, *row) for i, row in enumerate(self.tasks)]
        found: T | None = _computed(values)
        return found


@dataclass(frozen=True, eq=False)
class DaskGroups:
    """Partitions of whole groups, brought together by the keys of the groups and kept there."""

    tasks: list[Any]

    @classmethod
    def of(cls, rows: RemoteRows) -> DaskGroups:
        """Send every row to the partition that its group's key determines."""
        import dask

        encoding = _literal(rows.encoding)
        there = [_delayed(_keyed_rows, encoding, i, *row) for i, row in enumerate(rows.parts.tasks)]
        together = shuffled(there, _keys, getitem, _together)
        rows.passes["rows"] += 1
        return cls(list(dask.persist(*together)))

    def map_reduce(self, function: Callable[[InMemoryGroups], T]) -> T | None:
        """Return the sum of a function of each partition of whole groups."""
        shared = _literal(function)
        values = [_delayed(_apply_to_groups, shared, task) for task in self.tasks]
        found: T | None = _computed(values)
        return found


def _aligned(name: str, values: Any, X: Any, n_parts: int) -> list[Any]:
    """Return a column in the same partitions as X."""
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


def _is_table_of_groups(membership: Any, X: Any) -> bool:
    """Return whether a frame in memory has a line for each group rather than for each row."""
    if is_dask(membership) or not hasattr(getattr(membership, "index", None), "get_indexer"):
        return False
    return len(membership) != int(np.sum(_lengths(X)))


def _lengths(X: Any) -> Any:
    """Return the number of rows of each partition."""
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan]
    if np.isnan(lengths).any():
        import dask

        _, _, blocks = blocks_of(X)
        lengths = dask.compute(*[_delayed(_length, block) for block in blocks])
    return lengths


def _cut(values: Any, X: Any, name: str) -> list[Any]:
    """Split a column in memory into the partitions of X."""
    ends = np.cumsum(_lengths(X))
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
    if not X.shape[0]:
        return empty
    X = X if hasattr(X, "columns") else scipy_rows(X)
    return method(X, *columns).astype(empty.dtype, copy=False)


def _apply(function: Callable[[int, int, Part], T], number: int, *columns: Any) -> T:
    return function(number, 0, _part(number, *columns))


def _of_features(shared: Any, X: Any, weight: Any) -> Any:
    check, statistic, factor = shared
    if not X.shape[0]:
        return None
    X = check(scipy_rows(X))
    weight = None if weight is None else np.broadcast_to(_column(weight), X.shape[0])
    return reduce(Rows(X, np.zeros(X.shape[0]), weight), statistic, factor=factor)


def _apply_to_groups(function: Callable[[InMemoryGroups], T], rows: Rows) -> T:
    return function(InMemoryGroups.of(rows))


def _merge(*values: Any) -> Any:
    known = [value for value in values if value is not None]
    return functools.reduce(operator.add, known) if known else None


def _survey(number: int, y: Any, *others: Any) -> Survey:
    n = len(_column(y))
    return Survey.of(_part(number, np.empty((n, 0)), y, *others))


def _length(block: Any) -> int:
    return int(block.shape[0])


@dataclass(frozen=True, eq=False)
class _OfGroups:
    """Covariates in a frame whose index names the groups."""

    table: Any


def _part(
    number: int, X: Any, y: Any, weight: Any, groups: Any, membership: Any, known: Any
) -> Part:
    place = f"partition {number}"
    matrix = matrix_of(X, place)
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
    if isinstance(membership, _OfGroups):
        membership = table_of_groups(membership.table, columns[2])
    traits = stacked(membership, known, n, place)
    return Part(matrix, columns[0], columns[1], columns[2], ((place, 0, n - 1),), traits=traits)


def _column(values: Any) -> Any:
    array = np.asarray(values)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _keyed_rows(encoding: Encoding, number: int, *columns: Any) -> Rows:
    return encoding.rows(_part(number, *columns), keyed=True)


def _keys(rows: Rows) -> Any:
    return rows.keys


def _together(*parts: Rows) -> Rows:
    return Rows.joined(parts, in_order=False)


@sizeof.register(Rows)  # type: ignore[untyped-decorator]  # Dask has no types
def _size(rows: Rows) -> int:
    """Tell Dask how much memory rows take."""
    X = rows.X.data if sparse.issparse(rows.X) else rows.X
    columns = (X, rows.y, rows.weight, rows.keys, rows.traits)
    return sum(int(column.nbytes) for column in columns if column is not None)

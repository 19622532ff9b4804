"""Whole groups from rows that are not in memory.

A partition of whole groups is an :class:`InMemoryGroups` that holds every row of its groups.
The rest of the library sees all of them as one :class:`GroupedRows`.
"""

from __future__ import annotations

import functools
import operator
import shutil
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar, TypeVar

import numpy as np

from spectralmirror.rows.grouped import Block, GroupedRows, InMemoryGroups
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.part import Part, whole_groups
from spectralmirror.rows.partitioned import PartitionedRows, StreamedRows
from spectralmirror.rows.reduce import Sums, sum_of
from spectralmirror.rows.types import AnyArray

__all__ = ["ContiguousGroups", "PartitionedGroups", "SpilledGroups", "group_rows", "joined_groups"]

T = TypeVar("T")
#: Size of a temporary file of scattered groups, which is read as a whole, and the maximum number of
#: such files.
BUCKET_BYTES = 64_000_000
MOST_BUCKETS = 500


@dataclass(frozen=True, eq=False)
class GroupSums(Sums):
    """Numbers of groups and of groups with a single row, and sum_G w_G."""

    n_groups: int
    n_single: int
    weight: float

    @classmethod
    def of(cls, groups: InMemoryGroups) -> GroupSums:
        """Count one partition of whole groups."""
        return cls(groups.n_groups, groups.n_single, groups.total_weight)


@dataclass(frozen=True, eq=False)
class PartitionedGroups(GroupedRows):
    """Groups of rows that are not in memory.

    Attributes
    ----------
    rows : StreamedRows or RemoteRows
        The rows one by one.
    partitions : object or None
        The same in whole groups; None without groups. In this process, ``read()`` yields
        :class:`InMemoryGroups`, one after the other, and ``read_keys()`` the same without
        features. Elsewhere, ``map_reduce(function)`` returns the sum of a function of each; None
        adds nothing.
    trait_columns : TraitColumns or None
        What the traits of the rows are; None if there are none.
    """

    rows: Any
    partitions: Any = None
    trait_columns: Any = None

    in_memory: ClassVar[bool] = False

    @cached_property
    def _sums(self) -> GroupSums:
        if self.partitions is None:
            n = self.rows.n_present
            return GroupSums(n, n, self.rows.total_weight)
        if self.is_remote:
            self.rows.passes["rows"] += 1
            found: GroupSums = self.partitions.map_reduce(GroupSums.of)
            return found
        return functools.reduce(operator.add, map(GroupSums.of, self.partitions.read_keys()))

    @property
    def is_grouped(self) -> bool:
        """Whether some group has more than one row."""
        return self.partitions is not None

    @property
    def has_sets(self) -> bool:
        """Whether labels are choices from sets."""
        return bool(self.rows.has_sets)

    @property
    def is_repeated(self) -> bool:
        """Whether some group has more than one label."""
        return self.n_single < self.n_groups

    @property
    def is_remote(self) -> bool:
        """Whether other processes hold the rows and sum them there."""
        return bool(self.rows.is_remote)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self._sums.n_groups

    @property
    def n_single(self) -> int:
        """Number of groups with exactly one label."""
        return self._sums.n_single

    @property
    def total_weight(self) -> float:
        """sum_G w_G: the number of groups if there are no weights."""
        return self._sums.weight

    def choose_groups(self, share: float, seed: int) -> Rows:
        """Return the rows, with keys, of about this share of the groups."""
        of = partial(_chosen, share=share, seed=seed)
        if self.is_remote:
            self.rows.passes["rows"] += 1
            return Rows.joined(self.partitions.map_reduce(of), in_order=False)
        parts = [part for groups in self.partitions.read() for part in of(groups)]
        return Rows.joined(parts, in_order=False)

    def varying_group(self) -> Any:
        """Return a group whose rows have different traits."""
        if self.is_remote:
            key = self.partitions.map_reduce(_varying_key)[0]
            return self.rows.parts.map_reduce(partial(_group_of, key=key))[0]
        keys = (key for groups in self.partitions.read_keys() for key in _varying_key(groups))
        key = next(keys)
        return next(name for part in self.rows.parts.survey() for name in part.group_of(key))

    def reduce(self, statistic: Callable[[Block], T], factor: int = 1) -> T:
        """Return the sum of a statistic over blocks of whole groups that other processes hold."""
        if self.partitions is None:
            found: T = self.rows.reduce(partial(_of_rows, statistic=statistic), factor)
            return found
        self.rows.passes["rows"] += 1
        total = self.partitions.map_reduce(partial(_sum_blocks, statistic=statistic, factor=factor))
        assert total is not None  # some partition has rows
        return total  # type: ignore[no-any-return]

    def blocks(self, factor: int = 1) -> Iterator[Block]:
        """Yield whole groups, in blocks of `factor` times the usual number of rows."""
        if self.partitions is None:
            yield from map(Block.of, self.rows.blocks(factor))
            return
        for groups in self.partitions.read():
            yield from groups.blocks(factor)


def _of_rows(rows: Rows, statistic: Callable[[Block], T]) -> T:
    return statistic(Block.of(rows))


def _sum_blocks(groups: InMemoryGroups, statistic: Callable[[Block], T], factor: int) -> T | None:
    return sum_of(groups.blocks(factor), statistic) if groups.n_present else None


def _varying_key(groups: InMemoryGroups) -> list[Any]:
    """Return the key of a group whose rows have different traits, in a list."""
    keys, traits = groups.rows.keys, groups.rows.traits
    assert keys is not None
    assert traits is not None
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    return list(keys[(traits != traits[first[numbers]]).any(axis=1)][:1])


def _group_of(_number: int, _before: int, part: Part, key: Any) -> list[Any]:
    return part.group_of(key)


def _chosen(groups: InMemoryGroups, share: float, seed: int) -> list[Rows]:
    return [groups.choose_groups(share, seed)]


def group_rows(
    rows: PartitionedRows, partitions: Any, trait_columns: Any = None
) -> PartitionedGroups:
    """Return the rows in their groups; without groups if every row is its own group."""
    grouped = PartitionedGroups(rows, partitions, trait_columns)
    if partitions is not None and grouped.n_groups < rows.n_present:
        return grouped
    return PartitionedGroups(rows, trait_columns=trait_columns)


def joined_groups(blocks: Iterator[Rows]) -> Iterator[InMemoryGroups]:
    """Yield partitions of whole groups from blocks in which the rows of a group are contiguous."""
    for pieces in whole_groups(blocks):
        yield InMemoryGroups.of(Rows.joined(pieces, in_order=False))


@dataclass(frozen=True, eq=False)
class ContiguousGroups:
    """Groups whose rows are contiguous in a file."""

    rows: StreamedRows

    def read(self) -> Iterator[InMemoryGroups]:
        """Yield one partition of whole groups after the other."""
        return joined_groups(self.rows.keyed_blocks())

    def read_keys(self) -> Iterator[InMemoryGroups]:
        """Yield the same without features."""
        return joined_groups(self.rows.keys_only())


class SpilledGroups:
    """Groups whose rows are scattered: written to temporary files, each with whole groups.

    Every row is written once, to the file that the key of its group determines.
    """

    def __init__(self, rows: StreamedRows):
        self._folder = Path(mkdtemp(prefix="spectralmirror-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._passes = rows.passes
        self._like: Rows | None = None
        row_bytes = rows.n_features * rows.dtype.itemsize
        n_buckets = -(-rows.n_present * row_bytes // BUCKET_BYTES)
        self.n_buckets = int(min(max(n_buckets, 1), MOST_BUCKETS))
        for block in rows.keyed_blocks():
            assert block.keys is not None
            bucket = (block.keys % np.uint64(self.n_buckets)).astype(np.int64)
            for b in np.unique(bucket):
                self._append(int(b), block[np.flatnonzero(bucket == b)])

    def read(self) -> Iterator[InMemoryGroups]:
        """Yield one partition of whole groups after the other."""
        self._passes["rows"] += 1
        for b in self._buckets():
            yield InMemoryGroups.of(self._rows(b, self._array(b, "X")))

    def read_keys(self) -> Iterator[InMemoryGroups]:
        """Yield the same without features."""
        for b in self._buckets():
            yield InMemoryGroups.of(self._rows(b, None))

    def _buckets(self) -> Iterator[int]:
        return (b for b in range(self.n_buckets) if self._path(b, "keys").exists())

    def _path(self, b: int, name: str) -> Path:
        return self._folder / f"{b}-{name}"

    def _append(self, b: int, rows: Rows) -> None:
        self._like = rows[:0]
        for name, values in _arrays(rows).items():
            with self._path(b, name).open("ab") as file:
                file.write(np.ascontiguousarray(values).data)  # tofile does not say why it fails

    def _array(self, b: int, name: str) -> AnyArray | None:
        assert self._like is not None
        like = _arrays(self._like).get(name)
        return None if like is None else np.fromfile(self._path(b, name), like.dtype)

    def _rows(self, b: int, X: AnyArray | None) -> Rows:
        assert self._like is not None
        y, keys, weight, traits, sets = (
            self._array(b, name) for name in ("y", "keys", "weight", "traits", "sets")
        )
        assert y is not None
        X = np.empty((len(y), 0)) if X is None else X.reshape(len(y), -1)
        traits = None if traits is None else traits.reshape(len(y), -1)
        return Rows(X, y, weight, self._like.block_bytes, keys=keys, traits=traits, sets=sets)


def _arrays(rows: Rows) -> dict[str, Any]:
    columns = ("X", "y", "keys", "weight", "traits", "sets")
    return {name: getattr(rows, name) for name in columns if getattr(rows, name) is not None}

"""Rows of whole groups from sources that are not in memory.

A bundle is a rowset in memory, of groups none of which has a row elsewhere. The rest of the library
sees the bundles as one rowset.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

import numpy as np

from spectralmirror.rows.grouped import Block, Rowset, share_to_draw
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.partitioned import Keyed, Parted, Remote, Streamed
from spectralmirror.rows.reduce import reduce, sum_of
from spectralmirror.rows.sample import sample

__all__ = ["Contiguous", "PartedRowset", "Spilled", "in_groups", "whole_groups"]

T = TypeVar("T")
#: Rows that are brought together on disk, and then read at a time.
BUCKET_BYTES = 64_000_000
MOST_BUCKETS = 500


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Numbers of groups and of groups of one row, and sum_G w_G."""

    n_groups: int
    n_alone: int
    weight: float

    @classmethod
    def of(cls, block: Block) -> GroupSums:
        """Sum one block of whole groups."""
        sizes, w = block.sizes, block.shares[0]
        weight = float(len(sizes) if w is None else w.sum())
        return cls(len(sizes), int((sizes == 1).sum()), weight)

    def __add__(self, other: GroupSums) -> GroupSums:
        return GroupSums(
            self.n_groups + other.n_groups, self.n_alone + other.n_alone, self.weight + other.weight
        )


@dataclass(frozen=True, eq=False)
class PartedRowset:
    """What :class:`Rowset` is for rows in memory.

    Attributes
    ----------
    rows : Streamed or Remote
        The rows one by one.
    bundles : object or None
        The same in whole groups; None without groups. In this process, ``rowsets()`` yields one
        bundle after the other. Elsewhere, ``map_reduce(function)`` returns the sum of a function of
        the bundles, where it is not None.
    """

    rows: Any
    bundles: Any = None

    @cached_property
    def _groups(self) -> GroupSums:
        if self.bundles is None:
            n = self.rows.n_present
            return GroupSums(n, n, self.rows.total_weight)
        return reduce(self, GroupSums.of)

    @property
    def is_grouped(self) -> bool:
        """Whether rows come in groups."""
        return self.bundles is not None

    @property
    def n_present(self) -> int:
        """Number of rows that count."""
        return int(self.rows.n_present)

    @property
    def total_weight(self) -> float:
        """sum_G w_G, the number of groups where there are no weights."""
        return self._groups.weight

    @property
    def share_in_company(self) -> float:
        """The share of rows whose group has other rows too."""
        return 1 - self._groups.n_alone / self.n_present

    def sample(self, n_rows: int, n_groups: int, seed: int) -> Any:
        """Return about so many rows, and whole groups, drawn at random; all where half would do."""
        share = n_rows / self.n_present
        if self.bundles is None:
            return self if share >= 0.5 else Rowset(sample(self.rows, n_rows, seed))
        if max(share, n_groups / self._groups.n_groups) >= 0.5:
            return self
        return self.drawn(n_rows, n_groups, seed)

    def drawn(self, n_rows: int, n_groups: int, seed: int) -> Rowset:
        """Return the sample in memory, within its bounds, and in the order of the keys."""
        if self.bundles is None:
            return Rowset(sample(self.rows, n_rows, seed))
        share = share_to_draw(self.rows, n_rows, n_groups, self._groups.n_groups)
        while True:
            parts = self._chosen(share, seed)
            if parts:
                drawn = Keyed.joined(parts)
                return Rowset.of(drawn.rows, drawn.keys, by_key=True)
            share *= 2  # few groups, of many rows each

    def _chosen(self, share: float, seed: int) -> list[Keyed]:
        of = partial(_sampled, share=share, seed=seed)
        if self.is_remote:
            self.rows.passes["rows"] += 1
            return self.bundles.map_reduce(of) or []
        return [one for rowset in self.bundles.rowsets() for one in of(rowset) or []]

    @property
    def is_remote(self) -> bool:
        """Whether the rows sum themselves, where they are."""
        return isinstance(self.rows, Remote)

    def reduce(self, statistic: Callable[[Block], T], factor: int = 1) -> T:
        """Return the sum of a statistic over blocks of whole groups, of rows that are elsewhere."""
        if self.bundles is None:
            found: T = self.rows.reduce(partial(_of_block, statistic=statistic), factor)
            return found
        self.rows.passes["rows"] += 1
        total = self.bundles.map_reduce(partial(sum_bundle, statistic=statistic, factor=factor))
        assert total is not None  # some bundle has rows
        return total  # type: ignore[no-any-return]

    def blocks(self, factor: int = 1) -> Iterator[Block]:
        """Yield whole groups, about as many rows at a time as other sources do."""
        if self.bundles is None:
            yield from map(Block.of, self.rows.blocks(factor))
            return
        for rowset in self.bundles.rowsets():
            yield from rowset.blocks(factor)


def _of_block(rows: Rows, statistic: Callable[[Block], T]) -> T:
    return statistic(Block.of(rows))


def sum_bundle(rowset: Rowset, statistic: Callable[[Block], T], factor: int) -> T | None:
    """Sum a statistic over the blocks of one bundle."""
    return sum_of(rowset.blocks(factor), statistic) if rowset.n_present else None


def _sampled(rowset: Rowset, share: float, seed: int) -> list[Keyed] | None:
    rows, keys = rowset.chosen(share, seed)
    return [Keyed(rows, keys)] if len(keys) else None


def in_groups(rows: Parted, bundles: Any) -> PartedRowset:
    """Return rows and bundles as one, without the latter where every row is a group of its own."""
    rowset = PartedRowset(rows, bundles)
    return rowset if rowset._groups.n_groups < rows.n_present else PartedRowset(rows)


def whole_groups(blocks: Iterable[Keyed]) -> Iterator[Rowset]:
    """Yield bundles of blocks in which the rows of a group follow each other.

    A bundle ends where a group does.
    """
    held: list[Keyed] = []
    for keyed in blocks:
        change = np.flatnonzero(keyed.keys[1:] != keyed.keys[:-1])
        begins_anew = bool(held) and held[-1].keys[-1] != keyed.keys[0]
        if len(change) == 0 and not begins_anew:
            held.append(keyed)  # still the same group
            continue
        cut = int(change[-1]) + 1 if len(change) else 0
        yield Keyed.joined([*held, keyed[:cut]]).rowset
        held = [keyed[cut:]]
    if held:
        yield Keyed.joined(held).rowset


@dataclass(frozen=True, eq=False)
class Contiguous:
    """Groups whose rows follow each other in a file."""

    rows: Streamed

    def rowsets(self) -> Iterator[Rowset]:
        """Yield one bundle after the other."""
        return whole_groups(self.rows.keyed_blocks())


class Spilled:
    """Groups whose rows are scattered: brought together in files of a temporary folder.

    Every row is written once, to a bucket that the key of its group decides.
    """

    def __init__(self, rows: Streamed):
        self._folder = Path(mkdtemp(prefix="spectralmirror-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._passes = rows.passes
        self._like: Keyed | None = None
        row_bytes = rows.n_features * rows.dtype.itemsize
        n_buckets = -(-rows.n_present * row_bytes // BUCKET_BYTES)
        self.n_buckets = int(min(max(n_buckets, 1), MOST_BUCKETS))
        for keyed in rows.keyed_blocks():
            bucket = (keyed.keys % np.uint64(self.n_buckets)).astype(np.int64)
            for b in np.unique(bucket):
                self._append(int(b), keyed[np.flatnonzero(bucket == b)])

    def rowsets(self) -> Iterator[Rowset]:
        """Yield one bundle after the other."""
        self._passes["rows"] += 1
        for b in range(self.n_buckets):
            if self._path(b, "keys").exists():
                yield self._read(b).rowset

    def _path(self, b: int, name: str) -> Path:
        return self._folder / f"{b}-{name}"

    def _append(self, b: int, keyed: Keyed) -> None:
        self._like = keyed[:0]
        for name, values in _arrays(keyed).items():
            with self._path(b, name).open("ab") as file:
                file.write(np.ascontiguousarray(values).data)  # tofile does not say why it fails

    def _read(self, b: int) -> Keyed:
        assert self._like is not None
        rows, arrays = self._like.rows, _arrays(self._like)
        read = {name: np.fromfile(self._path(b, name), a.dtype) for name, a in arrays.items()}
        X = read["X"].reshape(-1, rows.n_features)
        return Keyed(Rows(X, read["y"], read.get("weight"), rows.block_bytes), read["keys"])


def _arrays(keyed: Keyed) -> dict[str, Any]:
    rows = keyed.rows
    found = {"X": rows.X, "y": rows.y, "keys": keyed.keys}
    return found if rows.weight is None else found | {"weight": rows.weight}

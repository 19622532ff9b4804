"""Rows in blocks of whole groups: rows that share their hidden classifier stay together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.block import Block
from spectralmirror.rows.hashing import chosen
from spectralmirror.rows.memory import Rows, block_rows
from spectralmirror.rows.sample import SAMPLE_BYTES, sample
from spectralmirror.rows.types import Matrix

__all__ = ["Block", "GroupedRows", "InMemoryGroups"]


class GroupedRows(Protocol):
    """Rows in groups, in memory or in partitions; without groups every row is its own group.

    Attributes
    ----------
    rows : Source
        The same rows one by one.
    in_memory : bool
        Whether the rows are arrays in this process.
    has_sets : bool
        Whether labels are choices from sets.
    is_remote : bool
        Whether other processes hold the rows and sum them there.
    n_groups : int
        Number of groups with a row of positive weight.
    n_single : int
        Number of groups with exactly one label.
    total_weight : float
        sum_G w_G: the number of groups if there are no weights.
    trait_columns : TraitColumns or None
        What the traits of the rows are; None if there are none.
    """

    rows: Any
    trait_columns: Any

    @property
    @abstractmethod
    def in_memory(self) -> bool: ...  # noqa: D102
    @property
    @abstractmethod
    def has_sets(self) -> bool: ...  # noqa: D102
    @property
    @abstractmethod
    def is_remote(self) -> bool: ...  # noqa: D102
    @property
    @abstractmethod
    def n_groups(self) -> int: ...  # noqa: D102
    @property
    @abstractmethod
    def n_single(self) -> int: ...  # noqa: D102
    @property
    @abstractmethod
    def total_weight(self) -> float: ...  # noqa: D102

    @abstractmethod
    def blocks(self, factor: int = 1) -> Iterator[Block]:
        """Yield whole groups, in blocks of `factor` times the usual number of rows."""

    @abstractmethod
    def choose_groups(self, share: float, seed: int) -> Rows:
        """Return the rows, with keys, of about this share of the groups."""

    def varying_group(self) -> Any:
        """Return a group whose rows have different traits; None in memory, where none has."""
        return None

    @property
    def n_present(self) -> int:
        """Number of rows with a positive weight."""
        return int(self.rows.n_present)

    @property
    def row_weight(self) -> float:
        """Sum of the weights of the rows."""
        return float(self.rows.total_weight)

    @property
    def is_grouped(self) -> bool:
        """Whether some group has more than one row."""
        return self.n_groups < self.n_present

    @property
    def is_repeated(self) -> bool:
        """Whether some group has more than one label: a choice set of several rows is one label."""
        return self.is_grouped

    @property
    def share_in_company(self) -> float:
        """The share of rows whose group has other rows, too."""
        return 1 - self.n_single / max(self.n_present, 1)

    def sample(self, n_rows: int, n_groups: int, seed: int) -> GroupedRows:
        """Return a random sample of whole groups, or all rows if that is at least half of them.

        Parameters
        ----------
        n_rows, n_groups : int
            Approximate minimum numbers of rows and of groups.
        seed : int
            The same seed gives the same sample, however the rows are stored.
        """
        return self if self._is_half(n_rows, n_groups) else self.draw(n_rows, n_groups, seed)

    def draw(self, n_rows: int, n_groups: int, seed: int) -> InMemoryGroups:
        """Return such a sample in memory: bounded in size, groups in the order of their keys."""
        if not self.is_grouped:
            return InMemoryGroups(sample(self.rows, n_rows, seed))
        share = _share_of_groups(self, n_rows, n_groups)
        while True:
            found = self.choose_groups(share, seed)
            if len(found):
                return InMemoryGroups.of(found, by_key=True).in_order()
            share *= 2  # few groups of many rows each

    def select(self, n_rows: int, n_groups: int, seed: int) -> InMemoryGroups:
        """Return the sample of :meth:`draw`; rows in memory are not copied before they are read."""
        return self.draw(n_rows, n_groups, seed)

    def brought(self, seed: int = 0) -> InMemoryGroups:
        """Return the rows in memory: all of them, or a sample of whole groups of `SAMPLE_BYTES`."""
        found = self.draw(self.n_present, self.n_groups, seed)
        return replace(found, trait_columns=self.trait_columns)

    @property
    def is_small(self) -> bool:
        """Whether all rows can be brought into memory."""
        size = self.n_present * self.rows.n_features * self.rows.dtype.itemsize
        return bool(size <= SAMPLE_BYTES)

    def _is_half(self, n_rows: int, n_groups: int) -> bool:
        share = n_rows / max(self.n_present, 1)
        return (max(share, n_groups / self.n_groups) if self.is_grouped else share) >= 0.5


@dataclass(frozen=True, eq=False)
class InMemoryGroups(GroupedRows):
    """Rows in memory, in the order of their groups.

    Attributes
    ----------
    rows : Rows
        Features, labels of -1 and +1, weights.
    order : ndarray or None
        Positions of the present rows, group by group; None without groups.
    starts : ndarray or None
        Where in `order` each group begins.
    trait_columns : TraitColumns or None
        What the traits of the rows are; None if there are none, and for samples.
    """

    rows: Rows
    order: NDArray[np.int64] | None = None
    starts: NDArray[np.int64] | None = None
    trait_columns: Any = None

    in_memory: ClassVar[bool] = True
    is_remote: ClassVar[bool] = False

    @classmethod
    def of(cls, rows: Rows, *, by_key: bool = False) -> InMemoryGroups:
        """Sort the present rows by the groups that their keys name.

        Groups come in the order of their first rows, so that contiguous ones stay where they are,
        or in the order of their keys, which does not depend on how the rows were stored. If every
        row is its own group there are no groups.
        """
        if rows.keys is None:
            return cls(rows)
        present = rows.present_index()
        found, first, numbers = np.unique(
            rows.keys[present], return_index=True, return_inverse=True
        )
        if len(found) == len(present):
            return cls(rows)
        if not by_key:
            ranking = np.argsort(first)
            rank = np.empty_like(ranking)
            rank[ranking] = np.arange(len(found))
            numbers = rank[numbers]
        order = present[np.argsort(numbers, kind="stable")]
        sizes = np.bincount(numbers, minlength=len(found))
        return cls(rows, order, np.cumsum(sizes) - sizes)

    @property
    def has_sets(self) -> bool:
        """Whether labels are choices from sets."""
        return self.rows.sets is not None

    @property
    def is_grouped(self) -> bool:
        """Whether some group has more than one row."""
        return self.starts is not None

    @property
    def n_present(self) -> int:
        """Number of rows with a positive weight."""
        return self.rows.n_present if self.order is None else len(self.order)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.n_present if self.starts is None else len(self.starts)

    @property
    def n_single(self) -> int:
        """Number of groups with exactly one label."""
        return self.n_present if self.starts is None else int((self.n_labels == 1).sum())

    @property
    def n_labels(self) -> NDArray[np.int64]:
        """Number of labels of each group: rows, or choice sets."""
        if self.rows.sets is None or self.order is None or self.starts is None:
            return self.sizes
        sets = self.rows.sets[self.order]
        begins = np.append(True, sets[1:] != sets[:-1])
        return np.asarray(np.add.reduceat(begins.astype(np.int64), self.starts))

    @property
    def is_repeated(self) -> bool:
        """Whether some group has more than one label."""
        return self.n_single < self.n_groups

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each group."""
        starts = np.arange(self.n_present) if self.starts is None else self.starts
        return np.diff(starts, append=self.n_present)

    @cached_property
    def total_weight(self) -> float:
        """sum_G w_G: the number of groups if there are no weights."""
        if self.order is None or self.starts is None:
            return self.rows.total_weight
        if self.rows.weight is None:
            return float(len(self.starts))
        weight = self.rows.weight[self.order].astype(np.float64)
        return float((np.add.reduceat(weight, self.starts) / self.sizes).sum())

    def draw(self, n_rows: int, n_groups: int, seed: int) -> InMemoryGroups:
        """Return a sample in memory, which needs no copy if it is every row and has no groups."""
        if self.is_grouped:
            return self.select(n_rows, n_groups, seed)._copied()
        return self if self._is_half(n_rows, n_groups) else super().draw(n_rows, n_groups, seed)

    def select(self, n_rows: int, n_groups: int, seed: int) -> InMemoryGroups:
        """Return a sample, without copying it if there are groups."""
        if not self.is_grouped:
            return self.draw(n_rows, n_groups, seed)
        share = _share_of_groups(self, n_rows, n_groups)
        index = self._chosen(share, seed)
        while not len(index):
            share *= 2  # few groups of many rows each
            index = self._chosen(share, seed)
        assert self.rows.keys is not None
        keyed = replace(self.rows, X=np.empty((len(self.rows), 0)))[index]
        found = InMemoryGroups.of(keyed, by_key=True)
        if found.order is None:  # no two rows of a group
            return InMemoryGroups(self.rows[index])
        return replace(found, rows=self.rows, order=index[found.order])

    def brought(self, seed: int = 0) -> InMemoryGroups:
        """Return these rows."""
        return self

    def choose_groups(self, share: float, seed: int) -> Rows:
        """Return the rows, with keys, of about this share of the groups."""
        return self.rows[self._chosen(share, seed)]

    def _chosen(self, share: float, seed: int) -> NDArray[np.int64]:
        assert self.rows.keys is not None
        index = self.present_index()
        return index[chosen(self.rows.keys[index], share, seed)]

    def take(self, groups: NDArray[Any]) -> InMemoryGroups:
        """Return some of the groups, given by their numbers in the order in which they are read."""
        index = self.present_index()
        if self.starts is None:
            return InMemoryGroups(self.rows[index[groups]])
        sizes = self.sizes[groups]
        starts = np.cumsum(sizes) - sizes
        positions = np.repeat(self.starts[groups] - starts, sizes) + np.arange(sizes.sum())
        return InMemoryGroups(self.rows[index[positions]], np.arange(len(positions)), starts)

    def present_index(self) -> NDArray[np.int64]:
        """Return the positions of the present rows, in the order in which they are read."""
        return self.rows.present_index() if self.order is None else self.order

    def with_features(self, X: Matrix) -> InMemoryGroups:
        """Return the same rows with other features, given in the order in which rows are read."""
        index = self.present_index()
        columns: dict[str, Any] = {
            name: getattr(self.rows, name)[index]
            for name in ("weight", "keys", "traits", "sets")
            if getattr(self.rows, name) is not None
        }
        rows = Rows(X, self.rows.y[index].astype(X.dtype, copy=False), **columns)
        return InMemoryGroups(
            rows, None if self.starts is None else np.arange(len(index)), self.starts
        )

    def blocks(self, factor: int = 1) -> Iterator[Block]:
        """Yield whole groups, in blocks of `factor` times the usual number of rows."""
        if self.order is None or self.starts is None:
            yield from map(Block.of, self.rows.blocks(factor))
        elif factor == 1 and self._is_in_order:
            yield from self._views
        else:
            yield from self._blocks_of_groups(factor)

    def in_order(self) -> InMemoryGroups:
        """Return the same groups in a copy of the rows whose blocks are views, if they are not."""
        return self if self._is_in_order else self._copied()

    def _copied(self) -> InMemoryGroups:
        if self.order is None:
            return self
        order = np.arange(len(self.order))
        return InMemoryGroups(self.rows[self.order], order, self.starts, self.trait_columns)

    @cached_property
    def _is_in_order(self) -> bool:
        """Whether blocks of groups are views of dense rows: they are kept, with what is derived."""
        if self.order is None or not isinstance(self.rows.X, np.ndarray):
            return False
        return isinstance(_as_slice(self.order), slice)

    @cached_property
    def _views(self) -> list[Block]:
        return list(self._blocks_of_groups(1))

    def _blocks_of_groups(self, factor: int) -> Iterator[Block]:
        assert self.order is not None
        assert self.starts is not None
        rows = self.rows
        size = block_rows(rows.block_bytes, rows.n_features, rows.dtype, factor)
        ends = np.append(self.starts[1:], len(self.order))
        first = 0
        while first < len(self.starts):
            last = int(np.searchsorted(ends, self.starts[first] + size, side="right"))
            last = max(last, first + 1)
            begin, end = self.starts[first], ends[last - 1]
            part = self.rows[_as_slice(self.order[begin:end])]
            yield Block.of(part, self.starts[first:last] - begin)
            first = last


def _share_of_groups(grouped: GroupedRows, n_rows: int, n_groups: int) -> float:
    """Return the share of groups to sample for about `n_rows` rows and `n_groups` groups.

    It is 1 if at least half of the groups would be sampled, and it is limited so that the sample
    takes at most `SAMPLE_BYTES`, however large the groups are.
    """
    rows = grouped.rows
    share = max(n_rows / rows.n_present, n_groups / grouped.n_groups)
    most = SAMPLE_BYTES / (rows.n_present * rows.n_features * rows.dtype.itemsize)
    return most if most < 1 and share >= most else 1.0 if share >= 0.5 else share


def _as_slice(index: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """Return a slice for consecutive rows, which then need not be copied."""
    return slice(int(index[0]), int(index[-1]) + 1) if (np.diff(index) == 1).all() else index

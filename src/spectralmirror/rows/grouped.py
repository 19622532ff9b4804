"""Rows in blocks of whole groups: rows that share their hidden classifier stay together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.hashing import chosen
from spectralmirror.rows.kernels import shifted
from spectralmirror.rows.memory import Rows, block_rows
from spectralmirror.rows.sample import SAMPLE_BYTES, sample
from spectralmirror.rows.set_layout import SetLayout
from spectralmirror.rows.types import AnyArray, Features, Matrix, Vector

__all__ = ["Block", "GroupedRows", "InMemoryGroups"]

#: Bytes of the temporaries of a piece of a block.
PIECE_BYTES = 1_000_000


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of whole groups.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Features.
    y : ndarray of shape (n,)
        Labels of -1 and +1.
    weight : ndarray of shape (n,) or None
        Weights of the rows; None means 1.
    starts : ndarray of shape (n_groups,) or None
        First row of each group; None if every row is its own group.
    traits : ndarray of shape (n, m) or None
        What is known about the group of each row.
    sets : ndarray of shape (n,) or None
        The number of each row's choice set; None if labels are binary.
    nodes : object or None
        Over what a likelihood integrates for each group; None if that is the same for all.
    """

    X: Features
    y: AnyArray
    weight: Vector | None
    starts: NDArray[np.int64] | None
    traits: Matrix | None = None
    sets: NDArray[np.int64] | None = None
    nodes: Any = None

    @classmethod
    def of(cls, rows: Rows, starts: NDArray[np.int64] | None = None) -> Block:
        """Return a block of whole groups; by default, every row is its own group."""
        return cls(rows.X, rows.y, _double(rows.weight), starts, rows.traits, rows.sets)

    def __len__(self) -> int:
        return len(self.y)

    def pieces(self, width: int) -> Iterator[Block]:
        """Yield whole groups, so that temporaries of `width` numbers a row take `PIECE_BYTES`."""
        n_rows = max(PIECE_BYTES // (8 * width), 1)
        if len(self) <= n_rows:
            yield self
            return
        starts = self.first_rows
        firsts = np.searchsorted(starts, np.arange(0, len(self), n_rows))
        for first, last in pairwise(np.unique(np.append(firsts, len(starts)))):
            yield self.part(slice(first, last))

    def part(self, groups: slice) -> Block:
        """Return consecutive groups."""
        starts = self.first_rows
        begin = starts[groups.start]
        end = starts[groups.stop] if groups.stop < len(starts) else len(self)
        here = slice(begin, end)
        return Block(
            self.X[here],
            self.y[here],
            None if self.weight is None else self.weight[here],
            None if self.starts is None else self.starts[groups] - begin,
            None if self.traits is None else self.traits[here],
            None if self.sets is None else self.sets[here],
        )

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each group."""
        return np.diff(self.first_rows, append=len(self.y))

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """First row of each group; every row if every row is its own group."""
        return np.arange(len(self)) if self.starts is None else self.starts

    @cached_property
    def set_starts(self) -> NDArray[np.int64] | None:
        """First row of each choice set; None if labels are binary."""
        if self.sets is None:
            return None
        return np.flatnonzero(np.append(True, self.sets[1:] != self.sets[:-1]))

    @cached_property
    def layout(self) -> SetLayout:
        """Where choice sets begin."""
        assert self.set_starts is not None
        return SetLayout(self.set_starts, len(self))

    @cached_property
    def chosen(self) -> NDArray[np.int64]:
        """The chosen row of each choice set."""
        return np.flatnonzero(self.y > 0)

    @cached_property
    def first_sets(self) -> NDArray[np.int64]:
        """First choice set of each group."""
        assert self.set_starts is not None
        return np.searchsorted(self.set_starts, [] if self.starts is None else self.starts)

    @cached_property
    def group_traits(self) -> Matrix:
        """What is known about each group, shape (n_groups, m)."""
        traits = np.empty((len(self), 0)) if self.traits is None else self.traits
        return traits if self.starts is None else traits[self.starts]

    @cached_property
    def largest(self) -> int:
        """Number of rows of the largest group."""
        return int(self.sizes.max(initial=1))

    def sums(self, values: Matrix) -> Matrix:
        """Sum over the rows of each group, along the last axis."""
        return values if self.starts is None else np.add.reduceat(values, self.starts, axis=-1)

    def of_rows(self, values: Matrix) -> Matrix:
        """Repeat the value of each group for all of its rows, along the last axis."""
        return values if self.starts is None else np.repeat(values, self.sizes, axis=-1)

    def with_ones(self, origin: AnyArray | None) -> AnyArray:
        """Return [x - o, 1] for every row, dense."""
        X = shifted(self.X, origin)
        X = X.toarray() if sparse.issparse(X) else X
        return np.column_stack([X, np.ones(len(X), dtype=X.dtype)])

    @cached_property
    def shares(self) -> tuple[Vector | None, Vector | None]:
        """w_G, the mean weight of each group, and w_i / w_G for each row; None means 1."""
        if self.weight is None or self.starts is None:
            return self.weight, None
        of_groups = self.sums(self.weight) / self.sizes
        return of_groups, self.weight / self.of_rows(of_groups)


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

    def whole(self, what: str) -> InMemoryGroups:
        """Return all rows in memory; raise if `what`, which needs that, asks for too many.

        Rows of files and clusters are brought here if they take no more than `SAMPLE_BYTES`.
        """
        found = self.draw(self.n_present, self.n_groups, seed=0)
        if found.n_present < self.n_present:
            size = self.n_present * self.rows.n_features * self.rows.dtype.itemsize
            raise ValueError(
                f"{what} holds all rows in memory, and these take {size / 1e6:,.0f} MB: pass "
                f"arrays, or a sample of whole groups of at most {SAMPLE_BYTES / 1e6:,.0f} MB."
            )
        return replace(found, trait_columns=self.trait_columns)

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

    def whole(self, what: str) -> InMemoryGroups:
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
            for name in ("y", "weight", "keys", "traits", "sets")
            if getattr(self.rows, name) is not None
        }
        rows = Rows(X, **columns)
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


def _double(weight: AnyArray | None) -> Vector | None:
    return None if weight is None else weight.astype(np.float64)


def _as_slice(index: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """Return a slice for consecutive rows, which then need not be copied."""
    return slice(int(index[0]), int(index[-1]) + 1) if (np.diff(index) == 1).all() else index

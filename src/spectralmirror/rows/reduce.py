"""How a block statistic is summed over the rows of a source.

A statistic is any function of a block whose values can be added. Neither the blocks nor the order
in which their values are added depend on the number of threads, so the sum is the same to the last
bit.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields
from itertools import chain, islice
from typing import Any, Self, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from spectralmirror.rows.types import AnyArray

__all__ = [
    "LargeSums",
    "Sums",
    "added",
    "collect",
    "one_blas_thread",
    "reduce",
    "small_matrices",
    "sum_of",
]

Block = TypeVar("Block")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over some of the rows: those over all rows are their sums, field by field."""

    def __add__(self, other: Self) -> Self:
        names = [field.name for field in fields(self)]
        return type(self)(*[getattr(self, name) + getattr(other, name) for name in names])


class LargeSums(Sums):
    """Sums that are large in themselves: those of the next block are added in place."""

    def __iadd__(self, other: Self) -> Self:
        for field in fields(self):
            total = getattr(self, field.name)
            np.add(total, getattr(other, field.name), out=total)
        return self


class _BlasLimit:
    """A limit on the BLAS threads of the whole process.

    The first to enter remembers their number, and the last to leave restores it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders = 0
        self.allowed = 1
        self.limit: Any = None

    @functools.cached_property
    def controller(self) -> Any:
        return ThreadpoolController()  # finding the loaded libraries takes milliseconds

    def enter(self) -> int:
        with self.lock:
            if self.holders == 0:
                pools = self.controller.info()
                threads = [p["num_threads"] for p in pools if p["user_api"] == "blas"]
                self.allowed = max(threads, default=1)
                self.limit = self.controller.limit(limits=1, user_api="blas")
            self.holders += 1
            return self.allowed

    def leave(self) -> None:
        with self.lock:
            self.holders -= 1
            if self.holders == 0:
                self.limit.restore_original_limits()


_blas_limit = _BlasLimit()


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Limit BLAS to one thread, and yield the number that was allowed before."""
    n_threads = _blas_limit.enter()
    try:
        yield n_threads
    finally:
        _blas_limit.leave()


def small_matrices(n_features: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread for small d x d matrices between the sums.

    NumPy and SciPy each bring a BLAS, whose threads keep spinning for a while after every call.
    They slow down the sum that follows by far more than they gain on a small matrix.
    """
    return one_blas_thread() if n_features < 500 else nullcontext()


def reduce(source: Any, statistic: Callable[[Any], T], *, factor: int = 1) -> T:
    """Return the sum of ``statistic(block)`` over the blocks of the source.

    Several blocks are summed at once, each with a single BLAS thread, so that the copying between
    the products runs in parallel, too. There are as many threads as BLAS may use. A source that
    other processes hold is summed there.

    Parameters
    ----------
    source : Source or GroupedRows
        The rows.
    statistic : callable
        Block -> a value that can be added.
    factor : int
        Size of the blocks relative to the usual one, for statistics that are large themselves.
    """
    if getattr(source, "is_remote", False):
        found: T = source.reduce(statistic, factor)
        return found
    return added(_values(source.blocks(factor), statistic))


def added(values: Iterable[T]) -> T:
    """Return the sum of values of any kind, in their order; of `LargeSums` the first grows."""
    found: T = functools.reduce(_plus, values)
    return found


def _plus(total: Any, value: Any) -> Any:
    if isinstance(total, LargeSums):
        total += value
        return total
    return total + value


def collect(source: Any, function: Callable[[Any], AnyArray]) -> AnyArray:
    """Return ``function(block)`` of all blocks in order, as one array of one value per row."""
    return np.concatenate(list(_values(source.blocks(), function)))


def sum_of(blocks: Iterable[Block], statistic: Callable[[Block], T]) -> T:
    """Return the sum over the blocks one by one, for one of several processes on a machine."""
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        return added(map(statistic, blocks))


def _values(source: Iterable[Block], function: Callable[[Block], T]) -> Iterator[T]:
    def quietly(block: Block) -> T:
        with np.errstate(over="ignore", invalid="ignore"):
            return function(block)

    # infinite or missing values show in the sums, and are reported by column there
    with one_blas_thread() as n_threads, np.errstate(over="ignore", invalid="ignore"):
        blocks = iter(source)
        first = list(islice(blocks, 2))
        if len(first) < 2 or n_threads == 1:  # starting threads takes longer than a small block
            yield from map(quietly, chain(first, blocks))
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield from _in_order(pool, quietly, chain(first, blocks), ahead=n_threads)


def _in_order(
    pool: ThreadPoolExecutor, function: Callable[[Block], T], blocks: Iterable[Block], ahead: int
) -> Iterator[T]:
    """Like ``pool.map``, but read only `ahead` blocks more than have been summed."""
    pending: deque[Any] = deque()
    for block in blocks:
        pending.append(pool.submit(function, block))
        if len(pending) > ahead:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()

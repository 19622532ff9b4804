"""How a block statistic is summed over the rows of a source.

An engine knows one thing, :func:`reduce`. A statistic is any function of a block whose values
can be added; the blocks, and the order in which their values are added, do not depend on the
number of threads, so neither does the answer, to the last bit.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from spectralmirror.rows.types import AnyArray

__all__ = ["collect", "one_blas_thread", "reduce", "small_matrices", "sum_of"]

Block = TypeVar("Block")
T = TypeVar("T")


class _BlasLimit:
    """The number of BLAS threads belongs to the whole process: the first who holds it to one
    remembers what it was, and the last to leave restores it.
    """  # noqa: D205

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders = 0
        self.allowed = 1
        self.limit: Any = None

    @functools.cached_property
    def controller(self) -> Any:
        return ThreadpoolController()  # looking up the loaded libraries takes milliseconds: once

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
    """Hold BLAS to one thread, and yield how many it was allowed before."""
    n_threads = _blas_limit.enter()
    try:
        yield n_threads
    finally:
        _blas_limit.leave()


def small_matrices(n_features: int) -> AbstractContextManager[Any]:
    """Hold BLAS to one thread for work on small d x d matrices between the sums.

    NumPy and SciPy each bring a BLAS, whose threads keep spinning for a while after every call
    and so take the processor from the sum that follows: far more than they gain on a small matrix.
    """
    return one_blas_thread() if n_features < 500 else nullcontext()


def reduce(source: Any, statistic: Callable[[Any], T], *, factor: int = 1) -> T:
    """Return the sum of ``statistic(block)`` over the blocks of the source.

    Several blocks are worked on at once, each by a single BLAS thread: the copying between the
    products then runs in parallel too. As many threads are used as BLAS is allowed to. A source
    that is spread over other processes sums itself there.

    Parameters
    ----------
    source : Source or Rowset
        The rows.
    statistic : callable
        Block -> something that can be added.
    factor : int
        Blocks are so many times larger than usual, for statistics that are large themselves.
    """
    if getattr(source, "is_remote", False):
        found: T = source.reduce(statistic, factor)
        return found
    return functools.reduce(operator.add, _values(source.blocks(factor), statistic))


def collect(source: Any, function: Callable[[Any], AnyArray]) -> AnyArray:
    """Return ``function(block)`` of all blocks in their order, as one array of a value a row."""
    return np.concatenate(list(_values(source.blocks(), function)))


def sum_of(blocks: Iterable[Block], statistic: Callable[[Block], T]) -> T:
    """Return the sum over blocks one after the other, for processes that share a machine."""
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        return functools.reduce(operator.add, map(statistic, blocks))


def _values(source: Iterable[Block], function: Callable[[Block], T]) -> Iterator[T]:
    def quietly(block: Block) -> T:
        with np.errstate(over="ignore", invalid="ignore"):
            return function(block)

    # Infinite or missing values show in the sums, where they are reported by column.
    with one_blas_thread() as n_threads, np.errstate(over="ignore", invalid="ignore"):
        blocks = iter(source)
        first = list(islice(blocks, 2))
        if len(first) < 2:  # starting threads takes longer than a small block
            yield from map(quietly, first)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield from _in_order(pool, quietly, chain(first, blocks), ahead=n_threads)


def _in_order(
    pool: ThreadPoolExecutor,
    function: Callable[[Block], T],
    blocks: Iterable[Block],
    ahead: int,
) -> Iterator[T]:
    """Like ``pool.map``, but reads no more than a few blocks ahead of what has been summed."""
    pending: deque[Any] = deque()
    for block in blocks:
        pending.append(pool.submit(function, block))
        if len(pending) > ahead:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()

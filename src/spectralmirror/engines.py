"""How a block statistic is summed over the rows of a source.

An engine knows one thing, :func:`reduce`. A statistic is any function of a block whose values
can be added; the blocks, and the order in which their values are added, do not depend on the
number of threads, so neither does the answer, to the last bit.
"""

from __future__ import annotations

import functools
import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread", "reduce", "small_matrices"]

Block = TypeVar("Block")
BlockOut = TypeVar("BlockOut", covariant=True)
T = TypeVar("T")


class Source(Protocol[BlockOut]):
    """Whatever can be read block by block, more than once."""

    def blocks(self) -> Iterable[BlockOut]:
        """Yield the rows in order, a block at a time."""


@functools.cache
def _controller() -> Any:
    return ThreadpoolController()  # looking up the loaded libraries takes milliseconds: once


#: How many threads BLAS was allowed before it was held to one.
_allowed: ContextVar[int] = ContextVar("_allowed", default=0)


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Hold BLAS to one thread, and yield how many it was allowed before."""
    pools = [pool["num_threads"] for pool in _controller().info() if pool["user_api"] == "blas"]
    n_threads = _allowed.get() or max(pools, default=1)
    token = _allowed.set(n_threads)
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield n_threads
    finally:
        _allowed.reset(token)


def small_matrices(n_features: int) -> AbstractContextManager[Any]:
    """Hold BLAS to one thread for work on small d x d matrices between the sums.

    NumPy and SciPy each bring a BLAS, whose threads keep spinning for a while after every call
    and so take the processor from the sum that follows: far more than they gain on a small matrix.
    """
    return one_blas_thread() if n_features < 500 else nullcontext()


def reduce(source: Source[Block], statistic: Callable[[Block], T]) -> T:
    """Return the sum of ``statistic(block)`` over the blocks of the source.

    Several blocks are worked on at once, each by a single BLAS thread: the copying between the
    products then runs in parallel too. As many threads are used as BLAS is allowed to.
    """

    def quietly(block: Block) -> T:
        # Infinite or missing values show in the sums, where they are reported by column.
        with np.errstate(over="ignore", invalid="ignore"):
            return statistic(block)

    with one_blas_thread() as n_threads, ThreadPoolExecutor(n_threads) as pool:
        values = _in_order(pool, quietly, source.blocks(), ahead=n_threads + 1)
        return functools.reduce(operator.add, values)


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

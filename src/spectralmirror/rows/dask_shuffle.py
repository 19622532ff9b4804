"""Rows of Dask partitions that are sent to the partition that a key names."""

from __future__ import annotations

from collections.abc import Callable
from operator import getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["shuffled"]

#: Into at most this many pieces a partition is divided at once.
MOST_PIECES = 32


def shuffled(
    parts: list[Any], keys: Callable[[Any], NDArray[Any]], take: Any, join: Callable[..., Any]
) -> list[Any]:
    """Return tasks of as many partitions, where row i is in partition key_i modulo their number.

    n partitions that were divided into n pieces each would make n^2 tasks. Instead, the number of
    the target is read as one of s digits of base b, b^s >= n, and rows are sent on digit by digit:
    in s rounds, of n b pieces each. Rows with the same target stay in their order.

    Parameters
    ----------
    parts : list of Delayed
        The partitions.
    keys : callable
        Partition -> an integer for each row.
    take : callable
        Partition, positions of rows -> the piece that holds these rows.
    join : callable
        Pieces -> the rows of all of them, in that order.
    """
    import dask

    n, n_rounds, base = len(parts), 1, len(parts)
    while base > MOST_PIECES:
        n_rounds += 1
        base = next(b for b in range(2, n) if b**n_rounds >= n)
    divide = dask.delayed(_Divide(keys, take, n, base), pure=False, traverse=False)
    get, together = dask.delayed(getitem, pure=False), dask.delayed(join, pure=False)
    there = dict(enumerate(parts))
    for step in (base**i for i in range(n_rounds)):
        divided = {p: divide(part, step) for p, part in there.items()}
        there = {}
        for p in range(base**n_rounds):
            digit = p // step % base
            sources = (p + (i - digit) * step for i in range(base))
            pieces = [get(divided[q], digit) for q in sources if q in divided]
            if pieces:
                there[p] = together(*pieces)
    return [there[p] for p in range(n)]


class _Divide:
    """Divides a partition by a digit of the target of each row."""

    def __init__(self, keys: Any, take: Any, n: int, base: int):
        self._keys, self._take, self._n, self._base = keys, take, n, base

    def __call__(self, part: Any, step: int) -> list[Any]:
        targets = self._keys(part) % np.uint64(self._n)
        digits = targets // np.uint64(step) % np.uint64(self._base)
        return [self._take(part, np.flatnonzero(digits == i)) for i in range(self._base)]

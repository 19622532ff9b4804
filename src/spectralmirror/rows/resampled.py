"""Bootstrap resamples of rows that are not in memory, and passes that several of them share.

Whole groups cannot be drawn where nobody has a list of them. Instead group G counts w_G times in
resample b, w_G ~ Poisson(1), which differs from drawing with replacement only in that the number of
groups is random, too (Hanley and MacGibbon 2006). w_G is a function of a hash of the group's key
and of the seed of the resample: it is the same wherever the rows are, in any order and in every
pass. A group of an integer weight w stands for w groups, and has w_G ~ Poisson(w).

Reading rows takes longer than summing over them. Several resamples are therefore summed in the same
pass: each is climbed by a thread of its own, which waits until all others have asked for a sum.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy.stats import poisson

from spectralmirror.rows.grouped import Block, GroupedRows
from spectralmirror.rows.hashing import hashed
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.types import Vector

__all__ = ["Resample", "SharedPasses", "counts_of"]

T = TypeVar("T")
Statistic = Callable[[Block], Any]
#: P(w = 0), P(w <= 1), ... for w ~ Poisson(1), up to where they are 1 in double precision.
CUMULATED = poisson.cdf(np.arange(20), 1.0)


def counts_of(block: Block, seed: int, *, counted: bool) -> Vector:
    """Return how often each group of a block is drawn.

    `counted` says that the weights of groups are numbers of groups, which w_G then replaces: the
    counts are w_G / w.
    """
    bits = hashed(block.group_keys, seed)
    u = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    w = block.shares[0]
    if w is None or not counted:
        return np.searchsorted(CUMULATED, u, side="right").astype(np.float64)
    return np.asarray(poisson.ppf(u, w) / w)


def _of_resample(block: Block, statistic: Statistic, seed: int, *, counted: bool) -> Any:
    return statistic(replace(block, counts=counts_of(block, seed, counted=counted)))


@dataclass(frozen=True, eq=False)
class Resample(GroupedRows):
    """A resample of rows that are not in memory; another thread sums over it.

    Attributes
    ----------
    whole : GroupedRows
        The rows.
    seed : int
        Of the resample.
    ask : callable
        Takes a statistic of blocks and the factor of their size, and returns the sum.
    """

    whole: Any
    seed: int
    ask: Callable[[Statistic, int], Any]

    in_memory: ClassVar[bool] = False
    is_remote: ClassVar[bool] = True

    @property
    def rows(self) -> Any:
        """The rows one by one, of which there are about as many."""
        return self.whole.rows

    @property
    def trait_columns(self) -> Any:
        """What the traits of the rows are."""
        return self.whole.trait_columns

    @property
    def has_sets(self) -> bool:
        """Whether labels are choices from sets."""
        return bool(self.whole.has_sets)

    @property
    def n_groups(self) -> int:
        """Number of groups, of which about 63 % are drawn."""
        return int(self.whole.n_groups)

    @property
    def n_single(self) -> int:
        """Number of groups with exactly one label."""
        return int(self.whole.n_single)

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all groups, which is the expected sum of those that are drawn."""
        return float(self.whole.total_weight)

    def reduce(self, statistic: Statistic, factor: int = 1) -> Any:
        """Return the sum of a statistic over the blocks of the resample."""
        counted = not self.whole.rows.has_fractions
        return self.ask(partial(_of_resample, statistic=statistic, seed=self.seed, counted=counted),
                        factor)  # fmt: skip

    def blocks(self, factor: int = 1) -> Iterator[Block]:
        """Refuse: rows stay where they are."""
        raise NotImplementedError("a resample is summed, not read")

    def choose_groups(self, share: float, seed: int) -> Rows:
        """Refuse: rows stay where they are."""
        raise NotImplementedError("a resample is summed, not read")


@dataclass(frozen=True, eq=False)
class _Several:
    """The values of several statistics, added one by one."""

    values: tuple[Any, ...]

    def __add__(self, other: _Several) -> _Several:
        pairs = zip(self.values, other.values, strict=True)
        return _Several(tuple(one + another for one, another in pairs))


@dataclass(frozen=True, eq=False)
class _Together:
    """Several statistics of a block, as one."""

    statistics: tuple[Statistic, ...]

    def __call__(self, block: Block) -> _Several:
        return _Several(tuple(one(block) for one in self.statistics))


@dataclass(eq=False)
class SharedPasses:
    """Passes over rows, each for all threads that wait for a sum.

    Attributes
    ----------
    rows : GroupedRows
        The rows.
    """

    rows: GroupedRows
    _asked: list[tuple[Statistic, int, Future[Any]]] = field(default_factory=list)
    _n_running: int = 0
    _stopped: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def run(self, tasks: Sequence[Callable[[Resample], T]], seeds: Sequence[int]) -> list[T]:
        """Return the results of functions of resamples, one thread each."""
        resamples = [Resample(self.rows, seed, self._ask) for seed in seeds]
        self._n_running, self._stopped = len(tasks), False
        with ThreadPoolExecutor(len(tasks)) as pool:
            pairs = zip(tasks, resamples, strict=True)
            results = [pool.submit(self._work, task, one) for task, one in pairs]
            try:
                while asked := self._next():
                    self._answer(asked)
            finally:  # threads that still wait must end, or Python never would
                self._stop()
        return [one.result() for one in results]

    def _work(self, task: Callable[[Resample], T], resample: Resample) -> T:
        try:
            return task(resample)
        finally:
            with self._changed:
                self._n_running -= 1
                self._changed.notify()

    def _ask(self, statistic: Statistic, factor: int) -> Any:
        found: Future[Any] = Future()
        with self._changed:
            if self._stopped:
                raise RuntimeError("the passes have ended")
            self._asked.append((statistic, factor, found))
            self._changed.notify()
        return found.result()

    def _next(self) -> list[tuple[Statistic, int, Future[Any]]]:
        """Return what all running threads ask for; nothing if none is running."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._asked) == self._n_running)
            asked, self._asked = self._asked, []
            return asked

    def _answer(self, asked: list[tuple[Statistic, int, Future[Any]]]) -> None:
        statistics, factors, futures = zip(*asked, strict=True)
        try:
            found = reduce(self.rows, _Together(statistics), factor=max(factors))
        except BaseException as error:
            for future in futures:
                future.set_exception(error)
            raise
        for future, value in zip(futures, found.values, strict=True):
            future.set_result(value)

    def _stop(self) -> None:
        with self._changed:
            self._stopped = True
            for _, _, future in self._asked:
                future.set_exception(RuntimeError("the passes have ended"))
            self._asked = []

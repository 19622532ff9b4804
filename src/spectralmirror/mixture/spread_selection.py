"""The choice of the kind of spread, together with the number of classes.

For each number of classes, the fit without spread comes first. Kinds of spread start from it, and
from fits of the same kind with fewer classes. Kinds are fitted to the same rows with few nodes and
compared by likelihoods with nodes of each person's own (:mod:`integration`); the winner is fitted
to all rows with many nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spectralmirror.mixture.fitting import Fit
from spectralmirror.mixture.selection import (
    CRITERIA,
    FEW_STARTS,
    MARGINS,
    MOST_COMPONENTS,
    Candidate,
    with_more_starts,
)
from spectralmirror.mixture.spread import KINDS
from spectralmirror.mixture.spread_fitting import comparison_sample, finished, fit_spread
from spectralmirror.mixture.task import Task
from spectralmirror.responses import get_response
from spectralmirror.rows.grouped import GroupedRows

__all__ = ["SpreadChoice", "kinds_to_try", "select_spread"]

#: Kinds whose score is within this of the best are close to it: comparisons are that precise.
CLOSE = 3.0
#: That persons of a class do not differ at all is the stronger claim: it needs evidence "worth more
#: than a bare mention" (Kass and Raftery 1995).
WORTH_MENTIONING = 1.0
#: Persons with several labels that a spread needs.
LEAST_PERSONS = 2
#: A covariance of more coefficients than this is not tried unless it is asked for.
MOST_TIED = 10
#: Kinds of few entries, and those that tie coefficients to each other, in the order of their size:
#: each is tried only where the ones before are better than what came before them.
SIMPLE, TIED = ("intercept", "diagonal"), (("factor",), ("full",))


def kinds_to_try(estimator: Any, grouped: GroupedRows) -> tuple[str | None, ...]:
    """Return the kinds of spread that an estimator may choose for its rows, None for no spread."""
    spread, has_intercept = estimator.spread, estimator.fit_intercept
    if spread is None:
        return (None,)
    identified = get_response(estimator.response).norm_identified
    several = grouped.is_repeated and grouped.n_groups - grouped.n_single >= LEAST_PERSONS
    if spread == "auto":
        if not (several and identified and estimator.refine):
            return (None,)
        few = grouped.rows.n_features + has_intercept <= MOST_TIED
        tried = {"intercept": has_intercept, "full": few}
        return (None, *(kind for kind in KINDS if tried.get(kind, True)))
    what = f"`spread={spread!r}`"
    if not several:
        raise ValueError(
            f"{what} needs several labels of the same person, of two persons at least, but "
            f"{grouped.n_groups - grouped.n_single} of {grouped.n_groups} groups have several rows."
        )
    if not identified:
        raise ValueError(f"{what} needs `response='logistic'` or `response='probit'`.")
    if not estimator.refine:
        raise ValueError(f"{what} needs `refine=True`.")
    if spread == "intercept" and not has_intercept:
        raise ValueError(f"{what} needs `fit_intercept=True`.")
    return (spread,)


@dataclass(frozen=True, eq=False)
class SpreadChoice:
    """What was chosen, and what it was compared with.

    Attributes
    ----------
    best : Candidate
        The chosen number of classes and kind of spread, fitted to all rows.
    scores : dict
        The score of each (number of classes, kind) that was tried, on the rows on which they were
        compared; larger is better.
    tried : dict
        The fits behind them.
    """

    best: Candidate
    scores: dict[tuple[int, str | None], float]
    tried: dict[tuple[int, str | None], Candidate]

    def best_of_each(self, kinds: tuple[str | None, ...]) -> dict[int, Candidate]:
        """Return the best fit of these kinds for each number of classes."""
        found: dict[int, tuple[str | None, float]] = {}
        for (k, kind), score in self.scores.items():
            if kind in kinds and score > found.get(k, (None, -np.inf))[1]:
                found[k] = kind, score
        return {k: self.tried[k, kind] for k, (kind, _) in found.items()}


@dataclass(eq=False)
class _Search:
    """The fits so far.

    Attributes
    ----------
    fit_k : callable
        (k, before, n_init) -> fit of k classes without spread.
    task_of : callable
        k -> Task.
    kinds : tuple
        The kinds of spread that may be chosen; None for no spread.
    criterion : str
        One of `CRITERIA`.
    """

    fit_k: Callable[..., Candidate]
    task_of: Callable[[int], Task]
    kinds: tuple[str | None, ...]
    criterion: str
    discrete: dict[int, Candidate] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)
    tried: dict[tuple[int, str | None], Candidate] = field(default_factory=dict)

    def score(self, k: int, kind: str | None) -> float:
        """Return the score of a fit, -inf if there is none."""
        found = self.tried.get((k, kind))
        return -np.inf if found is None else CRITERIA[self.criterion](found)

    def best_score(self, k: int) -> float:
        """Return the best score that k classes have with a kind that may be chosen."""
        return max(self.score(k, kind) for kind in self.kinds)

    def try_number(self, k: int, n_init: int | None, *, required: bool = False) -> bool:
        """Fit k classes with all kinds; return False if some were left without rows.

        A required number is fitted all the same, from as many as are left.
        """
        self.discrete[k] = self.fit_k(k, self.discrete.get(k - 1), n_init)
        if self.discrete[k].fit.n_dropped and not required:
            return False
        spreads = [kind for kind in self.kinds if kind is not None]
        for kind in self._tried_in_turn(k, spreads if required else self._worthwhile(k, spreads)):
            self.try_kind(k, kind, self.discrete[k].fit)
        return True

    def _worthwhile(self, k: int, spreads: list[str]) -> list[str]:
        """Return the kinds of spread that are worth a trial with k classes.

        Kinds that were far behind with one class less are left out, but with two classes not those
        of fewer entries than the best, as classes may take the place of entries. Beyond two
        classes, none is tried that no longer gains from more classes, unless no spread catches up.
        """
        if k == 1:
            return spreads
        best = [max(self.score(m, kind) for kind in spreads) for m in range(1, k)]
        level = max(best) - CLOSE
        falling = k > 2 and best[-1] <= max(best[:-1]) + MARGINS[self.criterion]
        if falling and self._discrete(k) < level:
            return []
        last = {kind: self.score(k - 1, kind) for kind in spreads}
        simpler = KINDS[: KINDS.index(max(last, key=lambda kind: last[kind]))]
        always = [kind for kind in SIMPLE if kind in simpler] if k == 2 else []
        near = best[-1] - 2 * CLOSE
        return [kind for kind in spreads if kind in always or last[kind] > near]

    def _discrete(self, k: int) -> float:
        """Return the score of k classes without spread."""
        if (k, None) not in self.tried:
            self.try_kind(k, None, self.discrete[k].fit)
        return self.score(k, None)

    def _tried_in_turn(self, k: int, spreads: list[str]) -> Iterator[str | None]:
        """Yield no spread, then kinds with more and more entries, as long as these help."""
        level = self._discrete(k)
        for kinds in (SIMPLE, *TIED):
            here = [kind for kind in kinds if kind in spreads]
            yield from here
            reached = max((self.score(k, kind) for kind in here), default=level)
            if here and reached <= level:
                return
            if "diagonal" in here and self.score(k, "diagonal") < reached - 2 * CLOSE:
                return  # coefficients that hardly vary have no ties
            level = reached

    def try_kind(self, k: int, kind: str | None, discrete: Fit | None) -> None:
        """Fit k classes with a kind of spread."""
        if k not in self.tasks:
            self.tasks[k] = self.task_of(k)
        last = self.discrete[max(self.discrete)]
        task, features = self.tasks[k], last.features
        sample = comparison_sample(task, last.fit)
        fewer = {m: one.fit for (m, other), one in self.tried.items() if other == kind and m < k}
        scores = [self.score(*one) for one in self.tried if one[1] in self.kinds]
        level = max(scores, default=-np.inf) if self.criterion == "evidence" else -np.inf
        found = fit_spread(task, sample, discrete, kind, fewer, self._near(k, kind), level)
        self.tried[k, kind] = Candidate(found, features)

    def _near(self, k: int, kind: str | None) -> Fit | None:
        """Return the fit of the same kind with one class less, or the last one of k classes."""
        same = [one for (m, other), one in self.tried.items() if m == k and other is not None]
        before = self.tried.get((k - 1, kind)) if k > 2 else None
        found = before if before is not None else same[-1] if same else None
        return None if found is None else found.fit

    def _favoured(self, k: int, kind: str | None) -> float:
        """Return the score, of which no spread must have a little more than a spread."""
        return self.score(k, kind) - (WORTH_MENTIONING if kind is None else 0.0)

    def may_rise(self, k: int) -> bool:
        """Return whether k + 1 classes may be better than all before.

        That is so if k classes are chosen among those so far, or if classes without spread would be
        clearly better than the best if they went on rising half as fast.
        """
        chosen = self.chosen(list(range(1, k + 1)))
        if chosen[0] == k:
            return True
        if None not in self.kinds:
            return False
        rise = self.score(k, None) - self.score(k - 1, None)
        clearly = self.score(*chosen) + MARGINS[self.criterion]
        return bool(self.score(k, None) + rise / 2 > clearly)

    def chosen(self, numbers: list[int]) -> tuple[int, str | None]:
        """Return the fit with the best score whose classes are needed.

        More classes must be clearly better than fewer of the same kind, or of a kind that is part
        of it, and classes without spread clearly better than fewer with a spread: a few persons
        with few labels each can hardly tell the two apart, and that all persons of a class are the
        same is the stronger claim. One class in which coefficients are tied and two in which they
        are not are different explanations, neither of which is part of the other: the better one
        is chosen.
        """
        best: tuple[int, str | None] | None = None
        for k in numbers:
            kinds = [kind for kind in self.kinds if self._needs(k, kind, numbers)]
            for kind in sorted(kinds, key=lambda one: -self._favoured(k, one))[:1]:
                if best is None or self._favoured(k, kind) > self._favoured(*best):
                    best = k, kind
        assert best is not None
        return best

    def _needs(self, k: int, kind: str | None, numbers: list[int]) -> bool:
        """Return whether k classes are clearly better than fewer, as :meth:`chosen` demands."""
        fewer = [
            self.score(m, other)
            for m in numbers
            for other in self.kinds
            if m < k and (kind is None or _contains(kind, other))
        ]
        return self.score(k, kind) > max(fewer, default=-np.inf) + MARGINS[self.criterion]


def _contains(kind: str | None, other: str | None) -> bool:
    """Return whether a kind of spread has the other as a special case."""
    order = (None, *SIMPLE)
    if kind in order:
        return other in order[: order.index(kind) + 1]
    return other in order or other == kind


def select_spread(
    fit_k: Callable[..., Candidate],
    task_of: Callable[[int], Task],
    k: int | None,
    kinds: tuple[str | None, ...],
    criterion: str,
    *,
    lead_up: bool = True,
) -> SpreadChoice:
    """Choose the kind of spread, and the number of classes unless it is given.

    Parameters
    ----------
    fit_k : callable
        (k, before, n_init) -> fit of k classes without spread, as in :func:`select`.
    task_of : callable
        k -> the task of fitting k classes.
    k : int or None
        The number of classes, None to choose it.
    kinds : tuple
        The kinds that may be chosen, None for no spread.
    criterion : str
        One of `CRITERIA`.
    lead_up : bool
        Whether fewer classes may be fitted as well, for starts of k classes.
    """
    search = _Search(fit_k, task_of, kinds, criterion)
    if k is None:
        numbers = []
        for number in range(1, MOST_COMPONENTS + 1):
            if not search.try_number(number, FEW_STARTS if number > 1 else None):
                break
            numbers.append(number)
            if number > 1 and not search.may_rise(number):
                break
    else:
        numbers = [k]
        if lead_up:
            _lead_up_to(search, k)
        search.try_number(k, None, required=True)
    number, kind = search.chosen(numbers)
    discrete = search.discrete[number]
    if kind is None:
        best = discrete if k is not None else with_more_starts(fit_k, discrete, criterion)
    else:
        task = search.tasks[number]
        fit = finished(task, discrete.fit.likelihood, search.tried[number, kind].fit)
        best = Candidate(fit, discrete.features)
    scores = {one: search.score(*one) for one in search.tried}
    return SpreadChoice(best, scores, search.tried)


def _lead_up_to(search: _Search, k: int) -> None:
    """Fit fewer classes, from which those of k classes can start."""
    if k > 1:
        search.try_number(1, None)
    for number in range(2, k):
        for kind in search.kinds:
            if kind is not None and (number - 1, kind) in search.tried:
                search.try_kind(number, kind, None)

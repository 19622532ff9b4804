"""The search for maxima from starts of several kinds, inside the subspace or in the whole space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, cycle, islice, repeat

import numpy as np

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.evidence import choose_l2
from spectralmirror.mixture.kinds import CYCLE, KINDS, Ground, from_known
from spectralmirror.mixture.lbfgs import Ascent
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.samples import looks_elliptical, start_sample
from spectralmirror.mixture.starts import (
    ALIKE,
    FINE,
    RELAXATION,
    Maximum,
    anneal,
    grow,
    independent,
    multi_start,
    n_agreeing,
    random_start,
    split,
)
from spectralmirror.mixture.task import Subspace, Task
from spectralmirror.rows.progress import n_classes, step
from spectralmirror.rows.types import Matrix

__all__ = [
    "FAR",
    "HEAT",
    "adapt_penalty",
    "best_first",
    "climbed",
    "cross",
    "find_maxima",
    "given_start",
    "heated",
    "in_single_precision",
    "moved",
    "penalty_of_one",
    "plain_search",
    "prepared",
]

#: Inside a trusted subspace, the search ends when this many starts have reached the best maximum.
N_AGREE = 3
#: And these kinds of starts outside of it lead no higher.
CHECKS = ("partition", "around")
#: In the whole space, starts of different kinds follow each other until this many have, within
#: these bounds. Then come crossings, and more starts while fewer than ENOUGH have.
N_AGREE_KINDS = 4
LEAST_STARTS, FIRST_STARTS, MORE_STARTS = 8, 30, 10
#: A search that is continued has so many starts before crossings, and so many new ones.
CONTINUED_STARTS, NEW_STARTS = 12, 6
ENOUGH = 3
#: This many of the best maxima inside the subspace are refined in the whole space.
N_REFINED = 2
#: "Annealed" starts climb under penalties of l2 (at least 0.1) times these before l2 itself.
HEAT = (16.0, 4.0)
LEAST_HEATED = 0.1
#: The same for crossings, in turn.
CROSSING: tuple[tuple[float, ...], ...] = ((), (4.0,))
#: Crossing ends when each component has been replaced in vain this often; fewer times if a larger
#: share of the starts than this agreed.
ROUNDS, EASY_ROUNDS = 5, 2
EASY = 0.5
#: Profiles are the same if their squared distance is below this share of their squared norm.
SAME = 0.05
#: Rows are stored in working coordinates, which saves time, if they take less memory than this, in
#: double precision and in single precision.
MOST_BYTES, MOST_SINGLE_BYTES = 8_000_000, 32_000_000
#: A penalty from the data is far from the one of the search beyond this factor.
FAR = 2.0


#: Kind of a start, the start, and the relaxed penalties l2 / n under which it climbs.
Candidate = tuple[str, Parameters, tuple[float, ...]]


def find_maxima(task: Task, likelihood: Likelihood, space: Subspace | None) -> list[Maximum]:
    """Return the maxima that were found, best first, in the coordinates of the likelihood.

    Starts lie inside a clear subspace of elliptical features, where climbs are cheap; only the best
    maxima are refined in the whole space. Otherwise starts lie in the whole space.
    """
    if isinstance(task.init, Parameters):
        return [given_start(task, likelihood, task.init)]
    if task.k == 1 or not task.is_spectral:
        return plain_search(task, likelihood)
    if space is None or not _is_trusted(space, likelihood):
        return _search_whole_space(task, likelihood, space)
    inside = in_single_precision(start_sample(task, likelihood.inside(space.basis)))
    working = in_single_precision(likelihood)
    maxima = _search_subspace(task, working, inside)
    return _checked(task, likelihood, working, space, maxima)


def _is_trusted(space: Subspace, likelihood: Likelihood) -> bool:
    """Return whether a subspace is clear, much smaller than the whole, and of elliptical features.

    Binary and skewed features can lead it astray. Classes that have numbers are told apart by the
    groups that are known, not by a subspace.
    """
    k, d = space.basis.shape
    clear = space.is_clear and 2 * k <= d and not likelihood.has_known
    return clear and looks_elliptical(likelihood)


def given_start(task: Task, likelihood: Likelihood, start: Parameters) -> Maximum:
    """Return the user's start as it is, in the coordinates of the likelihood."""
    if start.profiles.shape[1] != likelihood.profile_size:
        start = moved(start, task.likelihood.coordinates, likelihood.coordinates)
    start = likelihood.admitted(start)
    value = likelihood.evaluate(start)[0]
    return Maximum.of("given", Ascent(start, value, 0, 1, converged=False))


def plain_search(task: Task, likelihood: Likelihood) -> list[Maximum]:
    """Climb from all plain random starts; a single component has only one maximum."""
    random = (("random", random_start(likelihood, task.k, task.rng)) for _ in repeat(None))
    if task.k == 1:
        grown = grow(likelihood, 1, task.climber)
        return multi_start(likelihood, [("grown", grown)], task.climber, n_agree=1)
    n = task.n_init
    return multi_start(likelihood, islice(random, n), task.climber, n_agree=n)


def _search_subspace(task: Task, likelihood: Likelihood, inside: Likelihood) -> list[Maximum]:
    """Search inside the subspace, and let the best maximum leave it."""
    candidates = chain(
        [("grown", grow(inside, task.k, task.climber))],
        (("random", random_start(inside, task.k, task.rng)) for _ in repeat(None)),
    )
    few = islice(candidates, max(-(-task.n_init // 4), min(N_AGREE, task.n_init)))
    maxima = multi_start(inside, few, task.climber, n_agree=N_AGREE, levels=RELAXATION)
    heads, found = _distinct(maxima), []
    for one in maxima:
        start = moved(one.ascent.parameters, inside.coordinates, likelihood.coordinates)
        if one in heads:
            top = task.climber(likelihood, start, tol=FINE)
        elif one.ascent.value <= heads[-1].ascent.value - ALIKE:
            top = replace(one.ascent, parameters=start)
        found.append(Maximum.of(one.start.kind, top))  # of those that agree, only the first climbs
    return best_first(found)


def _checked(
    task: Task,
    likelihood: Likelihood,
    working: Likelihood,
    space: Subspace,
    maxima: list[Maximum],
) -> list[Maximum]:
    """Try a few starts outside the subspace; if one leads higher, search the whole space."""
    best = maxima[0].ascent.value
    ground = Ground(working, task.k, task.climber, task.rng)
    for kind in CHECKS:
        ascent = task.climber(working, KINDS[kind](ground), tol=FINE, beat=best)
        if ascent.value > best + ALIKE:
            return _search_whole_space(task, likelihood, space)
        maxima.append(Maximum.of(kind, ascent))
    return best_first(maxima)


def _search_whole_space(
    task: Task, likelihood: Likelihood, space: Subspace | None
) -> list[Maximum]:
    """Climb from starts of different kinds until several agree, then cross what they found."""
    working = in_single_precision(likelihood)
    maxima, n_first = list[Maximum](), FIRST_STARTS
    if task.found:  # new starts need random numbers that the earlier ones have not used
        task = replace(task, rng=np.random.RandomState(task.rng.randint(2**31, size=5)))
        n_first = max(CONTINUED_STARTS, len(task.found) + NEW_STARTS)
    for one in task.found:
        parameters = one.ascent.parameters
        maxima.append(climbed(task, working, one.start.kind, parameters, (), maxima))
    candidates = _candidates(task, likelihood, working, space)
    for kind, start, levels in islice(candidates, min(n_first, task.n_init) - len(maxima)):
        maxima.append(climbed(task, working, kind, start, levels, maxima))
        enough = n_agreeing([one.start for one in maxima]) >= N_AGREE_KINDS
        if enough and len(maxima) >= LEAST_STARTS:
            break
    return _explore(task, working, candidates, maxima)


def _explore(
    task: Task, likelihood: Likelihood, candidates: Iterator[Candidate], maxima: list[Maximum]
) -> list[Maximum]:
    """Cross maxima, and add new starts, until enough starts have reached the best maximum."""
    maxima = list(maxima)
    while True:
        maxima += cross(task, likelihood, maxima, task.n_init - len(maxima))
        best = max(one.ascent.value for one in maxima)
        starts = independent([one.start for one in maxima])
        n_hits = sum(start.objective > best - ALIKE for start in starts)
        if n_hits >= ENOUGH or len(maxima) >= task.n_init:
            return best_first(maxima)
        for kind, start, levels in islice(candidates, min(MORE_STARTS, task.n_init - len(maxima))):
            maxima.append(climbed(task, likelihood, kind, start, levels, maxima))


def climbed(
    task: Task,
    likelihood: Likelihood,
    kind: str,
    start: Parameters,
    levels: tuple[float, ...],
    others: list[Maximum],
) -> Maximum:
    """Climb from a start, unless others are out of reach."""
    step(f"{n_classes(task.k)}: start {len(others) + 1}")
    best = max((one.ascent.value for one in others), default=-np.inf)
    return Maximum.of(kind, anneal(likelihood, start, task.climber, levels, beat=best))


def _candidates(
    task: Task, likelihood: Likelihood, working: Likelihood, space: Subspace | None
) -> Iterator[Candidate]:
    """Yield starts of different kinds, and the relaxed penalties of each, without end.

    `working` is the likelihood whose rows are those of the search.
    """
    if space is not None and not task.found:
        inside = in_single_precision(likelihood.inside(space.basis))
        grown = grow(inside, task.k, task.climber)
        lifted = moved(grown, inside.coordinates, likelihood.coordinates)
        yield "grown in the subspace", lifted, RELAXATION
    if task.before is not None and not task.found:
        before = task.before
        while len(before) < task.k:
            before = split(working, before)
        yield "before", before, ()
    if task.before is None and not task.found:  # else that has grown
        yield "grown", grow(working, task.k, task.climber), RELAXATION
    ground = Ground(working, task.k, task.climber, task.rng)
    if likelihood.has_known:
        yield "known", from_known(ground), ()
    for kind in cycle(CYCLE):
        yield kind, KINDS[kind](ground), heated(likelihood, HEAT) if kind == "annealed" else ()


def prepared(likelihood: Likelihood) -> Likelihood:
    """Return the likelihood of rows in working coordinates, if these take little memory."""
    rows = likelihood.rows.rows
    small = rows.n_present * rows.n_features * 8 < MOST_BYTES
    return likelihood.projected() if small and not likelihood.coordinates.is_scaled else likelihood


def in_single_precision(likelihood: Likelihood) -> Likelihood:
    """Return the likelihood in which starts compete, in working coordinates.

    Whitened features lose nothing in single precision: log-likelihoods are off by less than 1e-4,
    where starts are told apart at 0.01, and a pass takes about half of the time. Responses that
    need logarithms gain nothing.
    """
    rows, binary = likelihood.rows.rows, likelihood.is_logistic and not likelihood.rows.has_sets
    if not binary or likelihood.coordinates.is_scaled:
        return prepared(likelihood)
    small = rows.n_present * likelihood.coordinates.size * 4 < MOST_SINGLE_BYTES
    return likelihood.projected(np.float32) if small else likelihood


def heated(likelihood: Likelihood, heat: tuple[float, ...]) -> tuple[float, ...]:
    """Return relaxed penalties l2 / n."""
    least = max(likelihood.l2, LEAST_HEATED) / likelihood.rows.row_weight
    return tuple(factor * least for factor in heat)


def cross(task: Task, likelihood: Likelihood, maxima: list[Maximum], n_most: int) -> list[Maximum]:
    """Replace one component of the best maximum by one of another maximum, climb, and repeat.

    The lightest component comes first, and every second climb begins under a relaxed penalty. A
    component that is stuck in the best maximum is often right in another one.
    """
    pool = [one.ascent for one in maxima]
    best = max(pool, key=lambda ascent: ascent.value)
    starts = independent([one.start for one in maxima])
    easy = n_agreeing(starts) > EASY * len(starts)
    n_failed, crossed = 0, list[Maximum]()
    while n_failed < task.k * (EASY_ROUNDS if easy else ROUNDS) and len(crossed) < n_most:
        donors = _donors(pool, best)
        if not len(donors):
            break
        lost = int(np.argsort(best.parameters.weights)[n_failed % task.k])
        profiles = best.parameters.profiles.copy()
        profiles[lost] = donors[task.rng.randint(len(donors))]
        start = replace(best.parameters, profiles=profiles)
        levels = heated(likelihood, CROSSING[len(crossed) % len(CROSSING)])
        step(f"{n_classes(task.k)}: start {len(pool) + 1}")
        ascent = anneal(likelihood, start, task.climber, levels, beat=best.value)
        pool.append(ascent)
        crossed.append(Maximum.of("crossed", ascent))
        n_failed = 0 if ascent.value > best.value + ALIKE else n_failed + 1
        best = max(best, ascent, key=lambda one: one.value)
    return crossed


def _donors(pool: list[Ascent], best: Ascent) -> Matrix:
    """Return the profiles of all maxima that are not among those of the best one."""
    V = np.concatenate([one.parameters.profiles for one in pool])
    apart = np.square(V[:, None] - best.parameters.profiles).sum(axis=2).min(axis=1)
    return np.asarray(V[apart > SAME * np.maximum(np.square(V).sum(axis=1), 1)])


def penalty_of_one(task: Task, likelihood: Likelihood) -> Likelihood:
    """Return the likelihood of choice sets with the penalty of one class, if that is smaller.

    Scores are the larger the more alternatives there are to tell apart, so that their first guess
    is often far off; a search under a penalty far from the right one has to be continued.
    """
    if task.k == 1 or getattr(likelihood.rows.rows, "sets", None) is None:
        return likelihood
    alone = replace(prepared(likelihood), membership=None)
    start = Parameters.equal(np.zeros((1, alone.coordinates.size)))
    chosen, _ = choose_l2(alone, start, task.climber, task.seed, rough=True)
    return likelihood.with_l2(min(likelihood.l2, chosen.l2))


def adapt_penalty(
    task: Task, likelihood: Likelihood, maxima: list[Maximum]
) -> tuple[Likelihood, list[Maximum]]:
    """Choose the penalty from the data, and return the likelihood with it, and its maxima.

    If the penalty is far from the one of the search, the independent starts climb on from where
    they ended, and the search continues.
    """
    working = prepared(likelihood)
    best = maxima[0].ascent.parameters
    chosen, ascent = choose_l2(working, best, task.climber, task.seed)
    if isinstance(task.init, Parameters):
        return likelihood.with_l2(chosen.l2), maxima
    first = replace(maxima[0], ascent=ascent)
    if task.k == 1 or abs(np.log(chosen.l2 / working.l2)) < np.log(FAR):
        return likelihood.with_l2(chosen.l2), [first, *maxima[1:]]
    again = [Maximum.of(maxima[0].start.kind, ascent)]
    searched = in_single_precision(likelihood).with_l2(chosen.l2)
    for one in maxima[1:]:
        if independent([one.start]):
            again.append(climbed(task, searched, one.start.kind, one.ascent.parameters, (), again))
    more = _candidates(task, likelihood.with_l2(chosen.l2), searched, None)
    again = _explore(task, searched, more, again)
    if again[0].ascent.value > ascent.value + ALIKE:
        best = again[0].ascent.parameters
        chosen, ascent = choose_l2(chosen, best, task.climber, task.seed)
        again[0] = replace(again[0], ascent=ascent)
    return likelihood.with_l2(chosen.l2), again


def best_first(maxima: list[Maximum]) -> list[Maximum]:
    """Return the maxima, best first."""
    return sorted(maxima, key=lambda one: -one.ascent.value)


def _distinct(maxima: list[Maximum]) -> list[Maximum]:
    """Return the best few maxima that differ from each other."""
    kept = [maxima[0]]
    for one in maxima[1:]:
        if len(kept) < N_REFINED and one.ascent.value < kept[-1].ascent.value - ALIKE:
            kept.append(one)
    return kept


def moved(parameters: Parameters, old: Coordinates, new: Coordinates) -> Parameters:
    """Return parameters in other coordinates."""
    contrasts = parameters.profiles.reshape(-1, len(old.matrix))
    profiles = old.lift(contrasts, new).reshape(len(parameters), -1)
    return replace(parameters, profiles=profiles)

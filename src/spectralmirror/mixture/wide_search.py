"""The search for maxima of wide fits: few climbs, each of which costs little.

Climbs are preconditioned by the principal directions of the rows. Starts of different kinds follow
each other until two of different kinds agree; there is no sample of the rows, because there are
rarely many rows for so many coefficients, and no spectral step, which needs products of all pairs
of features: components are split along eigenvectors from products with vectors instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, islice

import numpy as np

from spectralmirror.mixture.kinds import KINDS, Ground, from_known
from spectralmirror.mixture.lbfgs import Ascent
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.search import (
    FAR,
    HEAT,
    best_first,
    climbed,
    cross,
    given_start,
    heated,
    moved,
    plain_search,
)
from spectralmirror.mixture.starts import Maximum, Start, grow, independent, n_agreeing, split
from spectralmirror.mixture.task import Task
from spectralmirror.mixture.wide_evidence import choose_l2_by_products

__all__ = ["WIDE_CYCLE", "adapt_wide_penalty", "find_wide_maxima", "fit_single"]

#: The order in which kinds take turns after the grown start.
WIDE_CYCLE = ("partition", "few groups", "annealed", "around")
#: At least, and at most so many starts, until so many agree.
LEAST_STARTS, MOST_STARTS, N_AGREE = 3, 8, 2


def fit_single(task: Task, likelihood: Likelihood) -> tuple[Likelihood, Ascent]:
    """Return the likelihood with the penalty that the data ask for with one component."""
    start = Parameters.equal(np.zeros((1, likelihood.coordinates.size)))
    alone = replace(likelihood, membership=None)
    return choose_l2_by_products(alone, start, task.climber, task.seed)


def find_wide_maxima(task: Task, likelihood: Likelihood) -> list[Maximum]:
    """Return the maxima that were found, best first."""
    if isinstance(task.init, Parameters):
        return [given_start(task, likelihood, task.init)]
    if task.k == 1 or not task.is_spectral:
        return plain_search(task, likelihood)
    maxima: list[Maximum] = []
    candidates = _candidates(task, likelihood)
    for kind, start, levels in islice(candidates, min(MOST_STARTS, task.n_init)):
        maxima.append(climbed(task, likelihood, kind, start, levels, maxima))
        if _agreed([one.start for one in maxima]):
            break
    if task.k > 2:
        maxima += cross(task, likelihood, maxima, task.n_init - len(maxima))
    return best_first(maxima)


def _agreed(starts: list[Start]) -> bool:
    """Return whether enough starts have reached the best maximum."""
    starts = independent(starts)
    return len(starts) >= LEAST_STARTS and n_agreeing(starts) >= N_AGREE


def _candidates(
    task: Task, likelihood: Likelihood
) -> Iterator[tuple[str, Parameters, tuple[float, ...]]]:
    """Yield starts of different kinds, and the relaxed penalties of each, without end."""
    if task.before is not None:
        before = task.before
        while len(before) < task.k:
            before = split(likelihood, before)
        yield "before", before, ()
    if task.subspace is not None:
        inside = likelihood.inside(task.subspace.basis)
        grown = grow(inside, task.k, task.climber)
        yield "grown in the subspace", moved(grown, inside.coordinates, likelihood.coordinates), ()
    yield "grown", grow(likelihood, task.k, task.climber), ()
    ground = Ground(likelihood, task.k, task.climber, task.rng)
    if likelihood.has_known:
        yield "known", from_known(ground), ()
    for kind in cycle(WIDE_CYCLE):
        yield kind, KINDS[kind](ground), heated(likelihood, HEAT) if kind == "annealed" else ()


def adapt_wide_penalty(
    task: Task, likelihood: Likelihood, maxima: list[Maximum]
) -> tuple[Likelihood, list[Maximum]]:
    """Choose the penalty from the data, and return the likelihood with it, and its maxima.

    If the penalty is far from the one of a search in which starts did not agree, the others climb
    on from where they ended.
    """
    best = maxima[0]
    chosen, ascent = choose_l2_by_products(
        likelihood, best.ascent.parameters, task.climber, task.seed
    )
    if isinstance(task.init, Parameters):
        return chosen, maxima
    near = max(chosen.l2 / likelihood.l2, likelihood.l2 / chosen.l2) < FAR
    if near or _agreed([one.start for one in maxima]):
        return chosen, [replace(best, ascent=ascent), *maxima[1:]]
    again = [Maximum.of(best.start.kind, ascent)]
    for one in maxima[1:]:
        again.append(climbed(task, chosen, one.start.kind, one.ascent.parameters, (), again))
    again = best_first(again)
    if again[0].ascent is not ascent:
        parameters = again[0].ascent.parameters
        chosen, ascent = choose_l2_by_products(chosen, parameters, task.climber, task.seed)
        again[0] = replace(again[0], ascent=ascent)
    return chosen, again

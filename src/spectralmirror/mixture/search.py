"""The search for maxima from several starts, inside the subspace or in the whole space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.lbfgs import Ascent
from spectralmirror.mixture.likelihood import Likelihood, Parameters, Posterior
from spectralmirror.mixture.samples import start_sample
from spectralmirror.mixture.starts import (
    ALIKE,
    FINE,
    RELAXATION,
    Maximum,
    grow,
    multi_start,
    random_start,
    replace_components,
)
from spectralmirror.mixture.task import Subspace, Task
from spectralmirror.rows.grouped import Block

__all__ = ["find_maxima"]

#: The search ends when this many starts have reached the best maximum.
N_AGREE = 3
#: If the most likely component has at least this mean probability, the likelihood has few maxima.
CERTAIN = 0.9
#: From this many components on, components of the best maximum are replaced.
LEAST_REPLACED = 3
#: This many of the best maxima inside the subspace are refined in the whole space.
N_REFINED = 2

Candidates = Iterable[tuple[str, Parameters]]


def find_maxima(task: Task, likelihood: Likelihood, space: Subspace | None) -> list[Maximum]:
    """Return the maxima that were found, best first, in the coordinates of the likelihood.

    Starts lie inside a clear subspace, where climbs are cheap; only the best maxima are refined in
    the whole space. Otherwise starts lie in the whole space, the first one grown in the subspace.
    """
    if isinstance(task.init, Parameters):
        return [_given_start(task, likelihood, task.init)]
    if space is None:
        return _search_whole_space(task, likelihood)
    inside = likelihood.inside(space.basis)
    if task.is_spectral and not space.is_clear and task.k > 1:
        grown = grow(inside, task.k, task.climber)
        lifted = _moved(grown, inside.coordinates, likelihood.coordinates)
        return _search_whole_space(task, likelihood, [("grown in the subspace", lifted)])
    return _search_subspace(task, likelihood, start_sample(task, inside))


def _given_start(task: Task, likelihood: Likelihood, start: Parameters) -> Maximum:
    """Return the user's start as it is, in the coordinates of the likelihood."""
    if start.profiles.shape[1] != len(likelihood.coordinates.matrix):
        start = _moved(start, task.likelihood.coordinates, likelihood.coordinates)
    value = likelihood.evaluate(start)[0]
    return Maximum.of("given", Ascent(start, value, 0, 1, converged=False))


def _search_whole_space(
    task: Task, likelihood: Likelihood, first: Candidates = ()
) -> list[Maximum]:
    maxima = _multi_start(task, likelihood, first)
    n_most = task.n_init - len(maxima)
    if not task.is_spectral or task.k < LEAST_REPLACED or n_most < 1:
        return maxima
    if _certainty(likelihood, maxima[0].ascent.parameters) > CERTAIN:
        return maxima
    return replace_components(likelihood, maxima, task.climber, task.rng, n_most=n_most)


def _search_subspace(task: Task, likelihood: Likelihood, inside: Likelihood) -> list[Maximum]:
    """Search inside the subspace, and let the best maximum leave it."""
    maxima = _multi_start(task, inside)
    refined = []
    for one in _distinct(maxima):
        start = _moved(one.ascent.parameters, inside.coordinates, likelihood.coordinates)
        refined.append(task.climber(likelihood, start, tol=FINE))
    top = max(refined, key=lambda ascent: ascent.value)
    return [replace(maxima[0], ascent=top), *maxima[1:]]


def _multi_start(task: Task, likelihood: Likelihood, first: Candidates = ()) -> list[Maximum]:
    """Climb from starts until enough of them agree; plain random starts are all climbed."""
    candidates = chain(first, _candidates(task, likelihood))
    if not task.is_spectral:
        random = islice(candidates, task.n_init)
        return multi_start(likelihood, random, task.climber, n_agree=task.n_init)
    return multi_start(
        likelihood,
        islice(candidates, -(-task.n_init // 4)),
        task.climber,
        n_agree=1 if task.k == 1 else N_AGREE,
        levels=RELAXATION,
    )


def _candidates(task: Task, likelihood: Likelihood) -> Iterator[tuple[str, Parameters]]:
    """Yield starts in the coordinates of the likelihood, without end."""
    if task.is_spectral:
        yield "grown", grow(likelihood, task.k, task.climber)
    while True:
        yield "random", random_start(likelihood, task.k, task.rng)


def _certainty(likelihood: Likelihood, parameters: Parameters) -> float:
    """Return the mean posterior probability of the most likely component."""

    def largest(block: Block, posterior: Posterior) -> float:
        r, w = posterior.responsibilities.max(axis=0), block.shares[0]
        return float(r.sum() if w is None else r @ w)

    return float(likelihood.total(parameters, largest)) / likelihood.rows.total_weight


def _distinct(maxima: list[Maximum]) -> list[Maximum]:
    """Return the best few maxima that differ from each other."""
    kept = [maxima[0]]
    for one in maxima[1:]:
        if len(kept) < N_REFINED and one.ascent.value < kept[-1].ascent.value - ALIKE:
            kept.append(one)
    return kept


def _moved(parameters: Parameters, old: Coordinates, new: Coordinates) -> Parameters:
    """Return parameters in other coordinates."""
    return Parameters(old.lift(parameters.profiles, new), parameters.logits)

"""From rows to a fitted mixture: subspace, starts, refinement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import cast

import numpy as np

from spectralmirror.mixture.inference import MOST_PARAMETERS, Information, information, polish
from spectralmirror.mixture.lbfgs import Ascent, Climber, climb
from spectralmirror.mixture.likelihood import Likelihood, Parameters, Posterior
from spectralmirror.mixture.starts import (
    ALIKE,
    FINE,
    RELAXATION,
    Found,
    Start,
    grow,
    random_profiles,
    search,
    shake,
)
from spectralmirror.rows.grouped import Block, GroupedRows, InMemoryGroups
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.sample import SAMPLE_BYTES
from spectralmirror.rows.types import Matrix

__all__ = ["Fit", "Subspace", "Task", "fit"]

#: Starts are compared on so many rows a parameter (all rows, where that is half of them).
ROWS_A_PARAMETER, LEAST_ROWS = 200, 5_000
#: And on so many rows a parameter of the rarer class: of one class alone nothing can be learnt.
RARE_A_PARAMETER = 10
#: And on so many groups a component.
GROUPS_A_COMPONENT = 200
#: A subspace is clear when its weakest direction stands out of noise so many times.
CLEAR = 2.0
#: Starts end when the best maximum has been reached so often.
N_AGREE = 3
#: Where it is this clear who made the labels, maxima are few.
CERTAIN = 0.9
#: A component with an expected number of rows below this is dead.
LEAST_SHARE = 0.5
#: How often the last climb is taken up again where it did not end at a proper maximum.
MOST_CLIMBS = 5
#: A climb passes at most so often over rows that are not in memory.
MOST_PASSES = 500
#: Samples grow by this factor on the way to all rows.
GROWN = 4
#: So many of the best maxima inside the subspace are refined on the rows where starts compete.
N_REFINED = 2


@dataclass(frozen=True, eq=False)
class Subspace:
    """Where starts are looked for.

    Attributes
    ----------
    basis : ndarray of shape (K, d)
        Vectors that span it, in the units of x.
    separation : float
        How clearly its weakest direction stands out of noise.
    """

    basis: Matrix
    separation: float


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked for.

    Attributes
    ----------
    k : int
        Number of components.
    likelihood : Likelihood
        Of all rows, over the whole space.
    subspace : Subspace or None
        None is the whole space.
    refine : bool
        Leave the subspace in the end.
    init : Parameters, "spectral" or "random"
        Where to start.
    n_init, max_iter : int
        Most starts, and most steps of a climb.
    tol : float
        The last climb ends with a step that gains less.
    climber : Climber
        How to climb.
    rng : RandomState
        Source of randomness.
    """

    k: int
    likelihood: Likelihood
    subspace: Subspace | None
    refine: bool
    init: Parameters | str
    n_init: int
    max_iter: int
    tol: float
    climber: Climber
    rng: np.random.RandomState

    @property
    def max_passes(self) -> int | None:
        """The most passes of a climb over all rows; None for rows in memory."""
        return None if self.likelihood.rows.in_memory else MOST_PASSES

    @cached_property
    def seed(self) -> int:
        """The seed of the samples; a sample of a sample has another one."""
        return int(self.rng.randint(2**31))


@dataclass(frozen=True, eq=False)
class Fit:
    """What was found.

    Attributes
    ----------
    likelihood : Likelihood
        Of all rows, in the coordinates in which it was maximised.
    ascent : Ascent
        The last climb, to theta, heaviest component first.
    starts : list of Start
        Best first.
    information : Information or None
        None where there is none, or the maximum is no proper one.
    n_dropped : int
        Components that died.
    """

    likelihood: Likelihood
    ascent: Ascent
    starts: list[Start]
    information: Information | None
    n_dropped: int

    @property
    def is_blunt(self) -> bool:
        """Whether the maximum is not a proper one."""
        return self.information is None and _is_small(self.ascent)


def fit(task: Task) -> Fit:
    """Fit a mixture of k components."""
    target, space = task.likelihood, task.subspace
    if space is not None and not task.refine:
        target, space = _inside(target, space), None
    large = _large_sample(task, target)
    sample = _sample(task, large)
    found = _race(task, sample, space)
    samples = [sample, *_between(task, sample, large, target)]
    best, inverse = _grown(task, found[0].ascent, samples)
    del sample, large, samples  # copies of rows, which nobody needs from here on
    known, tol, n_passes = None, task.tol, 0
    for _ in range(MOST_CLIMBS):
        passes = None if task.max_passes is None else max(task.max_passes - n_passes, 1)
        options = {"tol": tol, "max_iter": task.max_iter, "max_passes": passes}
        climbed = task.climber(target, best.parameters, inverse=inverse, **options)
        climbed = _without_dead(task, target, climbed)
        best, known = polish(target, _heaviest_first(climbed), task.seed)
        while (left := _without_dead(task, target, best)) is not best:  # emptied by the last steps
            best, known = polish(target, _heaviest_first(left), task.seed)
        if (np.diff(best.parameters.weights) > 0).any():  # two of nearly equal weight
            best = _heaviest_first(best)
            known = None if known is None else information(target, best.parameters, task.seed)
        n_passes += best.n_passes
        if best.converged or not climbed.converged or n_passes >= (task.max_passes or np.inf):
            break
        inverse, tol = None, tol / 10  # a long ridge, or a saddle: climb on, with more care
    starts, n_dropped = [one.start for one in found], task.k - len(best.parameters)
    return Fit(target, best, starts, known, n_dropped)


def _sample(task: Task, likelihood: Likelihood) -> Likelihood:
    """Return the likelihood of as many rows as it takes to compare starts."""
    n_parameters = task.k * len(likelihood.coordinates.matrix)
    rare = RARE_A_PARAMETER * n_parameters / max(_rarer_share(likelihood.rows), 1e-9)
    n_rows = max(LEAST_ROWS, ROWS_A_PARAMETER * n_parameters, int(rare))
    n_groups = GROUPS_A_COMPONENT * task.k
    return likelihood.on(likelihood.rows.draw(n_rows, n_groups, task.seed + 1))


def _rarer_share(grouped: GroupedRows) -> float:
    """Return the share of the rarer class among rows in memory."""
    y, weight = grouped.rows.y, grouped.rows.weight
    positive = float(np.mean((y if weight is None else y[weight > 0]) > 0))
    return min(positive, 1 - positive)


def _large_sample(task: Task, likelihood: Likelihood) -> Likelihood:
    """Return the likelihood of as many rows as may be held in memory, if not all of them."""
    rows = task.likelihood.rows.rows
    n_rows = SAMPLE_BYTES // 2 // (rows.n_features * rows.dtype.itemsize)
    grouped = likelihood.rows
    # where all rows are wanted and in memory already, they are not copied
    draw = grouped.sample if grouped.in_memory else grouped.draw
    return likelihood.on(draw(n_rows, GROUPS_A_COMPONENT * task.k, task.seed))


def _between(
    task: Task, sample: Likelihood, large: Likelihood, target: Likelihood
) -> list[Likelihood]:
    """Return samples each a few times larger than the one before, up to all rows."""
    sizes, n, n_groups = [], sample.rows.n_present, GROUPS_A_COMPONENT * task.k
    while GROWN * n < large.rows.n_present:
        n *= GROWN
        sizes.append(n)
    parts = [large.on(large.rows.sample(n, n_groups, task.seed + 1)) for n in sizes]
    known, found = sample.rows.n_present, []
    for one in (*parts, large, target):
        if one.rows.n_present > known:
            found.append(one)
            known = one.rows.n_present
    return found


def _grown(task: Task, ascent: Ascent, samples: list[Likelihood]) -> tuple[Ascent, Matrix | None]:
    """Follow the maximum from sample to sample; return the inverse information for the last.

    From few rows to many the maximum moves far, over ground that is not round: most of the way is
    gone on samples, and little is left for all rows, in passes over which a step costs most.
    """
    inverse: Matrix | None = None
    for sample, larger in pairwise(samples):
        if isinstance(task.init, Parameters):
            break
        if sample is not samples[0]:
            # by L-BFGS, whatever the user's own climber: it only has to come near
            ascent = climb(
                sample, ascent.parameters, tol=FINE, max_iter=task.max_iter, inverse=inverse
            )
        found = information(sample, ascent.parameters, task.seed + 2)
        share = sample.rows.total_weight / larger.rows.total_weight
        inverse = None if found is None else found.inverse * share
    return ascent, inverse


def _race(task: Task, likelihood: Likelihood, space: Subspace | None) -> list[Found]:
    """Return the maxima that were found in the space of the likelihood, best first."""
    if isinstance(task.init, Parameters):
        given = task.init
        if len(given.profiles[0]) != len(likelihood.coordinates.matrix):
            whole = task.likelihood.coordinates
            given = Parameters(whole.lift(given.profiles, likelihood.coordinates), given.logits)
        return [Found.given(likelihood, given)]
    if space is None:
        found = _search(task, likelihood, _candidates(task, likelihood))
        return _shaken(task, likelihood, found) if task.init == "spectral" else found
    inside = _inside(likelihood, space)
    if task.init == "spectral" and space.separation < CLEAR and task.k > 1:
        lifted = _lifted(inside, likelihood, grow(inside, task.k, task.climber, task.max_iter))
        candidates = chain([("grown in the subspace", lifted)], _candidates(task, likelihood))
        return _shaken(task, likelihood, _search(task, likelihood, candidates))
    inside = _sample(task, inside)
    found = _search(task, inside, _candidates(task, inside))
    best = [_lifted(inside, likelihood, one.ascent.parameters) for one in _distinct(found)]
    refined = [task.climber(likelihood, one, tol=FINE, max_iter=task.max_iter) for one in best]
    top = max(refined, key=lambda ascent: ascent.value)
    return [replace(found[0], ascent=top), *found[1:]]


def _candidates(task: Task, likelihood: Likelihood) -> Iterator[tuple[str, Parameters]]:
    """Yield starts in the space of the likelihood, without end."""
    if task.init == "spectral":
        yield "grown", grow(likelihood, task.k, task.climber, task.max_iter)
    while True:
        yield "random", random_profiles(likelihood, task.k, task.rng)


def _search(
    task: Task, likelihood: Likelihood, candidates: Iterator[tuple[str, Parameters]]
) -> list[Found]:
    spectral = task.init == "spectral"
    most = -(-task.n_init // 4) if spectral else task.n_init
    return search(
        likelihood,
        islice(candidates, most),
        task.climber,
        n_agree=(1 if task.k == 1 else N_AGREE) if spectral else task.n_init,
        max_iter=task.max_iter,
        levels=RELAXATION if spectral else (),
    )


def _shaken(task: Task, likelihood: Likelihood, found: list[Found]) -> list[Found]:
    """Go on from the best maximum where components are hard to tell apart."""
    parameters, n_most = found[0].ascent.parameters, task.n_init - len(found)
    if task.k < 3 or n_most < 1 or _certainty(likelihood, parameters) > CERTAIN:
        return found
    return shake(likelihood, found, task.climber, task.rng, n_most=n_most, max_iter=task.max_iter)


def _certainty(likelihood: Likelihood, parameters: Parameters) -> float:
    """Return the mean responsibility of the most likely component."""

    def largest(block: Block, posterior: Posterior) -> float:
        r, w = posterior.responsibilities.max(axis=0), block.shares[0]
        return float(r.sum() if w is None else r @ w)

    return float(likelihood.total(parameters, largest)) / likelihood.rows.total_weight


def _inside(likelihood: Likelihood, space: Subspace) -> Likelihood:
    """Return the likelihood within the subspace, where rows have few coordinates.

    Rows in memory are projected once, others whenever they are read.
    """
    coordinates = likelihood.coordinates.inside(space.basis)
    narrow = replace(likelihood, coordinates=coordinates)
    if not likelihood.rows.in_memory:
        return narrow
    eye = np.eye(len(coordinates.matrix))[: len(space.basis)]
    Z = collect(likelihood.rows, lambda block: narrow.scores(block.X, eye).T)
    return replace(
        likelihood,
        rows=cast(InMemoryGroups, likelihood.rows).with_features(Z),
        coordinates=replace(coordinates, projected=True),
    )


def _lifted(inside: Likelihood, whole: Likelihood, parameters: Parameters) -> Parameters:
    profiles = inside.coordinates.lift(parameters.profiles, whole.coordinates)
    return Parameters(profiles, parameters.logits)


def _distinct(found: list[Found]) -> list[Found]:
    """Return the best of different maxima."""
    kept = [found[0]]
    for one in found[1:]:
        if len(kept) < N_REFINED and one.ascent.value < kept[-1].ascent.value - ALIKE:
            kept.append(one)
    return kept


def _heaviest_first(ascent: Ascent) -> Ascent:
    order = np.argsort(-ascent.parameters.weights, kind="stable")
    return replace(ascent, parameters=ascent.parameters[order])


def _is_small(ascent: Ascent) -> bool:
    """Whether there are few enough parameters to form their information."""
    return len(ascent.parameters.packed()) - 1 <= MOST_PARAMETERS


def _without_dead(task: Task, likelihood: Likelihood, ascent: Ascent) -> Ascent:
    """Drop components that are left without a row, and climb again without them."""
    while True:
        rows = ascent.parameters.weights * likelihood.rows.row_weight
        alive = np.flatnonzero(rows >= LEAST_SHARE)
        if len(alive) in (0, len(ascent.parameters)):
            return ascent
        ascent = task.climber(
            likelihood,
            ascent.parameters[alive],
            tol=task.tol,
            max_iter=task.max_iter,
            max_passes=task.max_passes,
        )

"""Fits in which persons of one class differ: a first fit of few nodes, and the final one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from spectralmirror.mixture.evidence import (
    MOST_ROUNDS,
    ROUGHLY_FINE,
    initial_l2,
    laplace,
    next_penalties,
)
from spectralmirror.mixture.fitting import Fit, alive_components, by_weight, refine
from spectralmirror.mixture.integration import Integration
from spectralmirror.mixture.lbfgs import Ascent
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.newton import Information, Top, information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.person_nodes import (
    MOST_ROWS,
    may_have_person_nodes,
    of_classes,
    with_person_nodes,
)
from spectralmirror.mixture.samples import WarmStart
from spectralmirror.mixture.search import prepared
from spectralmirror.mixture.spread import Spread
from spectralmirror.mixture.spread_start import covariance_within, initial_entries, stretched
from spectralmirror.mixture.starts import FINE, ROUGH, Maximum, split
from spectralmirror.mixture.task import Task
from spectralmirror.rows.progress import n_classes, stage
from spectralmirror.rows.types import Matrix

__all__ = ["comparison_sample", "finished", "fit_spread"]

#: Kinds are compared on a sample of about this many rows and groups.
N_ROWS, N_GROUPS = 20_000, 1_000
#: Nodes that persons share while starts compete, and in fits of rows that are not in memory, or
#: many: while kinds and numbers of classes are compared, and of the final fit.
FEWEST_NODES, FEW_SHARED, MANY_NODES = 64, 128, 512
#: Nodes of each person's own while kinds and numbers of classes are compared, and of the final fit.
FEW_NODES, PERSON_NODES = 64, 128
#: Nodes follow the parameters so many times, unless these move by less than NEAR standard errors
#: each. If they still move by FAR, and the log-likelihood of n persons is off by LOST root n, more
#: than errors of LOST each that do not add up, nodes are of no use.
ROUNDS, NEAR, FAR, LOST = 4, 0.5, 1.0, 0.5
#: While kinds are compared, nodes follow so many times, and penalties until they change by less
#: than a factor of 1 + ROUGHLY: evidence is flat around its maximum.
MOST_CENTRINGS, ROUGHLY = 3, 0.2
#: A kind whose evidence is this far behind after one choice of penalties will not catch up.
BEHIND = 12.0
#: With several classes, a start has this share of the spread within the classes of the discrete
#: fit, which mistakes some of the spread for classes, and vice versa.
SHARE = 0.5


def comparison_sample(task: Task, discrete: Fit) -> Likelihood:
    """Return the likelihood, without spread, of the rows on which kinds are compared."""
    target = discrete.likelihood
    rows = target.rows
    rows = (rows.sample if rows.in_memory else rows.draw)(N_ROWS, N_GROUPS, task.seed)
    sample = target.on(rows)
    if task.choose_l2:  # a prior does not depend on the number of rows
        sample = replace(sample, l2=target.l2, concentration=target.concentration)
    return prepared(sample)


def fit_spread(
    task: Task,
    sample: Likelihood,
    discrete: Fit | None,
    kind: str | None,
    fewer: Mapping[int, Fit],
    near: Fit | None = None,
    level: float = -np.inf,
) -> Fit:
    """Fit k classes with a kind of spread, or none, to a sample.

    Parameters
    ----------
    task : Task
        What to fit.
    sample : Likelihood
        Of the sample, without spread.
    discrete : Fit or None
        The fit of k classes without spread; None if there is none, but fits of fewer classes.
    kind : str or None
        The kind of spread.
    fewer : mapping
        Fits of the same kind with fewer classes, by their number.
    near : Fit or None
        Another fit with a spread, whose penalty is probably similar.
    level : float
        Log evidence of the best fit so far: penalties are left as they are if that is out of reach.
    """
    if kind is None:
        assert discrete is not None
        ascent = task.climber(sample, discrete.ascent.parameters, tol=FINE)
        return Fit(sample, ascent, discrete.starts, None, 0)
    stage(f"{n_classes(task.k)}, spread {kind}")
    p = sample.coordinates.from_standard.shape[1]
    spread = Spread.of(kind, p, FEW_SHARED, task.seed, sample.n_contrasts)
    likelihood = replace(sample, spread=spread)
    if task.choose_l2:  # profiles are longer beside a spread
        similar = min(sample.l2, initial_l2(sample)) if near is None else near.likelihood.l2
        likelihood = likelihood.with_l2(similar)
    starts = chain(_from_discrete(likelihood, discrete), _from_fewer(task, fewer))
    race = replace(likelihood, spread=spread.with_nodes(FEWEST_NODES, task.seed))
    maxima: list[Maximum] = []
    for name, one in starts:
        highest = max((other.ascent.value for other in maxima), default=-np.inf)
        maxima.append(Maximum.of(name, task.climber(race, one, tol=ROUGH, beat=highest)))
        if abs(maxima[-1].ascent.value - highest) < ROUGH:  # two kinds of starts agree
            break
    maxima.sort(key=lambda one: -one.ascent.value)
    best = maxima[0].ascent.parameters
    centred = _centring(task, likelihood, FEW_NODES)
    found = None
    if task.choose_l2:
        likelihood, ascent, found = _with_penalties(task, likelihood, best, centred, level)
    else:
        likelihood, ascent = _climbed(task, likelihood, best, centred)
    known = found if found is not None and found.proper else None
    return Fit(likelihood, ascent, [one.start for one in maxima], known, 0)


#: (likelihood, parameters) -> the likelihood with nodes around persons' posteriors.
Centring = Callable[[Likelihood, Parameters], Likelihood]


def _centring(task: Task, likelihood: Likelihood, n_nodes: int) -> Centring | None:
    """Return how to give persons nodes of their own; None if they share theirs."""
    if not may_have_person_nodes(likelihood, task.k):
        return None
    return partial(with_person_nodes, n_nodes=n_nodes, seed=task.seed)


def _with_penalties(
    task: Task, likelihood: Likelihood, start: Parameters, centred: Centring | None, level: float
) -> tuple[Likelihood, Ascent, Information | None]:
    """Climb under penalties of nearly the largest evidence, which nodes of persons follow."""
    following, inverse, earlier = likelihood, None, None
    for n_rounds in range(MOST_ROUNDS):
        likelihood = following
        if centred is not None and n_rounds < MOST_CENTRINGS:
            likelihood = centred(likelihood, start)
        ascent = task.climber(likelihood, start, tol=ROUGHLY_FINE, inverse=inverse)
        start, found = ascent.parameters, information(likelihood, ascent.parameters, task.seed)
        if found is None:
            break
        posterior, inverse = laplace(likelihood, ascent, found), found.inverse
        following, change, earlier = next_penalties(
            likelihood, ascent, posterior, earlier, rough=True
        )
        hopeless = n_rounds > 0 and posterior.log_evidence + BEHIND < level
        if change < ROUGHLY or hopeless:
            break
    return likelihood, ascent, found


def _climbed(
    task: Task, likelihood: Likelihood, start: Parameters, centred: Centring | None
) -> tuple[Likelihood, Ascent]:
    """Climb under a given penalty; nodes of persons follow."""
    if centred is None:
        return likelihood, task.climber(likelihood, start, tol=FINE)
    for _ in range(ROUNDS):
        likelihood = centred(likelihood, start)
        ascent = task.climber(likelihood, start, tol=FINE)
        start = ascent.parameters
    return likelihood, ascent


def _from_discrete(
    likelihood: Likelihood, discrete: Fit | None
) -> Iterator[tuple[str, Parameters]]:
    """Yield the discrete fit with a spread."""
    if discrete is not None:
        assert likelihood.spread is not None
        parameters = discrete.ascent.parameters
        C = covariance_within(replace(likelihood, spread=None), parameters)
        b = initial_entries(likelihood.spread, C if len(parameters) == 1 else SHARE * C)
        yield "discrete", stretched(likelihood, parameters, b)


def _from_fewer(task: Task, fewer: Mapping[int, Fit]) -> Iterator[tuple[str, Parameters]]:
    """Yield fits of fewer classes with one of them split, or drawn from the spread of a class."""
    if task.k - 1 in fewer:
        before = fewer[task.k - 1]
        yield "split", split(before.likelihood, before.ascent.parameters)
    if 1 in fewer:
        single = fewer[1].ascent.parameters
        root = fewer[1].likelihood.of_spread(single)
        z = task.rng.standard_normal((task.k, root.shape[1]))
        profiles = single.profiles + (z - z.mean(axis=0)) @ root.T
        yield "drawn", Parameters(profiles, np.zeros(task.k), np.sqrt(SHARE) * single.spread)


def _inverse(chosen: Fit) -> Matrix | None:
    """Return the inverse information of a fit, a preconditioner for other nodes or rows."""
    found = chosen.observed
    return found.inverse if found is not None and found.proper else None


def finished(task: Task, target: Likelihood, chosen: Fit) -> Fit:
    """Return the fit of all rows with many nodes: `target` is their likelihood, without spread."""
    spread = chosen.likelihood.spread
    assert spread is not None
    stage(f"{n_classes(task.k)}, spread {spread.kind}: climbing over all rows")
    target = replace(_in_memory(target, task), spread=spread.with_nodes(MANY_NODES, task.seed + 1))
    if task.choose_l2:
        target = target.with_l2(chosen.likelihood.l2)
    exact = replace(task, tol=task.tol / 100)  # Newton steps cost far more than passes here
    start, inverse = chosen.ascent.parameters, _inverse(chosen)
    if inverse is not None:
        inverse = inverse * chosen.likelihood.rows.total_weight / target.rows.total_weight
    found = _with_own_nodes(exact, target, WarmStart(start, inverse))
    if found is None:
        top = refine(exact, target, WarmStart(start, inverse))
    else:
        target, top = _heaviest_first(*found, task.seed)
    n_dropped = task.k - len(top.ascent.parameters)
    return Fit(target, top.ascent, chosen.starts, top.information, n_dropped)


def _with_own_nodes(
    task: Task, target: Likelihood, warm: WarmStart
) -> tuple[Likelihood, Top] | None:
    """Climb with nodes of each person's own, which follow the parameters.

    None where persons cannot have them, and where parameters do not settle: with hundreds of
    labels, persons' posteriors are so narrow that nodes soon are outside.
    """
    centred = _centring(task, target, PERSON_NODES)
    if centred is None:
        return None
    start, inverse, moved = warm.parameters, warm.inverse, 0.0
    for _ in range(ROUNDS):
        order = _present_by_weight(target, start)
        inverse = inverse if (order == np.arange(len(start))).all() else None
        start = start[order]
        target = centred(target, start)
        top = refine(task, target, WarmStart(start, inverse))
        before, start = start, top.ascent.parameters
        if top.information is None:
            return target, top
        moved, inverse = _distance(before, start, top.information.matrix), top.information.inverse
        if moved < NEAR:
            break
    off = abs(Integration.of(target, start).missing)
    settled = moved < FAR or off < LOST * np.sqrt(target.rows.total_weight)
    return (target, top) if settled else None


def _in_memory(likelihood: Likelihood, task: Task) -> Likelihood:
    """Return the likelihood of rows in memory if there are few, so that persons have own nodes."""
    rows = likelihood.rows
    if rows.in_memory or rows.n_present * task.k > MOST_ROWS:
        return likelihood
    found = rows.draw(rows.n_present, rows.n_groups, task.seed)
    return replace(likelihood, rows=found) if found.n_present == rows.n_present else likelihood


def _present_by_weight(likelihood: Likelihood, parameters: Parameters) -> NDArray[np.intp]:
    """Return the classes that have rows, heaviest first."""
    alive = alive_components(likelihood, parameters)
    return alive[by_weight(likelihood, parameters[alive])]


def _heaviest_first(likelihood: Likelihood, top: Top, seed: int) -> tuple[Likelihood, Top]:
    """Sort classes and the nodes that persons have in them by weight; drop those without rows."""
    order = _present_by_weight(likelihood, top.ascent.parameters)
    if (order == np.arange(len(top.ascent.parameters))).all():
        return likelihood, top
    if likelihood.has_person_nodes:
        likelihood = replace(likelihood, rows=of_classes(likelihood.rows, order))
    ascent = replace(top.ascent, parameters=top.ascent.parameters[order])
    known = top.information is not None
    return likelihood, Top(
        ascent, information(likelihood, ascent.parameters, seed) if known else None
    )


def _distance(before: Parameters, now: Parameters, matrix: Matrix) -> float:
    """Return how far parameters have moved, in standard errors (root mean square)."""
    step = (now.packed() - before.packed())[: len(matrix)]
    return float(np.sqrt(max(float(step @ matrix @ step), 0.0) / len(step)))

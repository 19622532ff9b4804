"""Fits in which persons of one class differ: a first fit of few nodes, and the final one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

import numpy as np

from spectralmirror.mixture.evidence import choose_l2, initial_l2
from spectralmirror.mixture.fitting import Fit, refine
from spectralmirror.mixture.likelihood import Likelihood, Parameters
from spectralmirror.mixture.samples import WarmStart
from spectralmirror.mixture.search import prepared
from spectralmirror.mixture.spread import Spread
from spectralmirror.mixture.spread_start import covariance_within, initial_entries, stretched
from spectralmirror.mixture.starts import FINE, ROUGH, Maximum, split
from spectralmirror.mixture.task import Task
from spectralmirror.rows.progress import stage
from spectralmirror.rows.types import Matrix

__all__ = ["comparison_sample", "finished", "fit_spread"]

#: Kinds are compared on a sample of about this many rows and groups.
N_ROWS, N_GROUPS = 20_000, 1_000
#: Nodes while starts compete, while kinds and numbers of classes are compared, of the final fit,
#: and of the final fit if there are at most so many rows times classes.
FEWEST_NODES, FEW_NODES, MANY_NODES, MOST_NODES = 64, 128, 512, 1024
FEW_ROWS = 20_000
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
    """
    if kind is None:
        assert discrete is not None
        ascent = task.climber(sample, discrete.ascent.parameters, tol=FINE)
        return Fit(sample, ascent, discrete.starts, None, 0)
    stage(f"{_classes(task)}, spread {kind}")
    p = sample.coordinates.from_standard.shape[1]
    spread = Spread.of(kind, p, FEW_NODES, task.seed)
    likelihood = replace(sample, spread=spread)
    if task.choose_l2:  # profiles are longer beside a spread
        likelihood = likelihood.with_l2(min(sample.l2, initial_l2(sample)))
    starts = chain(_from_discrete(likelihood, discrete), _from_fewer(task, fewer))
    race = replace(likelihood, spread=spread.with_nodes(FEWEST_NODES, task.seed))
    maxima = [Maximum.of(name, task.climber(race, one, tol=ROUGH)) for name, one in starts]
    maxima.sort(key=lambda one: -one.ascent.value)
    best = maxima[0].ascent.parameters
    if task.choose_l2:
        likelihood, ascent = choose_l2(likelihood, best, task.climber, task.seed, rough=True)
    else:
        ascent = task.climber(likelihood, best, tol=FINE)
    return Fit(likelihood, ascent, [one.start for one in maxima], None, 0)


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


def _classes(task: Task) -> str:
    return "1 class" if task.k == 1 else f"{task.k} classes"


def _inverse(chosen: Fit) -> Matrix | None:
    """Return the inverse information of a fit, a preconditioner for other nodes or rows."""
    found = chosen.observed
    return found.inverse if found is not None and found.proper else None


def finished(task: Task, target: Likelihood, chosen: Fit) -> Fit:
    """Return the fit of all rows with many nodes: `target` is their likelihood, without spread."""
    spread = chosen.likelihood.spread
    assert spread is not None
    stage(f"{_classes(task)}, spread {spread.kind}: climbing over all rows")
    n_nodes = MOST_NODES if task.k * target.rows.n_present <= FEW_ROWS else MANY_NODES
    target = replace(target, spread=spread.with_nodes(n_nodes, task.seed + 1))
    if task.choose_l2:
        target = target.with_l2(chosen.likelihood.l2)
    inverse = _inverse(chosen)
    if inverse is not None:
        inverse = inverse * chosen.likelihood.rows.total_weight / target.rows.total_weight
    exact = replace(task, tol=task.tol / 100)  # Newton steps cost far more than passes here
    top = refine(exact, target, WarmStart(chosen.ascent.parameters, inverse))
    n_dropped = task.k - len(top.ascent.parameters)
    return Fit(target, top.ascent, chosen.starts, top.information, n_dropped)

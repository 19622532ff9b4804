"""Samples of growing size: starts compete on the smallest, and the best maximum is followed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.newton import information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.starts import FINE
from spectralmirror.mixture.task import Task
from spectralmirror.rows.grouped import Block, GroupedRows
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.sample import SAMPLE_BYTES
from spectralmirror.rows.types import Matrix

__all__ = [
    "WarmStart",
    "follow_maximum",
    "growing_samples",
    "largest_sample",
    "looks_elliptical",
    "small_sample",
    "start_sample",
    "wide_sample",
]

#: Starts are compared on at least this many rows, in total and per parameter.
LEAST_ROWS, ROWS_PER_PARAMETER = 5_000, 200
#: And on this many rows per parameter whose label is not the most frequent one: a single label
#: holds no information.
RARE_PER_PARAMETER = 10
#: And on this many groups per component.
GROUPS_PER_COMPONENT = 200
#: Both are smaller where the labels of a group nearly tell its class.
FEW_ROWS_PER_PARAMETER, FEW_GROUPS_PER_COMPONENT = 25, 100
#: Samples grow by this factor on the way to all rows.
GROWTH_FACTOR = 4
#: Elliptical features have no skewness, and all of them the same kurtosis, to within these.
MOST_SKEWNESS, MOST_KURTOSIS_APART = 0.5, 1.0


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Where to start the climb over all rows.

    Attributes
    ----------
    parameters : Parameters
        theta.
    inverse : ndarray or None
        An estimate of the inverse information there, None if there is none.
    """

    parameters: Parameters
    inverse: Matrix | None = None


def start_sample(task: Task, likelihood: Likelihood) -> Likelihood:
    """Return the likelihood of a sample that is large enough to compare starts."""
    n_rows = _least_rows(task, likelihood)
    return likelihood.on(likelihood.rows.draw(n_rows, _least_groups(task), task.seed + 1))


def small_sample(task: Task, likelihood: Likelihood) -> Likelihood | None:
    """Return a sample that is large enough if groups tell their classes, None if nearly as large.

    A row whose class is known says as much about its profile as in a regression.
    """
    rows = likelihood.rows
    if not rows.is_repeated or rows.has_sets or likelihood.labels is not None:
        return None
    n_rows, n_groups = (
        _least_rows(task, likelihood, FEW_ROWS_PER_PARAMETER),
        FEW_GROUPS_PER_COMPONENT * task.k,
    )
    n_usual = min(_least_rows(task, likelihood), rows.n_present)
    if max(n_rows, n_groups * rows.n_present / rows.n_groups) > n_usual / 2:
        return None
    return likelihood.on(rows.draw(n_rows, n_groups, task.seed + 1))


def wide_sample(task: Task, likelihood: Likelihood) -> Likelihood:
    """Return such a sample of wide rows, which are copied only if there are twice as many."""
    rows = likelihood.rows
    return likelihood.on(rows.sample(_least_rows(task, likelihood), _least_groups(task), task.seed))


def looks_elliptical(likelihood: Likelihood) -> bool:
    """Return whether the features of rows in memory may be elliptical.

    The subspace rests on this: binary or skewed features can lead it astray. Elliptical features
    have working coordinates without skewness and of the same kurtosis.
    """

    def powers(block: Block) -> Matrix:
        Z = likelihood.working(block)[:, : len(likelihood.coordinates.back)]
        w = np.ones(len(Z)) if block.weight is None else block.weight
        square = Z * Z
        return np.array([w @ one for one in (np.ones_like(Z), Z, square, square * Z, square**2)])

    n, mean, second, third, fourth = reduce(likelihood.rows, powers)
    mean, second, third, fourth = mean / n, second / n, third / n, fourth / n
    variance = np.maximum(second - mean**2, 1e-300)
    skewness = (third - 3 * mean * second + 2 * mean**3) / variance**1.5
    kurtosis = (fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4) / variance**2
    noise = 4 / np.sqrt(likelihood.rows.n_present)  # 1.6 standard errors of a Gaussian's skewness
    return bool(
        np.abs(skewness).max() < MOST_SKEWNESS + noise
        and np.ptp(kurtosis) < MOST_KURTOSIS_APART + 3 * noise
    )


def largest_sample(task: Task, likelihood: Likelihood) -> Likelihood:
    """Return the likelihood of as many rows as memory allows, of all rows if possible."""
    rows = task.likelihood.rows.rows
    n_rows = SAMPLE_BYTES // 2 // (rows.n_features * rows.dtype.itemsize)
    grouped = likelihood.rows
    # rows that are in memory already are not copied if all of them are wanted
    draw = grouped.sample if grouped.in_memory else grouped.draw
    return likelihood.on(draw(n_rows, _least_groups(task), task.seed))


def growing_samples(
    task: Task, first: Likelihood, largest: Likelihood, target: Likelihood
) -> list[Likelihood]:
    """Return the first sample, and samples each several times larger, up to all rows."""
    sizes, n = [], first.rows.n_present
    while GROWTH_FACTOR * n < largest.rows.n_present:
        n *= GROWTH_FACTOR
        sizes.append(n)
    seed, n_groups = task.seed + 1, _least_groups(task)
    parts = [largest.on(largest.rows.sample(n, n_groups, seed)) for n in sizes]
    samples = [first]
    for one in (*parts, largest, target):
        if one.rows.n_present > samples[-1].rows.n_present:
            samples.append(one)
    return samples


def follow_maximum(task: Task, start: Parameters, samples: list[Likelihood]) -> WarmStart:
    """Follow a maximum of the first sample through all samples but the last.

    From few rows to many the maximum moves far, along directions of very different curvature. Most
    of the way is covered on samples, so that few of the expensive passes over all rows remain. A
    start that the user gave is not moved.
    """
    warm = WarmStart(start)
    if isinstance(task.init, Parameters):
        return warm
    for sample, larger in pairwise(samples):
        parameters = warm.parameters
        if sample is not samples[0]:
            # L-BFGS, whatever the user's solver: this only has to come near the maximum
            n, inverse = task.max_iter, warm.inverse
            parameters = climb(sample, parameters, tol=FINE, max_iter=n, inverse=inverse).parameters
        found = information(sample, parameters, task.seed + 2)
        share = sample.rows.total_weight / larger.rows.total_weight
        warm = WarmStart(parameters, None if found is None else found.inverse * share)
    return warm


def _least_rows(task: Task, likelihood: Likelihood, each: int | None = None) -> int:
    """Return the number of rows on which starts can be compared, `each` for each parameter."""
    n_parameters, several = task.k * likelihood.profile_size, likelihood.labels is not None
    share = max(_rarer_share(likelihood.rows, several=several), 1e-9)
    rare = RARE_PER_PARAMETER * n_parameters / share
    return max(LEAST_ROWS, (each or ROWS_PER_PARAMETER) * n_parameters, int(rare))


def _least_groups(task: Task) -> int:
    return GROUPS_PER_COMPONENT * task.k


def _rarer_share(grouped: GroupedRows, *, several: bool) -> float:
    """Return the share of rows in memory whose label is not the most frequent one."""
    y, weight = grouped.rows.y, grouped.rows.weight
    if several:
        counts = np.bincount((y if weight is None else y[weight > 0]).astype(np.intp))
        return float(1 - counts.max() / counts.sum())
    positive = float(np.mean((y if weight is None else y[weight > 0]) > 0))
    return min(positive, 1 - positive)

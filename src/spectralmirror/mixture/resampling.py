"""Weighted refits from a warm start, many times: what the bootstrap of any mixture rests on.

A resample draws as many groups as there are, with replacement: group G is drawn w_G times, and
the counts w are multinomial. It is fitted as the same groups with these weights, from the estimates
of the data, in their coordinates and with their penalties. With a spread, nodes of each person's
own follow the estimates.

Rows that are not in memory have Poisson counts (:mod:`spectralmirror.rows.resampled`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment

from spectralmirror.mixture.lbfgs import Ascent, climb
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.reopened import centred
from spectralmirror.rows.grouped import GroupedRows, InMemoryGroups
from spectralmirror.rows.progress import step
from spectralmirror.rows.reduce import one_blas_thread
from spectralmirror.rows.resampled import SharedPasses
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["Refits", "drawn", "in_batches", "matched", "mean_weights"]

#: A climb ends at a step that gains less than this, which is 1.4 % of a standard error.
TOLERANCE = 1e-4
#: Resamples that a process takes at a time, and those that share passes.
BATCH, SHARED_BATCH = 10, 25
#: Nodes of persons follow the estimates so many times, unless these move by less than NEAR standard
#: errors.
ROUNDS, NEAR = 4, 1.0
#: Batches after which it is seen whether there are enough.
ROUND = 2
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Refits:
    """Refits of a mixture to resamples of its groups.

    Attributes
    ----------
    rows : GroupedRows
        The rows that were fitted.
    likelihood : Likelihood
        What was maximised; processes to which this is sent get it without rows.
    parameters : Parameters
        Where its maximum is.
    inverse : ndarray or None
        The inverse information there; None for wide rows.
    seed : int
        Resample b is drawn with (seed, b), however many there are.
    max_iter : int
        Limit on the steps of a climb.
    """

    rows: GroupedRows
    likelihood: Likelihood
    parameters: Parameters
    inverse: Matrix | None
    seed: int
    max_iter: int

    def of(self, numbers: range) -> list[tuple[Ascent, Vector]]:
        """Return the maxima of some resamples, and the average weights of their classes."""
        with one_blas_thread():
            return [self.refit(b) for b in numbers]

    def refit(self, b: int) -> tuple[Ascent, Vector]:
        """Return the maximum of resample b, its classes in the order of those that were fitted."""
        rng = np.random.default_rng([self.seed, b])
        return self._maximum(drawn(cast(InMemoryGroups, self.rows), rng))

    def in_shared_passes(self, numbers: range) -> list[tuple[Ascent, Vector]]:
        """As :meth:`of`, for rows that are not in memory: each pass serves all of the climbs."""
        seeds = [int(np.random.default_rng([self.seed, b]).integers(2**63)) for b in numbers]
        return SharedPasses(self.rows).run([self._maximum] * len(numbers), seeds)

    def _maximum(self, resample: GroupedRows) -> tuple[Ascent, Vector]:
        likelihood, start = replace(self.likelihood, rows=resample), self.parameters
        for _ in range(ROUNDS):
            found = climb(
                likelihood, start, tol=TOLERANCE, max_iter=self.max_iter, inverse=self.inverse
            )
            before, start = start, found.parameters
            if not likelihood.has_person_nodes or self._distance(before, start) < NEAR:
                break
            likelihood = centred(likelihood, start)
        parameters = found.parameters
        if not likelihood.has_known:
            parameters = matched(parameters, self.parameters)
        found = replace(found, parameters=parameters)
        return found, likelihood.mean_weights(parameters)[0]

    def _distance(self, before: Parameters, now: Parameters) -> float:
        """Return how far a climb has led, in standard errors."""
        assert self.inverse is not None
        step = (now.packed() - before.packed())[: len(self.inverse)]
        return float(np.sqrt(step @ np.linalg.solve(self.inverse, step)))


def drawn(rows: InMemoryGroups, rng: np.random.Generator) -> InMemoryGroups:
    """Return the groups of a resample, each once, with the counts as weights.

    A group with an integer weight w stands for w groups, each of which may be drawn. With other
    weights, which say how important groups are, all groups are as likely to be drawn.
    """
    of_groups = mean_weights(rows)
    counted = not rows.rows.has_fractions
    n = round(float(of_groups.sum())) if counted else rows.n_groups
    shares = of_groups / of_groups.sum() if counted else np.full(rows.n_groups, 1 / rows.n_groups)
    counts = rng.multinomial(n, shares)
    present = np.flatnonzero(counts)
    part = rows.take(present)
    factors = np.repeat(counts[present] / (of_groups[present] if counted else 1.0), part.sizes)
    weight = factors if part.rows.weight is None else factors * part.rows.weight
    return replace(part, rows=replace(part.rows, weight=weight), trait_columns=rows.trait_columns)


def mean_weights(rows: InMemoryGroups) -> Vector:
    """Return w_G."""
    if rows.rows.weight is None:
        return np.ones(rows.n_groups)
    weight = rows.rows.weight[rows.present_index()].astype(np.float64)
    if rows.starts is None:
        return weight
    return np.asarray(np.add.reduceat(weight, rows.starts) / rows.sizes)


def matched(parameters: Parameters, reference: Parameters) -> Parameters:
    """Return classes in the order in which they are closest to those of a reference.

    The sum of squared distances of profiles, in working coordinates, is minimised over all
    assignments (Kuhn 1955).
    """
    apart = reference.profiles[:, None] - parameters.profiles
    order = linear_sum_assignment(np.square(apart).sum(axis=2))[1]
    if (np.diff(order) == 1).all():
        return parameters
    return parameters[order]


def in_batches(
    of: Callable[[range], Any],
    n: int,
    n_jobs: int | None,
    what: str,
    batch: int = BATCH,
    until: Callable[[list[Any]], bool] | None = None,
) -> list[Any]:
    """Apply a function to the numbers below n, in batches on several processes, in order.

    `until` says, now and then, whether what was found so far is enough.
    """
    batches = [range(first, min(first + batch, n)) for first in range(0, n, batch)]
    found: list[Any] = []
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    at_once = len(batches) if until is None else ROUND
    for first in range(0, len(batches), at_once):
        for part in parallel(delayed(of)(one) for one in batches[first : first + at_once]):
            found.extend(part)
            step(f"{what} {len(found)} of {n}")
        if until is not None and until(found):
            break
    return found

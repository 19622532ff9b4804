"""How many classes there are at least: the split likelihood-ratio test, or universal inference.

Groups are divided at random into halves D0 and D1. With any estimate theta_1 from D1 alone,

    U = P(D0; theta_1) / max over theta with fewer than k classes of P(D0; theta)

has an expectation of at most 1 if there are fewer than k classes, so that U >= 1 / alpha in at most
a share alpha of all data sets (Wasserman, Ramdas and Balakrishnan 2020). This needs no regularity,
no large samples and no right estimate: a bad theta_1 only makes U small. It does need the maximum
below to be one: it is of the likelihood alone, without penalty and prior, and all of the search
goes into it. The mean of U and of that with the halves exchanged has the same property.

theta_1 has k or more classes, as many as have the most evidence on D1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spectralmirror.mixture.integration import log_likelihoods
from spectralmirror.mixture.lbfgs import Ascent, climb
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.reopened import centred
from spectralmirror.mixture.search import find_maxima, prepared
from spectralmirror.mixture.spread_start import stretched
from spectralmirror.mixture.starts import FINE
from spectralmirror.mixture.task import Task
from spectralmirror.rows.reduce import one_blas_thread
from spectralmirror.rows.types import Vector
from spectralmirror.selection.parts import ScoredPart

__all__ = ["at_least", "largest_log_likelihood", "log_ratios"]

#: Penalties under which maxima are searched, and under which they are followed to (almost) none.
SEARCHED, FOLLOWED = 0.01, (1e-4, 1e-6)
#: Maxima this far below the best are followed, too, but no more than so many.
NEAR, MOST_FOLLOWED = 10.0, 6
#: A climb ends at a step that gains less than this.
EXACT = 1e-5
#: How often the nodes of persons follow the parameters.
CENTRINGS = 2
MAX_ITER, N_INIT = 500, 100


def largest_log_likelihood(
    likelihood: Likelihood, k: int, given: Sequence[Parameters], seed: int
) -> float:
    """Return the largest log-likelihood that k classes have, without any prior.

    With a spread, the search for classes is that without one, which is among the possible ones.
    """
    alone = prepared(replace(likelihood, l2=SEARCHED, concentration=0.0, spread=None))
    rng = np.random.RandomState(seed)
    with one_blas_thread():
        task = Task(k, alone, None, True, "spectral", N_INIT, MAX_ITER, EXACT, climb, rng)
        found = [one.ascent for one in find_maxima(task, alone, None)]
        if likelihood.spread is None:
            found += [climb(alone, start, tol=FINE, max_iter=MAX_ITER) for start in given]
        largest = [_followed(alone, one.parameters) for one in _near(found)]
        if likelihood.spread is not None:
            free = replace(alone, spread=replace(likelihood.spread, repulsion=0.0))
            largest += _with_spread(free, [one.parameters for one in _near(found)], given)
        return max(largest)


def _near(found: list[Ascent]) -> list[Ascent]:
    """Return the best maxima."""
    found.sort(key=lambda one: -one.value)
    return [one for one in found if one.value > found[0].value - NEAR][:MOST_FOLLOWED]


def _with_spread(
    free: Likelihood, starts: Sequence[Parameters], given: Sequence[Parameters]
) -> list[float]:
    """Return the log-likelihoods of the best maxima with a spread."""
    b = given[0].spread
    starts = [*given, *(stretched(free, one, b) for one in starts)]
    found = [climb(free, start, tol=FINE, max_iter=MAX_ITER) for start in starts]
    return [_followed_with_spread(free, one.parameters) for one in _near(found)]


def _followed(likelihood: Likelihood, parameters: Parameters) -> float:
    """Follow a maximum while the penalty vanishes, and return its log-likelihood."""
    for l2 in FOLLOWED:
        likelihood = likelihood.with_l2(l2)
        ascent = climb(likelihood, parameters, tol=EXACT, max_iter=MAX_ITER)
        parameters = ascent.parameters
    return ascent.value - likelihood.log_prior(parameters)


def _followed_with_spread(likelihood: Likelihood, parameters: Parameters) -> float:
    """As :func:`_followed`, with a penalty of the spread that vanishes, too.

    In the end each person has nodes of their own, so that the likelihood is exact.
    """
    spread = likelihood.spread
    assert spread is not None
    for l2 in FOLLOWED:
        weak = spread.with_penalty(np.full(len(spread), l2))
        likelihood = replace(likelihood.with_l2(l2), spread=weak)
        parameters = climb(likelihood, parameters, tol=EXACT, max_iter=MAX_ITER).parameters
    for _ in range(CENTRINGS):
        own = centred(likelihood, parameters)
        parameters = climb(own, parameters, tol=EXACT, max_iter=MAX_ITER).parameters
    return float(log_likelihoods(likelihood, parameters).sum())


def log_ratios(halves: Sequence[tuple[dict[int, ScoredPart], dict[int, float]]]) -> Vector:
    """Return log U for each number of classes; 0 for a single one, which needs no test.

    Parameters
    ----------
    halves : sequence of (dict, dict)
        For each way to divide the groups: fits of D1 for each number of classes, with what they say
        about D0; and the largest log-likelihood of each number on D0.
    """
    found = [_of_one_way(fits, largest) for fits, largest in halves]
    return np.asarray(np.logaddexp.reduce(found, axis=0) - np.log(len(found)))


def _of_one_way(fits: dict[int, ScoredPart], largest: dict[int, float]) -> Vector:
    found = [0.0]
    for k in sorted(fits)[1:]:
        evidence = {j: fits[j].log_evidence for j in fits if j >= k}
        known = {j: x for j, x in evidence.items() if np.isfinite(x)}
        best = max(known, key=lambda j: known[j]) if known else k
        of_fewer = max(largest[j] for j in range(1, k))
        found.append(float(fits[best].log_likelihoods.sum()) - of_fewer)
    return np.array(found)


def at_least(log_ratio: Vector, alpha: float) -> int:
    """Return the number of classes that there are at least, with confidence 1 - alpha.

    It is the largest k for which all smaller numbers are rejected: it is too large only if the true
    number is rejected.
    """
    rejected: Any = log_ratio[1:] >= -np.log(alpha)
    return 1 + int(np.cumprod(rejected).sum())

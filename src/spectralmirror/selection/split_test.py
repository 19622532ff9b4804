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

from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.search import find_maxima, prepared
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
MAX_ITER, N_INIT = 500, 100


def largest_log_likelihood(
    likelihood: Likelihood, k: int, given: Sequence[Parameters], seed: int
) -> float:
    """Return the largest log-likelihood that k classes have, without any prior."""
    free = prepared(replace(likelihood, l2=SEARCHED, concentration=0.0))
    rng = np.random.RandomState(seed)
    with one_blas_thread():
        task = Task(k, free, None, True, "spectral", N_INIT, MAX_ITER, EXACT, climb, rng)
        found = [one.ascent for one in find_maxima(task, free, None)]
        found += [climb(free, start, tol=FINE, max_iter=MAX_ITER) for start in given]
        found.sort(key=lambda one: -one.value)
        near = [one for one in found if one.value > found[0].value - NEAR][:MOST_FOLLOWED]
        return max(_followed(free, one.parameters) for one in near)


def _followed(likelihood: Likelihood, parameters: Parameters) -> float:
    """Follow a maximum while the penalty vanishes, and return its log-likelihood."""
    for l2 in FOLLOWED:
        likelihood = likelihood.with_l2(l2)
        ascent = climb(likelihood, parameters, tol=EXACT, max_iter=MAX_ITER)
        parameters = ascent.parameters
    return ascent.value - likelihood.log_prior(parameters)


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

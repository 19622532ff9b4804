"""Whether fewer components explain the labels as well."""

from __future__ import annotations

import numpy as np

from spectralmirror.mixture.evidence import choose_l2, laplace
from spectralmirror.mixture.lbfgs import Ascent
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.newton import information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.search import in_single_precision
from spectralmirror.mixture.starts import FINE
from spectralmirror.mixture.task import Task
from spectralmirror.mixture.wide_evidence import choose_l2_by_products, laplace_by_products

__all__ = ["evidence_of_fewer"]

#: The penalty of fewer components is chosen roughly, which changes their log evidence by some
#: tenths, if that is this far below that of k.
FAR_WORSE = 30.0


def evidence_of_fewer(
    task: Task,
    likelihood: Likelihood,
    best: Ascent,
    single: tuple[Likelihood, Ascent] | None = None,
) -> dict[int, float]:
    """Return the log evidence of k, k - 1 and 1 components, each with a penalty of its own.

    Those of k - 1 climb from the best maximum of k without one of its components, so that their
    evidence is a lower bound. Empty if there are too many parameters for second derivatives.
    `single` is the likelihood with the penalty of a single component, and its maximum, if known.
    """
    k, parameters = len(best.parameters), best.parameters
    is_wide = likelihood.coordinates.is_scaled
    of_best = None if is_wide else information(likelihood, parameters, task.seed)
    if of_best is None and not is_wide:
        return {}
    starts = {k: parameters}
    if k > 2 or single is None:
        starts[k - 1] = _without_one(task, likelihood, parameters)
    starts.setdefault(1, Parameters.equal(np.zeros((1, parameters.profiles.shape[1]))))
    if is_wide:
        return _of_wide(task, likelihood, best, starts, single)
    assert of_best is not None
    found = {k: laplace(likelihood, best, of_best).log_evidence}
    for number, start in starts.items():
        if number == k:
            continue
        found[number] = _evidence(task, likelihood, start, rough=True)
        if found[number] > found[k] - FAR_WORSE:
            found[number] = _evidence(task, likelihood, start, rough=False)
    return found


def _evidence(task: Task, likelihood: Likelihood, start: Parameters, *, rough: bool) -> float:
    """Return the log evidence of the maximum above a start, with a penalty of its own."""
    chosen, ascent = choose_l2(likelihood, start, task.climber, task.seed, rough=rough)
    seen = information(chosen, ascent.parameters, task.seed)
    assert seen is not None  # there are fewer parameters than before
    return laplace(chosen, ascent, seen).log_evidence


def _of_wide(
    task: Task,
    likelihood: Likelihood,
    best: Ascent,
    starts: dict[int, Parameters],
    single: tuple[Likelihood, Ascent] | None,
) -> dict[int, float]:
    found = {}
    for number, start in starts.items():
        chosen, ascent = likelihood, best
        if number == 1 and single is not None:
            chosen, ascent = single
        elif number < len(best.parameters):
            chosen, ascent = choose_l2_by_products(likelihood, start, task.climber, task.seed)
        found[number] = laplace_by_products(chosen, ascent, task.seed).log_evidence
    return found


def _without_one(task: Task, likelihood: Likelihood, parameters: Parameters) -> Parameters:
    """Return the best maximum that is reached without one of the components."""
    working, found, highest = in_single_precision(likelihood), parameters, -np.inf
    for c in range(len(parameters)):
        start = parameters[np.delete(np.arange(len(parameters)), c)]
        ascent = task.climber(working, start, tol=FINE, beat=highest)
        if ascent.value > highest:
            found, highest = ascent.parameters, ascent.value
    return found

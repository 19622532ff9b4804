"""Whether fewer components explain the labels as well."""

from __future__ import annotations

import numpy as np

from spectralmirror.mixture.evidence import choose_l2, laplace
from spectralmirror.mixture.lbfgs import Ascent
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.newton import information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.starts import FINE
from spectralmirror.mixture.task import Task
from spectralmirror.mixture.wide_evidence import choose_l2_by_products, laplace_by_products

__all__ = ["evidence_of_fewer"]


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
        others = [parameters[np.delete(np.arange(k), c)] for c in range(k)]
        climbs = [task.climber(likelihood, one, tol=FINE) for one in others]
        starts[k - 1] = max(climbs, key=lambda one: one.value).parameters
    starts.setdefault(1, Parameters.equal(np.zeros((1, parameters.profiles.shape[1]))))
    found = {}
    for number, start in starts.items():
        chosen, ascent = likelihood, best
        if number == 1 and single is not None:
            chosen, ascent = single
        elif number < k:
            choose = choose_l2_by_products if is_wide else choose_l2
            chosen, ascent = choose(likelihood, start, task.climber, task.seed)
        if is_wide:
            found[number] = laplace_by_products(chosen, ascent, task.seed).log_evidence
            continue
        seen = of_best
        if number < k:
            seen = information(chosen, ascent.parameters, task.seed)
        if seen is not None:
            found[number] = laplace(chosen, ascent, seen).log_evidence
    return found

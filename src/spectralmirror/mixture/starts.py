"""Starts of a climb: components grown one by one, and random ones, under a relaxed penalty.

The likelihood has many maxima, and more of them the sharper the classifiers are. A strong penalty
keeps classifiers blunt and the surface smooth, so each start climbs under a sequence of decreasing
penalties (annealing). Starts follow each other until several have reached the best maximum.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from spectralmirror.mixture.curvature import split_matrices
from spectralmirror.mixture.lbfgs import Ascent, Climber
from spectralmirror.mixture.likelihood import Likelihood, Parameters

__all__ = [
    "ALIKE",
    "Maximum",
    "Start",
    "anneal",
    "grow",
    "multi_start",
    "n_agreeing",
    "random_start",
    "replace_components",
]

#: Penalties l2 / n under which a start climbs, in turn; those below the user's own are left out.
RELAXATION = (1.5e-4, 5e-5, 1.5e-5)
#: The penalty l2 / n under which components are grown.
GROWTH = 5e-5
#: Tolerances: a climb ends at a step that gains less, under a relaxed penalty and the user's own.
ROUGH, FINE = 0.3, 0.01
#: Two maxima count as the same if their values differ by less than this.
ALIKE = 0.5
#: A component is split into two, this share of its norm to either side.
SPLIT = 0.5
#: Relaxed penalties of the rounds in which each component is replaced once; the search ends when
#: all rounds have passed without a gain.
ROUNDS: tuple[tuple[float, ...], ...] = (RELAXATION[1:], RELAXATION[1:], (), ())
#: Norm of random profiles, in whitened coordinates.
NORM = 5.0


@dataclass(frozen=True)
class Start:
    """One start, and the maximum to which it led.

    Attributes
    ----------
    kind : str
        "grown", "grown in the subspace", "random", "one replaced" (a random component in place of
        one of the best maximum so far) or "given".
    objective : float
        The penalised log-likelihood that was reached, on the rows on which starts were compared.
    n_iter : int
        Number of steps.
    """

    kind: str
    objective: float
    n_iter: int


@dataclass(frozen=True, eq=False)
class Maximum:
    """A maximum, and the start that led there."""

    ascent: Ascent
    start: Start

    @classmethod
    def of(cls, kind: str, ascent: Ascent) -> Maximum:
        """Return where a start of some kind ended."""
        return cls(ascent, Start(kind, ascent.value, ascent.n_iter))


def multi_start(
    likelihood: Likelihood,
    candidates: Iterable[tuple[str, Parameters]],
    climber: Climber,
    *,
    n_agree: int,
    levels: tuple[float, ...] = (),
) -> list[Maximum]:
    """Climb from one candidate after another until `n_agree` have reached the best maximum.

    Returns the maxima, best first.
    """
    maxima: list[Maximum] = []
    for kind, start in candidates:
        maxima.append(Maximum.of(kind, anneal(likelihood, start, climber, levels)))
        best = max(one.ascent.value for one in maxima)
        if sum(one.ascent.value > best - ALIKE for one in maxima) >= n_agree:
            break
    return _best_first(maxima)


def replace_components(
    likelihood: Likelihood,
    maxima: list[Maximum],
    climber: Climber,
    rng: np.random.RandomState,
    *,
    n_most: int,
) -> list[Maximum]:
    """Replace one component of the best maximum by a random one, climb again, and repeat.

    The lightest component comes first. The search ends when each component has been replaced
    without a gain in every round: twice under relaxed penalties, and twice under the user's own,
    which leads to other maxima. A light component easily gets stuck in a local maximum, and starts
    that agree with each other may all share it.
    """
    maxima, best, n_failed = list(maxima), maxima[0].ascent, 0
    for _ in range(n_most):
        k = len(best.parameters)
        n_round = n_failed // k
        if n_round == len(ROUNDS):
            break
        c = int(np.argsort(best.parameters.weights)[n_failed % k])
        profiles = best.parameters.profiles.copy()
        profiles[c] = random_start(likelihood, 1, rng).profiles[0]
        start = Parameters(profiles, best.parameters.logits)
        ascent = anneal(likelihood, start, climber, ROUNDS[n_round])
        maxima.append(Maximum.of("one replaced", ascent))
        n_failed += 1
        if ascent.value > best.value + ALIKE:
            best, n_failed = ascent, 0
    return _best_first(maxima)


def anneal(
    likelihood: Likelihood, start: Parameters, climber: Climber, levels: tuple[float, ...]
) -> Ascent:
    """Climb under one penalty after another, the user's own last."""
    n_iter = n_passes = 0
    for l2 in (level * likelihood.rows.row_weight for level in levels):
        if l2 > likelihood.l2:
            ascent = climber(likelihood.with_l2(l2), start, tol=ROUGH)
            start = ascent.parameters
            n_iter, n_passes = n_iter + ascent.n_iter, n_passes + ascent.n_passes
    ascent = climber(likelihood, start, tol=FINE)
    return replace(ascent, n_iter=n_iter + ascent.n_iter, n_passes=n_passes + ascent.n_passes)


def grow(likelihood: Likelihood, k: int, climber: Climber) -> Parameters:
    """Start with one component, and split the most promising one until there are k.

    Splitting v into v + e and v - e gains e' S e / 2 (:func:`split_matrices`): the leading
    eigenvector of S is the best direction for a split, and its eigenvalue measures the gain.
    """
    blunt = likelihood.with_l2(max(likelihood.l2, GROWTH * likelihood.rows.row_weight))
    parameters = Parameters.equal(np.zeros((1, len(likelihood.coordinates.of_rows))))
    parameters = climber(blunt, parameters, tol=ROUGH).parameters
    while len(parameters) < k:
        parameters = climber(blunt, split(blunt, parameters), tol=ROUGH).parameters
    return parameters


def split(likelihood: Likelihood, parameters: Parameters) -> Parameters:
    """Split the component that gains most."""
    last = len(likelihood.coordinates.of_rows) - 1
    pairs = [
        eigh(S - likelihood.penalty, subset_by_index=[last, last])
        for S in split_matrices(likelihood, parameters)
    ]
    c = int(np.argmax([eigenvalues[0] for eigenvalues, _ in pairs]))
    v, log_p = parameters.profiles, parameters.log_weights.copy()
    log_p[c] -= np.log(2)
    e = pairs[c][1][:, 0] * SPLIT * max(float(np.linalg.norm(v[c])), 1.0)
    e *= 1 if e[np.abs(e).argmax()] > 0 else -1
    profiles = np.vstack([v, v[c] - e])
    profiles[c] += e
    return Parameters(profiles, np.append(log_p, log_p[c]))


def random_start(likelihood: Likelihood, k: int, rng: np.random.RandomState) -> Parameters:
    """Draw profiles of random direction and equal weight, without intercepts."""
    profiles = rng.standard_normal((k, len(likelihood.coordinates.of_rows)))
    if likelihood.coordinates.intercept:
        profiles[:, -1] = 0
    profiles *= NORM / np.linalg.norm(profiles, axis=1, keepdims=True)
    return Parameters.equal(profiles)


def n_agreeing(starts: list[Start]) -> int:
    """Return how many starts reached the best maximum."""
    best = max(start.objective for start in starts)
    return sum(start.objective > best - ALIKE for start in starts)


def _best_first(maxima: list[Maximum]) -> list[Maximum]:
    return sorted(maxima, key=lambda one: -one.ascent.value)

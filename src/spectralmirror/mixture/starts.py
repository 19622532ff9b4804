"""Where to start: components grown one by one, and random ones, under a penalty that is relaxed.

The likelihood has many maxima, the more the sharper the classifiers are. A strong penalty keeps
them blunt and the surface smooth, so every start climbs at a few penalties in turn, each weaker
than the last (annealing). Starts are tried until the best maximum was reached several times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from spectralmirror.mixture.curvature import split_matrices
from spectralmirror.mixture.lbfgs import Ascent, Climber
from spectralmirror.mixture.likelihood import Likelihood, Parameters

__all__ = ["Found", "Start", "grow", "random_profiles", "relaxed", "search", "shake"]

#: Penalties l2 / n while a start climbs, strong to weak; those below the user's own are left out.
RELAXATION = (1.5e-4, 5e-5, 1.5e-5)
#: The one under which components are grown.
GROWTH = 5e-5
#: A step of a climb that is not the last gains at least so much, and of the last one.
ROUGH, FINE = 0.3, 0.01
#: Two maxima are the same if their values are this near.
ALIKE = 0.5
#: A component is split into two that lie this share of its length on either side.
SPLIT = 0.5
#: Penalties of the rounds in which each component is replaced, before the search ends in vain.
ROUNDS: tuple[tuple[float, ...], ...] = (RELAXATION[1:], RELAXATION[1:], (), ())
#: Length of random profiles, in whitened coordinates.
LENGTH = 5.0


@dataclass(frozen=True)
class Start:
    """One start, and where it led.

    Attributes
    ----------
    kind : str
        "grown", "grown in the subspace", "random", "one replaced" (of the best so far by a random
        component) or "given".
    objective : float
        The penalised log-likelihood that was reached (of the rows on which starts were compared).
    n_iter : int
        Steps that it took.
    """

    kind: str
    objective: float
    n_iter: int


@dataclass(frozen=True, eq=False)
class Found:
    """A maximum and the start that led there."""

    ascent: Ascent
    start: Start

    @classmethod
    def given(cls, likelihood: Likelihood, parameters: Parameters) -> Found:
        """Use a start as it is."""
        value = likelihood.evaluate(parameters)[0]
        return cls(Ascent(parameters, value, 0, 1, converged=False), Start("given", value, 0))


def search(
    likelihood: Likelihood,
    candidates: Iterator[tuple[str, Parameters]],
    climber: Climber,
    *,
    n_agree: int,
    max_iter: int,
    levels: tuple[float, ...] = (),
) -> list[Found]:
    """Climb from one candidate after the other until the best maximum was met `n_agree` times."""
    found: list[Found] = []
    for kind, start in candidates:
        ascent = relaxed(likelihood, start, climber, levels, FINE, max_iter)
        found.append(Found(ascent, Start(kind, ascent.value, ascent.n_iter)))
        best = max(one.ascent.value for one in found)
        if sum(one.ascent.value > best - ALIKE for one in found) >= n_agree:
            break
    return sorted(found, key=lambda one: -one.ascent.value)


def shake(
    likelihood: Likelihood,
    found: list[Found],
    climber: Climber,
    rng: np.random.RandomState,
    *,
    n_most: int,
    max_iter: int,
) -> list[Found]:
    """Replace one component of the best maximum by a random one, and climb again.

    The lightest component first, until each was replaced without any gain: twice with a relaxed
    penalty, and twice with the user's own, which leads to other maxima. A light component is
    easily stuck in a maximum of its own, which starts that agree with each other all share.
    """
    found, best, n_in_vain = list(found), found[0].ascent, 0
    for _ in range(n_most):
        k = len(best.parameters)
        n_round = n_in_vain // k
        if n_round == len(ROUNDS):
            break
        c = int(np.argsort(best.parameters.weights)[n_in_vain % k])
        profiles = best.parameters.profiles.copy()
        profiles[c] = random_profiles(likelihood, 1, rng).profiles[0]
        start = Parameters(profiles, best.parameters.logits)
        ascent = relaxed(likelihood, start, climber, ROUNDS[n_round], FINE, max_iter)
        found.append(Found(ascent, Start("one replaced", ascent.value, ascent.n_iter)))
        n_in_vain += 1
        if ascent.value > best.value + ALIKE:
            best, n_in_vain = ascent, 0
    return sorted(found, key=lambda one: -one.ascent.value)


def relaxed(
    likelihood: Likelihood,
    start: Parameters,
    climber: Climber,
    levels: tuple[float, ...],
    tol: float,
    max_iter: int,
) -> Ascent:
    """Climb under one penalty after the other, the user's own last."""
    n_iter = n_passes = 0
    for l2 in (level * likelihood.rows.row_weight for level in levels):
        if l2 > likelihood.l2:
            ascent = climber(likelihood.with_l2(l2), start, tol=ROUGH, max_iter=max_iter)
            start, n_iter, n_passes = (
                ascent.parameters,
                n_iter + ascent.n_iter,
                n_passes + ascent.n_passes,
            )
    ascent = climber(likelihood, start, tol=tol, max_iter=max_iter)
    return Ascent(
        ascent.parameters,
        ascent.value,
        n_iter + ascent.n_iter,
        n_passes + ascent.n_passes,
        ascent.converged,
    )


def grow(likelihood: Likelihood, k: int, climber: Climber, max_iter: int) -> Parameters:
    """Start with one component, and split the one that gains most until there are k.

    Splitting v into v + e and v - e gains e' S e / 2 (:func:`split_matrices`): the leading
    eigenvector of S is the best direction to split along, and its eigenvalue says how good it is.
    """
    blunt = likelihood.with_l2(max(likelihood.l2, GROWTH * likelihood.rows.row_weight))
    p = len(likelihood.coordinates.of_rows)
    parameters = Parameters.equal(np.zeros((1, p)))
    parameters = climber(blunt, parameters, tol=ROUGH, max_iter=max_iter).parameters
    while len(parameters) < k:
        parameters = split(blunt, parameters)
        parameters = climber(blunt, parameters, tol=ROUGH, max_iter=max_iter).parameters
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


def random_profiles(likelihood: Likelihood, k: int, rng: np.random.RandomState) -> Parameters:
    """Draw profiles of random directions and equal weights."""
    p = len(likelihood.coordinates.of_rows)
    profiles = rng.standard_normal((k, p))
    if likelihood.coordinates.intercept:
        profiles[:, -1] = 0
    profiles *= LENGTH / np.linalg.norm(profiles, axis=1, keepdims=True)
    return Parameters.equal(profiles)

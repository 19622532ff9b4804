"""What a start is, where it led, and how starts are made from components that were found before.

Components are grown one by one, split where the label residuals show the most structure. The
likelihood has many maxima, and more of them the sharper the classifiers are: a strong penalty keeps
classifiers blunt and the surface smooth, so some starts climb under decreasing penalties.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from spectralmirror.mixture.curvature import split_matrices
from spectralmirror.mixture.known import numbered
from spectralmirror.mixture.lbfgs import Ascent, Climber
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.operators import leading_splits
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.rows.progress import n_classes, step
from spectralmirror.rows.types import Vector

__all__ = [
    "ALIKE",
    "FINE",
    "RELAXATION",
    "ROUGH",
    "Maximum",
    "Start",
    "anneal",
    "grow",
    "independent",
    "multi_start",
    "n_agreeing",
    "random_start",
    "split",
]

#: Penalties l2 / n under which a grown start climbs, in turn; those below the user's own are left
#: out.
RELAXATION = (1.5e-4, 5e-5, 1.5e-5)
#: The penalty l2 / n under which components are grown.
GROWTH = 5e-5
#: Tolerances: a climb ends when its steps gain less, under a relaxed penalty and the user's own.
ROUGH, FINE = 0.3, 0.01
#: Two maxima count as the same if their values differ by less than this.
ALIKE = 0.5
#: A component is split into two, this share of its norm to either side.
SPLIT = 0.5
#: Norm of random profiles, in whitened coordinates.
NORM = 5.0


@dataclass(frozen=True)
class Start:
    """One start, and the maximum to which it led.

    Attributes
    ----------
    kind : str
        "grown", "grown in the subspace", "random", "partition", "few groups", "one group",
        "clusters", "lengths", "around", "annealed", "crossed" (a component of another maximum in
        place of one of the best maximum so far), "known" (fits of the groups whose class is
        known), "before" (what an earlier fit with as many
        components, or one fewer, has found) or "given". With a spread: "discrete" (the fit without
        one), "split" (a fit of fewer classes) or "drawn" (from the spread of a single class).
    objective : float
        The penalised log-likelihood that was reached, on the rows on which starts were compared,
        and with the nodes of that comparison if there is a spread.
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
        if len(start) > 1:
            step(f"{n_classes(len(start))}: start {len(maxima) + 1}")
        maxima.append(Maximum.of(kind, anneal(likelihood, start, climber, levels)))
        if n_agreeing([one.start for one in maxima]) >= n_agree:
            break
    return sorted(maxima, key=lambda one: -one.ascent.value)


def anneal(
    likelihood: Likelihood,
    start: Parameters,
    climber: Climber,
    levels: tuple[float, ...],
    beat: float = -np.inf,
) -> Ascent:
    """Climb under one penalty l2 / n after another, the user's own last."""
    n_iter = n_passes = 0
    start = numbered(likelihood, start)
    for l2 in (level * likelihood.rows.row_weight for level in levels):
        if l2 > likelihood.l2:
            ascent = climber(likelihood.with_l2(l2), start, tol=ROUGH)
            start = ascent.parameters
            n_iter, n_passes = n_iter + ascent.n_iter, n_passes + ascent.n_passes
    ascent = climber(likelihood, start, tol=FINE, beat=beat)
    return replace(ascent, n_iter=n_iter + ascent.n_iter, n_passes=n_passes + ascent.n_passes)


def grow(likelihood: Likelihood, k: int, climber: Climber) -> Parameters:
    """Start with one component, and split the most promising one until there are k.

    Splitting v into v + e and v - e gains e' S e / 2 (:func:`split_matrices`): the leading
    eigenvector of S is the best direction for a split, and its eigenvalue measures the gain.
    """
    blunt = likelihood.with_l2(max(likelihood.l2, GROWTH * likelihood.rows.row_weight))
    parameters = Parameters.equal(np.zeros((1, likelihood.profile_size)))
    parameters = climber(blunt, parameters, tol=ROUGH).parameters
    while len(parameters) < k:
        parameters = climber(blunt, split(blunt, parameters), tol=ROUGH).parameters
    return parameters


def split(likelihood: Likelihood, parameters: Parameters) -> Parameters:
    """Split the component that gains most."""
    if likelihood.coordinates.is_scaled:
        found = [leading_splits(likelihood, parameters, c) for c in range(len(parameters))]
        c = int(np.argmax([gains[0] for gains, _ in found]))
        return _divided(parameters, c, found[c][1][0])
    last, penalty = likelihood.profile_size - 1, likelihood.for_contrasts(likelihood.penalty)
    pairs = []
    for S in split_matrices(likelihood, parameters):
        gain = S - penalty
        if likelihood.constraints is not None:
            gain = likelihood.constraints.free_directions(gain)
        pairs.append(eigh(gain, subset_by_index=[last, last]))
    c = int(np.argmax([eigenvalues[0] for eigenvalues, _ in pairs]))
    return _divided(parameters, c, pairs[c][1][:, 0])


def _divided(parameters: Parameters, c: int, direction: Vector) -> Parameters:
    """Return component c in two, each with half of its weight, to either side."""
    v, log_p = parameters.profiles, parameters.log_weights.copy()
    log_p[c] -= np.log(2)
    e = direction * SPLIT * max(float(np.linalg.norm(v[c])), 1.0)
    e *= 1 if e[np.abs(e).argmax()] > 0 else -1
    profiles = np.vstack([v, v[c] - e])
    profiles[c] += e
    membership = np.vstack([parameters.membership, parameters.membership[c]])
    return Parameters(profiles, np.append(log_p, log_p[c]), parameters.spread, membership)


def random_start(likelihood: Likelihood, k: int, rng: np.random.RandomState) -> Parameters:
    """Draw profiles of random direction and equal weight, without intercepts."""
    profiles = rng.standard_normal((k * likelihood.n_contrasts, likelihood.coordinates.size))
    if likelihood.coordinates.intercept:
        profiles[:, -1] = 0
    profiles *= NORM / np.linalg.norm(profiles, axis=1, keepdims=True)
    return Parameters.equal(profiles.reshape(k, -1))


def independent(starts: list[Start]) -> list[Start]:
    """Return the starts that were not made from maxima found before."""
    return [start for start in starts if start.kind not in ("crossed", "before")]


def n_agreeing(starts: list[Start]) -> int:
    """Return how many starts reached the best maximum."""
    best = max(start.objective for start in starts)
    return sum(start.objective > best - ALIKE for start in starts)

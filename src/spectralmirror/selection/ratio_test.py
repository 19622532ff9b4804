"""The bootstrap likelihood-ratio test of k - 1 classes against k.

The statistic is a modified likelihood ratio (Chen, Chen and Kalbfleisch 2001). With

    Q_k(theta) = log-likelihood - l2/2 sum_l v_l' P v_l + c sum_l log(k p_l),

it is T = 2 (max Q_k - Q_k(theta_0)), where theta_0 is the maximum of Q_(k-1) with one class counted
as two halves: the likelihood of k - 1 classes among k, so that T is never negative. The prior of
the weights keeps classes of a few rows, which fit these exactly, from deciding the test; neither it
nor l2 depends on the labels, so that data and resamples are treated alike.

T is not chi-squared: theta_0 is no regular point. Its distribution is simulated instead: labels are
drawn from the fitted k - 1 classes, for the same features, groups and weights (McLachlan 1987). The
p-value is (1 + the number of resamples with T as large) / (1 + the number of resamples).

With a spread, k - 1 and k classes have one of the same kind, both with the first penalty of its
entries, and each group of a resample has a profile of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import cycle
from typing import Any

import numpy as np
from scipy.linalg import eigh

from spectralmirror.mixture.curvature import split_matrices
from spectralmirror.mixture.evidence import CONCENTRATION
from spectralmirror.mixture.kinds import CYCLE, KINDS, Ground
from spectralmirror.mixture.lbfgs import Ascent, climb
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.operators import leading_splits
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.spread_start import stretched
from spectralmirror.mixture.starts import FINE, SPLIT
from spectralmirror.mixture.wide_search import WIDE_CYCLE
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.reduce import one_blas_thread
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.selection.simulation import Simulator, in_order, with_labels

__all__ = ["ENOUGH", "RatioTest", "p_value", "ratio_test"]

#: With a spread, each resample takes seconds, and a test ends when so many have reached T: the
#: p-value stays valid (Besag and Clifford 1991).
ENOUGH = 10

#: The search for k classes ends when so many starts agree, within these bounds.
N_AGREE, LEAST_STARTS, MOST_STARTS = 3, 5, 30
#: Two maxima agree if their values differ by less than this.
ALIKE = 0.05
#: The last climbs end at steps that gain less than this.
EXACT = 1e-4
#: Directions in which each class is split, and the shares of the smaller part.
N_DIRECTIONS, SHARES = 2, (0.5, 0.2)

CLIMB = partial(climb, max_iter=500)


@dataclass(frozen=True, eq=False)
class Maxima:
    """The maxima for k - 1 and k classes, and T."""

    null: Ascent
    more: Ascent
    statistic: float


@dataclass(frozen=True, eq=False)
class RatioTest:
    """The test of k - 1 classes against k, before any resample.

    Attributes
    ----------
    rows : InMemoryGroups
        The rows, in working coordinates.
    null, more : Likelihood
        Of k - 1 and of k classes; processes to which this is sent get them without rows.
    observed : Maxima
        Of the data.
    seed : int
        Resample b is drawn with (seed, k, b), however many there are.
    """

    rows: InMemoryGroups
    null: Likelihood
    more: Likelihood
    observed: Maxima
    seed: int

    @property
    def k(self) -> int:
        """The larger number of classes."""
        return len(self.observed.more.parameters)

    def resampled(self, numbers: range) -> Vector:
        """Return T of some of the resamples."""
        with one_blas_thread():
            return np.array([self.resample(b).statistic for b in numbers])

    def resample(self, b: int) -> Maxima:
        """Return the maxima of resample b."""
        rng = np.random.default_rng([self.seed, self.k, b])
        y = self._simulator.labels(rng)
        null, more = (
            with_labels(replace(one, rows=self.rows), y) for one in (self.null, self.more)
        )
        starts = np.random.RandomState(rng.integers(2**32, size=4))
        fits = self.observed.null.parameters, self.observed.more.parameters
        return maxima(null, more, *fits, starts)

    @cached_property
    def _simulator(self) -> Simulator:
        null = replace(self.null, rows=self.rows)
        return Simulator(null, self.observed.null.parameters)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_simulator"}


def p_value(statistic: float, resampled: Vector) -> float:
    """Return the Monte-Carlo p-value, which is valid for any number of resamples."""
    return float((1 + np.sum(resampled >= statistic)) / (1 + len(resampled)))


def ratio_test(
    null: Likelihood, more: Likelihood, of_null: Parameters, of_more: Parameters, seed: int
) -> RatioTest:
    """Return the test, given fits of k - 1 and k classes from which to climb.

    The likelihoods are of rows in memory, in the same coordinates.
    """
    more = in_order(replace(more, concentration=CONCENTRATION))
    null = replace(null, concentration=CONCENTRATION, rows=more.rows, coordinates=more.coordinates)
    starts = np.random.RandomState(
        np.random.default_rng([seed, len(of_more)]).integers(2**32, size=4)
    )
    observed = maxima(null, more, of_null, of_more, starts)
    rows = more.rows
    assert isinstance(rows, InMemoryGroups)
    return RatioTest(rows, null, more, observed, seed)


def maxima(
    null: Likelihood,
    more: Likelihood,
    of_null: Parameters,
    of_more: Parameters,
    rng: np.random.RandomState,
) -> Maxima:
    """Maximise Q_(k-1) and Q_k, both with the same effort for data and resamples.

    If the best k classes without one of them lead to better k - 1 classes, these take the place of
    those that were found from the start.
    """
    below = CLIMB(null, of_null, tol=EXACT)
    best = _search(more, below.parameters, of_more, rng)
    for _ in range(len(of_more)):
        better = _without_one(null, best, below)
        if better is below:
            break
        below = better
        again = _search(more, below.parameters, best.parameters, rng)
        best = max(best, again, key=lambda one: one.value)
    base = below.value - null.log_prior(below.parameters) + _halved_prior(more, below.parameters)
    return Maxima(below, best, 2 * max(best.value - base, 0.0))


def _search(
    more: Likelihood, below: Parameters, given: Parameters, rng: np.random.RandomState
) -> Ascent:
    """Climb from one start after another until several agree."""
    found: list[Ascent] = []
    best = -np.inf
    for start in _starts(more, below, given, rng):
        found.append(CLIMB(more, start, tol=FINE, beat=best))
        best = max(best, found[-1].value)
        n_agree = sum(one.value > best - ALIKE for one in found)
        if len(found) >= MOST_STARTS or (n_agree >= N_AGREE and len(found) >= LEAST_STARTS):
            break
    top = max(found, key=lambda one: one.value)
    return CLIMB(more, top.parameters, tol=EXACT)


def _starts(
    more: Likelihood, below: Parameters, given: Parameters, rng: np.random.RandomState
) -> Iterator[Parameters]:
    """Yield the given start, splits of the classes of k - 1, and starts of other kinds."""
    yield given
    yield from splits(more, below)
    ground = Ground(replace(more, spread=None), len(given), CLIMB, rng)
    for kind in cycle(WIDE_CYCLE if more.coordinates.is_scaled else CYCLE):
        start = KINDS[kind](ground)
        yield start if more.spread is None else stretched(more, start, below.spread)


def splits(more: Likelihood, below: Parameters) -> list[Parameters]:
    """Return starts in which one class is split, the most promising first.

    Splitting v into v + 2 (1 - a) e and v - 2 a e, of shares a and 1 - a, gains 2 a (1 - a) e' S e
    (:func:`split_matrices`).
    """
    found = []
    for c, (gains, directions) in enumerate(_directions(more, below)):
        size = SPLIT * max(float(np.linalg.norm(below.profiles[c])), 1.0)
        for value, e in zip(gains, directions, strict=True):
            for a in SHARES:
                for sign in (1.0,) if a == SHARES[0] else (1.0, -1.0):
                    gain = 4 * a * (1 - a) * value
                    found.append((gain, _split(below, c, sign * size * e, a)))
    found.sort(key=lambda one: -one[0])
    return [start for _, start in found]


def _directions(more: Likelihood, below: Parameters) -> Iterator[tuple[Vector, Matrix]]:
    """Yield the best gains of splitting each class, and their directions in lines."""
    if more.coordinates.is_scaled:
        for c in range(len(below)):
            yield leading_splits(more, below, c, N_DIRECTIONS)
        return
    for S in split_matrices(more, below):
        gains = S - more.for_contrasts(more.penalty)
        if more.constraints is not None:
            gains = more.constraints.free_directions(gains)
        eigenvalues, vectors = eigh(gains)
        yield eigenvalues[::-1][:N_DIRECTIONS], vectors.T[::-1][:N_DIRECTIONS]


def _split(below: Parameters, c: int, e: Vector, a: float) -> Parameters:
    """Split class c into parts of shares a and 1 - a."""
    log_p = np.append(below.log_weights, below.log_weights[c] + np.log(1 - a))
    log_p[c] += np.log(a)
    profiles = np.vstack([below.profiles, below.profiles[c] - 2 * a * e])
    profiles[c] += 2 * (1 - a) * e
    membership = np.vstack([below.membership, below.membership[c]])
    return Parameters(profiles, log_p, below.spread, membership)


def _without_one(null: Likelihood, best: Ascent, below: Ascent) -> Ascent:
    """Return better k - 1 classes, if the best k without one of them lead there."""
    k = len(best.parameters)
    if k == 2:  # a single class has only one maximum
        return below
    for c in range(k):
        start = best.parameters[np.delete(np.arange(k), c)]
        found = CLIMB(null, start, tol=FINE, beat=below.value + ALIKE)
        if found.value > below.value + ALIKE:
            return CLIMB(null, found.parameters, tol=EXACT)
    return below


def _halved_prior(more: Likelihood, below: Parameters) -> float:
    """Return the largest log prior of k - 1 classes of which one counts as two halves."""
    zero = np.zeros(below.profiles.shape[1])
    return max(more.log_prior(_split(below, c, zero, 0.5)) for c in range(len(below)))

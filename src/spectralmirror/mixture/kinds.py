"""Starts of different kinds.

Starts of one kind tend to fail together, so that their agreement says little. Starts of these kinds
fail for different reasons: some fit a classifier to each part of a random or clustered partition of
the groups, some to a few groups only, some draw profiles at random, around 0 or around the single
classifier that fits all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from spectralmirror.mixture.group_scores import class_scores
from spectralmirror.mixture.known import known_classes
from spectralmirror.mixture.lbfgs import Climber
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.starts import ROUGH
from spectralmirror.rows.grouped import Block, InMemoryGroups
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["CYCLE", "KINDS", "Ground", "from_known"]

#: Penalties of a classifier that is fitted to a part of the groups, and to a few groups only.
PART_L2, FEW_L2 = 0.3, 1.0
#: The same for its intercept, which might be infinite otherwise.
INTERCEPT_L2 = 0.1
#: "Few groups" have about this many rows per coefficient.
FEW_ROWS = 3.0
#: Norms of random profiles, in whitened coordinates.
LENGTHS = (0.5, 1.0, 2.0, 5.0)
#: Scores of groups are clustered after their coordinates were stretched by factors in this range.
STRETCH = (0.3, 1.7)


@dataclass(frozen=True, eq=False)
class Ground:
    """What starts are made from.

    Attributes
    ----------
    likelihood : Likelihood
        Of rows in memory.
    k : int
        Number of components.
    climber : Climber
        How to climb.
    rng : RandomState
        Source of randomness.
    """

    likelihood: Likelihood
    k: int
    climber: Climber
    rng: np.random.RandomState

    @property
    def groups(self) -> InMemoryGroups:
        """The rows, in groups."""
        return cast(InMemoryGroups, self.likelihood.rows)

    @property
    def alone(self) -> Likelihood:
        """The likelihood of a single classifier, to which all groups belong."""
        return replace(self.likelihood, membership=None)

    @property
    def p(self) -> int:
        """Number of entries of a profile."""
        return self.likelihood.profile_size

    @cached_property
    def single(self) -> Vector:
        """The profile of the single classifier that fits all rows."""
        start = Parameters.equal(np.zeros((1, self.p)))
        return np.asarray(self.climber(self.alone, start, tol=ROUGH).parameters.profiles[0])

    @cached_property
    def scores(self) -> Matrix:
        """The slope of each group's log-likelihood at the single classifier, per root of rows."""
        single = Parameters.equal(self.single[None])

        def of(block: Block) -> Matrix:
            if self.likelihood.labels is not None:
                posterior = self.alone.posterior(block, single)
                found = class_scores(self.alone, single, block, posterior)[0][0]
                return np.asarray((found / np.sqrt(block.sizes)).T)
            slopes = self.alone.posterior(block, single).slopes[0] * block.y
            Z = self.likelihood.working(block)
            return (block.sums((Z * slopes[:, None]).T) / np.sqrt(block.sizes)).T

        return collect(self.groups, of)

    def fitted(self, groups: NDArray[np.intp], l2: float) -> Vector:
        """Return the profile of a single classifier fitted to some of the groups."""
        old, l2 = self.likelihood.coordinates, max(l2, self.likelihood.l2)
        precision = old.precision.copy()
        if old.intercept:
            precision[-1, -1] = INTERCEPT_L2 / l2
        part = replace(
            self.alone,
            rows=self.groups.take(groups),
            coordinates=replace(old, precision=precision),
            l2=l2,
        )
        start = Parameters.equal(self.single[None])
        return np.asarray(self.climber(part, start, tol=ROUGH).parameters.profiles[0])

    def directions(self, lengths: Vector, spread: float = 1.0) -> Matrix:
        """Draw profiles of random direction and given lengths, with intercepts of some spread."""
        m = self.likelihood.n_contrasts
        V = self.rng.standard_normal((self.k * m, self.p // m))
        last = self.rng.standard_normal(self.k * m)
        if self.likelihood.coordinates.intercept:
            V[:, -1] = 0
        V *= np.repeat(lengths, m)[:, None] / np.linalg.norm(V, axis=1, keepdims=True)
        if self.likelihood.coordinates.intercept:
            V[:, -1] = spread * last
        return V.reshape(self.k, -1)


def partition(ground: Ground) -> Parameters:
    """Fit a classifier to each part of a random partition of the groups."""
    labels = ground.rng.randint(ground.k, size=ground.groups.n_groups)
    known = known_classes(ground.likelihood)
    return _by_label(ground, np.where(known < 0, labels, known))


def from_known(ground: Ground) -> Parameters:
    """Fit a classifier to the groups that are known to belong to each class."""
    return _by_label(ground, known_classes(ground.likelihood))


def clusters(ground: Ground) -> Parameters:
    """Fit a classifier to each cluster of groups with similar scores."""
    scores = ground.scores * ground.rng.uniform(*STRETCH, size=ground.p)
    k = min(ground.k, len(np.unique(scores, axis=0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an empty cluster is as good as no cluster
        labels = kmeans2(scores, k, minit="++", seed=ground.rng)[1]
    return _by_label(ground, labels)


def few_groups(ground: Ground, rows_per_coefficient: float = FEW_ROWS) -> Parameters:
    """Fit each classifier to a few groups of its own."""
    order = ground.rng.permutation(ground.groups.n_groups)
    ends = np.cumsum(ground.groups.sizes[order])
    parts, first = [], 0
    for c in range(ground.k):
        before = ends[first - 1] if first else 0
        last = int(np.searchsorted(ends, before + rows_per_coefficient * ground.p)) + 1
        last = min(last, max((c + 1) * len(order) // ground.k, first + 1), len(order))
        parts.append(order[min(first, last - 1) : last])
        first = last
    return Parameters.equal(np.array([ground.fitted(part, FEW_L2) for part in parts]))


def one_group(ground: Ground) -> Parameters:
    """Fit each classifier to one group, or to as many rows as it has coefficients."""
    return few_groups(ground, 0.5 if ground.groups.is_grouped else 1.0)


def lengths(ground: Ground) -> Parameters:
    """Draw profiles of random directions and lengths, and random intercepts."""
    return Parameters.equal(ground.directions(ground.rng.choice(LENGTHS, size=ground.k)))


def around(ground: Ground) -> Parameters:
    """Draw profiles around the single classifier that fits all rows."""
    length = ground.rng.choice(LENGTHS)
    drawn = ground.directions(np.full(ground.k, length), min(length, 2.0))
    return Parameters.equal(ground.single + drawn)


KINDS: dict[str, Callable[[Ground], Parameters]] = {
    "partition": partition,
    "few groups": few_groups,
    "one group": one_group,
    "clusters": clusters,
    "lengths": lengths,
    "around": around,
    "annealed": around,  # climbs under decreasing penalties
}
#: The order in which kinds take turns. Those that are annealed do best.
CYCLE = (
    "partition", "annealed", "few groups", "lengths", "annealed", "clusters", "around", "one group",
)  # fmt: skip


def _by_label(ground: Ground, labels: NDArray[np.intp]) -> Parameters:
    """Fit a classifier to the groups of each label."""
    parts = [np.flatnonzero(labels == c) for c in range(ground.k)]
    profiles = [ground.fitted(part, PART_L2) if len(part) else ground.single for part in parts]
    sizes = np.array([max(len(part), 1) for part in parts])
    return Parameters(np.array(profiles), np.log(sizes))

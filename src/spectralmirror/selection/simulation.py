"""Labels drawn from a mixture, for the rows and groups of a likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.search import prepared
from spectralmirror.rows.grouped import Block, InMemoryGroups
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["Simulator", "frequencies_repeated", "in_order", "with_labels"]


@dataclass(frozen=True, eq=False)
class Simulator:
    """Draws labels for given features and groups.

    Attributes
    ----------
    likelihood : Likelihood
        Of rows in memory, in the order in which they are read.
    parameters : Parameters
        The mixture to draw from.
    """

    likelihood: Likelihood
    parameters: Parameters

    def labels(self, rng: np.random.Generator) -> Vector:
        """Draw a class for each group, and a label for each row.

        Labels are -1 or +1, or 0, ..., C - 1 if there are more kinds. Of the rows of a choice set,
        one is chosen: that with the largest score plus a Gumbel variable (McFadden 1974); and so is
        one of more than two labels. With a spread, each group has a profile of its own.
        """
        rows = self.rows
        u = rng.random(rows.n_groups)
        classes = (u > self._cumulated[:-1]).sum(axis=0)
        t = self._scores[np.repeat(classes, rows.sizes), :, np.arange(len(self._scores[0, 0]))].T
        if self.likelihood.spread is not None:
            t = t + self._steps(rng)
        if self.likelihood.labels is not None:
            t = np.vstack([np.zeros(t.shape[1]), t])
            return np.asarray(np.argmax(t + rng.gumbel(size=t.shape), axis=0), dtype=np.float64)
        t = t[0]
        if self._set_starts is None:
            return np.where(rng.random(len(t)) < self.likelihood.response.f(t), 1.0, -1.0)
        t = t + rng.gumbel(size=len(t))
        sizes = np.diff(self._set_starts, append=len(t))
        largest = np.repeat(np.maximum.reduceat(t, self._set_starts), sizes)
        return np.where(t == largest, 1.0, -1.0)

    @property
    def rows(self) -> InMemoryGroups:
        """The rows."""
        return cast(InMemoryGroups, self.likelihood.rows)

    @cached_property
    def _scores(self) -> AnyArray:
        """Scores of each class, shape (k, C - 1, n), C = 2 for binary labels and choice sets."""
        V = self.parameters.profiles
        found = collect(self.rows, lambda block: self.likelihood.scores_of(block, V).T).T
        return found.reshape(len(V), self.likelihood.n_contrasts, -1)

    def _steps(self, rng: np.random.Generator) -> Matrix:
        """Draw z ~ N(0, I) for each group, and return what B z adds to scores, (C - 1, n)."""
        root = self.likelihood.of_spread(self.parameters)
        own = rng.standard_normal((self.rows.n_groups, root.shape[1])) @ root.T
        own = own.reshape(len(own), self.likelihood.n_contrasts, -1)
        of_rows = np.repeat(own, self.rows.sizes, axis=0)
        return np.asarray(np.einsum("np,ncp->cn", self._working, of_rows))

    @cached_property
    def _working(self) -> Matrix:
        """Z of all rows."""
        return collect(self.rows, self.likelihood.working)

    @cached_property
    def _cumulated(self) -> Matrix:
        """p_1 + ... + p_l for each group, shape (k, n_groups)."""
        k, alone = len(self.parameters), replace(self.likelihood, spread=None)

        def of(block: Block) -> Matrix:
            p = np.exp(alone.log_weights(block, self.parameters))
            return np.broadcast_to(p, (k, len(block.group_traits))).T

        return collect(self.rows, of).T.cumsum(axis=0)

    @cached_property
    def _set_starts(self) -> NDArray[np.intp] | None:
        sets = self.rows.rows.sets
        return None if sets is None else np.flatnonzero(np.append(True, sets[1:] != sets[:-1]))


def in_order(likelihood: Likelihood) -> Likelihood:
    """Return the likelihood of rows that are stored in the order in which they are read.

    They hold their working coordinates if these take little memory.
    """
    found = prepared(likelihood)
    if found is not likelihood:
        return found
    rows = cast(InMemoryGroups, likelihood.rows)
    return replace(likelihood, rows=rows.take(np.arange(rows.n_groups)))


def with_labels(likelihood: Likelihood, y: Vector) -> Likelihood:
    """Return the likelihood of the same rows with other labels."""
    rows = cast(InMemoryGroups, likelihood.rows)
    return replace(likelihood, rows=replace(rows, rows=replace(rows.rows, y=y)))


def frequencies_repeated(rows: InMemoryGroups) -> InMemoryGroups:
    """Return rows in which a group of an integer weight w is repeated w times.

    Such a group stands for w groups, whose labels are drawn independently. Other weights stay: they
    make some groups more important.
    """
    weight = rows.rows.weight
    if weight is None or rows.rows.has_fractions:
        return rows
    weight = weight[rows.present_index()].astype(np.int64)
    starts = np.arange(rows.n_groups) if rows.starts is None else rows.starts
    if not (np.repeat(weight[starts], rows.sizes) == weight).all():
        return rows
    repeated = rows.take(np.repeat(np.arange(rows.n_groups), weight[starts]))
    columns = replace(repeated.rows, weight=None)
    return replace(repeated, rows=columns, trait_columns=rows.trait_columns)

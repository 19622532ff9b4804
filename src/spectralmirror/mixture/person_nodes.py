"""Nodes of each person's own, over which a fit of rows in memory integrates.

Nodes that all persons share (:mod:`spread`) are far from most persons where these have many labels
or many coefficients vary. Here the nodes of person g in class l lie around the centre m of the
posterior of z given the person's labels (:mod:`persons`), at some parameters close to those to be
found:

    z_r = m + L zeta_r,   L L' = H^-1, a little wider,

with weights w_r phi(z_r) |L| / phi(zeta_r). They stay where they are while parameters move. In one
or two dimensions, zeta_r are those of an adaptive quadrature. In more, persons have one of several
sets of Sobol points, so that their errors do not add up. Which one depends on the person's features
and labels alone: the order of the rows and the names of the persons do not matter, and two persons
of the same rows count as much as one of twice the weight.

How sums over rows and nodes are computed is the business of :mod:`person_pieces`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from spectralmirror.mixture.labels import Labels
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.person_pieces import PersonPiece, padded_sizes, piece_slices
from spectralmirror.mixture.persons import centres_of, wider
from spectralmirror.mixture.spread import node_sets, quadrature
from spectralmirror.rows.grouped import Block, GroupedRows, InMemoryGroups
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = [
    "PersonNodes",
    "PersonRows",
    "may_have_person_nodes",
    "of_classes",
    "shared",
    "with_person_nodes",
]

#: Number of sets of nodes.
N_SETS = 64
#: Nodes of the quadrature of one dimension, and for each of two.
ONE, TWO = 15, 9
#: A hash of a person is the fractional part of so many times a number of order 1 to 100.
SPREAD_OUT = 10.0
#: Rows times classes up to which fits of rows in memory have such nodes.
MOST_ROWS = 100_000
#: Nodes are stored if they take no more numbers than this.
STORED = 10_000_000


@dataclass(frozen=True, eq=False)
class PersonNodes:
    """Where the nodes of all persons are.

    Attributes
    ----------
    modes : ndarray of shape (k, n_persons, q)
        m.
    covariances, roots : ndarray of shape (k, n_persons, q, q)
        H^-1, and L.
    sets : ndarray of shape (n_sets, q, R)
        zeta_r of each set.
    log_weights : ndarray of shape (R,)
        log w_r.
    working : callable
        Block -> working coordinates of its rows.
    """

    modes: AnyArray
    covariances: AnyArray
    roots: AnyArray
    sets: AnyArray
    log_weights: Vector
    working: Callable[[Block], Matrix]

    def of_classes(self, classes: NDArray[np.intp]) -> PersonNodes:
        """Return the nodes in some of the classes."""
        parts = self.modes[classes], self.covariances[classes], self.roots[classes]
        return replace(self, modes=parts[0], covariances=parts[1], roots=parts[2])

    def of_persons(self, persons: NDArray[np.intp]) -> PersonNodes:
        """Return the nodes of some of the persons."""
        parts = self.modes[:, persons], self.covariances[:, persons], self.roots[:, persons]
        return replace(self, modes=parts[0], covariances=parts[1], roots=parts[2])

    def pieces(self, block: Block, first: int, of_set: NDArray[np.intp]) -> Iterator[Block]:
        """Yield parts of a block, whose first person has a number, with their nodes."""
        width = len(self.modes) * self.sets.shape[2]
        stored = self.modes.size * self.sets.shape[2] <= STORED
        for persons in piece_slices(padded_sizes(block.sizes), width):
            here = slice(first + persons.start, first + persons.stop)
            part = block.part(persons)
            yield replace(part, nodes=self._piece(part, here, of_set[here], stored=stored))

    def _piece(
        self, block: Block, here: slice, of_set: NDArray[np.intp], *, stored: bool
    ) -> PersonPiece:
        """Return the rows of a block and the nodes of its persons, side by side."""
        G, s, shares = len(block.sizes), int(padded_sizes(block.sizes).max()), block.shares[1]
        offset = np.arange(G) * s - block.first_rows
        place = np.arange(len(block)) + np.repeat(offset, block.sizes)

        def padded(values: AnyArray) -> AnyArray:
            found = np.zeros((G * s, *values.shape[1:]))
            found[place] = values
            return found.reshape(G, s, *values.shape[1:])

        return PersonPiece(
            padded(self.working(block)), padded(block.y),
            None if shares is None else padded(shares), self.modes[:, here], self.roots[:, here],
            self.sets, of_set, self._log_ratios(here, of_set), stored,
        )  # fmt: skip

    def _log_ratios(self, here: slice, of_set: NDArray[np.intp]) -> AnyArray:
        """Return log w_r phi(z_r) |L| / phi(zeta_r), shape (k, n_persons, R)."""
        zeta, L, m = self.sets[of_set], self.roots[:, here], self.modes[:, here]
        found = np.log(np.diagonal(L, axis1=2, axis2=3)).sum(axis=2)[:, :, None]
        found = found + self.log_weights + 0.5 * np.square(zeta).sum(axis=1)
        for c in range(len(m)):
            found[c] -= 0.5 * np.square(L[c] @ zeta + m[c][:, :, None]).sum(axis=1)
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class PersonRows(InMemoryGroups):
    """Rows in memory whose blocks bring the nodes of their persons, if they have any.

    Persons are sorted by their numbers of rows.

    Attributes
    ----------
    of_set : ndarray of shape (n_persons,)
        The set of nodes of each person.
    placed : PersonNodes or None
        Where their nodes are.
    """

    of_set: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    placed: PersonNodes | None = None

    def centre(self, of_class: int, persons: slice) -> tuple[Matrix, AnyArray] | None:
        """Return m and H^-1 of some persons in a class; None if they are not known."""
        if self.placed is None or of_class >= len(self.placed.modes):
            return None
        return self.placed.modes[of_class, persons], self.placed.covariances[of_class, persons]

    def take(self, groups: NDArray[Any]) -> InMemoryGroups:
        """Return some of the persons with their nodes."""
        taken = super().take(groups)
        return replace(
            self, rows=taken.rows, order=taken.order, starts=taken.starts,
            of_set=self.of_set[groups],
            placed=None if self.placed is None else self.placed.of_persons(groups),
        )  # fmt: skip

    def blocks(self, factor: int = 1) -> Iterator[Block]:
        """Yield whole groups, in blocks of `factor` times the usual number of rows.

        With nodes, they are of another size, and stay the same in all passes.
        """
        yield from super().blocks(factor) if self.placed is None else self._pieces

    @cached_property
    def _pieces(self) -> list[Block]:
        assert self.placed is not None
        first = 0
        found: list[Block] = []
        for block in super().blocks():
            found += self.placed.pieces(block, first, self.of_set)
            first += len(block.sizes)
        return found


def may_have_person_nodes(likelihood: Likelihood, k: int) -> bool:
    """Return whether a fit of k classes can have them: few rows in memory, binary labels."""
    rows = likelihood.rows
    few = rows.in_memory and rows.n_present * k <= MOST_ROWS
    binary = likelihood.labels is None and few and rows.rows.sets is None
    return bool(likelihood.spread is not None and binary)


def with_person_nodes(
    likelihood: Likelihood, parameters: Parameters, n_nodes: int, seed: int
) -> Likelihood:
    """Return the likelihood with nodes around each person's posterior at some parameters."""
    assert likelihood.spread is not None
    root = likelihood.of_spread(parameters)
    sets, log_weights = _sets(root.shape[1], n_nodes, seed)
    rows = _by_size(likelihood, len(sets))
    modes, covariances, first = [], [], 0
    for block in replace(rows, placed=None).blocks():
        t = likelihood.scores(block.X, parameters.profiles)
        W = likelihood.working(block) @ root
        y = block.y.astype(np.float64)
        labels = Labels(y, likelihood.response, shares=block.shares[1])
        here = slice(first, first + len(block.sizes))
        near = [rows.centre(c, here) for c in range(len(t))]
        found = [
            centres_of(one, W, block.first_rows, labels, before)
            for one, before in zip(t, near, strict=True)
        ]
        modes.append(np.stack([m for m, _ in found]))
        covariances.append(np.stack([C for _, C in found]))
        first = here.stop
    m, C = np.concatenate(modes, axis=1), np.concatenate(covariances, axis=1)
    roots = wider(root.shape[1]) * np.linalg.cholesky(C)
    placed = PersonNodes(m, C, roots, sets, log_weights, likelihood.working)
    return replace(likelihood, rows=replace(rows, placed=placed))


def of_classes(rows: GroupedRows, classes: NDArray[np.intp]) -> PersonRows:
    """Return the rows with the nodes of some of the classes."""
    found = cast(PersonRows, rows)
    assert found.placed is not None
    return replace(found, placed=found.placed.of_classes(classes))


def shared(rows: GroupedRows) -> PersonRows:
    """Return the rows without nodes of their own."""
    return replace(cast(PersonRows, rows), placed=None)


def _by_size(likelihood: Likelihood, n_sets: int) -> PersonRows:
    """Return the rows with the persons of fewest rows first, and the sets of nodes of persons.

    The set is a hash of |sum_i y_i (c_0 + sum_j c_j x_ij)|, x per standard deviation.
    """
    rows = cast(InMemoryGroups, likelihood.rows)
    if isinstance(rows, PersonRows):
        return replace(rows, of_set=rows.of_set % n_sets)
    c = np.sqrt(np.arange(2, 2 + likelihood.coordinates.from_standard.shape[1]))

    def hashed(block: Block) -> Vector:
        X = likelihood.working(block) @ likelihood.coordinates.from_standard
        found = np.abs(block.sums(block.y * (1 + X @ c)))
        return np.asarray(np.floor(n_sets * (SPREAD_OUT * found % 1)))

    numbers = collect(rows, hashed).astype(np.intp)
    order = np.argsort(padded_sizes(rows.sizes), kind="stable")
    taken = rows.take(order)
    return PersonRows(
        taken.rows, taken.order, taken.starts, rows.trait_columns, of_set=numbers[order]
    )


@lru_cache(maxsize=16)
def _sets(q: int, n_nodes: int, seed: int) -> tuple[AnyArray, Vector]:
    """Return the sets of nodes, shape (n_sets, q, R), and log w_r."""
    if q <= 2:
        nodes, log_weights = quadrature(q, ONE if q == 1 else TWO)
        return nodes.T[None].copy(), log_weights
    sets, log_weights = node_sets(q, n_nodes, seed, N_SETS)
    return np.ascontiguousarray(sets.swapaxes(1, 2)), log_weights

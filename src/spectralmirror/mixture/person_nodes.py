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

A person's scores are t_il + W_i z_r = t_il + W_i m + (W_i L) zeta_r, W_i = B' x_i: one product of
matrices for all persons of a set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from spectralmirror.mixture.labels import Labels
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.persons import centres_of, wider
from spectralmirror.mixture.spread import nodes_of, quadrature
from spectralmirror.rows.grouped import Block, GroupedRows, InMemoryGroups
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["PersonNodes", "PersonRows", "may_have_person_nodes", "of_classes", "with_person_nodes"]

#: Number of sets of nodes.
N_SETS = 16
#: Nodes of the quadrature of one dimension, and for each of two.
ONE, TWO = 15, 9
#: A hash of a person is the fractional part of so many times a number of order 1 to 100.
SPREAD_OUT = 10.0
#: Numbers that a temporary of a piece holds.
PIECE = 60_000
#: Rows times classes up to which fits of rows in memory have such nodes.
MOST_ROWS = 100_000
NodeSets = tuple[tuple[Matrix, Vector], ...]


@dataclass(frozen=True, eq=False)
class PersonNodes:
    """The nodes of some persons, all with the same zeta.

    Attributes
    ----------
    modes : ndarray of shape (k, n_persons, q)
        m.
    roots : ndarray of shape (k, n_persons, q, q)
        L.
    zeta : ndarray of shape (R, q)
        zeta_r.
    log_weights : ndarray of shape (R,)
        log w_r.
    """

    modes: AnyArray
    roots: AnyArray
    zeta: Matrix
    log_weights: Vector

    def steps(self, W: Matrix, numbers: NDArray[np.intp]) -> AnyArray:
        """Return W_i z_r, shape (k, R, n), for rows of the persons `numbers`."""
        modes, roots = self.modes[:, numbers], self.roots[:, numbers]
        along = np.einsum("nq,knqp->kpn", W, roots)
        return np.asarray(self.zeta @ along + np.einsum("nq,knq->kn", W, modes)[:, None])

    def pulled(self, of_class: int, g: Matrix, numbers: NDArray[np.intp]) -> Matrix:
        """Return sum_r g_ri z_r, shape (q, n), for one class and g of shape (R, n)."""
        modes, roots = self.modes[of_class][numbers], self.roots[of_class][numbers]
        found = np.einsum("nqp,pn->qn", roots, self.zeta.T @ g)
        return np.asarray(found + modes.T * g.sum(axis=0))

    def log_ratios(self) -> AnyArray:
        """Return log w_r phi(z_r) |L| / phi(zeta_r), shape (k, R, n_persons).

        |z_r|^2 = |m|^2 + 2 (L'm)' zeta_r + zeta_r' L'L zeta_r.
        """
        m, L, zeta = self.modes, self.roots, self.zeta
        linear = np.einsum("kgqp,kgq->kgp", L, m)
        square = (L.swapaxes(2, 3) @ L).reshape(*L.shape[:2], -1)
        pairs = (zeta[:, :, None] * zeta[:, None]).reshape(len(zeta), -1)
        found = zeta @ linear.swapaxes(1, 2) + 0.5 * (pairs @ square.swapaxes(1, 2))
        sizes = np.log(np.diagonal(L, axis1=2, axis2=3)).sum(axis=2)
        level = sizes - 0.5 * np.square(m).sum(axis=2)
        of_nodes = self.log_weights + 0.5 * np.square(zeta).sum(axis=1)
        return np.asarray(level[:, None] - found + of_nodes[:, None])

    def places(self) -> AnyArray:
        """Return z_r, shape (k, R, n_persons, q)."""
        steps = self.roots @ self.zeta.T  # (k, n_persons, q, R)
        return np.asarray(self.modes[:, None] + steps.transpose(0, 3, 1, 2))


@dataclass(frozen=True, eq=False)
class PersonRows(InMemoryGroups):
    """Rows in memory whose blocks bring the nodes of their persons.

    Persons with the same set of nodes follow each other.

    Attributes
    ----------
    modes, roots
        As in :class:`PersonNodes`, of all persons.
    covariances : ndarray of shape (k, n_persons, q, q)
        H^-1.
    sets : tuple of (ndarray of shape (R, q), ndarray of shape (R,))
        zeta_r and log w_r of each set.
    ends : ndarray of shape (n_sets,)
        Number of the person at which each set ends.
    """

    modes: AnyArray | None = None
    roots: AnyArray | None = None
    covariances: AnyArray | None = None
    sets: NodeSets = ()
    ends: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def centre(self, of_class: int, persons: slice) -> tuple[Matrix, AnyArray] | None:
        """Return m and H^-1 of some persons in a class; None if they are not known."""
        if self.modes is None or self.covariances is None or of_class >= len(self.modes):
            return None
        return self.modes[of_class, persons], self.covariances[of_class, persons]

    def blocks(self, factor: int = 1) -> Iterator[Block]:
        """Yield whole groups, in blocks of `factor` times the usual number of rows."""
        first = 0
        for block in super().blocks(factor):
            if self.modes is None or self.roots is None:
                yield block
                continue
            here = slice(first, first + len(block.sizes))
            nodes = BlockNodes(
                self.modes[:, here], self.roots[:, here], self.sets, self.ends - first
            )
            yield replace(block, nodes=nodes)
            first = here.stop


@dataclass(frozen=True, eq=False)
class BlockNodes:
    """The nodes of a block of persons with several sets of zeta.

    Attributes
    ----------
    modes, roots
        As in :class:`PersonNodes`.
    sets
        As in :class:`PersonRows`.
    ends : ndarray
        The number of the person, counted from the first of the block, at which each set ends.
    """

    modes: AnyArray
    roots: AnyArray
    sets: NodeSets
    ends: NDArray[np.intp]

    def pieces(self, block: Block) -> Iterator[Block]:
        """Yield persons that share their zeta, in pieces of about `PIECE` temporaries."""
        assert block.starts is not None
        n_rows = PIECE // (len(self.modes) * len(self.sets[0][0]))
        ends, first = np.append(block.starts[1:], len(block)), 0
        for one, beyond in zip(self.sets, self.ends.clip(0, len(ends)), strict=True):
            while first < beyond:
                last = np.searchsorted(ends, block.starts[first] + n_rows, side="right")
                here = slice(first, min(max(int(last), first + 1), int(beyond)))
                nodes = PersonNodes(self.modes[:, here], self.roots[:, here], *one)
                yield replace(block.part(here), nodes=nodes)
                first = here.stop


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
    sets = _sets(root.shape[1], n_nodes, seed)
    rows = _by_set(likelihood, len(sets))
    modes, covariances, first = [], [], 0
    for block in replace(rows, modes=None).blocks():
        t = likelihood.scores(block.X, parameters.profiles)
        W = likelihood.working(block) @ root
        y = block.y.astype(np.float64)
        labels = Labels(y, likelihood.response, shares=block.shares[1])
        assert block.starts is not None
        here = slice(first, first + len(block.sizes))
        near = [rows.centre(c, here) for c in range(len(t))]
        found = [
            centres_of(one, W, block.starts, labels, before)
            for one, before in zip(t, near, strict=True)
        ]
        modes.append(np.stack([m for m, _ in found]))
        covariances.append(np.stack([C for _, C in found]))
        first = here.stop
    m, C = np.concatenate(modes, axis=1), np.concatenate(covariances, axis=1)
    roots = wider(root.shape[1]) * np.linalg.cholesky(C)
    return replace(likelihood, rows=replace(rows, modes=m, covariances=C, roots=roots, sets=sets))


def of_classes(rows: GroupedRows, classes: NDArray[np.intp]) -> PersonRows:
    """Return the rows with the nodes of some of the classes."""
    found = cast(PersonRows, rows)
    columns = {name: getattr(found, name)[classes] for name in ("modes", "roots", "covariances")}
    return replace(found, **columns)


def _by_set(likelihood: Likelihood, n_sets: int) -> PersonRows:
    """Return the rows with the persons of the first set first, then those of the second, ...

    The set is a hash of |sum_i y_i (c_0 + sum_j c_j x_ij)|, x per standard deviation.
    """
    rows = cast(InMemoryGroups, likelihood.rows)
    if getattr(rows, "modes", None) is not None:
        return cast(PersonRows, rows)
    c = np.sqrt(np.arange(2, 2 + likelihood.coordinates.from_standard.shape[1]))

    def hashed(block: Block) -> Vector:
        X = likelihood.working(block) @ likelihood.coordinates.from_standard
        found = np.abs(block.sums(block.y * (1 + X @ c)))
        return np.asarray(np.floor(n_sets * (SPREAD_OUT * found % 1)))

    numbers = collect(rows, hashed).astype(np.intp)
    taken = rows.take(np.argsort(numbers, kind="stable"))
    ends = np.cumsum(np.bincount(numbers, minlength=n_sets))
    return PersonRows(taken.rows, taken.order, taken.starts, rows.trait_columns, ends=ends)


@lru_cache(maxsize=16)
def _sets(q: int, n_nodes: int, seed: int) -> NodeSets:
    if q <= 2:
        return (quadrature(q, ONE if q == 1 else TWO),)
    return tuple(nodes_of(q, n_nodes, seed + number) for number in range(N_SETS))

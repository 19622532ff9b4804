"""What the labels of a person say about their class and about their place in its spread.

A person of class l has the scores t_il + W_i z, where t_il are those of the class, W_i = B' x_i,
and z ~ N(0, I). The posterior of z,

    log P(z | labels, l) = sum_i log f(y_i (t_il + W_i z)) - |z|^2 / 2 + const,

is log-concave. Integrals are sums over nodes z_r = m + H^(-1/2) zeta_r, weighted by the ratio of
the posterior and the normal distribution N(m, H^-1) from which they come: an adaptive quadrature,
or importance sampling in more than two dimensions. It is as precise for a hundred labels as for
one.

In one or two dimensions, m is the maximum and H the curvature there, found by Newton's method. A
person whose labels all agree has a skew posterior, of which the curvature at the maximum sees the
steep side only. In more dimensions, N(m, H^-1) is therefore the normal distribution that is closest
to the posterior (in the sense of variational inference): the gradient and H, averaged over it, are
0 and H.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from spectralmirror.mixture.labels import Labels
from spectralmirror.mixture.spread import nodes_of
from spectralmirror.responses import Response
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["Persons", "batches", "centres_of", "wider"]

#: Number of nodes in more than two dimensions, and their seed.
N_NODES, SEED = 256, 7
#: Nodes are spread out a little, so that the tails of the posterior are reached: over so many times
#: the volume.
WIDER = 1.4
#: Newton's method ends when the squared length of its steps, in standard deviations, is below this.
SETTLED = 1e-12
MOST_STEPS, MOST_HALVINGS = 50, 10
#: The closest normal distribution has been found when they are below this, after so many steps at
#: most. Without that, if they are as long as a standard deviation, the maximum has to do.
CLOSE, FEW_STEPS = 1e-3, 12
#: Numbers that one batch of persons may hold at a time.
BATCH = 2_000_000


@dataclass(frozen=True, eq=False)
class Persons:
    """The posterior of some persons.

    Attributes
    ----------
    log_likelihood : ndarray of shape (n_persons, k)
        log P(labels | class l).
    nodes : ndarray of shape (n_persons, k, R, q)
        z_r.
    weights : ndarray of shape (n_persons, k, R)
        Their probabilities given the labels and the class, which sum to 1 over R.
    """

    log_likelihood: Matrix
    nodes: AnyArray
    weights: AnyArray

    @staticmethod
    def width(q: int, n_nodes: int = N_NODES) -> int:
        """Return how many numbers a row of q dimensions needs."""
        return len(_nodes(q, n_nodes, SEED)[0]) * max(q, 1)

    @classmethod
    def of(
        cls,
        t: Matrix,
        W: Matrix,
        labels: Labels,
        starts: NDArray[np.intp],
        n_nodes: int = N_NODES,
        seed: int = SEED,
    ) -> Persons:
        """Return the posterior from rows that are sorted by person.

        Parameters
        ----------
        t : ndarray of shape (n, k)
            t_il.
        W : ndarray of shape (n, q)
            W_i.
        labels : Labels
            Their labels.
        starts : ndarray of shape (n_persons,)
            First row of each person.
        n_nodes, seed : int
            Number of nodes in more than two dimensions, and their seed.
        """
        rule = _nodes(W.shape[1], n_nodes, seed)
        found = [_of_class(one, W, starts, labels, rule) for one in t.T]
        return cls(*(np.stack(parts, axis=1) for parts in zip(*found, strict=True)))

    def expected(self, t: Matrix, W: Matrix, who: NDArray[np.intp], response: Response) -> Matrix:
        """Return E[f(t_il + W_i z)] for rows of the persons `who`, shape (n, k)."""
        scores = self.scores(t, W, who)
        return np.asarray((response.f(scores) * self.weights[who]).sum(axis=2))

    def scores(self, t: Matrix, W: Matrix, who: NDArray[np.intp]) -> AnyArray:
        """Return t_il + W_i z for rows of the persons `who`, shape (n, k, R)."""
        steps = np.einsum("nq,nkrq->nkr", W, self.nodes[who], optimize=True)
        return np.asarray(t[:, :, None] + steps)

    def moments(self) -> tuple[AnyArray, AnyArray]:
        """Return the mean of z in each class, (n_persons, k, q), and its second moments."""
        mean = np.einsum("gkr,gkrq->gkq", self.weights, self.nodes)
        weighted = self.nodes * self.weights[..., None]
        return mean, weighted.swapaxes(2, 3) @ self.nodes


def _of_class(
    t: Vector, W: Matrix, starts: NDArray[np.intp], labels: Labels, rule: tuple[Matrix, Vector]
) -> tuple[Vector, AnyArray, AnyArray]:
    """Return the log-likelihood, nodes and weights of all persons in one class."""
    sizes, q = np.diff(starts, append=len(t)), W.shape[1]
    mode, C = centres_of(t, W, starts, labels)
    zeta, log_w = rule
    root = wider(q) * np.linalg.cholesky(C)
    z = mode[:, None] + zeta @ root.swapaxes(1, 2)
    scores = t[:, None] + np.einsum("nq,nrq->nr", W, np.repeat(z, sizes, axis=0), optimize=True)
    joint = np.add.reduceat(labels.log_f(scores.T), starts, axis=1).T
    joint -= 0.5 * np.square(z).sum(axis=2)
    # less the log density of the nodes; (2 pi)^(q/2) cancels with that of the prior
    joint += 0.5 * np.square(zeta).sum(axis=1) + log_w
    joint += np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)[:, None]
    total = logsumexp(joint, axis=1)
    return total, z, np.exp(joint - total[:, None])


def wider(q: int) -> float:
    """Return how much nodes are spread out in each of q dimensions; not in a quadrature."""
    return float(WIDER ** (1 / q)) if q > 2 else 1.0


def centres_of(
    t: Vector,
    W: Matrix,
    starts: NDArray[np.intp],
    labels: Labels,
    near: tuple[Matrix, AnyArray] | None = None,
) -> tuple[Matrix, AnyArray]:
    """Return m and H^-1 of each person; those at similar parameters may be given."""
    q = W.shape[1]
    if labels.sets is not None:
        return _modes(t, W, starts, labels)
    if near is None:
        near = np.zeros((len(starts), q)), np.tile(np.eye(q), (len(starts), 1, 1))
    m, C, found = _closest(t, W, starts, labels, near)
    if not found.all():
        rows, some = _of_persons(~found, starts, len(t))
        one = t[rows], W[rows], some, labels[rows]
        mode = _modes(*one)
        again, of_again, found_again = _closest(*one, mode)
        again[~found_again], of_again[~found_again] = (x[~found_again] for x in mode)
        m[~found], C[~found] = again, of_again
    return m, C


def _of_persons(
    chosen: NDArray[np.bool_], starts: NDArray[np.intp], n: int
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return which of n rows are those of some persons, and where these begin among them."""
    sizes = np.diff(starts, append=n)
    left = sizes[chosen]
    return np.repeat(chosen, sizes), np.cumsum(left) - left


def _closest(
    t: Vector,
    W: Matrix,
    starts: NDArray[np.intp],
    labels: Labels,
    near: tuple[Matrix, AnyArray],
) -> tuple[Matrix, AnyArray, NDArray[np.bool_]]:
    """Return the closest normal distribution of each person, and whether it was found.

    Persons whose steps are short enough are left out of the steps that follow.
    """
    m, C = near[0].copy(), near[1].copy()
    squares, moving = np.full(len(m), np.inf), np.arange(len(m))
    for _ in range(FEW_STEPS):
        sizes = np.diff(starts, append=len(t))
        along = (W[:, None] @ np.repeat(C[moving], sizes, axis=0))[:, 0]
        scores = t + np.einsum("nq,nq->n", W, np.repeat(m[moving], sizes, axis=0))
        variances = np.einsum("nq,nq->n", along, W)
        gradient, curvature = labels.derivatives(scores, W, starts, variances)
        gradient -= m[moving]
        C[moving] = np.linalg.inv(np.eye(W.shape[1]) + curvature)
        step = (C[moving] @ gradient[:, :, None])[:, :, 0]
        squares[moving] = (step * gradient).sum(axis=1)
        m[moving] += step
        left = ~(squares[moving] < CLOSE)
        if not left.any():
            break
        rows, starts = _of_persons(left, starts, len(t))
        t, W, labels, moving = t[rows], W[rows], labels[rows], moving[left]
    return m, C, squares < 1


def _modes(
    t: Vector, W: Matrix, starts: NDArray[np.intp], labels: Labels
) -> tuple[Matrix, AnyArray]:
    """Return the maximum m of each person's posterior, and H^-1."""
    sizes, q = np.diff(starts, append=len(t)), W.shape[1]

    def scores(z: Matrix) -> Vector:
        return np.asarray(t + np.einsum("nq,nq->n", W, np.repeat(z, sizes, axis=0)))

    def height(z: Matrix) -> Vector:
        found = np.add.reduceat(labels.log_f(scores(z)[None])[0], starts)
        return np.asarray(found - 0.5 * np.square(z).sum(axis=1))

    z = np.zeros((len(starts), q))
    now = height(z)
    for _ in range(MOST_STEPS):
        gradient, curvature = labels.derivatives(scores(z), W, starts)
        gradient, H = gradient - z, np.eye(q) + curvature
        step = np.linalg.solve(H, gradient[:, :, None])[:, :, 0]
        if (step * gradient).sum(axis=1).max() < SETTLED:
            break
        for _ in range(MOST_HALVINGS):
            worse = height(z + step) < now - 1e-9 * np.abs(now)
            if not worse.any():
                break
            step[worse] /= 2
        z = z + step
        now = height(z)
    return z, np.asarray(np.linalg.inv(H))


@lru_cache(maxsize=64)
def _nodes(q: int, n_nodes: int, seed: int) -> tuple[Matrix, Vector]:
    return nodes_of(q, n_nodes, seed)


def batches(sizes: NDArray[np.intp], width: int) -> Iterator[slice]:
    """Yield slices of consecutive persons whose rows, `width` numbers each, are about `BATCH`."""
    ends, first = np.cumsum(sizes), 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        last = int(np.searchsorted(ends, before + BATCH // width, side="right"))
        yield slice(first, max(last, first + 1))
        first = max(last, first + 1)

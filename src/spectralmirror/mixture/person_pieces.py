"""Persons of about equally many rows, side by side: sums over their rows and nodes.

A piece holds G persons of s rows each; persons of fewer rows have empty ones, whose labels have
probability 1. With the working coordinates x_i of the rows, the scores of all rows of a person at
all of their nodes z_r are one product of small matrices,

    t_ir = <v, x_i> + <W_i, z_r>,   W_i = B' F' x_i,

so that arrays of shape (G, s, R) take the place of rows and blocks. Everything that does not depend
on the parameters is computed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spectralmirror.mixture.parameters import Posterior
from spectralmirror.responses import Response
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["PersonPiece", "PersonPosterior", "padded_sizes", "piece_slices"]

#: Numbers that one temporary of a piece holds.
PIECE = 40_000
#: Second derivatives take so many numbers at a time.
SECOND = 400_000
#: A score that makes a label certain: f(EMPTY) is 1.
EMPTY = 1e4
#: The logistic f is evaluated without logarithms only above -FURTHEST: it underflows below -700.
FURTHEST, LOG_2 = 600.0, 0.7


@dataclass(frozen=True, eq=False)
class PersonPosterior(Posterior):
    """The posterior of the classes and of the nodes of persons.

    `responsibilities` are those of the classes, shape (k, G); `signed` and `slopes` have the shape
    (k, G, s, R).

    Attributes
    ----------
    weights : ndarray of shape (k, G, R)
        Posterior probabilities of class and node.
    """

    weights: AnyArray


@dataclass(frozen=True, eq=False)
class PersonPiece:
    """Some persons, with their rows and nodes.

    Attributes
    ----------
    X : ndarray of shape (G, s, p)
        Working coordinates of the rows; 0 in empty rows.
    y : ndarray of shape (G, s)
        Labels of -1 and +1; 0 in empty rows.
    shares : ndarray of shape (G, s) or None
        w_i / w_G; None means 1.
    modes : ndarray of shape (k, G, q)
        m.
    roots : ndarray of shape (k, G, q, q)
        L.
    sets : ndarray of shape (n_sets, q, R)
        zeta_r of all sets.
    of_set : ndarray of shape (G,)
        The set of each person.
    log_ratios : ndarray of shape (k, G, R)
        log w_r phi(z_r) |L| / phi(zeta_r).
    stored : bool
        Whether nodes are stored, or computed in every pass.
    """

    X: AnyArray
    y: Matrix
    shares: Matrix | None
    modes: AnyArray
    roots: AnyArray
    sets: AnyArray
    of_set: NDArray[np.intp]
    log_ratios: AnyArray
    stored: bool

    def nodes(self, of_class: int) -> AnyArray:
        """Return [z_r, 1] of each person in a class, shape (G, q + 1, R)."""
        return self._all_nodes[of_class] if self.stored else self._nodes(of_class)

    @cached_property
    def _all_nodes(self) -> list[AnyArray]:
        return [self._nodes(c) for c in range(len(self.modes))]

    def _nodes(self, of_class: int) -> AnyArray:
        modes, R = self.modes[of_class], self.sets.shape[2]
        found = np.ones((len(modes), modes.shape[1] + 1, R))
        found[:, :-1] = self.roots[of_class] @ self.sets[self.of_set]
        found[:, :-1] += modes[:, :, None]
        return found

    @cached_property
    def _empty(self) -> NDArray[np.bool_] | None:
        empty = self.y == 0
        return empty if empty.any() else None

    @cached_property
    def _shares_y(self) -> Matrix:
        return self.y if self.shares is None else self.y * self.shares

    def posterior(
        self, profiles: Matrix, B: Matrix, log_weights: Matrix, response: Response
    ) -> PersonPosterior:
        """Return the posterior at profiles v_l and F B; the weights have shape (k, G) or (k, 1)."""
        signed = self._signed(profiles, B)
        furthest, s = -float(signed.min(initial=0)), self.y.shape[1]
        simple = response.canonical and self.shares is None
        if simple and furthest < FURTHEST and (furthest + LOG_2) * s < FURTHEST:
            # the logarithm of a product that does not overflow, not a sum of logarithms
            slopes = np.exp(-signed)
            slopes += 1
            log_f = -np.log(np.multiply.reduce(slopes, axis=2))
            np.divide(-1, slopes, out=slopes)
            slopes += 1
        else:
            log_f, slopes = response.log_f(signed), response.slope(signed)
            if self.shares is not None:
                log_f *= self.shares[:, :, None]
            log_f = log_f.sum(axis=2)
        joint = log_f + self.log_ratios
        joint += log_weights[:, :, None]
        largest = joint.max(axis=(0, 2))
        joint -= largest[:, None]
        np.exp(joint, out=joint)
        of_classes = joint.sum(axis=2)
        total = of_classes.sum(axis=0)
        joint /= total[:, None]
        return PersonPosterior(
            largest + np.log(total), of_classes / total, signed, slopes, weights=joint
        )

    def _signed(self, profiles: Matrix, B: Matrix) -> AnyArray:
        """Return y t of all classes, shape (k, G, s, R)."""
        G, s, p = self.X.shape
        X, q = self.X.reshape(G * s, p), B.shape[1]
        lines = np.empty((G, s, q + 1))
        W = (X @ B).reshape(G, s, q)
        np.multiply(W, self.y[:, :, None], out=lines[:, :, :q])
        found = np.empty((len(profiles), G, s, self.sets.shape[2]))
        for c, v in enumerate(profiles):
            np.multiply((X @ v).reshape(G, s), self.y, out=lines[:, :, q])
            if self._empty is not None:
                lines[self._empty, q] = EMPTY
            np.matmul(lines, self.nodes(c), out=found[c])
        return found

    def pulls(self, posterior: PersonPosterior, of_class: int) -> AnyArray:
        """Return sum_r g_ir [z_r, 1] of each row, g = r y (log f)'; shape (G, s, q + 1)."""
        g = posterior.slopes[of_class] * posterior.weights[of_class][:, None]
        found = g @ self.nodes(of_class).swapaxes(1, 2)
        found *= self._shares_y[:, :, None]
        return np.asarray(found)

    def gradient(self, posterior: PersonPosterior, w: Vector | None) -> tuple[Matrix, Matrix]:
        """Return the gradients in the profiles, (k, p), and in F B, (p, q), of all persons."""
        X = self.X.reshape(-1, self.X.shape[2])
        of_spread = np.zeros((X.shape[1], self.modes.shape[2]))
        profiles = np.empty((len(posterior.weights), X.shape[1]))
        for c in range(len(profiles)):
            pulls = self.pulls(posterior, c)
            if w is not None:
                pulls *= w[:, None, None]
            both = X.T @ pulls.reshape(len(X), -1)
            profiles[c] = both[:, -1]
            of_spread += both[:, :-1]
        return profiles, of_spread

    def class_scores(self, posterior: PersonPosterior, of_class: int) -> tuple[Matrix, AnyArray]:
        """Return the same of each person and one class, shapes (p, G) and (G, p, q)."""
        both = self.X.swapaxes(1, 2) @ self.pulls(posterior, of_class)
        return both[:, :, -1].T, both[:, :, :-1]

    def second_of_rows(
        self, posterior: PersonPosterior, of_class: int, response: Response, w: Vector | None
    ) -> Matrix:
        """Return sum_i x_i x_i' (x) A_i, A_i = sum_r r_r (log f)'' [z_r, 1] [z_r, 1]'.

        The shape is (p^2, (q + 1)^2).
        """
        h = response.curvature(posterior.signed[of_class], posterior.slopes[of_class])
        weights = posterior.weights[of_class]
        h = h * (weights if w is None else weights * w[:, None])[:, None]
        if self.shares is not None:
            h *= self.shares[:, :, None]
        z, (G, _, p) = self.nodes(of_class), self.X.shape
        above, right = np.triu_indices(z.shape[1])
        over, beside = np.triu_indices(p)
        half, step = 0.0, max(SECOND // (len(above) * z.shape[2]), 1)
        for first in range(0, G, step):
            here = slice(first, first + step)
            A = h[here] @ (z[here, above] * z[here, right]).swapaxes(1, 2)
            X = self.X[here].reshape(-1, p)
            half = half + (X[:, over] * X[:, beside]).T @ A.reshape(len(X), -1)
        found = np.empty((p, p, z.shape[1], z.shape[1]))
        for i, j in ((over, beside), (beside, over)):
            found[i[:, None], j[:, None], above, right] = half
            found[i[:, None], j[:, None], right, above] = half
        return found.reshape(p * p, -1)

    def scores_at_nodes(self, posterior: PersonPosterior, of_class: int) -> AnyArray:
        """Return sum_i y_i (log f)' x_i of each person at each node, shape (G, p, R)."""
        rows = self.X * self._shares_y[:, :, None]
        return np.asarray(rows.swapaxes(1, 2) @ posterior.slopes[of_class])


def padded_sizes(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return numbers of rows that persons of these sizes can share: at most a quarter more."""
    step = np.maximum(2 ** (np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.intp) - 3.0), 1)
    return np.asarray((np.ceil(sizes / step) * step).astype(np.intp))


def piece_slices(sizes: NDArray[np.intp], width: int) -> Iterator[slice]:
    """Yield consecutive persons of equal size, whose rows hold about `PIECE` numbers."""
    changes = np.flatnonzero(np.diff(sizes)) + 1
    for first, last in zip(np.append(0, changes), np.append(changes, len(sizes)), strict=True):
        n_persons = max(PIECE // (width * int(sizes[first])), 1)
        n_pieces = -(-(last - first) // n_persons)
        ends = np.linspace(first, last, n_pieces + 1).astype(int)
        yield from map(slice, ends[:-1].tolist(), ends[1:].tolist())

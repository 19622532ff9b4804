"""Likelihoods, predictions and profiles of persons, for rows of any number of persons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from spectralmirror.mixture.labels import Labels
from spectralmirror.mixture.persons import N_NODES, SEED, Persons, batches
from spectralmirror.responses import Response
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["History", "PersonModel", "PersonProfiles"]


class PersonProfiles(NamedTuple):
    """What is known about persons from their labels.

    Attributes
    ----------
    groups : ndarray of shape (n_persons,)
        The persons, sorted.
    coef : ndarray of shape (n_persons, n_features)
        Posterior mean of each person's profile, in the units of X.
    coef_standard_deviation : ndarray of shape (n_persons, n_features)
        Posterior standard deviation of its entries.
    intercept : ndarray of shape (n_persons,)
        Posterior mean of the intercept.
    intercept_standard_deviation : ndarray of shape (n_persons,)
        Its posterior standard deviation.
    """

    groups: NDArray[Any]
    coef: Matrix
    coef_standard_deviation: Matrix
    intercept: Vector
    intercept_standard_deviation: Vector


class History(NamedTuple):
    """Labelled rows of persons: features, labels, and the number of each row's person."""

    X: Any
    labels: Labels
    numbers: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PersonModel:
    """A fitted mixture, as far as persons need it.

    Attributes
    ----------
    scores : callable
        X -> t of shape (n, k) and W of shape (n, q), as in :mod:`persons`.
    log_weights : ndarray of shape (n_persons, k) or (1, k)
        Logarithms of the weights of the classes, for each person or for all.
    response : Response
        f.
    n_scores : int
        How many scores a row has: one, or one for each of C > 2 labels, which are then alternatives
        of a choice set; t and W have a line for each.
    n_nodes, seed : int
        Number of nodes of each person in more than two dimensions, and their seed.
    """

    scores: Callable[[Any], tuple[Matrix, Matrix]]
    log_weights: Matrix
    response: Response
    n_scores: int = 1
    n_nodes: int = N_NODES
    seed: int = SEED

    def log_f_of_rows(self, t: Matrix, W: Matrix) -> Matrix:
        """Return log E f(t + W z), each row for a person of whom nothing is known."""
        found = self.response.averaged(t, np.linalg.norm(W, axis=1)[:, None])
        return np.asarray(np.log(np.maximum(found, np.finfo(np.float64).tiny)))

    def log_likelihood(self, history: History) -> Matrix:
        """Return log P(labels | class l) of each person, shape (n_persons, k)."""
        return np.vstack([persons.log_likelihood for _, persons in self._persons(history)])

    def _persons(self, history: History) -> Iterator[tuple[slice, Persons]]:
        """Yield batches of persons, by their numbers, and their posteriors."""
        order = np.argsort(history.numbers, kind="stable")
        sizes = np.bincount(history.numbers)
        ends = np.cumsum(sizes)
        q = self.scores(history.X[:1])[1].shape[1]
        for here in batches(sizes * self.n_scores, Persons.width(q, self.n_nodes)):
            begin = ends[here.start] - sizes[here.start]
            rows = order[begin : ends[here.stop - 1]]
            t, W = self.scores(history.X[rows])
            starts = (ends - sizes)[here] - begin
            labels = history.labels[rows]
            if self.n_scores > 1:
                labels, starts = labels.as_sets(), starts * self.n_scores
            yield here, Persons.of(t, W, labels, starts, self.n_nodes, self.seed)

    def probabilities(self, X: Any, numbers: NDArray[np.int64], history: History) -> Matrix:
        """Return P(y = -1) and P(y = +1) for rows of persons with a history, shape (n, 2).

        With more than two labels, there is a column for each.
        """
        if self.n_scores > 1:
            return self._label_probabilities(X, numbers, history)
        found = np.empty((len(numbers), 2))
        for here, persons in self._persons(history):
            of_classes = self._of_classes(here, persons)
            asked = np.flatnonzero((numbers >= here.start) & (numbers < here.stop))
            for rows in self._pieces(asked, persons):
                who = numbers[rows] - here.start
                t, W = self.scores(X[rows])
                # the less likely label: the other one has the rest, without loss of precision
                rare = np.where((t * of_classes[who]).sum(axis=1) > 0, -1.0, 1.0)
                expected = persons.expected(
                    rare[:, None] * t, rare[:, None] * W, who, self.response
                )
                p = np.minimum((expected * of_classes[who]).sum(axis=1), 1.0)
                found[rows, (rare > 0).astype(np.intp)] = p
                found[rows, (rare < 0).astype(np.intp)] = 1 - p
        return np.minimum(found, 1.0)

    def _label_probabilities(self, X: Any, numbers: NDArray[np.int64], history: History) -> Matrix:
        C = self.n_scores
        found = np.empty((len(numbers), C))
        for here, persons in self._persons(history):
            of_classes = self._of_classes(here, persons)
            asked = np.flatnonzero((numbers >= here.start) & (numbers < here.stop))
            for rows in self._pieces(asked, persons):
                who = numbers[rows] - here.start
                t, W = self.scores(X[rows])
                scores = persons.scores(t, W, np.repeat(who, C))
                pi = softmax(scores.reshape(len(rows), C, *scores.shape[1:]), axis=1)
                expected = (pi * persons.weights[who][:, None]).sum(axis=3)
                found[rows] = (expected * of_classes[who][:, None]).sum(axis=2)
        return np.minimum(found, 1.0)

    def choices(self, X: Any, numbers: NDArray[np.intp], asked: Labels, history: History) -> Vector:
        """Return the probability that each row is chosen from its set, by persons with a history.

        `numbers` are the persons of the rows, and `asked` says which rows are a set.
        """
        found = np.zeros(len(numbers))
        for here, persons in self._persons(history):
            of_classes = self._of_classes(here, persons)
            rows = np.flatnonzero((numbers >= here.start) & (numbers < here.stop))
            sets = asked[rows]
            if not len(rows):
                continue
            ends = np.append(sets.set_starts, len(rows))
            for part in batches(np.diff(ends), persons.weights[0].size):
                piece = slice(ends[part.start], ends[part.stop])
                who = numbers[rows[piece]] - here.start
                t, W = self.scores(X[rows[piece]])
                scores, weights = persons.scores(t, W, who), persons.weights[who]
                for c, p in enumerate(of_classes[who].T):
                    pi = sets[piece].probabilities(scores[:, c].T).T
                    found[rows[piece]] += p * (pi * weights[:, c]).sum(axis=1)
        return found

    def _of_classes(self, here: slice, persons: Persons) -> Matrix:
        """Return the posterior of the classes of a batch of persons."""
        log_p = self.log_weights if len(self.log_weights) == 1 else self.log_weights[here]
        return np.asarray(softmax(persons.log_likelihood + log_p, axis=1))

    def _pieces(self, rows: NDArray[np.intp], persons: Persons) -> Iterator[NDArray[np.intp]]:
        """Yield parts of the rows that need as much memory as one batch of persons."""
        width = persons.nodes[0].size
        for part in batches(np.full(len(rows), self.n_scores), width):
            yield rows[part]

    def moments(self, history: History, coef: Matrix, spread: Matrix) -> tuple[Matrix, Matrix]:
        """Return posterior means and standard deviations of coefficients u_l + B z.

        `coef` has shape (k, m) and `spread` (m, q); both results have shape (n_persons, m).
        """
        means, deviations = [], []
        for here, persons in self._persons(history):
            of_classes = self._of_classes(here, persons)
            z, zz = persons.moments()
            shift = z @ spread.T  # (n_persons, k, m)
            mean = np.einsum("gk,gkm->gm", of_classes, coef + shift)
            within = np.einsum("mq,gkqp,mp->gkm", spread, zz, spread, optimize=True)
            # E[(u_l - mean + B z)^2] class by class, not a difference of large numbers
            apart = coef - mean[:, None]
            square = np.einsum("gk,gkm->gm", of_classes, within + 2 * apart * shift + apart**2)
            means.append(mean)
            deviations.append(np.sqrt(np.maximum(square, 0)))
        return np.vstack(means), np.vstack(deviations)

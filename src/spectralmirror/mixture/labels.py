"""Labels of rows, as functions of their scores: binary, of several kinds, or choices from sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from spectralmirror.mixture.choice_sets import choice_probabilities, log_chosen
from spectralmirror.responses import Response
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["Labels"]


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of rows.

    Attributes
    ----------
    signs : ndarray of shape (n,)
        -1 and +1; of a choice set, the chosen row has +1. With more than two labels, their numbers.
    response : Response
        f, of binary labels.
    sets : ndarray of shape (n,) or None
        The number of each row's choice set, rows of a set together; None if labels are binary.
    shares : ndarray of shape (n,) or None
        Weights of the rows within their person; None means 1.
    n_labels : int
        Number of labels. If there are more than two, each class has as many scores.
    """

    signs: Vector
    response: Response
    sets: NDArray[np.intp] | None = None
    shares: Vector | None = None
    n_labels: int = 2

    def __len__(self) -> int:
        return len(self.signs)

    def __getitem__(self, rows: Any) -> Labels:
        sets, shares = (
            None if column is None else column[rows] for column in (self.sets, self.shares)
        )
        return Labels(self.signs[rows], self.response, sets, shares, self.n_labels)

    @cached_property
    def set_starts(self) -> NDArray[np.intp]:
        """First row of each choice set."""
        assert self.sets is not None
        return np.flatnonzero(np.append(True, self.sets[1:] != self.sets[:-1]))

    def as_sets(self) -> Labels:
        """Return labels of more than two kinds as choices among all labels of a row.

        Each row becomes a set of `n_labels` rows.
        """
        C, n = self.n_labels, len(self)
        chosen = np.arange(C) == np.asarray(self.signs)[:, None]
        shares = None if self.shares is None else np.repeat(self.shares, C)
        sets = np.repeat(np.arange(n), C)
        return Labels(np.where(chosen, 1.0, -1.0).ravel(), self.response, sets, shares, C)

    def log_f(self, scores: Matrix) -> Matrix:
        """Return log P of each label for scores of shape (R, n); 0 for rows not chosen."""
        if self.sets is None and self.n_labels > 2:
            t = scores.reshape(-1, self.n_labels, len(self))
            chosen = self.signs.astype(np.intp)[None, None]
            log_total = logsumexp(t, axis=1)
            found = np.asarray(np.take_along_axis(t, chosen, axis=1)[:, 0] - log_total)
        elif self.sets is None:
            found = np.asarray(self.response.log_f(self.signs * scores))
        else:
            found = log_chosen(scores, self.signs, self.set_starts)
        return found if self.shares is None else found * self.shares

    def probabilities(self, scores: Matrix) -> Matrix:
        """Return the probability that each row is chosen, for scores of shape (R, n)."""
        if self.sets is None:
            return np.asarray(self.response.f(scores))
        return choice_probabilities(scores, self.set_starts)

    def derivatives(
        self, t: Vector, W: Matrix, starts: NDArray[np.intp], variances: Vector | None = None
    ) -> tuple[Matrix, AnyArray]:
        """Return derivatives of each person's log-likelihood at scores t + W z, in z.

        These are the gradient, shape (n_persons, q), and minus the second derivatives. Of binary
        labels, they are averages over scores of some variances v: (log f)' at kappa t, and kappa
        (log f)'', kappa = 1 / sqrt(1 + v / s^2), as in MacKay's approximation of E f(t).
        """
        if self.sets is None:
            v = np.zeros(1) if variances is None else variances
            kappa = 1 / np.sqrt(1 + v / self.response.noise_variance)
            s = self.signs * t * kappa
            slope = self.response.slope(s)
            pull, apart, h = self.signs * slope, W, -self.response.curvature(s, slope) * kappa
        else:
            h = self.probabilities(t[None])[0]
            pull = np.where(self.signs > 0, 1 - h, -h)
            means = np.add.reduceat(W * h[:, None], self.set_starts, axis=0)
            apart = W - np.repeat(means, np.diff(self.set_starts, append=len(t)), axis=0)
        if self.shares is not None:
            pull, h = pull * self.shares, h * self.shares
        pairs = (apart * h[:, None])[:, :, None] * apart[:, None]
        gradient = np.add.reduceat(W * pull[:, None], starts, axis=0)
        return gradient, np.add.reduceat(pairs, starts, axis=0)

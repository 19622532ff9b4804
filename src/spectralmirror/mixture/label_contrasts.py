"""Labels of more than two kinds: each class is a multinomial logit.

    P(y = c | class l) = exp eta_lc / sum_b exp eta_lb,   eta_lc = <u_lc, x> + b_lc.

Only differences between the C labels of a class count, so that C - 1 profiles determine it. The C
profiles that users see sum to zero. Rows see the scores t_c = eta_c - eta_1 of the labels after the
first, and the likelihood is maximised over contrasts V = (v_1, ..., v_{C-1}), with

    t = D V z,   D D' = (I + 1 1') / 2.

Then sum_j |v_j|^2 = 2 sum_c |u_c|^2, whichever label comes first, and the difference of any two
labels has the prior that a binary label has. With two labels D = 1: t is the score of a binary
label, and the penalty is the same.

The derivative of log P(y) with respect to t_c is [y = c] - pi_c, and the second derivatives are
-(diag pi - pi pi').
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectralmirror.rows.types import AnyArray, Matrix

__all__ = ["LabelContrasts"]

#: Below this, exp needs no shift: even 1e6 labels cannot overflow.
FURTHEST = 600.0


@dataclass(frozen=True, eq=False)
class LabelContrasts:
    """How the profiles of C labels follow from C - 1 contrasts.

    The contrasts of a class follow each other in its profile, which has (C - 1) p numbers.

    Attributes
    ----------
    n_labels : int
        C.
    """

    n_labels: int

    def __len__(self) -> int:
        """Return the number of contrasts, C - 1."""
        return self.n_labels - 1

    @cached_property
    def differences(self) -> Matrix:
        """D, shape (C - 1, C - 1)."""
        return np.asarray(np.linalg.cholesky((np.eye(len(self)) + 1) / 2))

    @cached_property
    def effects(self) -> Matrix:
        """E, shape (C, C - 1): E V are profiles that sum to zero, and E' E = I / 2."""
        found = np.vstack([np.zeros((1, len(self))), self.differences])
        return np.asarray(found - found.mean(axis=0))

    def in_rows(self, profiles: Matrix) -> Matrix:
        """Return D V for each class: from shape (k, (C - 1) p) to (k (C - 1), p)."""
        V = profiles.reshape(len(profiles), len(self), -1)
        return np.asarray(self.differences @ V).reshape(-1, V.shape[2])

    def pulled(self, slopes: Matrix) -> Matrix:
        """Return the gradient D' G in V from that in D V, shape (k, (C - 1) p)."""
        G = slopes.reshape(-1, len(self), slopes.shape[1])
        return np.asarray(self.differences.T @ G).reshape(len(G), -1)

    def profiles(self, contrasts: Matrix) -> Matrix:
        """Return the profiles of all labels, shape (k C, p), from contrasts (k, (C - 1) p)."""
        V = contrasts.reshape(len(contrasts), len(self), -1)
        return np.asarray(self.effects @ V).reshape(-1, V.shape[2])

    def contrasts(self, profiles: Matrix) -> Matrix:
        """Return contrasts from profiles of all labels, of which only differences count."""
        U = profiles.reshape(-1, self.n_labels, profiles.shape[1])
        return np.asarray(2 * self.effects.T @ U).reshape(len(U), -1)

    def one_hot(self, y: AnyArray) -> Matrix:
        """Return [y = c] for all labels but the first, shape (C - 1, n)."""
        return np.asarray(y == np.arange(1, self.n_labels)[:, None], dtype=np.float64)

    def log_f_and_slopes(self, t: Matrix, y: AnyArray) -> tuple[Matrix, Matrix]:
        """Return log P(y), shape (k, n), and its derivatives in t, shape (k (C - 1), n).

        `t` has the shape of the latter.
        """
        t = t.reshape(-1, len(self), len(y))
        hot = self.one_hot(y)
        log_f = np.einsum("kcn,cn->kn", t, hot)
        if t.max(initial=0) < FURTHEST:
            pi = np.exp(t)
            total = pi.sum(axis=1)
            total += 1
        else:
            largest = np.maximum(t.max(axis=1), 0)
            pi = np.exp(t - largest[:, None])
            total = pi.sum(axis=1) + np.exp(-largest)
            log_f -= largest
        log_f -= np.log(total)
        pi /= total[:, None]
        return log_f, np.subtract(hot, pi, out=pi).reshape(-1, len(y))

    def log_f(self, t: Matrix, y: AnyArray) -> Matrix:
        """Return log P(y), shape (k, n)."""
        return self.log_f_and_slopes(t, y)[0]

    def of_labels(self, values: Matrix) -> Matrix:
        """Repeat the line of each class for all of its contrasts, shape (k (C - 1), n)."""
        return np.repeat(values, len(self), axis=0)

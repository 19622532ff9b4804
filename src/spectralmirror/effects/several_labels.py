"""The probability of one of several labels under each class, differentiated likewise.

Persons of class l give label c with the probability P_c = exp t_c / sum_m exp t_m, t_m = <u_m, x> +
b_m. With the mean profile ubar = sum_m P_m u_m, the effect of feature j is

    dP_c/dx_j = P_c (u_cj - ubar_j).

With a = [x, 1] and S_m = dP_c/dt_m = P_c (1(c = m) - P_m), its derivative by entry i of (u_m, b_m)
is

    S_m (u_cj - ubar_j) a_i - P_c P_m (u_mj - ubar_j) a_i + S_m 1(i = j).

The change P_c(x with x_j = 1) - P_c(x with x_j = 0) has the derivatives of P_c, which are S_m a.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from spectralmirror.effects.derivatives import EffectSums, Others
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import added
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["LabelModel"]


@dataclass(frozen=True, eq=False)
class LabelModel:
    """What is differentiated.

    Attributes
    ----------
    coef, intercept : ndarray of shape (k, C, d) and (k, C)
        u_m and b_m of each class.
    label : int
        c.
    features : ndarray of shape (m,)
        The features whose effects are wanted.
    discrete : ndarray of shape (m,)
        Whether the effect is that of a change from 0 to 1.
    others : tuple of ndarray
        For each of them, the features that are 0 before and after such a change.
    """

    coef: AnyArray
    intercept: Matrix
    label: int
    features: NDArray[np.intp]
    discrete: NDArray[np.bool_]
    others: Others

    @classmethod
    def of(
        cls,
        mixture: Any,
        label: int,
        features: NDArray[np.intp],
        discrete: NDArray[np.bool_],
        others: Others,
    ) -> Self:
        """Return that of a fitted mixture."""
        return cls(mixture.coef_, mixture.intercept_, label, features, discrete, others)

    def sums(self, rows: Rows) -> EffectSums:
        """Sum over a block, in pieces that are small enough to be dense."""
        return added(self._of_piece(piece) for piece in rows.pieces())

    def _of_piece(self, rows: Rows) -> EffectSums:
        X = rows.X.toarray() if sparse.issparse(rows.X) else rows.X
        X = np.asarray(X, dtype=np.float64)
        weight = np.ones(len(X)) if rows.weight is None else rows.weight.astype(np.float64)
        (k, n_labels, d), m = self.coef.shape, len(self.features)
        effects, by = np.zeros((k, m)), np.zeros((k, m, n_labels, d + 1))
        slopes = np.flatnonzero(~self.discrete)
        for c in range(k):
            if len(slopes):
                effects[c, slopes], by[c, slopes] = self._slopes(c, slopes, X, weight)
            for place in np.flatnonzero(self.discrete).tolist():
                effects[c, place], by[c, place] = self._level(c, place, X, weight)
        none = np.zeros((k, m, 0))
        return EffectSums(float(weight.sum()), effects, by.reshape(k, m, -1), none)

    def _at(self, c: int, X: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Return P of all labels, S, and [x, 1]."""
        P = softmax(X @ self.coef[c].T + self.intercept[c], axis=1)
        S = -P[:, [self.label]] * P
        S[:, self.label] += P[:, self.label]
        return P, S, np.column_stack([X, np.ones(len(X))])

    def _slopes(
        self, c: int, places: NDArray[np.intp], X: Matrix, weight: Vector
    ) -> tuple[Vector, AnyArray]:
        """Return dP/dx_j and its derivatives, shape (m,) and (m, C, d + 1)."""
        P, S, a = self._at(c, X)
        features, w = self.features[places], weight[:, None]
        U = self.coef[c][:, features]
        apart, own = U - (P @ U)[:, None], P[:, [self.label]]  # (n, C, m)
        by = np.empty((len(places), len(U), a.shape[1]))
        for m in range(len(U)):
            change = S[:, [m]] * apart[:, self.label] - own * P[:, [m]] * apart[:, m]
            by[:, m] = (w * change).T @ a
            by[np.arange(len(places)), m, features] += weight @ S[:, m]
        return np.asarray((w * own * apart[:, self.label]).sum(axis=0)), by

    def _level(self, c: int, place: int, X: Matrix, weight: Vector) -> tuple[float, Matrix]:
        """Return P(x with x_j = 1) - P(x with x_j = 0) and its derivatives."""
        effect, by = 0.0, np.zeros((self.coef.shape[1], X.shape[1] + 1))
        X = X.copy()
        X[:, self.others[place]] = 0.0
        for value in (1.0, 0.0):
            X[:, self.features[place]] = value
            P, S, a = self._at(c, X)
            signed = weight if value else -weight
            effect += float(signed @ P[:, self.label])
            by += (signed[:, None] * S).T @ a
        return effect, by

"""Effects of a feature of an alternative on its own choice probability, differentiated likewise.

Persons of class l choose row i of a set with the probability P_i = exp t_i / sum_a exp t_a, where
t = <u, x>, u = u_l + B z and z ~ N(0, I). If x_ij grows and the other rows stay as they are,

    dP_i/dx_ij = u_j P_i (1 - P_i).

With xbar = sum_a P_a x_a, its derivatives by u_m are

    1(j = m) P_i (1 - P_i) + u_j (1 - 2 P_i) P_i (x_i - xbar)_m.

The change of P_i when x_ij goes from 0 to 1 has the derivatives of P_i, which are P_i (x_i - xbar).
Effects and derivatives are means over z, and those by an entry of B that stands in line m and
column c are the means of z_c times those by u_m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.effects.derivatives import EffectSums, Others
from spectralmirror.mixture.spread import Spread
from spectralmirror.rows.checks import check_features, is_dask
from spectralmirror.rows.sets import check_sets
from spectralmirror.rows.types import AnyArray, Matrix, Vector
from spectralmirror.rows.weights import check_weights

__all__ = ["ChoiceEffects"]


@dataclass(frozen=True, eq=False)
class ChoiceEffects:
    """Rows in the order of their sets, and whose effects are wanted.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Features.
    starts, numbers : ndarray of shape (n_sets,) and (n,)
        First row of each set, and the number of each row's set.
    weight : ndarray of shape (n,)
        Weights of the rows in averages.
    features : ndarray of shape (m,)
        The features whose effects are wanted.
    discrete : ndarray of shape (m,)
        Whether the effect is that of a change from 0 to 1.
    others : tuple of ndarray
        For each of them, the features that are 0 before and after such a change.
    """

    X: Matrix
    starts: NDArray[np.intp]
    numbers: NDArray[np.intp]
    weight: Vector
    features: NDArray[np.intp]
    discrete: NDArray[np.bool_]
    others: Others

    @classmethod
    def of(
        cls, model: Any, X: Any, choices: Any, sample_weight: Any, features: Any, others: Others
    ) -> ChoiceEffects:
        """Check the rows, and put them in the order of their sets."""
        if hasattr(X, "grouped_rows") or is_dask(X):
            raise ValueError(
                "average_effects of choices takes rows in memory: pass an array or a DataFrame of "
                "whole choice sets, such as a sample."
            )
        if choices is None:
            raise ValueError("choices is missing: the choice set of each row.")
        X = check_features(X, model)
        n = X.shape[0]
        weight = np.ones(n) if sample_weight is None else check_weights(sample_weight, n, X.dtype)
        sets = check_sets(choices, n)
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)[sets.order]
        columns = X[:, features]
        discrete = ((columns == 0) | (columns == 1)).all(axis=0)
        numbers = np.repeat(np.arange(len(sets.starts)), sets.sizes)
        weight = weight[sets.order].astype(np.float64)
        return cls(X, sets.starts, numbers, weight, features, discrete, others)

    def sums(self, model: Any) -> EffectSums:
        """Return the sums of effects and derivatives over all rows, averaged over persons."""
        (k, d), m = model.coef_.shape, len(self.features)
        nodes, weights = model._stranger_nodes
        effects, by_u = np.zeros((k, m)), np.zeros((k, m, d))
        by_B = np.zeros((k, m, d, nodes.shape[1]))
        for c in range(k):
            for z, w in zip(nodes, weights, strict=True):
                effect, by = self._at(model.coef_[c] + model.spread_ @ z)
                effects[c] += w * effect
                by_u[c] += w * by
                by_B[c] += w * by[:, :, None] * z
        by_spread = _by_entries(model, by_B)
        by_profiles = np.concatenate([by_u, np.zeros((k, m, 1))], axis=2)
        return EffectSums(float(self.weight.sum()), effects, by_profiles, by_spread)

    def _at(self, u: Vector) -> tuple[Vector, Matrix]:
        """Return the summed effects on persons of one profile, and their derivatives by it."""
        t = self.X @ u
        e = np.exp(t - np.maximum.reduceat(t, self.starts)[self.numbers])
        effects, by = np.zeros(len(self.features)), np.zeros((len(self.features), len(u)))
        slopes = np.flatnonzero(~self.discrete)
        if len(slopes):
            j = self.features[slopes]
            P = e / self._of_sets(e)
            v = self.weight * P * (1 - P)
            effects[slopes] = u[j] * v.sum()
            apart = self.X - self._of_sets(P[:, None] * self.X)
            by[slopes] = np.outer(u[j], (self.weight * (1 - 2 * P) * P) @ apart)
            by[slopes, j] += v.sum()
        for place in np.flatnonzero(self.discrete).tolist():
            effects[place], by[place] = self._of_level(place, u, t)
        return effects, by

    def _of_level(self, place: int, u: Vector, t: Vector) -> tuple[float, Vector]:
        """Return the change of P if x_j goes from 0 to 1, and its derivatives."""
        j, effect, by = self.features[place], 0.0, np.zeros(len(u))
        X = self.X.copy()
        X[:, self.others[place]] = 0.0
        for value in (1.0, 0.0):
            X[:, j] = value
            own = X @ u
            # of the set without this row, and with it as it would be
            largest = np.maximum(np.maximum.reduceat(t, self.starts)[self.numbers], own)
            e, mine = np.exp(t - largest), np.exp(own - largest)
            rest = self._of_sets_at(t, largest) - e
            rest_X = self._of_sets_at(t, largest, self.X) - e[:, None] * self.X
            P = mine / (mine + rest)
            signed = self.weight * (1.0 if value else -1.0)
            effect += float(signed @ P)
            # P (1 - P) (x - mean of the others), without dividing by what may be 0
            v = (signed * P / (mine + rest))[:, None] * (rest[:, None] * X - rest_X)
            by += v.sum(axis=0)
        return effect, by

    def _of_sets(self, values: AnyArray) -> AnyArray:
        """Return the sum over each row's set."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=0)[self.numbers])

    def _of_sets_at(self, t: Vector, largest: Vector, X: Matrix | None = None) -> AnyArray:
        """Return the sum of exp(t), or of exp(t) x, over each row's set, times exp(-largest)."""
        top = np.maximum.reduceat(t, self.starts)[self.numbers]
        e, factor = np.exp(t - top), np.exp(top - largest)
        if X is None:
            return np.asarray(self._of_sets(e) * factor)
        return np.asarray(self._of_sets(e[:, None] * X) * factor[:, None])


def _by_entries(model: Any, by_B: AnyArray) -> AnyArray:
    """Return derivatives by the free entries of B, from those by B in the units of x."""
    k, m, d, _ = by_B.shape
    if model.spread_kind_ is None:
        return np.zeros((k, m, 0))
    shape = Spread.of(model.spread_kind_, d, 1, 0)
    found = np.zeros((k, m, len(shape)))
    for r, c, e in zip(shape.rows, shape.columns, shape.entries, strict=True):
        found[:, :, e] += by_B[:, :, r, c] / model.feature_scale_[r]
    return found

"""The probability of a label under each class, differentiated by features and parameters.

Persons of class l say y = +1 with the probability

    P_l(x) = E f(t_l + s z),   t_l = <u_l, x> + b_l,   s = |W|,   W = B' [x, 1],   z ~ N(0, 1),

where B is the spread of persons within a class; without one, s = 0. Since an average over a normal
distribution obeys the heat equation, dE/d(s^2) = 1/2 d^2E/dt^2, and z may take the place of a
derivative, E f'(t + s z) s = E z f(t + s z), all derivatives below need f' and f'' only:

    M = E f',   M0 = E f'',   M1 = E z f'',   M2 = E (z^2 - 1) f''.

With the unit vector w = W / s and the row B_j of B, the effect of feature j is

    dP_l/dx_j = M u_lj + M0 <B_j, W>.

Its derivatives by u_lm, and by an entry B_mc, where a = [x, 1], are

    M0 u_lj a_m + M 1(j = m) + M1 <B_j, w> a_m,
    M1 u_lj a_m w_c + M2 <B_j, w> a_m w_c + M0 (a_m B_jc + 1(j = m) W_c).

The change P_l(x with x_j = 1) - P_l(x with x_j = 0) has the derivatives of P_l, which are M a_m and
E(z f') a_m w_c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.mixture.spread import Spread
from spectralmirror.responses import Response, get_response, normal_mean
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import Sums, added
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["EffectSums", "Model", "OtherValues", "Others"]

#: For each feature, the indices of those that are 0 beside it.
Others = tuple[NDArray[np.intp], ...]


@dataclass(frozen=True, eq=False)
class OtherValues(Sums):
    """For each feature, the number of values that are neither 0 nor 1."""

    count: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Rows) -> OtherValues:
        """Count them in a block."""
        X = rows.X
        if sparse.issparse(X):
            other = X.indices[(X.data != 0) & (X.data != 1)]
            return cls(np.bincount(other, minlength=X.shape[1]))
        return cls(((X != 0) & (X != 1)).sum(axis=0))


@dataclass(frozen=True, eq=False)
class Model:
    """What is differentiated.

    Attributes
    ----------
    coef, intercept : ndarray of shape (k, d) and (k,)
        u_l and b_l.
    response : Response
        f.
    features : ndarray of shape (m,)
        The features whose effects are wanted.
    discrete : ndarray of shape (m,)
        Whether the effect is that of a change from 0 to 1.
    others : tuple of ndarray
        For each of them, the features that are 0 before and after such a change.
    spread : Spread or None
        The shape of B.
    B : ndarray of shape (p, q)
        B per standard deviation of the features; the last line is that of the intercept.
    shift, scale : ndarray of shape (d,)
        Where B has its features 0, and their standard deviations.
    """

    coef: Matrix
    intercept: Vector
    response: Response
    features: NDArray[np.intp]
    discrete: NDArray[np.bool_]
    others: Others
    spread: Spread | None
    B: Matrix
    shift: Vector
    scale: Vector

    @classmethod
    def of(
        cls,
        mixture: Any,
        features: NDArray[np.intp],
        discrete: NDArray[np.bool_],
        others: Others,
    ) -> Model:
        """Return that of a fitted mixture."""
        sharp = mixture.sharpness_
        coef, intercept = mixture.coef_ * sharp[:, None], mixture.intercept_ * sharp
        response = get_response(mixture.response).fitted
        shift, scale = mixture.feature_mean_, mixture.feature_scale_
        spread, B = None, np.empty((0, 0))
        kind = getattr(mixture, "spread_kind_", None)
        if kind is not None:
            B = mixture.spread_ * scale[:, None]
            if mixture.fit_intercept:
                B = np.vstack([B, mixture.intercept_spread_ + shift @ mixture.spread_])
            else:
                shift = np.zeros_like(shift)
            spread = Spread.of(kind, len(B), 2, 0)
        return cls(coef, intercept, response, features, discrete, others, spread, B, shift, scale)

    @property
    def n_entries(self) -> int:
        """Number of free entries of B."""
        return 0 if self.spread is None else len(self.spread)

    def standard(self, X: Matrix) -> Matrix:
        """Return [x, 1] in the units of B."""
        Z = (X - self.shift) / self.scale
        return np.column_stack([Z, np.ones(len(Z))])[:, : len(self.B)]

    def second(self, t: AnyArray) -> AnyArray:
        """Return f'' = f (g^2 + g'), g = (log f)'."""
        g = self.response.slope(t)
        return np.asarray(self.response.f(t) * (np.square(g) + self.response.curvature(t, g)))


@dataclass(frozen=True, eq=False)
class EffectSums(Sums):
    """Sums over rows of all effects, and of their derivatives by the parameters.

    Attributes
    ----------
    weight : float
        Sum of the weights of the rows.
    effects : ndarray of shape (k, m)
        For each class and feature.
    by_profiles : ndarray of shape (k, m, d + 1)
        By (u_l, b_l) of the same class.
    by_spread : ndarray of shape (k, m, n_entries)
        By the free entries of B.
    """

    weight: float
    effects: Matrix
    by_profiles: AnyArray
    by_spread: AnyArray

    @classmethod
    def of(cls, model: Model, rows: Rows) -> EffectSums:
        """Sum over a block, in pieces that are small enough to be dense."""
        return added(cls._of_piece(model, piece) for piece in rows.pieces())

    @classmethod
    def _of_piece(cls, model: Model, rows: Rows) -> EffectSums:
        X = rows.X.toarray() if sparse.issparse(rows.X) else rows.X
        X = np.asarray(X, dtype=np.float64)
        weight = np.ones(len(X)) if rows.weight is None else rows.weight.astype(np.float64)
        k, d = model.coef.shape
        m = len(model.features)
        found = cls(
            float(weight.sum()),
            np.zeros((k, m)),
            np.zeros((k, m, d + 1)),
            np.zeros((k, m, model.n_entries)),
        )
        slopes = np.flatnonzero(~model.discrete)
        if len(slopes):
            found._add_slopes(model, slopes, X, weight)
        for place in np.flatnonzero(model.discrete).tolist():
            for value in (1.0, 0.0):
                found._add_level(model, place, value, X, weight)
        return found

    def _add_slopes(
        self, model: Model, places: NDArray[np.intp], X: Matrix, weight: Vector
    ) -> None:
        """Add dP_l/dx_j and its derivatives."""
        features, w = model.features[places], weight[:, None]
        a = np.column_stack([X, np.ones(len(X))])
        t, u = X @ model.coef.T + model.intercept, model.coef[:, features]
        at = _At.of(model, X, t)
        first, second = w * at.mean(model.response.derivative), w * at.mean(model.second)
        by_profiles = u[:, :, None] * (second.T @ a)[:, None]
        by_profiles[:, np.arange(len(places)), features] += first.sum(axis=0)[:, None]
        self.effects[:, places] = u * first.sum(axis=0)[:, None]
        if model.spread is not None:
            rows_of_B = model.B[features] / model.scale[features, None]
            along = at.unit @ rows_of_B.T
            third = w * at.mean(lambda t, z: z * model.second(t), with_node=True)
            fourth = w * at.mean(lambda t, z: (z * z - 1) * model.second(t), with_node=True)
            self.effects[:, places] += second.T @ at.W @ rows_of_B.T
            by_profiles += np.einsum("il,ij,im->ljm", third, along, a, optimize=True)
            V = at.by_entries(model.spread)
            by_spread = u[:, :, None] * (third.T @ V)[:, None]
            by_spread += np.einsum("il,ij,ie->lje", fourth, along, V, optimize=True)
            # that of <B_j, W> itself
            of_rows, of_W = second.T @ at.Z, second.T @ at.W
            shape = model.spread
            for r, c, e in zip(shape.rows, shape.columns, shape.entries, strict=True):
                by_spread[:, :, e] += of_rows[:, r, None] * rows_of_B[:, c]
                here = np.flatnonzero(features == r)
                by_spread[:, here, e] += of_W[:, c, None] / model.scale[features[here]]
            self.by_spread[:, places] = by_spread
        self.by_profiles[:, places] = by_profiles

    def _add_level(self, model: Model, place: int, value: float, X: Matrix, weight: Vector) -> None:
        """Add P_l(x with x_j = 1), or subtract P_l(x with x_j = 0), and its derivatives."""
        j, signed = model.features[place], weight[:, None] * (1.0 if value else -1.0)
        X = X.copy()
        X[:, model.others[place]] = 0.0
        X[:, j] = value
        at = _At.of(model, X, X @ model.coef.T + model.intercept)
        first = signed * at.mean(model.response.derivative)
        self.effects[:, place] += (signed * at.mean(model.response.f)).sum(axis=0)
        self.by_profiles[:, place, :-1] += first.T @ X
        self.by_profiles[:, place, -1] += first.sum(axis=0)
        if model.spread is not None:
            slope = at.mean(lambda t, z: z * model.response.derivative(t), with_node=True)
            self.by_spread[:, place] += (signed * slope).T @ at.by_entries(model.spread)


@dataclass(frozen=True, eq=False)
class _At:
    """Rows at which functions of t are averaged over persons: t, [x, 1] in the units of B, W."""

    t: Matrix
    Z: Matrix
    W: Matrix

    @classmethod
    def of(cls, model: Model, X: Matrix, t: Matrix) -> _At:
        if model.spread is None:
            return cls(t, np.empty((len(X), 0)), np.empty((len(X), 0)))
        Z = model.standard(X)
        return cls(t, Z, Z @ model.B)

    @property
    def deviation(self) -> Vector:
        """Return s."""
        return np.asarray(np.linalg.norm(self.W, axis=1))

    @property
    def unit(self) -> Matrix:
        """Return w; where s = 0, the means that it is multiplied by are 0."""
        return np.asarray(self.W / np.maximum(self.deviation, 1e-300)[:, None])

    def mean(self, function: Any, *, with_node: bool = False) -> Matrix:
        """Return E g(t + s z), or E g(t + s z, z)."""
        if not self.W.shape[1]:
            return np.asarray(function(self.t))
        taken = function if with_node else lambda t, _: function(t)
        return normal_mean(taken, self.t, self.deviation[:, None])

    def by_entries(self, spread: Spread) -> Matrix:
        """Return the sum of Z_m w_c over the places of each free entry of B."""
        unit, found = self.unit, np.zeros((len(self.t), len(spread)))
        for r, c, e in zip(spread.rows, spread.columns, spread.entries, strict=True):
            found[:, e] += self.Z[:, r] * unit[:, c]
        return found

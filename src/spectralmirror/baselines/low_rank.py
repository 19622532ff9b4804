"""Least squares whose coefficients are a symmetric tensor of low rank."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from spectralmirror.baselines.tensors import SymmetricIndex
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["Regression", "low_rank"]


def low_rank(
    regression: Regression, index: SymmetricIndex, *, alpha: float, max_iter: int, tol: float
) -> tuple[AnyArray, int]:
    """Return the coefficients as a symmetric tensor, and the number of proximal steps.

    Minimises half the mean square plus penalty |M|_*, the nuclear norm of M unfolded into a matrix
    of d rows. The penalty is alpha s sqrt(d^(order - 1) / n), where s is the standard deviation of
    the target.
    """
    d, order = index.shape[0], len(index.shape)
    noise = np.sqrt(regression.target_variance * d ** (order - 1) / regression.n)
    penalty = alpha * float(noise)

    def shrink(tensor: AnyArray, by: float) -> AnyArray:
        u, s, v = np.linalg.svd(tensor.reshape(d, -1), full_matrices=False)
        return np.asarray((u * np.maximum(s - by, 0)) @ v).reshape(index.shape)

    tensor, n_iter = _proximal_gradient(
        lambda M: index.tensor(regression.gradient(index.vector(M))),
        lambda M, step: shrink(M, step * penalty),
        index.tensor(regression.least_squares()),
        regression.smoothness,
        max_iter=max_iter,
        tol=tol,
    )
    return index.tensor(index.vector(tensor)), n_iter


@dataclass(frozen=True, eq=False)
class Regression:
    """Least squares with an intercept, from sums over blocks of rows."""

    n: int
    gram: Matrix
    cross: Vector
    feature_mean: Vector
    target_mean: float
    target_variance: float

    @classmethod
    def of(cls, blocks: Iterable[tuple[Matrix, Vector]]) -> Regression:
        """Sum over blocks of features and targets."""
        n, sums = 0, None
        for phi, target in blocks:  # with y and 1 as columns, one product holds all sums
            both = np.column_stack([phi, target, np.ones(len(target))])
            product = both.T @ both
            n, sums = n + len(target), product if sums is None else sums + product
        assert sums is not None
        mean = sums[:-1, -1] / n
        covariance = sums[:-1, :-1] / n - np.outer(mean, mean)
        return cls(
            n,
            covariance[:-1, :-1],
            covariance[:-1, -1],
            mean[:-1],
            mean[-1],
            max(covariance[-1, -1], 0.0),
        )

    def least_squares(self) -> Vector:
        """Return coefficients without penalty; of several solutions, (nearly) the shortest."""
        ridge = 1e-10 * np.trace(self.gram) / len(self.gram) * np.eye(len(self.gram))
        return np.asarray(cho_solve(cho_factor(self.gram + ridge, lower=True), self.cross))

    def gradient(self, vector: Vector) -> Vector:
        """Return the gradient of half the mean square."""
        return np.asarray(self.gram @ vector - self.cross)

    @property
    def smoothness(self) -> float:
        """The largest eigenvalue of the Gram matrix."""
        return float(np.linalg.eigvalsh(self.gram)[-1])

    def intercept(self, vector: Vector) -> float:
        """Return the intercept that goes with coefficients."""
        return float(self.target_mean - self.feature_mean @ vector)


def _proximal_gradient(
    gradient: Callable[[AnyArray], AnyArray],
    proximal: Callable[[AnyArray, float], AnyArray],
    start: AnyArray,
    smoothness: float,
    *,
    max_iter: int,
    tol: float,
) -> tuple[AnyArray, int]:
    """Minimise a smooth function plus a penalty by accelerated proximal steps.

    FISTA (Beck and Teboulle 2009) with adaptive restarts (O'Donoghue and Candes 2015).
    """
    current, ahead, t, n_iter = start, start, 1.0, 0
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        following = proximal(ahead - gradient(ahead) / smoothness, 1 / smoothness)
        step = following - current
        if np.vdot(ahead - following, step) > 0:  # the momentum points uphill: restart
            t = 1.0
        t_next = (1 + np.sqrt(1 + 4 * t**2)) / 2
        ahead = following + (t - 1) / t_next * step
        current, t = following, t_next
        if np.linalg.norm(step) <= tol * np.linalg.norm(current):
            break
    return current, n_iter

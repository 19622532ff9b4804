"""The spread of persons in the units of x, and the standard errors of its standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectralmirror.mixture.fitting import Fit
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.whitening import Whitening

__all__ = ["SpreadUnits"]


@dataclass(frozen=True, eq=False)
class SpreadUnits:
    """B, and the standard deviations of persons' coefficients within a class.

    Attributes
    ----------
    coef : ndarray of shape (d, q)
        B for coefficients in the units of x; without columns if there is no spread.
    intercept : ndarray of shape (q,)
        B for the intercept at x = 0.
    coef_deviation : ndarray of shape (d,)
        Standard deviations of the coefficients.
    intercept_deviation : float
        Standard deviation of the intercept at the mean of the features.
    """

    coef: Matrix
    intercept: Vector
    coef_deviation: Vector
    intercept_deviation: float

    @classmethod
    def of(cls, fit: Fit, whitening: Whitening) -> SpreadUnits:
        """Return the spread of a fit."""
        B = _standard(fit, len(whitening.scale))
        coef, at_mean = B[:-1] / whitening.scale[:, None], B[-1]
        has_intercept = fit.likelihood.coordinates.intercept
        intercept = at_mean - whitening.mean @ coef if has_intercept else at_mean
        deviations = np.linalg.norm(coef, axis=1)
        return cls(coef, intercept, deviations, float(np.linalg.norm(at_mean)))

    @staticmethod
    def of_entries(fit: Fit, whitening: Whitening) -> Matrix:
        """Return the matrix that takes b to B for [x - mean, 1], row by row."""
        spread = fit.likelihood.spread
        if spread is None:
            return np.empty((0, 0))
        d, q = len(whitening.scale), spread.nodes.shape[1]
        units = np.append(1 / whitening.scale, 1.0)
        found = np.zeros((d + 1, q, len(spread)))
        found[spread.rows, spread.columns, spread.entries] = units[spread.rows]
        if not fit.likelihood.coordinates.intercept:
            found[d] = np.tensordot(whitening.mean, found[:d], axes=1)
        return found.reshape(-1, len(spread))

    @staticmethod
    def errors(fit: Fit, whitening: Whitening, theta: Matrix | None) -> tuple[Vector, float]:
        """Return the standard errors of both standard deviations, by the delta method.

        `theta` is the covariance of all parameters but the last logit. Without a spread, errors
        are 0; without a covariance, they are NaN.
        """
        spread, b = fit.likelihood.spread, fit.ascent.parameters.spread
        d = len(whitening.scale)
        found = np.zeros(d + 1)
        if spread is not None and theta is None:
            found[:] = np.nan
        elif spread is not None and theta is not None:
            B = spread.matrix(b)
            first = fit.ascent.parameters.profiles.size
            C = theta[first : first + len(b), first : first + len(b)]
            slopes = np.zeros((spread.n_coefficients, len(b)))
            size = np.maximum(np.linalg.norm(B, axis=1), 1e-300)
            np.add.at(
                slopes,
                (spread.rows, spread.entries),
                B[spread.rows, spread.columns] / size[spread.rows],
            )
            errors = np.sqrt(np.maximum(np.einsum("je,ef,jf->j", slopes, C, slopes), 0))
            found[: len(errors)] = errors
        return found[:d] / whitening.scale, float(found[d])


def _standard(fit: Fit, d: int) -> Matrix:
    """Return B per standard deviation of the features, with a last line for the intercept."""
    spread = fit.likelihood.spread
    if spread is None:
        return np.zeros((d + 1, 0))
    B = spread.matrix(fit.ascent.parameters.spread)
    return np.vstack([B, np.zeros((d + 1 - len(B), B.shape[1]))])

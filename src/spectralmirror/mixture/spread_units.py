"""The spread of persons in the units of x, and the standard errors of its standard deviations.

With labels of more than two kinds, everything has one more axis in front, for the labels: the
deviations of a person's C profiles sum to zero, as the profiles do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectralmirror.mixture.fitting import Fit
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.rows.types import AnyArray, Matrix, Vector
from spectralmirror.subspace.whitening import Whitening

__all__ = ["SpreadUnits"]


@dataclass(frozen=True, eq=False)
class SpreadUnits:
    """B, and the standard deviations of persons' coefficients within a class.

    Attributes
    ----------
    coef : ndarray of shape (d, q), or (C, d, q)
        B for coefficients in the units of x; without columns if there is no spread.
    intercept : ndarray of shape (q,), or (C, q)
        B for the intercept at x = 0.
    coef_deviation : ndarray of shape (d,), or (C, d)
        Standard deviations of the coefficients.
    intercept_deviation : float, or ndarray of shape (C,)
        Standard deviation of the intercept at the mean of the features.
    """

    coef: AnyArray
    intercept: Matrix | Vector
    coef_deviation: Matrix | Vector
    intercept_deviation: Vector | float

    @classmethod
    def of(cls, likelihood: Likelihood, b: Vector, mean: Vector, scale: Vector) -> SpreadUnits:
        """Return the spread with the free entries b, given mean and scale of the features."""
        B = _directions(likelihood, len(scale)) @ b
        coef, at_mean = B[..., :-1, :] / scale[:, None], B[..., -1, :]
        intercept = at_mean
        if likelihood.coordinates.intercept:
            intercept = at_mean - np.tensordot(coef, mean, axes=(-2, 0))
        return cls(
            coef,
            intercept,
            np.linalg.norm(coef, axis=-1),
            _number(np.linalg.norm(at_mean, axis=-1)),
        )

    @staticmethod
    def of_entries(fit: Fit, whitening: Whitening) -> Matrix:
        """Return the matrix that takes b to B for [x - mean, 1], row by row."""
        if fit.likelihood.spread is None:
            return np.empty((0, 0))
        found = _directions(fit.likelihood, len(whitening.scale))
        found[..., :-1, :, :] /= whitening.scale[:, None, None]
        if not fit.likelihood.coordinates.intercept:
            found[..., -1, :, :] = np.tensordot(found[..., :-1, :, :], whitening.mean, axes=(-3, 0))
        return np.asarray(found.reshape(-1, found.shape[-1]))

    @staticmethod
    def errors(
        fit: Fit, whitening: Whitening, theta: Matrix | None
    ) -> tuple[Matrix | Vector, Vector | float]:
        """Return the standard errors of both standard deviations, by the delta method.

        `theta` is the covariance of all parameters but the last logit. Without a spread, errors
        are 0; without a covariance, they are NaN.
        """
        b, directions = (
            fit.ascent.parameters.spread,
            _directions(fit.likelihood, len(whitening.scale)),
        )
        found = np.zeros(directions.shape[:-2])
        if fit.likelihood.spread is not None and theta is None:
            found[:] = np.nan
        elif fit.likelihood.spread is not None and theta is not None:
            first = fit.ascent.parameters.profiles.size
            C = theta[first : first + len(b), first : first + len(b)]
            B = directions @ b
            slopes = np.einsum("...q,...qe->...e", B, directions)
            slopes /= np.maximum(np.linalg.norm(B, axis=-1), 1e-300)[..., None]
            found = np.sqrt(np.maximum(np.einsum("...e,ef,...f->...", slopes, C, slopes), 0))
        return found[..., :-1] / whitening.scale, _number(found[..., -1])


def _number(value: AnyArray) -> Vector | float:
    return np.asarray(value) if value.ndim else float(value)


def _directions(likelihood: Likelihood, d: int) -> AnyArray:
    """Return how B changes with b, per standard deviation of the features.

    The shape is (d + 1, q, n_entries), with a last line for the intercept, 0 without; for labels of
    C > 2 kinds (C, d + 1, q, n_entries).
    """
    spread, labels = likelihood.spread, likelihood.labels
    shape = (d + 1,) if labels is None else (labels.n_labels, d + 1)
    if spread is None:
        return np.zeros((*shape, 0, 0))
    contrast, coefficient = np.divmod(spread.rows, spread.n_coefficients // spread.n_contrasts)
    found = np.zeros((spread.n_contrasts, d + 1, spread.nodes.shape[1], len(spread)))
    found[contrast, coefficient, spread.columns, spread.entries] = 1.0
    return found[0] if labels is None else np.tensordot(labels.effects, found, axes=1)

"""Posteriors of the components, averaged over what is not known about the parameters.

With few rows, theta-hat is far from certain, and the posterior of the components at theta-hat is
too sharp. If theta is normal around theta-hat with covariance C (:mod:`evidence`), a score has the
variance v_l = z' C_ll z, and for a row that stands alone

    P(l | x, y) is proportional to p_l E f(y t_l), about p_l f(y t_l / sqrt(1 + v_l / s^2))

(`Response.noise_variance`). The labels of a group share theta, so that p_l prod_i f(y_i t_il) is
averaged over draws of theta before it is normalised.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.extmath import row_norms

from spectralmirror.mixture.parameters import Parameters
from spectralmirror.responses import Response
from spectralmirror.rows.types import AnyArray, Matrix

__all__ = ["ParameterPosterior", "normalised", "row_variances"]

#: Number of draws of theta, half of them mirrored, and their seed.
N_DRAWS, SEED = 64, 0


@dataclass(frozen=True, eq=False)
class ParameterPosterior:
    """theta-hat and what is not known about it, for scores <v_l, z> of q coordinates z.

    Attributes
    ----------
    parameters : Parameters
        theta-hat.
    root : ndarray of shape (k q + n_entries + (k - 1) (c + 1), m)
        R with R R' = C, for profiles, entries of B, and (g_l, a_l) of c covariates; those of the
        last class are fixed.
    """

    parameters: Parameters
    root: Matrix

    def mapped(self, matrix: Matrix, of_spread: Matrix) -> ParameterPosterior:
        """Return the posterior for other coordinates z', with z = `matrix` z'.

        `of_spread` takes the free entries of B to those for z'.
        """
        (k, q), b = self.parameters.profiles.shape, self.parameters.spread
        of_profiles, spread, of_weights = np.split(self.root, [k * q, k * q + len(b)])
        of_profiles = of_profiles.reshape(k, q, -1)
        moved = np.einsum("pq,kpm->kqm", matrix, of_profiles).reshape(-1, self.root.shape[1])
        profiles = self.parameters.profiles @ matrix
        parameters = replace(self.parameters, profiles=profiles, spread=of_spread @ b)
        return ParameterPosterior(parameters, np.vstack([moved, of_spread @ spread, of_weights]))

    @functools.cached_property
    def variance_roots(self) -> AnyArray:
        """R_l with R_l R_l' = C_ll, shape (k, q, r)."""
        k, q = self.parameters.profiles.shape
        parts = self.root[: k * q].reshape(k, q, -1)
        return np.array([np.linalg.qr(part.T)[1].T for part in parts])

    def draws(self, n_draws: int = N_DRAWS) -> Iterator[Parameters]:
        """Yield draws of theta."""
        theta = self.parameters.packed()
        z = np.random.RandomState(SEED).standard_normal((n_draws // 2, self.root.shape[1]))
        for step in np.vstack([z, -z]) @ self.root.T:
            yield self.parameters.at(theta + np.pad(step, (0, len(theta) - len(step))))

    def joint_of_rows(
        self, signed: Matrix, variances: Matrix, response: Response, log_weights: Matrix
    ) -> Matrix:
        """Return log p_l + log E f(y t_l), shape (k, n), for y t_l and v_l of the same shape."""
        shrunk = signed / np.sqrt(1 + variances / response.noise_variance)
        return np.asarray(response.log_f(shrunk) + log_weights)

    def joint_of_groups(self, joint: Callable[[Parameters], Matrix]) -> Matrix:
        """Average exp(`joint(theta)`), shape (k, G), over draws of theta; return its logarithm."""
        joints = map(joint, self.draws())
        return np.asarray(functools.reduce(np.logaddexp, joints) - np.log(N_DRAWS))


def normalised(joint: Matrix) -> Matrix:
    """Return posteriors from the logarithms of joint probabilities, shape (k, n)."""
    return np.asarray(np.exp(log_softmax(joint, axis=0)))


def row_variances(Z: Matrix, roots: AnyArray) -> Matrix:
    """Return v_l = z' C_ll z, shape (k, n)."""
    return np.array([row_norms(Z @ root, squared=True) for root in roots])

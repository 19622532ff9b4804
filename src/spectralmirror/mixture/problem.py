"""What is to be maximised: rows, f, and what is assumed of the parameters before rows are seen.

The prior of theta, which :mod:`likelihood` explains, and the constraints that theta satisfies.
Everything here is free of passes over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.linalg import block_diag

from spectralmirror.mixture.constraints import Constraints
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.label_contrasts import LabelContrasts
from spectralmirror.mixture.membership import Membership
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.spread import Spread
from spectralmirror.responses import Response
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["Problem"]

#: The penalty on intercepts, if there is a prior of the weights.
INTERCEPT_L2 = 1e-4
#: The penalty on dependence of weights on covariates, relative to c: with c = 5, log-odds per
#: standard deviation of a covariate have a prior standard deviation of 2.
MEMBERSHIP_L2 = 0.05


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows, f, and the prior of theta.

    Attributes
    ----------
    rows : GroupedRows
        The rows.
    response : Response
        f, which is smooth.
    coordinates : Coordinates
        How rows are turned into z, and P.
    l2 : float
        Strength of the penalty.
    concentration : float
        c, of a Dirichlet prior of the weights; 0 means none.
    spread : Spread or None
        How persons of one class differ; None if they do not.
    membership : Membership or None
        What is known about the classes of groups; None if nothing is.
    constraints : Constraints or None
        Coefficients that classes share, or of a given sign; None if there are none.
    labels : LabelContrasts or None
        How labels 0, ..., C - 1 depend on scores; None if they are -1 and +1.
    """

    rows: GroupedRows
    response: Response
    coordinates: Coordinates
    l2: float
    concentration: float = 0.0
    spread: Spread | None = None
    membership: Membership | None = None
    constraints: Constraints | None = None
    labels: LabelContrasts | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the rows: other processes apply this to rows of their own."""
        return {**self.__dict__, "rows": None}

    @property
    def penalty(self) -> Matrix:
        """l2 P; with a prior of the weights, intercepts have a weak one, too, and stay finite.

        It holds for each contrast of a profile.
        """
        penalty = self.l2 * self.coordinates.precision
        if self.coordinates.intercept and self.concentration:
            penalty[-1, -1] += INTERCEPT_L2
        return penalty

    @property
    def n_contrasts(self) -> int:
        """Number of scores of a row in each class."""
        return 1 if self.labels is None else len(self.labels)

    @property
    def profile_size(self) -> int:
        """Number of entries of a profile."""
        return self.n_contrasts * self.coordinates.size

    def for_contrasts(self, matrix: Matrix) -> Matrix:
        """Return I (x) M, for a matrix M that holds for each contrast of a profile."""
        if self.labels is None:
            return matrix
        return np.asarray(np.kron(np.eye(self.n_contrasts), matrix), dtype=np.float64)

    @property
    def from_standard(self) -> Matrix:
        """I (x) F: what takes changes per standard deviation of the features to those of v_l."""
        return self.for_contrasts(self.coordinates.from_standard)

    def weighted(self, profiles: Matrix, matrix: Matrix) -> Matrix:
        """Return (I (x) M) v_l for each profile, for a symmetric matrix M."""
        return np.asarray(profiles.reshape(-1, matrix.shape[0]) @ matrix).reshape(profiles.shape)

    def in_units(self, profiles: Matrix) -> tuple[AnyArray, AnyArray]:
        """Return profiles and intercepts in the units of x, for each label if there are several."""
        if self.labels is None:
            return self.coordinates.in_units(profiles)
        k, C = len(profiles), self.labels.n_labels
        coef, intercept = self.coordinates.in_units(self.labels.profiles(profiles))
        return coef.reshape(k, C, -1), intercept.reshape(k, C)

    def from_units(self, coef: AnyArray, intercept: AnyArray) -> Matrix:
        """Return v for profiles and intercepts in the units of x, as :meth:`in_units` has them."""
        if self.labels is None:
            return self.coordinates.from_units(coef, intercept)
        v = self.coordinates.from_units(coef.reshape(-1, coef.shape[-1]), intercept.ravel())
        return self.labels.contrasts(v)

    def of_labels(self, matrix: Matrix) -> Matrix:
        """Return the matrix A of lines v_l' A = (u_l1' M, ..., u_lC' M); M if labels are binary."""
        if self.labels is None:
            return matrix
        return np.asarray(np.kron(self.labels.effects.T, matrix), dtype=np.float64)

    def admitted(self, parameters: Parameters) -> Parameters:
        """Return parameters that satisfy the constraints; weights may depend on all covariates."""
        q = 0 if self.membership is None else self.membership.n_covariates
        if parameters.membership.shape[1] != q:
            parameters = replace(parameters, membership=np.zeros((len(parameters), q)))
        if self.constraints is None:
            return parameters
        return replace(parameters, profiles=self.constraints.admitted(parameters.profiles))

    def equations(self, parameters: Parameters) -> Matrix:
        """Return N: theta satisfies N theta = 0 in its profiles; no lines without constraints."""
        if self.constraints is None:
            return np.empty((0, parameters.profiles.size))
        active = self.constraints.at_zero(parameters.profiles)
        return self.constraints.equations(len(parameters), active)

    @property
    def has_known(self) -> bool:
        """Whether the classes of some groups are known, so that classes have numbers."""
        return self.membership is not None and self.membership.has_known

    @property
    def membership_l2(self) -> float:
        """m, the penalty on the dependence of weights on covariates."""
        return MEMBERSHIP_L2 * self.concentration

    def shrinkage(self, parameters: Parameters) -> tuple[float, Vector, Matrix]:
        """Return 1 / c^2, by which the penalty is multiplied, and its derivatives; 1 if B = 0."""
        if self.spread is None:
            return 1.0, np.empty(0), np.empty((0, 0))
        return self.spread.shrinkage(parameters.spread, self.response.noise_variance)

    def log_prior(self, parameters: Parameters) -> float:
        """Return what L adds to the log-likelihood: minus penalties, and the prior of weights."""
        V, k = parameters.profiles, len(parameters)
        of_weights = float(parameters.log_weights.sum()) + k * np.log(k)
        penalised = self.weighted(V, self.penalty)
        size = self.shrinkage(parameters)[0] * float((V * penalised).sum())
        size += self.membership_l2 * float(np.square(centred(parameters.membership)).sum())
        found = self.concentration * of_weights - 0.5 * size
        of_spread = 0.0 if self.spread is None else self.spread.log_prior(parameters.spread)
        return float(found + of_spread)

    def curvature_of_prior(self, parameters: Parameters) -> Matrix:
        """Return minus the second derivatives of :meth:`log_prior`."""
        k, p, V = len(parameters), parameters.weights, parameters.profiles
        share, slope, second = self.shrinkage(parameters)
        penalised = self.weighted(V, self.penalty)
        of_spread = 0.5 * float((V * penalised).sum()) * second
        if self.spread is not None:
            of_spread = of_spread + self.spread.prior_curvature(parameters.spread)
        q = parameters.membership.shape[1]
        of_weights = np.zeros((k, q + 1, k, q + 1))
        of_weights[:, q, :, q] = k * self.concentration * (np.diag(p) - np.outer(p, p))
        for j in range(q):
            of_weights[:, j, :, j] = self.membership_l2 * (np.eye(k) - 1 / k)
        of_weights = of_weights.reshape(k * (q + 1), -1)
        found = block_diag(*[share * self.penalty] * k * self.n_contrasts, of_spread, of_weights)
        between = slice(V.size, V.size + len(slope))
        found[: V.size, between] = np.outer(penalised.ravel(), slope)
        found[between, : V.size] = found[: V.size, between].T
        return np.asarray(found)

    def with_l2(self, l2: float) -> Self:
        """Return the problem with another strength of the penalty."""
        return replace(self, l2=l2)


def centred(coefficients: Matrix) -> Matrix:
    """Return g_l less their mean over components."""
    return np.asarray(coefficients - coefficients.sum(axis=0) / len(coefficients))

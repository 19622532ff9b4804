"""The weights of the classes for groups whose covariates are known, in a fitted mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture.frames import framed
from spectralmirror.mixture.membership import log_weights_at, standardised
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.rows.traits import TraitColumns, check_agreement, check_membership
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["MembershipWeights"]


class MembershipWeights:
    """Weights of the classes that depend on covariates."""

    weights_: Vector
    membership_coef_: Matrix
    membership_intercept_: Vector
    membership_names_in_: NDArray[Any]
    _membership_mean: Vector
    _membership_scale: Vector

    @framed
    def membership_proba(self, Z: Any) -> Matrix:
        """Return p_l(z), the weights of the classes for groups with the covariates z.

        Parameters
        ----------
        Z : array-like of shape (n_groups, n_covariates)
            The covariates that were passed to fit as `membership`.

        Returns
        -------
        ndarray of shape (n_groups, k)
            Rows sum to 1; a DataFrame if :meth:`set_output` says so.
        """
        check_is_fitted(self, "coef_")
        lines = self._lines(Z, np.shape(Z)[0] if np.ndim(Z) else 0, None)
        return np.asarray(np.exp(self._log_weights(self._of_membership, lines)))

    @property
    def _n_covariates(self) -> int:
        return int(getattr(self, "membership_coef_", np.empty((0, 0))).shape[1])

    @property
    def _of_membership(self) -> Parameters:
        """The parameters of the weights, for standardised covariates."""
        if not self._n_covariates:
            return Parameters(np.empty((len(self.weights_), 0)), np.log(self.weights_))
        coef = self.membership_coef_
        logits = self.membership_intercept_ + coef @ self._membership_mean
        membership = coef * self._membership_scale
        return Parameters(np.empty((len(coef), 0)), logits, membership=membership)

    def _lines(
        self, membership: Any, n: int, groups: Any, numbers: NDArray[np.int64] | None = None
    ) -> Matrix | None:
        """Return [z, 1] for each row, or for each group if rows are numbered by group.

        None if no covariates are given.
        """
        if membership is None:
            return None
        if not self._n_covariates:
            raise ValueError(
                "membership: the mixture was fitted without covariates of membership; pass them to "
                "fit(..., membership=), too."
            )
        values, names = check_membership(membership, n, groups)
        self._check_covariates(values, names, named=hasattr(membership, "columns"))
        if numbers is not None:
            check_agreement(values, TraitColumns(names, has_known=False), groups, numbers)
            values = values[np.unique(numbers, return_index=True)[1]]
        return standardised(values, self._membership_mean, self._membership_scale)

    def _check_covariates(self, values: Matrix, names: tuple[str, ...], *, named: bool) -> None:
        fitted = [str(name) for name in self.membership_names_in_]
        if values.shape[1] != len(fitted) or (named and list(names) != fitted):
            given = list(names) if named else f"{values.shape[1]} columns"
            raise ValueError(f"membership must have the covariates {fitted}, got {given}.")
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0].tolist()
            raise ValueError(
                f"membership: {fitted[column]!r} is missing or not finite in row {row}: leave such "
                "rows out, or fill them in."
            )

    def _log_weights(self, parameters: Parameters, lines: Matrix | None) -> Matrix:
        """Return log p_l for lines [z, 1], shape (n, k), or (1, k) without lines.

        If the weights depend on covariates that are not given, they are the average ones.
        """
        if lines is not None:
            return log_weights_at(lines, parameters.membership, parameters.logits).T
        if self._n_covariates:
            return np.log(self.weights_)[None]
        return parameters.log_weights[None]

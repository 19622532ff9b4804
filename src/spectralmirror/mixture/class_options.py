"""What a user knows about the classes: membership, known ones, shared coefficients and signs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.mixture.constraints import Constraints
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.membership import Membership
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.messages import did_you_mean
from spectralmirror.rows.traits import check_traits
from spectralmirror.rows.types import Vector

__all__ = ["ClassOptions"]


@dataclass(frozen=True, eq=False)
class ClassOptions:
    """What is known about the classes before a fit.

    Attributes
    ----------
    shared : ndarray of shape (d,)
        Whether all classes share a coefficient.
    signs : ndarray of shape (d,)
        -1 or +1 for coefficients of that sign, otherwise 0.
    membership : Membership or None
        What is known about the classes of groups.
    n_known : int
        The largest known class + 1; 0 if none is known.
    """

    shared: NDArray[np.bool_]
    signs: Vector
    membership: Membership | None = None
    n_known: int = 0

    @classmethod
    def of(
        cls, estimator: Any, grouped: GroupedRows, d: int, names: Any, kinds: tuple[str | None, ...]
    ) -> ClassOptions:
        """Check what was asked for: one pass over the rows if they have traits."""
        shared, signs = np.zeros(d, dtype=bool), np.zeros(d)
        if isinstance(estimator.shared, str) and estimator.shared == "all":
            shared[:] = True
        else:
            shared[_numbers("shared", _listed(estimator.shared), d, names)] = True
        given = estimator.signs or {}
        signs[_numbers("signs", given, d, names)] = _signs(given)
        columns = grouped.trait_columns
        if columns is None:
            found = cls(shared, signs)
        else:
            sums = check_traits(grouped, columns)
            n_known = int(sums.most[-1]) + 1 if columns.has_known else 0
            found = cls(shared, signs, Membership.of(sums, columns), n_known)
        found._check(estimator, kinds)
        return found

    @property
    def has_subspace(self) -> bool:
        """Whether starts may lie in a subspace: constraints are those of whole profiles."""
        return not (self.shared.any() or self.signs.any())

    def applied(self, likelihood: Likelihood, k: int) -> Likelihood:
        """Return the likelihood of k classes with everything that is known about them."""
        coordinates, membership = likelihood.coordinates, self.membership
        n_intercepts = int(coordinates.intercept)
        constraints = Constraints.of(
            np.pad(self.shared, (0, n_intercepts)),
            np.pad(self.signs, (0, n_intercepts)),
            coordinates,
        )
        if constraints is not None:
            constraints = constraints.of_contrasts(likelihood.n_contrasts)
        if membership is not None:
            n_classes = k if k >= self.n_known else 0
            membership = replace(membership, n_classes=n_classes)
        return replace(likelihood, constraints=constraints, membership=membership)

    def _check(self, estimator: Any, kinds: tuple[str | None, ...]) -> None:
        covariates = self.membership is not None and self.membership.n_covariates > 0
        if estimator.solver == "em" and (covariates or not self.has_subspace):
            raise ValueError(
                "solver='em' fits each class by itself, without membership, shared and signs: use "
                "solver='lbfgs'."
            )
        if not estimator.refine and not self.has_subspace:
            raise ValueError(
                "refine=False keeps profiles inside a subspace, in which shared and signs cannot "
                "hold: use refine=True."
            )
        k = estimator.n_components
        if k == "auto" and self.n_known and kinds != (None,):
            raise ValueError(
                "known needs a number of classes if there is a spread: use n_components="
                f"{self.n_known} or more."
            )
        if k != "auto" and self.n_known > k:
            raise ValueError(
                f"known holds class {self.n_known - 1}, but classes are counted from 0 and there "
                f"are n_components={k}: correct it, or use a larger n_components."
            )


def _listed(features: Any) -> list[Any]:
    single = isinstance(features, str | Integral)
    return [features] if single else list(features)


def _numbers(parameter: str, features: Iterable[Any], d: int, names: Any) -> NDArray[np.intp]:
    """Return the numbers of features that are given by name or by number."""
    known = [] if names is None else [str(name) for name in names]
    found = []
    for feature in features:
        if isinstance(feature, Integral) and not isinstance(feature, bool | np.bool_):
            if not -d <= int(feature) < d:
                raise ValueError(f"{parameter} holds feature {feature}, but X has {d} features.")
            found.append(int(feature) % d)
        elif feature in known:
            found.append(known.index(feature))
        elif not known and isinstance(feature, str):
            raise ValueError(
                f"{parameter} holds the name {feature!r}, but the features of X have no names: use "
                "numbers, counted from 0."
            )
        else:
            raise ValueError(
                f"{parameter} holds {feature!r}, which is no feature of X"
                f"{did_you_mean(str(feature), known)}"
            )
    return np.array(found, dtype=np.intp)


def _signs(given: dict[Any, Any]) -> Vector:
    for feature, sign in given.items():
        if not isinstance(sign, Integral) or sign not in (-1, 1):
            raise ValueError(
                f"signs must be -1 (not positive) or +1 (not negative), got {sign!r} for "
                f"{feature!r}."
            )
    return np.array([float(sign) for sign in given.values()])

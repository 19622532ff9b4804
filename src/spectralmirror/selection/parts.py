"""Fits to all groups and to parts of them, and what they say about other groups."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spectralmirror.mixture.fit_base import MixtureWarning
from spectralmirror.mixture.integration import log_likelihoods
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.types import Vector

__all__ = ["Fitted", "Rows", "ScoredPart", "fitted", "score_part"]


@dataclass(frozen=True, eq=False)
class Rows:
    """What is fitted: rows in groups, and what the estimator learned when they were accepted.

    Attributes
    ----------
    groups : InMemoryGroups
        The rows.
    classes : ndarray of shape (2,) or (C,)
        The labels that are coded as -1 and +1, or as 0, ..., C - 1.
    learned : dict
        Attributes such as the names of the features.
    """

    groups: InMemoryGroups
    classes: NDArray[Any]
    learned: dict[str, Any]

    def part(self, numbers: NDArray[np.intp]) -> Rows:
        """Return some of the groups."""
        part = replace(self.groups.take(numbers), trait_columns=self.groups.trait_columns)
        return replace(self, groups=part)


@dataclass(frozen=True)
class ScoredPart:
    """A fit to a part of the groups, and what it says about others.

    Attributes
    ----------
    log_likelihoods : ndarray
        Of each of the other groups.
    log_evidence : float
        Log evidence of the fit, for the part.
    """

    log_likelihoods: Vector
    log_evidence: float


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit.

    Attributes
    ----------
    model : LinearClassifierMixture or ChoiceMixture
        With all attributes.
    likelihood : Likelihood
        What was maximised; without rows if another process has done so.
    parameters : Parameters
        Where the maximum is.
    """

    model: Any
    likelihood: Likelihood
    parameters: Parameters

    def log_likelihoods(self, rows: Rows) -> Vector:
        """Return the log-likelihood of each group of any rows."""
        coordinates = replace(self.likelihood.coordinates, projected=False)
        likelihood = replace(self.likelihood, rows=rows.groups, coordinates=coordinates)
        return log_likelihoods(likelihood, self.parameters)


def fitted(estimator: Any, k: int, rows: Rows) -> Fitted:
    """Fit k classes; what a fit would warn of is part of the comparison."""
    model = clone(estimator).set_params(n_components=k)
    for name, value in rows.learned.items():
        setattr(model, name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)
        fit = model._chosen(rows.groups, rows.classes).fit
    return Fitted(model, fit.likelihood, fit.ascent.parameters)


def score_part(
    estimator: Any, k: int, rows: Rows, fit: NDArray[np.intp], others: NDArray[np.intp]
) -> ScoredPart:
    """Fit k classes to some groups, and return the log-likelihoods of others."""
    try:
        found = fitted(estimator, k, rows.part(fit))
    except ValueError as problem:
        raise ValueError(f"A part of the groups cannot be fitted by itself: {problem}") from None
    scores = found.log_likelihoods(rows.part(others))
    return ScoredPart(scores, float(found.model.log_evidence_))

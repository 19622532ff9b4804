"""The choice of the number of components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectralmirror.mixture.criteria import Criteria, FitQuality
from spectralmirror.mixture.evidence import CLEARLY
from spectralmirror.mixture.fitting import Fit
from spectralmirror.mixture.preprocessing import Features
from spectralmirror.mixture.starts import independent, n_agreeing

__all__ = [
    "CRITERIA",
    "Candidate",
    "evidence_path",
    "fewer_components",
    "gain",
    "select",
    "with_more_starts",
]

#: Largest number of components that is tried.
MOST_COMPONENTS = 12
#: Maximum number of starts for each number of components while the criterion improves, before it is
#: said that it no longer does, and for the best number.
RISING_STARTS, ENDING_STARTS, MANY_STARTS = 6, 24, 50
#: The same for each number if these are compared with a spread.
FEW_STARTS = 12
#: A search has found the top if this many independent starts have reached it.
ENOUGH = 4
#: Fewer components than the spectrum shows are not trusted until this many in a row are worse.
MOST_WORSE = 2
#: Another component must raise the score by more than this.
MARGINS = {"evidence": CLEARLY, "bic": 1e-3, "icl": 1e-3}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A fit for some number of components, and the estimates of the features that it used."""

    fit: Fit
    features: Features

    @property
    def n_components(self) -> int:
        """The number of components of the fit."""
        return len(self.fit.ascent.parameters)

    @property
    def is_settled(self) -> bool:
        """Whether the search ended early, or its starts agree."""
        starts = self.fit.starts
        return len(starts) < RISING_STARTS or n_agreeing(independent(starts)) >= ENOUGH

    @cached_property
    def criteria(self) -> Criteria:
        """The information criteria of the fit: one pass over the rows."""
        return Criteria.of(self.fit)

    @cached_property
    def quality(self) -> FitQuality:
        """The quality of the fit: one more pass over the rows, averaged over its parameters."""
        return FitQuality.of(self.fit, self.criteria)

    @property
    def bic(self) -> float:
        """The Bayesian information criterion; lower is better."""
        return self.criteria.bic

    @property
    def has_evidence(self) -> bool:
        """Whether the log evidence is known."""
        return self.fit.laplace is not None

    @property
    def log_evidence(self) -> float:
        """The log evidence; -BIC/2, which approximates it, if it is not known."""
        found = self.fit.laplace
        return -self.bic / 2 if found is None else found.log_evidence


#: What the number of components maximises.
CRITERIA: dict[str, Callable[[Candidate], float]] = {
    "evidence": lambda candidate: candidate.log_evidence,
    "bic": lambda candidate: -candidate.bic / 2,
    "icl": lambda candidate: -candidate.criteria.icl / 2,
}


def gain(candidate: Candidate, best: Candidate, criterion: str) -> float:
    """Return how much better a candidate is; by BIC if only one of both has a known evidence."""
    if criterion == "evidence" and candidate.has_evidence != best.has_evidence:
        criterion = "bic"
    return CRITERIA[criterion](candidate) - CRITERIA[criterion](best)


def evidence_path(tried: dict[int, Candidate]) -> dict[int, float]:
    """Return the log evidence of each number of components; -BIC/2 of all if some are not known."""
    known = all(one.has_evidence for one in tried.values())
    return {k: one.log_evidence if known else -one.bic / 2 for k, one in tried.items()}


def select(
    fit_k: Callable[..., Candidate],
    n_visible: Callable[[], int],
    criterion: str,
    first: int = 1,
) -> tuple[Candidate, dict[int, Candidate]]:
    """Fit 1, 2, ... components until the criterion no longer improves.

    Parameters
    ----------
    fit_k : callable
        (k, before, n_init) -> fit of k components with at most so many starts, one of them from a
        candidate that was fitted before; with as many as requested if `n_init` is None.
    n_visible : callable
        Returns the number of directions that the spectrum shows. At least as many components are
        tried, unless some are left without rows before, or two numbers in a row are worse.
    criterion : str
        One of `CRITERIA`.
    first : int
        The smallest number of components that is tried.

    Returns
    -------
    best : Candidate
        The best fit. If its search ended early, it is repeated with more starts.
    tried : dict
        All fits, by their number of components.
    """
    best = candidate = fit_k(first, None, None)
    tried, least, n_worse = {first: best}, n_visible(), 0
    for k in range(first + 1, max(MOST_COMPONENTS, first) + 1):
        candidate = fit_k(k, candidate, RISING_STARTS)
        if candidate.fit.n_dropped:
            break
        if gain(candidate, best, criterion) <= MARGINS[criterion]:
            candidate = with_more_starts(fit_k, candidate, criterion, ENDING_STARTS)
        tried[k] = candidate
        if gain(candidate, best, criterion) > MARGINS[criterion]:
            best, n_worse = candidate, 0
            continue
        n_worse += 1
        if k >= least or n_worse == MOST_WORSE:
            break
    best = tried[best.n_components] = with_more_starts(fit_k, best, criterion)
    return best, tried


def with_more_starts(
    fit_k: Callable[..., Candidate], best: Candidate, criterion: str, n_init: int = MANY_STARTS
) -> Candidate:
    """Continue a search whose starts do not agree, and return the better of both fits."""
    if best.is_settled:
        return best
    again = fit_k(best.n_components, best, n_init)
    score = CRITERIA[criterion]
    return again if score(again) > score(best) and not again.fit.n_dropped else best


def fewer_components(chosen: Candidate, fit_k: Callable[..., Candidate]) -> dict[int, float]:
    """Return the log evidence of fewer components, if it was compared, on all rows.

    Starts may have been compared on a sample. If fewer components have more evidence there, they
    are fitted to all rows; otherwise they cannot have more on all rows.
    """
    k, found = len(chosen.fit.ascent.parameters), chosen.fit.fewer
    fewer = {number: value for number, value in found.items() if number < k}
    if chosen.fit.on_all_rows:
        return fewer
    better = [number for number, value in fewer.items() if value > found.get(k, np.inf)]
    return {number: fit_k(number, None, None).log_evidence for number in better}

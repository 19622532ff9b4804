"""The choice of the number of components by BIC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from spectralmirror.mixture.criteria import FitQuality
from spectralmirror.mixture.fitting import Fit
from spectralmirror.mixture.preprocessing import Features

__all__ = ["Candidate", "select_by_bic"]

#: Largest number of components that is tried.
MOST_COMPONENTS = 12
#: Another component must lower BIC by more than this.
MARGIN = 1e-3


@dataclass(frozen=True, eq=False)
class Candidate:
    """A fit for some number of components, and the estimates of the features that it used."""

    fit: Fit
    features: Features

    @cached_property
    def quality(self) -> FitQuality:
        """The quality of the fit: one pass over the rows."""
        return FitQuality.of(self.fit)

    @property
    def bic(self) -> float:
        """The Bayesian information criterion."""
        return self.quality.criteria.bic


def select_by_bic(
    fit_k: Callable[[int], Candidate], n_visible: Callable[[], int]
) -> tuple[Candidate, dict[int, float]]:
    """Fit 1, 2, ... components until BIC no longer falls; return the best fit and all BICs.

    Parameters
    ----------
    fit_k : callable
        k -> fit of k components.
    n_visible : callable
        Returns the number of directions that the spectrum shows. At least as many components are
        tried, unless some are left without rows before.
    """
    best = fit_k(1)
    path, least = {1: best.bic}, n_visible()
    for k in range(2, MOST_COMPONENTS + 1):
        candidate = fit_k(k)
        if candidate.fit.n_dropped:
            break
        path[k] = candidate.bic
        if candidate.bic < best.bic - MARGIN:
            best = candidate
        elif k >= least:
            break
    return best, path

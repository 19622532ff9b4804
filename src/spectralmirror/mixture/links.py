"""log f and its two derivatives, for the responses whose likelihood is smooth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

from spectralmirror.arrays import Matrix

__all__ = ["LINKS", "Link"]


@dataclass(frozen=True)
class Link:
    """A smooth response: log f(t), its slope and its curvature, stable in both tails.

    Parameters
    ----------
    name : str
        Of the response.
    log_f : callable
        t -> log f(t).
    slope : callable
        t, log f -> (log f)'(t), positive.
    curvature : callable
        t, slope -> (log f)''(t), negative.
    """

    name: str
    log_f: Callable[[Matrix], Matrix]
    slope: Callable[[Matrix, Matrix], Matrix]
    curvature: Callable[[Matrix, Matrix], Matrix]


def _normal_slope(t: Matrix, log_f: Matrix) -> Matrix:
    return np.asarray(np.exp(-0.5 * t * t - log_f) / np.sqrt(2 * np.pi))


#: (log f)' = 1 - f = f(-t) and (log f)'' = -f (1 - f) for the logistic response; the inverse
#: Mills ratio g and -g (t + g) for the probit.
LINKS = {
    "logistic": Link(
        "logistic", log_expit, lambda t, _: expit(-t), lambda _, slope: slope * (slope - 1)
    ),
    "probit": Link("probit", log_ndtr, _normal_slope, lambda t, slope: -slope * (t + slope)),
}
#: Hard labels are fitted as logistic ones, whose profiles the penalty keeps finite.
LINKS["hard"] = LINKS["logistic"]

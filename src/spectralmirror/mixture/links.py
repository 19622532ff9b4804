"""log f and its two derivatives, for the responses whose likelihood is smooth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, expit, log_expit, log_ndtr

from spectralmirror.rows.types import Matrix

__all__ = ["LINKS", "Link"]

#: The curvature of log f of the probit is -1 to eight digits from here on to the left.
FAR_LEFT = -1e4


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
        t -> (log f)'(t), positive.
    curvature : callable
        t, slope -> (log f)''(t), negative.
    """

    name: str
    log_f: Callable[[Matrix], Matrix]
    slope: Callable[[Matrix], Matrix]
    curvature: Callable[[Matrix, Matrix], Matrix]


def _normal_slope(t: Matrix) -> Matrix:
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(2 / np.pi) / erfcx(-t / np.sqrt(2)))


def _normal_curvature(t: Matrix, slope: Matrix) -> Matrix:
    # far out on the left t + g is a small difference of large numbers
    return np.where(t < FAR_LEFT, -1.0, -slope * (t + slope))


#: (log f)' = 1 - f = f(-t) and (log f)'' = -f (1 - f) for the logistic response; the inverse
#: Mills ratio g and -g (t + g) for the probit.
LINKS = {
    "logistic": Link(
        "logistic", log_expit, lambda t: expit(-t), lambda _, slope: slope * (slope - 1)
    ),
    "probit": Link("probit", log_ndtr, _normal_slope, _normal_curvature),
}
#: Hard labels are fitted as logistic ones, whose profiles the penalty keeps finite.
LINKS["hard"] = LINKS["logistic"]

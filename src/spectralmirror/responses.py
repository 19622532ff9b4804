"""The response f of a classifier: P(y = +1 | x) = f(<u, x>).

The paper (eq. 3) requires that f is non-decreasing, that f(-t) = 1 - f(t), that f tends to 0 and 1,
and that f is concave for t > 0. A :class:`Response` listed in ``RESPONSES`` is all that it takes to
add one: simulation, fits, the command line and the report look there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, expit, log_expit, log_ndtr, ndtr

__all__ = ["RESPONSES", "Response", "get_response", "normal_mean"]

Values = NDArray[np.float64]

#: Averages over a normal distribution have steps of 1 / deviation, for deviations within these
#: bounds, and end this many standard deviations out.
LEAST_FINE, MOST_FINE, FARTHEST = 4.0, 1024.0, 7.0
#: Below this t, the curvature of the probit's log f equals -1 to eight digits.
FAR_LEFT = -1e4


@dataclass(frozen=True)
class Response:
    """f, log f and the derivatives of log f, each stable in both tails.

    Parameters
    ----------
    name : str
        The value of ``response=`` that selects it.
    f : callable
        t -> P(y = +1) at <u, x> = t; P(y = -1) is f(-t).
    log_f : callable
        t -> log f(t); must not underflow for very negative t unless f is exactly 0 there.
    slope : callable
        t -> (log f)'(t), which is non-negative.
    curvature : callable
        (t, slope) -> (log f)''(t), given the slope at t; non-positive wherever log f is concave.
    effect_name : str
        What the entries of a profile measure, as in "Log-odds of y = 1, per unit of a feature".
    description : str
        How the labels arise, as a clause without a full stop.
    canonical : bool, default=False
        Whether f is the logistic function, the canonical one of binary labels: then
        (log f)' = 1 - f, and effects multiply the odds.
    surrogate : str or None, default=None
        Name of the response that is fitted in place of this one, whose likelihood is not smooth.
        The labels then do not identify the norms of the profiles: profiles are reported with unit
        norm and without standard errors.
    """

    name: str
    f: Callable[[ArrayLike], Values]
    log_f: Callable[[ArrayLike], Values]
    slope: Callable[[ArrayLike], Values]
    curvature: Callable[[ArrayLike, ArrayLike], Values]
    effect_name: str
    description: str
    canonical: bool = False
    surrogate: str | None = None

    def __reduce__(self) -> Any:
        """Pickle a registered response by name: SciPy's functions do not pickle reliably."""
        registered = self is RESPONSES.get(self.name)
        return (get_response, (self.name,)) if registered else super().__reduce__()

    @property
    def norm_identified(self) -> bool:
        """Whether labels determine the norms of the profiles, not only their directions."""
        return self.surrogate is None

    @property
    def fitted(self) -> Response:
        """The response whose likelihood is maximised: the surrogate if there is one."""
        return self if self.surrogate is None else RESPONSES[self.surrogate]

    def derivative(self, t: ArrayLike) -> Values:
        """Return f'(t) = f(t) (log f)'(t)."""
        t = np.asarray(t, dtype=np.float64)
        return np.asarray(self.f(t) * self.slope(t))

    @property
    def noise_variance(self) -> float:
        """The variance s^2 for which Phi(t / s) is closest to f at 0: the same slope there.

        If t is normal with variance v, E f(t) is about f(E t / sqrt(1 + v / s^2)): exact for the
        probit; s^2 = 8 / pi for the logistic (MacKay 1992).
        """
        return float(1 / (2 * np.pi * self.derivative(0.0) ** 2))

    def averaged(self, t: ArrayLike, deviation: ArrayLike) -> Values:
        """Return E f(t + deviation z) for z ~ N(0, 1), of the shape to which both broadcast.

        A step has a closed form; other averages are those of :func:`normal_mean`.
        """
        t, s = np.broadcast_arrays(np.asarray(t, np.float64), np.asarray(deviation, np.float64))
        if self.surrogate is not None:  # a step
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(s > 0, ndtr(t / s), self.f(t))
        return normal_mean(lambda at, _: self.f(at), t, s)

    def expected_label(self, t: ArrayLike) -> Values:
        """Return E[y | <u, x> = t] = 2 f(t) - 1, the paper's g, computed as f(t) - f(-t)."""
        t = np.asarray(t, dtype=np.float64)
        return self.f(t) - self.f(-t)


def normal_mean(
    function: Callable[[Values, float], Values], t: ArrayLike, deviation: ArrayLike
) -> Values:
    """Return E g(t + deviation z, z) for z ~ N(0, 1), of the shape to which both broadcast.

    By the trapezoidal rule, which is exact to 1e-8 or so for a smooth g if its steps are small
    compared with 1 and with 1 / deviation.
    """
    t, s = np.broadcast_arrays(np.asarray(t, np.float64), np.asarray(deviation, np.float64))
    found = np.empty(t.shape)
    level = np.ceil(np.log2(np.clip(s, LEAST_FINE, MOST_FINE) / LEAST_FINE))
    for one in np.unique(level):
        here = level == one
        h = 1 / (LEAST_FINE * 2.0**one)
        z = h * np.arange(-np.ceil(FARTHEST / h), np.ceil(FARTHEST / h) + 1)
        w = np.exp(-0.5 * z * z)
        found[here] = sum(
            (p * function(t[here] + x * s[here], x) for x, p in zip(z, w / w.sum(), strict=True)),
            start=np.zeros(int(here.sum())),
        )
    return found


def _complement(t: ArrayLike) -> Values:
    return np.asarray(expit(np.negative(t, dtype=np.float64)))


def _logistic_curvature(_: ArrayLike, slope: ArrayLike) -> Values:
    """Return -f (1 - f)."""
    slope = np.asarray(slope)
    return np.asarray(slope * (slope - 1))


def _inverse_mills_ratio(t: ArrayLike) -> Values:
    """Return phi(t) / Phi(t)."""
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(2 / np.pi) / erfcx(-np.asarray(t) / np.sqrt(2)))


def _probit_curvature(t: ArrayLike, slope: ArrayLike) -> Values:
    """Return -g (t + g), where g is the inverse Mills ratio."""
    t, slope = np.asarray(t), np.asarray(slope)
    # far to the left, t + g is a small difference of large numbers
    return np.where(t < FAR_LEFT, -1.0, -slope * (t + slope))


def _step(t: ArrayLike) -> Values:
    return np.heaviside(np.asarray(t, dtype=np.float64), 0.5)


def _log_step(t: ArrayLike) -> Values:
    with np.errstate(divide="ignore"):
        return np.log(_step(t))


def _zeros(t: ArrayLike, _: ArrayLike | None = None) -> Values:
    return np.zeros(np.shape(t))


LOGISTIC = Response(
    "logistic",
    expit,
    log_expit,
    _complement,
    _logistic_curvature,
    effect_name="Log-odds",
    description="the log-odds of a label are linear in the features",
    canonical=True,
)
PROBIT = Response(
    "probit",
    ndtr,
    log_ndtr,
    _inverse_mills_ratio,
    _probit_curvature,
    effect_name="Probits",
    description="the label is the sign of a linear score with Gaussian noise",
)
#: y = sign(<u, x>), the limit of the others as the norms of the profiles grow; a fair coin at
#: t = 0. Its surrogate is the logistic response, under a penalty that keeps the profiles finite.
HARD = Response(
    "hard",
    _step,
    _log_step,
    _zeros,
    _zeros,
    effect_name="Direction",
    description="each classifier labels by the side of a plane, without noise",
    surrogate="logistic",
)

RESPONSES = {response.name: response for response in (LOGISTIC, PROBIT, HARD)}


def get_response(response: str | Response) -> Response:
    """Return the response of that name; a :class:`Response` is returned as it is."""
    if isinstance(response, Response):
        return response
    try:
        return RESPONSES[response]
    except (KeyError, TypeError):
        known = ", ".join(repr(name) for name in RESPONSES)
        raise ValueError(
            f"response must be one of {known} or a Response, got {response!r}."
        ) from None

"""The response f of a classifier: P(y = +1 | x) = f(<u, x>).

The paper (eq. 3) asks of f that it does not decrease, that f(-t) = 1 - f(t), that it tends to
0 and 1, and that it is concave for t > 0. A new response is one more :class:`Response` below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_ndtr, ndtr

__all__ = ["RESPONSES", "Response", "get_response"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Response:
    """f, log f and f' of one kind of classifier, each stable in both tails.

    Parameters
    ----------
    name : str
        What users pass as ``response=``.
    f : callable
        t -> P(y = +1) at <u, x> = t; P(y = -1) is f(-t).
    log_f : callable
        t -> log f(t), without underflow for very negative t where f has no exact zero.
    derivative : callable
        t -> f'(t).
    """

    name: str
    f: Callable[[ArrayLike], Vector]
    log_f: Callable[[ArrayLike], Vector]
    derivative: Callable[[ArrayLike], Vector]

    def __reduce__(self) -> Any:
        """Pickle a response of ours by its name: functions of SciPy do not pickle reliably."""
        ours = self is RESPONSES.get(self.name)
        return (get_response, (self.name,)) if ours else super().__reduce__()

    def expected_label(self, t: ArrayLike) -> Vector:
        """E[y | <u, x> = t] = 2 f(t) - 1, the paper's g, computed as f(t) - f(-t)."""
        t = np.asarray(t, dtype=np.float64)
        return self.f(t) - self.f(-t)


def _logistic_derivative(t: ArrayLike) -> Vector:
    t = np.asarray(t, dtype=np.float64)
    return np.asarray(expit(t) * expit(-t))


def _normal_density(t: ArrayLike) -> Vector:
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-0.5 * np.square(t, dtype=np.float64)) / np.sqrt(2 * np.pi))


def _step(t: ArrayLike) -> Vector:
    return np.heaviside(np.asarray(t, dtype=np.float64), 0.5)


def _log_step(t: ArrayLike) -> Vector:
    with np.errstate(divide="ignore"):
        return np.log(_step(t))


LOGISTIC = Response("logistic", expit, log_expit, _logistic_derivative)
PROBIT = Response("probit", ndtr, log_ndtr, _normal_density)
#: y = sign(<u, x>), the limit of either for profiles of infinite norm; a fair coin at t = 0.
HARD = Response("hard", _step, _log_step, lambda t: np.zeros_like(_step(t)))

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

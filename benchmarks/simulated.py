"""Simulated data for `benchmarks/trust.py`: many feature distributions, and misspecified labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track
from rich.table import Table

from spectralmirror.responses import get_response

CONSOLE = Console(width=150)


def two_gaussians(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return rows of two clusters whose centres are 4 apart along the diagonal."""
    side = rng.choice([-1.0, 1.0], n)[:, None]
    return (rng.standard_normal((n, d)) + 2 * side / np.sqrt(d)) / np.sqrt(1 + 4 / d)


def elliptical_t3(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return rows of an elliptical t distribution with 3 degrees of freedom."""
    return rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(3, n))[:, None]


#: Every column has mean 0 and variance 1.
FEATURES: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "Gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "t_3": elliptical_t3,
    "t_3 columns": lambda rng, n, d: rng.standard_t(3, (n, d)) / np.sqrt(3),
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)) - 1,
    "binary": lambda rng, n, d: ((rng.uniform(size=(n, d)) < 0.2) - 0.2) / 0.4,
    "uniform": lambda rng, n, d: rng.uniform(-1, 1, (n, d)) * np.sqrt(3),
    "two Gaussians": two_gaussians,
}


@dataclass(frozen=True)
class Data:
    """Rows, labels of -1 and +1, the component of each row, and P(y = +1 | x)."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    components: np.ndarray
    proba: np.ndarray

    @property
    def log_loss(self) -> float:
        """The log-loss of the true mixture, which does not know the components."""
        p = np.where(self.y > 0, self.proba, 1 - self.proba)
        return -float(np.log(np.maximum(p, 1e-300)).mean())


@dataclass(frozen=True)
class World:
    """A mixture, and a misspecification that the fitted model does not include.

    Faults: "coins" (5 % of labels are coin flips), "flipped" (1 % of labels are flipped), "uneven
    noise" (scores are multiplied by 1/2 to 2, depending on x_1), "quadratic" (scores have a term
    x_1^2 - 1), "gradual" (each group has a random intercept of standard deviation 1).
    """

    profiles: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray | None = None
    response: str = "logistic"
    features: str = "Gaussian"
    group_size: int = 1
    fault: str = ""

    def draw(self, n: int, seed: int) -> Data:
        """Draw n rows."""
        rng = np.random.default_rng([seed, n])
        k, d = self.profiles.shape
        X = FEATURES[self.features](rng, n, d)
        groups = np.arange(n) // self.group_size
        components = rng.choice(k, size=groups[-1] + 1, p=self.weights)[groups]
        t = X @ self.profiles.T + (0.0 if self.intercepts is None else self.intercepts)
        if self.fault == "uneven noise":
            t *= np.exp(np.log(2) * np.tanh(X[:, [0]]))
        elif self.fault == "quadratic":
            t += X[:, [0]] ** 2 - 1
        elif self.fault == "gradual":
            t += rng.standard_normal(groups[-1] + 1)[groups][:, None]
        f = get_response(self.response).f(t)
        if self.fault == "coins":
            f = 0.95 * f + 0.05 / 2
        elif self.fault == "flipped":
            f = 0.99 * f + 0.01 * (1 - f)
        y = np.where(rng.uniform(size=n) < f[np.arange(n), components], 1, -1)
        return Data(X, y, groups, components, f @ self.weights)

    def with_(self, **changes: Any) -> World:
        """Return a copy with some changes."""
        return replace(self, **changes)


def turned_profiles(k: int, d: int, norm: float) -> np.ndarray:
    """Return k orthogonal profiles (k <= d), none of them along a feature."""
    basis = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
    return norm * basis[:k]


def over_seeds(function: Callable[..., Any], jobs: Iterable[tuple], what: str) -> list[Any]:
    """Apply the function to every job, on all cores."""
    jobs = list(jobs)
    results = Parallel(-1, return_as="generator")(delayed(function)(*job) for job in jobs)
    return list(track(results, total=len(jobs), description=what, console=CONSOLE, transient=True))


def table(title: str, columns: Iterable[str]) -> Table:
    """Return an empty table whose first column is text."""
    made = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right")
    return made


def share(hits: Any) -> str:
    """Return a percentage and its standard error; one half-hit more keeps the latter above 0."""
    hits = np.asarray(hits, dtype=np.float64)
    error = np.append(hits, 0.5).std() / np.sqrt(len(hits))
    return f"{100 * hits.mean():.1f} ± {100 * error:.1f}"


def mean(values: Any, digits: int = 3) -> str:
    """Return the mean over data sets, with its standard error."""
    values = np.asarray(values, dtype=np.float64)
    return f"{values.mean():.{digits}f} ± {values.std() / np.sqrt(len(values)):.{digits}f}"

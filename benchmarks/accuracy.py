"""Accuracy of the paper's method, ours and maximum likelihood, and the information bound.

Run with ``make accuracy``; 20 seeds per case on all cores. The error constant is
E |sin Theta|_F^2 n / (d - k), which does not depend on n once a method converges at its rate.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp

from spectralmirror import LinearClassifierMixture, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.experiments.data import at_angle
from spectralmirror.experiments.references import inverse_information
from spectralmirror.metrics import principal_angles

SEEDS = 20


@dataclass(frozen=True)
class Case:
    """One line of the table: the data, the measure and its target."""

    name: str
    n: int
    d: int
    k: int
    measure: str
    target: float
    options: dict = field(default_factory=dict)
    ours: dict = field(default_factory=dict)
    degrees_of_freedom: float | None = None

    def data(self, seed: int):
        """Draw X, y and the truth."""
        options = {"weights": np.full(self.k, 1 / self.k), **self.options}
        X, y, truth = make_linear_classifier_mixture(
            self.n, self.d, self.k, random_state=seed, **options
        )
        if self.degrees_of_freedom:  # hard labels depend on directions only
            chi = np.random.default_rng(seed).chisquare(self.degrees_of_freedom, self.n)
            X /= np.sqrt(chi / self.degrees_of_freedom)[:, None]
        return X, y, truth

    def value(self, sines: np.ndarray) -> float:
        """Return the measure, from the sines of all principal angles of every seed."""
        if self.measure == "constant":
            return float(np.square(sines).sum(axis=1).mean() * self.n / (self.d - self.k))
        if self.measure == "share":
            return float(1 - np.square(sines).mean())
        return float(sines[:, 0].mean())


CASES = [
    Case("hard, 90°, p=1/2, d=50, n/d=200", 10_000, 50, 2, "constant", 11.5,
         {"profiles": at_angle(90, 1, 50), "response": "hard"}),
    Case("the same, elliptical=True", 10_000, 50, 2, "constant", 11.5,
         {"profiles": at_angle(90, 1, 50), "response": "hard"}, {"elliptical": True}),
    Case("logistic 5, 90°, p=1/2, d=50, n/d=100", 5_000, 50, 2, "constant", 17,
         {"profiles": at_angle(90, 5, 50)}),
    Case("logistic 3, 90°, p=0.7, d=50, n/d=200", 10_000, 50, 2, "constant", 42,
         {"profiles": at_angle(90, 3, 50), "weights": [0.7, 0.3]}),
    Case("blind spot: logistic 3, 130°, p=0.799, d=30, n=80,000", 80_000, 30, 2, "sine", 0.30,
         {"profiles": at_angle(130, 3, 30), "weights": [0.79864, 0.20136]}),
    Case("six hard orthogonal, d=10, n=200,000", 200_000, 10, 6, "sine", 0.16,
         {"profiles": np.eye(6, 10), "response": "hard"}),
    Case("t_3 features, hard, 90°, d=30, n=10,000", 10_000, 30, 2, "sine", 0.18,
         {"profiles": at_angle(90, 1, 30), "response": "hard"}, {"elliptical": True}, 3.0),
    Case("groups of 5, three hard random, d=50, n/d=100", 5_000, 50, 3, "sine", 0.36,
         {"profile_norm": None, "response": "hard", "group_size": 5}),
    Case("groups of 10, eight hard random, d=100, n/d=200", 20_000, 100, 8, "sine", 0.56,
         {"profile_norm": None, "response": "hard", "group_size": 10}),
    Case("mean 0.3, logistic 4, three random, d=20, n=50,000", 50_000, 20, 3, "share", 0.97,
         {"mean": 0.3}),
]  # fmt: skip


def likelihood_from_truth(X, y, truth, l2: float = 0.1) -> np.ndarray:
    """Return the profiles of the maximum of the penalised likelihood, found from the truth.

    The penalty is l2/2 |u|^2. Rows of a group share a component. Hard labels are fitted as logistic
    ones.
    """
    n, d = X.shape
    k = len(truth.weights)
    hard = truth.response.name == "hard"
    scale = 10 / np.linalg.norm(truth.profiles, axis=1, keepdims=True) if hard else 1.0
    signed = y[:, None] * X
    starts = np.flatnonzero(np.diff(truth.groups, prepend=-1))

    def objective(theta):
        U, a = theta[: k * d].reshape(k, d), theta[k * d :]
        t = signed @ U.T
        log_p = a - logsumexp(a)
        by_group = np.add.reduceat(log_expit(t), starts, axis=0) + log_p
        total = logsumexp(by_group, axis=1)
        posterior = np.exp(by_group - total[:, None])
        slope = posterior[truth.groups] * expit(-t)
        gradient_U = slope.T @ signed - l2 * U
        gradient_a = posterior.sum(axis=0) - len(starts) * np.exp(log_p)
        value = total.sum() - l2 / 2 * np.square(U).sum()
        return -value / n, -np.r_[gradient_U.ravel(), gradient_a] / n

    start = np.r_[(truth.profiles * scale).ravel(), np.log(truth.weights)]
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000})
    return found.x[: k * d].reshape(k, d)


def one(case: Case, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the sines of the principal angles of four estimates, and our own error estimate."""
    X, y, truth = case.data(seed)
    groups = truth.groups if case.options.get("group_size") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paper = SpectralMirror(case.k, method="paper").fit(X, y)
        ours = SpectralMirror(case.k, random_state=seed, **case.ours).fit(X, y, groups=groups)
        mixture = LinearClassifierMixture(case.k, fit_intercept=False, random_state=seed)
        profiles = mixture.fit(X, y, groups=groups).coef_ if case.k == 2 else ours.components_
    likely = likelihood_from_truth(X, y, truth)
    bases = paper.components_, ours.components_, profiles, likely
    sines = (np.sin(principal_angles(basis, truth.profiles)) for basis in bases)
    return *sines, ours.error_estimate_


def counted(k: int, seed: int) -> int:
    X, y, _ = make_linear_classifier_mixture(
        30_000, 30, profiles=5 * np.eye(k, 30), weights=np.full(k, 1 / k), random_state=seed
    )
    return SpectralMirror("auto", random_state=seed).fit(X, y).n_components_


def main() -> None:
    console = Console(width=150)
    table = Table(title=f"Subspace errors, means over {SEEDS} seeds", title_justify="left")
    for column in ("case", "measure", "paper", "ours", "must reach", "own estimate", "mixture",
                   "likelihood", "bound"):  # fmt: skip
        table.add_column(column, justify="left" if column in ("case", "measure") else "right")
    jobs = [(case, seed) for case in CASES for seed in range(SEEDS)]
    results = track(
        Parallel(-1, return_as="generator")(delayed(one)(*job) for job in jobs),
        total=len(jobs), description="seeds", console=console, transient=True,
    )  # fmt: skip
    found = list(results)
    for i, case in enumerate(CASES):
        part = found[i * SEEDS : (i + 1) * SEEDS]
        paper, ours, mixture, likely = (
            case.value(np.array([r[j] for r in part])) for j in range(4)
        )
        own = np.sqrt(np.mean([r[4] ** 2 for r in part]))
        actual = np.sqrt(np.mean([np.square(r[1]).sum() for r in part]))
        bound = ""
        if case.measure == "constant" and case.options.get("response") != "hard":
            weights = case.options.get("weights", [0.5, 0.5])
            bound = f"{np.trace(inverse_information(case.options['profiles'], weights)):.1f}"
        digits = 1 if case.measure == "constant" else 3
        table.add_row(
            case.name, case.measure, *(f"{v:.{digits}f}" for v in (paper, ours)),
            f"{case.target:g}", f"{own:.2f} of {actual:.2f}",
            f"{mixture:.{digits + 1}f}" if case.k == 2 else "", f"{likely:.{digits + 1}f}", bound,
        )  # fmt: skip
    for k in (1, 2, 3, 4):
        right = np.mean(
            [c == k for c in Parallel(-1)(delayed(counted)(k, s) for s in range(SEEDS))]
        )
        table.add_row(f"auto: logistic 5 orthogonal, k={k}, d=30, n/d=1,000", "right", "",
                      f"{right:.0%}", "90%", "", "", "", "")  # fmt: skip
    console.print(table)

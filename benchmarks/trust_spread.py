"""Persons who differ by degrees: whether the spread is found, and its intervals are right."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm, t

from benchmarks.simulated import CONSOLE, mean, over_seeds, share, table
from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import profile_error

#: Data sets of a case, and the first seeds: choices were made on other ones.
CHOICE_SEEDS, COVERAGE_SEEDS = 20, 200
FIRST_CHOICE, FIRST_COVERAGE = 2_000, 1_000


@dataclass(frozen=True)
class Case:
    """Persons of k classes with profiles of some norm, whose coefficients scatter.

    With a `personal` standard deviation, only the intercepts scatter.
    """

    name: str
    k: int
    spread: float
    personal: float = 0.0
    n_persons: int = 300
    n_rows: int = 15
    d: int = 5
    norm: float = 3.0

    def draw(self, seed: int):
        """Return features, labels, persons, and the truth."""
        weights = [0.6, 0.4] if self.k == 2 else [1.0]
        spread = np.append(np.full(self.d, self.spread), self.personal)
        rng = np.random.default_rng(seed)
        U = rng.standard_normal((self.k, self.d))
        U *= self.norm / np.linalg.norm(U, axis=1, keepdims=True)
        X, y, truth = make_linear_classifier_mixture(
            self.n_persons * self.n_rows, profiles=np.column_stack([U, np.zeros(self.k)]),
            weights=weights, group_size=self.n_rows, spread=spread,
            mean=np.append(np.zeros(self.d), 1.0), covariance=np.append(np.ones(self.d), 1e-12),
            random_state=seed,
        )  # fmt: skip
        return X[:, :-1], y, truth.groups, truth


CHOICE = [
    Case("two classes", 2, 0.0),
    Case("two classes, sd 0.7", 2, 0.7),
    Case("two classes, sd 1.2", 2, 1.2),
    Case("one class, sd 1", 1, 1.0),
    Case("one class, personal intercepts, sd 1.5", 1, 0.0, 1.5),
]
COVERAGE = {
    "intercept": Case("one class, personal intercepts, sd 1.5", 1, 0.0, 1.5, d=3),
    "diagonal": Case("two classes, sd 0.7", 2, 0.7, d=3),
}


def fitted(X, y, groups, k, spread, seed, **options):
    """Return a fit, and its processor seconds."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = LinearClassifierMixture(k, spread=spread, random_state=seed, **options)
        mixture.fit(X, y, groups=groups)
    return mixture, time.process_time() - start


def chosen(case: Case, seed: int) -> list[float]:
    """Return whether the number of classes and the spread are right, errors, and seconds."""
    X, y, groups, truth = case.draw(FIRST_CHOICE + seed)
    U = truth.profiles[:, :-1]
    mixture, seconds = fitted(X, y, groups, "auto", "auto", seed)
    discrete, _ = fitted(X, y, groups, case.k, None, seed)
    same = mixture.n_components_ == case.k
    scatters = case.spread > 0 or case.personal > 0
    return [
        same, (mixture.spread_kind_ is not None) == scatters,
        profile_error(U, mixture.coef_) if same else np.nan,
        profile_error(U, discrete.coef_), seconds,
    ]  # fmt: skip


def covered(kind: str, seed: int) -> list[float]:
    """Return the shares of profiles, standard deviations and weights inside their intervals.

    The last is that of persons' coefficients inside mean -+ 1.645 posterior standard deviations.
    """
    case = COVERAGE[kind]
    X, y, groups, truth = case.draw(FIRST_COVERAGE + seed)
    mixture, _ = fitted(X, y, groups, case.k, kind, seed)
    if mixture.n_components_ < case.k or mixture.covariance_ is None:
        return [np.nan] * 4
    q = t.isf(0.025, mixture.degrees_of_freedom_)
    U = truth.profiles[:, :-1]
    order = linear_sum_assignment(np.square(U[:, None] - mixture.coef_).sum(axis=-1))[1]
    gaps = np.abs(mixture.coef_[order] - U) / mixture.coef_standard_error_[order]
    sd, error, true = mixture.spread_deviation_, mixture.spread_standard_error_, case.spread
    if kind == "intercept":
        sd, error = mixture.intercept_deviation_, mixture.intercept_deviation_standard_error_
        true = case.personal
    of_spread = np.abs(np.log(sd / true)) < q * error / sd
    weights = np.abs(mixture.weights_[order] - truth.weights)
    persons = mixture.person_profiles(X, y, groups)
    apart = np.abs(persons.coef - truth.person_profiles[:, :-1]) / np.maximum(
        persons.coef_standard_deviation, 1e-300
    )
    if kind == "intercept":
        apart = np.abs(persons.intercept - truth.person_profiles[:, -1])
        apart = apart / persons.intercept_standard_deviation
    return [
        (gaps < q).mean(), of_spread.mean(),
        (weights < q * mixture.weights_standard_error_[order]).mean() if case.k > 1 else np.nan,
        (apart < norm.isf(0.05)).mean(),
    ]  # fmt: skip


def spread() -> None:
    """Print the tables."""
    made = table(
        "Spread chosen from the data, 300 persons x 15 rows, 5 features",
        ("case", "right number", "spread right", "profile error", "without spread", "CPU s"),
    )
    for case in CHOICE:
        found = np.array(over_seeds(chosen, [(case, s) for s in range(CHOICE_SEEDS)], case.name))
        made.add_row(
            case.name, *(share(column) for column in found[:, :2].T),
            *(mean(column[np.isfinite(column)]) for column in found[:, 2:].T),
        )  # fmt: skip
    CONSOLE.print(made)
    made = table(
        "Coverage of 95 % intervals, and of 90 % intervals of persons; 300 persons x 15 rows",
        ("case", "profiles", "standard deviations", "weights", "persons (90 %)"),
    )
    for kind, case in COVERAGE.items():
        found = np.array(over_seeds(covered, [(kind, s) for s in range(COVERAGE_SEEDS)], case.name))
        made.add_row(
            case.name,
            *(share(c[np.isfinite(c)]) if np.isfinite(c).any() else "" for c in found.T),
        )
    CONSOLE.print(made)

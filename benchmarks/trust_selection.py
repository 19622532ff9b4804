"""Tests of the number of classes, level and power; and bootstrap intervals, coverage."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.simulated import CONSOLE, over_seeds, share, table
from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.mixture.summary import quantile
from spectralmirror.selection import compare_components
from spectralmirror.selection.compare import Options, _ratio_test, _split_test
from spectralmirror.selection.parts import Rows, fitted
from spectralmirror.selection.ratio_test import p_value
from spectralmirror.selection.split_test import at_least

#: Data sets of a case. With 19 resamples, a p-value of 0.05 means that all are below the data.
LEVEL_SEEDS, POWER_SEEDS, COVERAGE_SEEDS, N_RESAMPLES = 200, 50, 200, 19
#: With a spread, a data set takes seconds.
SPREAD_SEEDS = 60


@dataclass(frozen=True)
class Case:
    """Data of k classes of weights 0.6 and 0.4, with profiles of random direction."""

    name: str
    k: int
    n: int
    d: int
    norm: float
    group_size: int = 1
    spread: tuple[float, ...] | None = None

    def draw(self, seed: int):
        """Return features, labels and groups."""
        X, y, truth = make_linear_classifier_mixture(
            self.n, self.d, self.k, weights=[0.6, 0.4] if self.k == 2 else None,
            profile_norm=self.norm, group_size=self.group_size, spread=self.spread or 0.0,
            random_state=seed,
        )  # fmt: skip
        return X, y, truth.groups if self.group_size > 1 else None, truth


LEVEL = [
    Case("one class of norm 2, 500 rows, d = 4", 1, 500, 4, 2.0),
    Case("two classes of norm 3, 100 groups of 5, d = 2", 2, 500, 2, 3.0, 5),
]
SCATTERED = [
    Case("one class of norm 2, scattered by 0.8, 100 groups of 5, d = 2", 1, 500, 2, 2.0, 5,
         (0.8, 0.8)),
]  # fmt: skip
POWER = LEVEL[1:]
COVERAGE = [Case("100 groups of 10", 2, 1_000, 3, 3.0, 10)]


def tested(case: Case, seed: int, k: int) -> tuple[float, int]:
    """Return the p-value of k - 1 classes against k, and how many there are at least.

    These are the tests of `compare_components`, without its criteria and held-out likelihoods.
    """
    X, y, groups, _ = case.draw(seed)
    model = LinearClassifierMixture(
        spread=None if case.spread is None else "diagonal", random_state=seed
    )
    accepted = model._accepted(X, y, groups, None, None)
    rows, options = Rows(*accepted, {}), Options(k, N_RESAMPLES, 2, 0.05, seed, None)
    fits = [fitted(model, number, rows) for number in range(1, k + 1)]
    test = _ratio_test(rows, fits[-2], fits[-1], seed)
    p = p_value(test.observed.statistic, test.resampled(range(N_RESAMPLES)))
    return p, at_least(_split_test(model, rows, fits, options), 0.05)


def tests() -> None:
    """Print how often true numbers of classes are rejected, and too small ones."""
    made = table(
        f"{N_RESAMPLES} resamples, nominal 5 %: rejected in % of data sets, ± standard error",
        ["truth", "against", "data sets", "bootstrap test", "split test"],
    )
    kinds = (LEVEL, LEVEL_SEEDS, 1), (POWER, POWER_SEEDS, 0), (SCATTERED, SPREAD_SEEDS, 1)
    for cases, seeds, more in kinds:
        for case in cases:
            k = case.k + more
            found = over_seeds(tested, [(case, seed, k) for seed in range(seeds)], case.name)
            p, least = map(np.array, zip(*found, strict=True))
            made.add_row(case.name, f"{k - 1} against {k}", str(seeds), share(p <= 0.05),
                         share(least >= k))  # fmt: skip
    CONSOLE.print(made)
    made = table("CPU seconds, 199 resamples, 2,000 rows, d = 5, one process", ["what", "seconds"])
    for what, largest, truth in (("1 against 2", 2, 1), ("1 against 2 against 3", 3, 2)):
        X, y, _ = make_linear_classifier_mixture(2_000, 5, truth, profile_norm=4, random_state=1)
        start = time.process_time()
        for n_resamples in (0, 199):
            compare_components(
                LinearClassifierMixture(), X, y, max_components=largest, n_splits=2,
                n_resamples=n_resamples, random_state=0,
            )  # fmt: skip
            now = time.process_time()
            made.add_row(f"{what}, {n_resamples} resamples", f"{now - start:.1f}")
            start = now
    CONSOLE.print(made)


def covered(case: Case, seed: int) -> np.ndarray:
    """Return whether intervals cover the truth: of profiles and weights, sandwich and bootstrap."""
    X, y, groups, truth = case.draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearClassifierMixture(2, random_state=seed).fit(X, y, groups=groups)
    found = model.bootstrap(X, y, groups=groups, n=200, random_state=seed)
    apart = np.square(truth.profiles[:, None] - model.coef_).sum(axis=2)
    order = linear_sum_assignment(apart)[1]
    lower, upper = found.interval()
    q = quantile(model, 0.95)
    parts = []
    for name, true in (("coef", truth.profiles), ("weights", truth.weights)):
        estimate = getattr(model, f"{name}_")[order]
        sandwich = np.abs(estimate - true) <= q * getattr(model, f"{name}_standard_error_")[order]
        inside = (getattr(lower, name)[order] <= true) & (true <= getattr(upper, name)[order])
        parts += [sandwich.mean(), inside.mean()]
    return np.array(parts)


def bootstrap() -> None:
    """Print the coverage of percentile intervals beside that of the sandwich's."""
    made = table(
        f"Coverage of 95 % intervals, two classes of norm 3, d = 3, {COVERAGE_SEEDS} data sets, "
        "200 resamples",
        ["fitted to", "profiles: sandwich", "bootstrap", "weights: sandwich", "bootstrap"],
    )
    for case in COVERAGE:
        jobs = [(case, seed) for seed in range(COVERAGE_SEEDS)]
        parts = np.array(over_seeds(covered, jobs, case.name)).T
        made.add_row(case.name, *map(percent, parts))
    CONSOLE.print(made)


def percent(values: np.ndarray) -> str:
    """Return the mean over data sets in %, and its standard error."""
    return f"{100 * values.mean():.1f} ± {100 * values.std() / np.sqrt(len(values)):.1f}"

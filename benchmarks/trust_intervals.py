"""Coverage of 95 % confidence intervals, and calibration of probabilities."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm, t

from benchmarks.simulated import CONSOLE, World, mean, over_seeds, share, table, turned_profiles
from spectralmirror import LinearClassifierMixture

COVERAGE_SEEDS, CALIBRATION_SEEDS = 200, 20
WEIGHTS = {1: (1.0,), 2: (0.6, 0.4), 3: (0.5, 0.3, 0.2)}
BINS = np.linspace(0, 1, 11)
FRESH = 20_000


@dataclass(frozen=True)
class Case:
    """Data of k classifiers of norm 3 in 3 features, with intercepts."""

    name: str
    k: int = 2
    n: int = 3_000
    response: str = "logistic"
    features: str = "Gaussian"
    group_size: int = 1
    fault: str = ""
    d: int = 3

    @property
    def world(self) -> World:
        """The mixture that makes the data."""
        return World(
            turned_profiles(self.k, self.d, 3.0), np.array(WEIGHTS[self.k]),
            np.linspace(0.0, 0.5, self.k), self.response, self.features, self.group_size,
            self.fault,
        )  # fmt: skip


COVERAGE = [
    *(Case(f"{f}, k = {k}", k, 3_000 * k, f) for f in ("logistic", "probit") for k in (1, 2, 3)),
    *(Case(f"logistic, k = 2, {kind} features", features=kind)
      for kind in ("t_3", "exponential", "binary")),
    *(Case(f"k = 2, 20 features, {n:,} rows", n=n, d=20) for n in (500, 2_000, 20_000)),
    *(Case(f"k = 2, 20 features, {n:,} rows in groups of 5", n=n, d=20, group_size=5)
      for n in (500, 2_000, 20_000)),
    *(Case(f"k = {k}, {G} groups of 10", k, 10 * G, group_size=10)
      for k, G in ((1, 30), (2, 30), (2, 100), (2, 300), (3, 300))),
    Case("k = 1, 30 groups of 20 with intercepts of their own", 1, 600, group_size=20,
         fault="gradual"),
    Case("k = 1, 300 groups of 20 with intercepts of their own", 1, 6_000, group_size=20,
         fault="gradual"),
]  # fmt: skip


def fitted(case: Case, seed: int):
    """Return the data, the fit, and its components in the order of the true ones."""
    data = case.world.draw(case.n, seed)
    groups = data.groups if case.group_size > 1 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = LinearClassifierMixture(case.k, response=case.response, random_state=seed)
        mixture.fit(data.X, data.y, groups=groups)
    apart = np.square(case.world.profiles[:, None] - mixture.coef_).sum(axis=-1)
    return data, mixture, linear_sum_assignment(apart)[1]


def covered(case: Case, seed: int) -> list[float]:
    """Return the shares of coefficients, intercepts and weights that lie in their intervals.

    First with, then without the correction for few groups.
    """
    data, mixture, order = fitted(case, seed)
    if mixture.n_components_ < case.k or mixture.covariance_ is None:
        return [np.nan] * 6
    found, size = [], len(mixture.covariance_) - 1
    n, G = len(data.y), data.groups[-1] + 1
    few = G / (G - 1) * (n - 1) / (n - size) if case.group_size > 1 else 1.0
    p, true = mixture.weights_[order], np.array(WEIGHTS[case.k])
    slope = np.maximum(p * (1 - p), 1e-300)
    for q in (t.isf(0.025, mixture.degrees_of_freedom_), norm.isf(0.025) / np.sqrt(few)):
        profiles = np.abs(mixture.coef_[order] - case.world.profiles)
        intercepts = np.abs(mixture.intercept_[order] - case.world.intercepts)
        logits = np.abs(np.log(p / (1 - p + 1e-300)) - np.log(true / (1 - true + 1e-300)))
        found += [
            (profiles <= q * mixture.coef_standard_error_[order]).mean(),
            (intercepts <= q * mixture.intercept_standard_error_[order]).mean(),
            (logits <= q * mixture.weights_standard_error_[order] / slope).mean(),
        ]
    return found


def coverage() -> None:
    """Print the coverage of all intervals."""
    made = table(
        f"Coverage of 95 % intervals in %, ± standard error; {COVERAGE_SEEDS} data sets each",
        ["case", "profiles", "intercepts", "weights", "profiles, uncorrected",
         "intercepts, uncorrected", "no errors"],
    )  # fmt: skip
    jobs = [(case, seed) for case in COVERAGE for seed in range(COVERAGE_SEEDS)]
    found = np.array(over_seeds(covered, jobs, "coverage")).reshape(len(COVERAGE), -1, 6)
    for case, part in zip(COVERAGE, found, strict=True):
        known = part[~np.isnan(part[:, 0])]
        profiles, intercepts, weights, before, intercepts_before, _ = known.T
        grouped = case.group_size > 1
        made.add_row(
            case.name, share(profiles), share(intercepts), share(weights) if case.k > 1 else "",
            share(before) if grouped else "", share(intercepts_before) if grouped else "",
            str(len(part) - len(known)),
        )  # fmt: skip
    CONSOLE.print(made)


#: 20 features: 43 parameters.
CALIBRATION = [
    *(Case(f"{n:,} rows", n=n, d=20) for n in (500, 2_000, 20_000)),
    *(Case(f"{n:,} rows in groups of 5", n=n, d=20, group_size=5) for n in (500, 2_000, 20_000)),
    Case("2,000 rows, probit fitted as probit", n=2_000, d=20, response="probit"),
    Case("2,000 rows, exponential features", n=2_000, d=20, features="exponential"),
]


def by_bin(said: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Return counts, sums of predicted probabilities, and counts of events, in ten bins."""
    index = np.clip(np.digitize(said, BINS) - 1, 0, 9)
    sums = [np.bincount(index, v, minlength=10) for v in (np.ones(len(said)), said, true)]
    return np.array(sums)


def calibrated(case: Case, seed: int) -> np.ndarray:
    """Return sums per bin, of P(y = +1) and of the posteriors of all components, on fresh rows."""
    _, mixture, order = fitted(case, seed)
    fresh = case.world.draw(FRESH, seed)
    groups = fresh.groups if case.group_size > 1 else None
    labels = by_bin(mixture.predict_proba(fresh.X)[:, 1], fresh.y > 0)
    if mixture.n_components_ < case.k:
        return np.array([labels, np.full((3, 10), np.nan)])
    who = mixture.component_proba(fresh.X, fresh.y, groups=groups)[:, order]
    return np.array([labels, by_bin(who.ravel(), np.eye(case.k)[fresh.components].ravel())])


def error(sums: np.ndarray) -> float:
    """Return the expected calibration error: |predicted - observed|, averaged over bins."""
    number, said, true = sums
    return float(np.abs(said - true).sum() / number.sum())


def calibration() -> None:
    """Print calibration errors, and the observed frequency in each bin."""
    jobs = [(case, seed) for case in CALIBRATION for seed in range(CALIBRATION_SEEDS)]
    found = over_seeds(calibrated, jobs, "calibration")
    found = np.array(found).reshape(len(CALIBRATION), CALIBRATION_SEEDS, 2, 3, 10)
    summed = np.nansum(found, axis=1)
    errors = table(
        f"Expected calibration error, two classifiers, 20 features; {CALIBRATION_SEEDS} data sets, "
        f"{FRESH:,} fresh rows each; ± standard error",
        ["fitted to", "predict_proba", "component_proba", "predicted > 0.8", "observed"],
    )
    for case, part, total in zip(CALIBRATION, found, summed, strict=True):
        number, said, true = total[1][:, 8:].sum(axis=1)
        errors.add_row(
            case.name, mean([error(one[0]) for one in part]),
            mean([error(one[1]) for one in part if not np.isnan(one[1, 0, 0])]),
            f"{said / number:.3f}", f"{true / number:.3f}",
        )  # fmt: skip
    CONSOLE.print(errors)
    for i, what in enumerate(("predict_proba", "component_proba")):
        title = f"{what}: observed frequency, by predicted probability"
        bins = [f"{a:.1f}-{a + 0.1:.1f}" for a in BINS[:-1]]
        made = table(title, ["fitted to", *bins])
        for case, total in zip(CALIBRATION, summed, strict=True):
            number, _, true = total[i]
            made.add_row(case.name, *(f"{share:.3f}" for share in true / np.maximum(number, 1)))
        CONSOLE.print(made)

"""Mixtures on labels of several kinds: is the top found, do intervals cover, what does a pass cost.

Run with ``python -m benchmarks.several_labels``; about ten minutes on one core. Arguments name
sections: passes, coverage, reach, spread. The top is where a
climb from the truth ends. A pass over n rows with C labels is compared with binary passes over
n C / 2 rows, which have two labels each, and over n C rows.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy.stats import t as student

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_multinomial_mixture
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.label_contrasts import LabelContrasts
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.preprocessing import whiten
from spectralmirror.responses import get_response
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.memory import Rows

#: Classes, labels, rows, rows of a group, and the norm of profiles.
DESIGNS = [
    (2, 3, 4_000, 1, 3.0),
    (2, 3, 4_000, 8, 2.0),
    (3, 3, 8_000, 8, 2.0),
    (3, 5, 8_000, 1, 3.0),
    (5, 3, 8_000, 8, 2.0),
]
SEEDS, INTERVALS = 12, 100
#: Data sets of persons who differ, and the standard deviations of the difference of two labels.
SPREADS, DEVIATIONS = 40, np.array([1.0, 0.5])


def reach() -> None:
    """Compare the objective of fits with that of climbs from the truth."""
    for k, C, n, size, norm in DESIGNS:
        gaps, cpu = [], 0.0
        for seed in range(SEEDS):
            X, y, truth = make_multinomial_mixture(
                n, 10, k, n_labels=C, profile_norm=norm, group_size=size, random_state=seed
            )
            groups, begin = truth.groups if size > 1 else None, time.process_time()
            found = LinearClassifierMixture(k, l2=1.0, random_state=seed).fit(X, y, groups=groups)
            cpu += time.process_time() - begin
            start = truth.profiles, truth.intercepts, truth.weights
            top = LinearClassifierMixture(k, l2=1.0, init=start).fit(X, y, groups=groups)
            gaps.append(found.objective_ - top.objective_)
        reached = int((np.array(gaps) > -1).sum())
        print(f"{k} classes, {C} labels, {n:,} rows in groups of {size}: top reached in {reached} "
              f"of {SEEDS}, worst gap {min(gaps):.2f}, {cpu / SEEDS:.1f} s")  # fmt: skip


def coverage() -> None:
    """Print how often 95 % intervals contain the truth, in small data sets."""
    profiles = np.random.RandomState(5).standard_normal((2, 3, 3))
    profiles -= profiles.mean(axis=1, keepdims=True)
    profiles *= 1.5 / np.sqrt(np.square(profiles).sum(axis=2).mean(axis=1))[:, None, None]
    intercepts = np.array([[0.5, -0.5, 0.0], [0.0, 0.3, -0.3]])
    for l2 in ("auto", 1e-3):
        hits, weights = [], []
        for seed in range(INTERVALS):
            X, y, truth = make_multinomial_mixture(
                1_600, profiles=profiles, intercepts=intercepts, weights=[0.6, 0.4], group_size=8,
                random_state=1_000 + seed,
            )  # fmt: skip
            one = LinearClassifierMixture(2, l2=l2, random_state=0).fit(X, y, groups=truth.groups)
            q = student.isf(0.025, one.degrees_of_freedom_)
            apart = [np.square(one.coef_[[c, 1 - c]] - profiles).sum() for c in (0, 1)]
            order = [0, 1] if apart[0] < apart[1] else [1, 0]
            z = (one.coef_[order] - profiles) / one.coef_standard_error_[order]
            b = (one.intercept_[order] - intercepts) / one.intercept_standard_error_[order]
            hits.append(np.abs(np.append(z, b)) < q)
            error = one.weights_standard_error_[0]
            weights.append(abs(one.weights_[order][0] - 0.6) < q * error)
        print(f"l2={l2}: {np.mean(hits):.1%} of coefficients and intercepts, "
              f"{np.mean(weights):.0%} of weights")  # fmt: skip


def spread() -> None:
    """Print how often intervals contain the truth if persons of a class differ by degrees."""
    profiles = np.array([[[1.5, 0], [0, 1.5], [-1.5, -1.5]], [[-1, 1], [2, -1], [-1, 0]]])
    intercepts = np.array([[0.3, 0, -0.3], [0, 0, 0]])
    for k in (1, 2):
        inside, of_deviations, cpu = [], [], 0.0
        for seed in range(1_000, 1_000 + SPREADS):
            X, y, who = _persons(profiles[:k], intercepts[:k], seed)
            begin = time.process_time()
            mixture = LinearClassifierMixture(k, spread="diagonal", random_state=0)
            mixture.fit(X, y, groups=who)
            cpu += time.process_time() - begin
            orders = [list(range(k)), list(range(k))[::-1]]
            order = min(orders, key=lambda o: np.abs(mixture.coef_[o] - profiles[:k]).sum())
            q = student.isf(0.025, mixture.degrees_of_freedom_)
            error = mixture.coef_standard_error_[order]
            inside.append(np.abs(mixture.coef_[order] - profiles[:k]) < q * error)
            apart = np.abs(mixture.spread_deviation_[0] - DEVIATIONS / np.sqrt(3))
            of_deviations.append(apart < q * mixture.spread_standard_error_[0])
        print(f"{k} classes of persons who differ: 95 % intervals cover {np.mean(inside):.1%} of "
              f"coefficients, {np.mean(of_deviations):.1%} of standard deviations, "
              f"{cpu / SPREADS:.1f} s")  # fmt: skip


def _persons(
    profiles: np.ndarray, intercepts: np.ndarray, seed: int, n: int = 200, size: int = 10
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw labels of persons around the profiles of their class, of which 40 % are in a second."""
    rng = np.random.default_rng(seed)
    X, who = rng.standard_normal((n * size, 2)), np.repeat(np.arange(n), size)
    uniform, centred = rng.uniform(size=n), np.eye(3) - 1 / 3
    classes = (uniform < 0.4).astype(int) * (len(profiles) - 1)
    apart = np.sqrt(0.5) * rng.standard_normal((n, 3, 2)) * DEVIATIONS
    V = profiles[classes] + np.einsum("ab,gbd->gad", centred, apart)
    b = intercepts[classes] + np.sqrt(0.5) * 0.7 * rng.standard_normal((n, 3)) @ centred
    t = np.einsum("nd,ncd->nc", X, V[who]) + b[who]
    return X, (t + rng.gumbel(size=t.shape)).argmax(axis=1), who


def passes() -> None:
    """Print the cost of a pass relative to binary passes."""
    for d in (5, 20, 100):
        for k, size in ((2, 1), (2, 8), (4, 1), (4, 8)):
            n = 60_000 if d < 100 else 20_000
            own = _cost(n, d, 3, k, size)
            half, whole = (_cost(rows, d, 2, k, size) for rows in (3 * n // 2, 3 * n))
            print(f"{d} features, {k} classes, groups of {size}: 3 labels {1e3 * own:.1f} ms; "
                  f"{own / half:.2f} of n C / 2 binary rows, {own / whole:.2f} of n C")  # fmt: skip


def _cost(n: int, d: int, n_labels: int, k: int, size: int) -> float:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)), rng.integers(n_labels, size=n).astype(float)
    keys = (np.arange(n) // size).astype(np.uint64) if size > 1 else None
    rows = InMemoryGroups.of(Rows(X, 2 * y - 1 if n_labels == 2 else y, None, keys=keys))
    coordinates = Coordinates.whitened(whiten(rows.rows).whitening, None, intercept=True)
    labels = LabelContrasts(n_labels) if n_labels > 2 else None
    one = Likelihood(rows, get_response("logistic"), coordinates, 1.0, 5.0, labels=labels)
    profiles = 0.3 * np.random.default_rng(1).standard_normal((k, one.profile_size))
    parameters, best = Parameters.equal(profiles), np.inf
    for _ in range(5):
        begin = time.process_time()
        one.evaluate(parameters)
        best = min(best, time.process_time() - begin)
    return best


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sections = {"passes": passes, "coverage": coverage, "reach": reach, "spread": spread}
    for name in sys.argv[1:] or sections:
        sections[name]()

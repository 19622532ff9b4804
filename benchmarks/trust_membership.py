"""Weights that depend on covariates of persons: intervals, wrong covariates, and known classes."""

from __future__ import annotations

import os
import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax
from scipy.stats import t

from benchmarks.simulated import CONSOLE, mean, over_seeds, share, table, turned_profiles
from spectralmirror import LinearClassifierMixture
from spectralmirror.metrics import component_error

#: Data sets of each table; MEMBERSHIP_SEEDS changes the first.
SEEDS, KNOWN_SEEDS = int(os.environ.get("MEMBERSHIP_SEEDS", "200")), 40
N_PERSONS, N_ANSWERS, D, K = 2_000, 5, 3, 3
PROFILES, INTERCEPTS = turned_profiles(K, D, 3.0), np.array([0.0, 0.25, 0.5])
#: Coefficients of two covariates of persons, and intercepts: log-odds against the first class.
COEF = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
LOGITS = np.array([0.0, -0.5, -1.0])


def draw(seed: int):
    """Return features, labels, persons, and three covariates, of which the last says nothing."""
    rng = np.random.default_rng([seed, 18])
    Z = rng.standard_normal((N_PERSONS, 3))
    p = softmax(Z[:, :2] @ COEF.T + LOGITS, axis=1)
    classes = (rng.uniform(size=(N_PERSONS, 1)) > p.cumsum(axis=1)).sum(axis=1)
    persons = np.repeat(np.arange(N_PERSONS), N_ANSWERS)
    X = rng.standard_normal((len(persons), D))
    score = (X * PROFILES[classes[persons]]).sum(axis=1) + INTERCEPTS[classes[persons]]
    y = np.where(rng.uniform(size=len(score)) < 1 / (1 + np.exp(-score)), 1, -1)
    return X, y, persons, Z


def fitted(X, y, groups, k, **options):
    """Return a fit without its warnings."""
    known, membership = options.pop("known", None), options.pop("membership", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LinearClassifierMixture(k, **options).fit(
            X, y, groups=groups, known=known, membership=membership
        )


def covered(seed: int) -> list[float]:
    """Return which intervals hold the truth, and what a covariate that says nothing changes."""
    X, y, persons, Z = draw(seed)
    mixture = fitted(X, y, persons, K, membership=Z[persons, :2], random_state=seed)
    if mixture.n_components_ < K or mixture.covariance_ is None:
        return [np.nan] * 9
    of = linear_sum_assignment(
        np.square(mixture.coef_[:, None] - PROFILES).sum(axis=-1)
    )[1]  # the true class of each  # fmt: skip
    q = t.isf(0.025, mixture.degrees_of_freedom_)

    def inside(found, true, error):
        return (np.abs(found - true) <= q * error).mean()

    membership, logits = COEF[of] - COEF[of[0]], LOGITS[of] - LOGITS[of[0]]
    coef_error = mixture.membership_coef_standard_error_[1:]
    wider = fitted(X, y, persons, K, membership=Z[persons], init=mixture, random_state=seed)
    moved = np.abs(wider.coef_ - mixture.coef_) / mixture.coef_standard_error_
    moved_too = np.abs(wider.membership_coef_[1:, :2] - mixture.membership_coef_[1:]) / coef_error
    wrong, wrong_error = (
        wider.membership_coef_[1:, 2],
        wider.membership_coef_standard_error_[1:, 2],
    )
    return [
        inside(mixture.membership_coef_[1:], membership[1:], coef_error),
        inside(
            mixture.membership_intercept_[1:], logits[1:],
            mixture.membership_intercept_standard_error_[1:],
        ),
        inside(mixture.coef_, PROFILES[of], mixture.coef_standard_error_),
        inside(mixture.intercept_, INTERCEPTS[of], mixture.intercept_standard_error_),
        inside(wrong, 0.0, wrong_error), moved.max(), moved_too.max(),
        2 * (wider.log_likelihood_ - mixture.log_likelihood_),
        (mixture.membership_coef_[1:] - membership[1:]).mean(),
    ]  # fmt: skip


def membership() -> None:
    """Print the tables of covariates and of known classes."""
    found = np.array(over_seeds(covered, [(seed,) for seed in range(SEEDS)], "membership"))
    regular = found[np.isfinite(found[:, 0])]
    made = table(
        f"{N_PERSONS:,} persons x {N_ANSWERS} answers, k = {K}, two covariates with coefficients "
        f"of 1: {len(regular)} data sets with errors, of {len(found)}",
        ("what", "share of 95 % intervals, or mean"),
    )
    names = (
        "coefficients of covariates", "their intercepts", "profiles", "intercepts",
        "coefficients of a covariate that says nothing",
    )  # fmt: skip
    for name, column in zip(names, regular.T, strict=False):
        made.add_row(name, share(column))
    made.add_row("it moves profiles by at most, in standard errors", mean(regular[:, 5]))
    made.add_row("it moves the other covariates by at most", mean(regular[:, 6]))
    made.add_row("twice the log-likelihood that it adds (2 expected)", mean(regular[:, 7], 2))
    made.add_row("mean error of the coefficients of covariates", mean(regular[:, 8]))
    CONSOLE.print(made)
    known()


#: Four classes in 10 features have 47 parameters: 15 rows for each are 705 rows, 141 persons.
KNOWN_K, KNOWN_D, KNOWN_PERSONS = 4, 10, 141


def assigned(seed: int) -> list[float]:
    """Return the shares of persons in the wrong class: without known ones, and with 10 %.

    Persons who are known are not counted. Last comes the share with the truth as the model.
    """
    rng = np.random.default_rng([seed, 4])
    profiles = turned_profiles(KNOWN_K, KNOWN_D, 3.0)
    classes = rng.integers(0, KNOWN_K, KNOWN_PERSONS)
    persons = np.repeat(np.arange(KNOWN_PERSONS), N_ANSWERS)
    X = rng.standard_normal((len(persons), KNOWN_D))
    score = (X * profiles[classes[persons]]).sum(axis=1)
    y = np.where(rng.uniform(size=len(score)) < 1 / (1 + np.exp(-score)), 1, -1)
    told = rng.permutation(KNOWN_PERSONS) < KNOWN_PERSONS // 10
    given = np.where(told, classes, -1)[persons]
    first, others = np.unique(persons, return_index=True)[1], ~told
    found = []
    for known in (None, given):
        mixture = fitted(X, y, persons, KNOWN_K, known=known, random_state=seed)
        who = mixture.predict_component(X, y, persons)[first][others]
        found.append(component_error(classes[others], who))
        found.append((who != classes[others]).mean() if known is not None else np.nan)
    log_f = -np.logaddexp(0, -y[:, None] * (X @ profiles.T))
    best = np.add.reduceat(log_f, first).argmax(axis=1)
    return [*found, (best != classes)[others].mean()]


def known() -> None:
    """Print assignment errors without and with known classes."""
    found = np.array(over_seeds(assigned, [(seed,) for seed in range(KNOWN_SEEDS)], "known"))
    made = table(
        f"{KNOWN_PERSONS} persons x {N_ANSWERS} answers, k = {KNOWN_K}, {KNOWN_D} features, "
        f"15 rows a parameter: share of persons in the wrong class, {KNOWN_SEEDS} data sets",
        ("fit", "best matching", "by their numbers"),
    )
    made.add_row("no class known", mean(found[:, 0]), "")
    made.add_row("10 % of persons known", mean(found[:, 2]), mean(found[:, 3]))
    made.add_row("difference", mean(found[:, 0] - found[:, 2]), "")
    made.add_row("the truth as the model", mean(found[:, 4]), mean(found[:, 4]))
    CONSOLE.print(made)

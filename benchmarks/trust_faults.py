"""Fits of a misspecified model: errors of profiles, subspace and predictions of new rows."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.simulated import CONSOLE, FEATURES, World, mean, over_seeds, table, turned_profiles
from spectralmirror import LinearClassifierMixture, SpectralMirror
from spectralmirror.metrics import profile_error, subspace_error

SEEDS = 10
N, D, FRESH = 10_000, 10, 20_000
TWO = World(turned_profiles(2, D, 4.0), np.array([0.6, 0.4]))
#: Ten labels per person.
PERSONS = TWO.with_(group_size=10)

WORLDS: list[tuple[str, World, str]] = [
    ("the model holds", TWO, "logistic"),
    *((f"{kind} features", TWO.with_(features=kind), "logistic")
      for kind in FEATURES if kind != "Gaussian"),
    ("5 % coin flips", TWO.with_(fault="coins"), "logistic"),
    ("1 % of labels flipped", TWO.with_(fault="flipped"), "logistic"),
    ("noise depends on x", TWO.with_(fault="uneven noise"), "logistic"),
    ("a quadratic term", TWO.with_(fault="quadratic"), "logistic"),
    ("persons, the model holds", PERSONS, "logistic"),
    ("persons with intercepts of their own", PERSONS.with_(fault="gradual"), "logistic"),
    ("persons, 5 % coin flips", PERSONS.with_(fault="coins"), "logistic"),
]  # fmt: skip


def log_loss(mixture: LinearClassifierMixture, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of -log P(y | x)."""
    p = mixture.predict_proba(X)[np.arange(len(y)), (y > 0).astype(int)]
    return -float(np.log(np.maximum(p, 1e-300)).mean())


def one(world: World, response: str, seed: int) -> list[float]:
    """Return errors of direction, length and span, log-loss in excess of the truth's, and k."""
    data, fresh = world.draw(N, seed), world.draw(FRESH, seed)
    groups = data.groups if world.group_size > 1 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        two, auto, one = (
            LinearClassifierMixture(k, response=response, random_state=seed)
            .fit(data.X, data.y, groups=groups) for k in (2, "auto", 1)
        )  # fmt: skip
        mirror = SpectralMirror(2, random_state=seed).fit(data.X, data.y, groups=groups)
        robust = SpectralMirror(2, elliptical=True, random_state=seed)
        robust.fit(data.X, data.y, groups=groups)
    best = fresh.log_loss
    length = np.linalg.norm(two.coef_ * two.sharpness_[:, None], axis=1).mean()
    return [
        profile_error(world.profiles, two.coef_, scale_free=True),
        length / np.linalg.norm(world.profiles, axis=1).mean(),
        subspace_error(world.profiles, two.coef_),
        subspace_error(world.profiles, mirror.components_),
        subspace_error(world.profiles, robust.components_),
        *(1e3 * (log_loss(m, fresh.X, fresh.y) - best) for m in (two, one, auto)),
        auto.n_components_,
    ]


COLUMNS = ["what", "profile error", "length", "span: mixture", "mirror", "elliptical",
           "loss k=2", "loss k=1", "loss auto", "auto k"]  # fmt: skip


def faults() -> None:
    """Print the effect of each misspecification."""
    _print(f"Two logistic classifiers of norm 4 at 90°, weights 0.6 and 0.4, d = {D}, n = {N:,}",
           WORLDS)  # fmt: skip


def responses() -> None:
    """Print the effect of a wrong response."""
    kinds = ("logistic", "probit", "hard")
    worlds = [
        (f"{true} labels fitted as {fitted}", TWO.with_(response=true), fitted)
        for true in kinds for fitted in kinds
    ]  # fmt: skip
    _print("The same, with a wrong response", worlds)


def _print(title: str, worlds: list[tuple[str, World, str]]) -> None:
    made = table(
        f"{title}; {SEEDS} data sets, ± standard error. Loss: held-out log-loss above that of the "
        "truth, in thousandths", COLUMNS,
    )  # fmt: skip
    jobs = [(world, response, seed) for _, world, response in worlds for seed in range(SEEDS)]
    found = np.array(over_seeds(one, jobs, "faults")).reshape(len(worlds), SEEDS, -1)
    for (name, _, _), part in zip(worlds, found, strict=True):
        made.add_row(
            name, *(mean(column) for column in part.T[:5]),
            *(mean(column, 1) for column in part.T[5:]),
        )  # fmt: skip
    CONSOLE.print(made)

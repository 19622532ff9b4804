"""How often too many classifiers are counted, and how often two are found."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.simulated import (
    CONSOLE,
    FEATURES,
    Data,
    World,
    over_seeds,
    share,
    table,
    turned_profiles,
)
from spectralmirror import LinearClassifierMixture, SpectralMirror

MIRROR_SEEDS, MIXTURE_SEEDS, POWER_SEEDS = 20, 10, 10
SHAPES = [(d, n) for d in (2, 10, 50) for n in (500, 5_000)]
HALVES = np.full(2, 0.5)
#: The features that the mixture is fitted to: it takes longer, and depends less on them.
SLOW = ("Gaussian", "t_3", "binary")


def counted(world: World, n: int, seed: int, mixture: bool, options: dict) -> int:
    """Return the number of classifiers that is found."""
    data: Data = world.draw(n, seed)
    groups = data.groups if world.group_size > 1 else None
    kind = LinearClassifierMixture if mixture else SpectralMirror
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = kind("auto", random_state=seed, **options).fit(data.X, data.y, groups=groups)
    return int(found.n_components_)


def single(d: int, norm: float, **options) -> World:
    """Return data of one classifier; with norm 0, labels are independent of the features."""
    return World(turned_profiles(1, d, norm), np.ones(1), **options)


def counts() -> None:
    """Print how often more than one classifier is counted when there is one, or none."""
    kinds = [(f, {"features": f}, {}) for f in FEATURES]
    kinds += [("t_3, elliptical=True", {"features": "t_3"}, {"elliptical": True})]
    kinds += [("Gaussian, groups of 5", {"group_size": 5}, {})]
    kinds += [("t_3, groups of 5", {"group_size": 5, "features": "t_3"}, {})]
    kinds += [(f"{f} labels", {"response": f}, {}) for f in ("probit", "hard")]
    for mixture, seeds in ((False, MIRROR_SEEDS), (True, MIXTURE_SEEDS)):
        for norm in (0.0, 3.0):  # labels independent of the features have no response
            some = [(name, made, given) for name, made, given in kinds
                    if not (mixture and (given or made.get("features", "Gaussian") not in SLOW))
                    and not (norm == 0 and "response" in made)]  # fmt: skip
            _print_counts(some, mixture, norm, seeds)


def _print_counts(kinds: list, mixture: bool, norm: float, seeds: int) -> None:
    who = 'LinearClassifierMixture("auto")' if mixture else 'SpectralMirror("auto"), nominal 1 %'
    truth = "one classifier of norm 3" if norm else "labels independent of the features"
    made = table(
        f"{who}: more than one counted, in % of {seeds} data sets, ± standard error; {truth}",
        ["features", *(f"d={d}, n={n:,}" for d, n in SHAPES), "all"],
    )
    jobs = [
        (single(d, norm, **options), n, seed, mixture, given)
        for _, options, given in kinds for d, n in SHAPES for seed in range(seeds)
    ]  # fmt: skip
    found = np.array(over_seeds(counted, jobs, who)).reshape(len(kinds), len(SHAPES), seeds)
    for (name, _, _), part in zip(kinds, found, strict=True):
        made.add_row(name, *(share(cell > 1) for cell in part), share(part.ravel() > 1))
    CONSOLE.print(made)


def power() -> None:
    """Print how often two classifiers at a right angle are counted as two."""
    made = table(
        f"Two classifiers of equal weight at 90°, d = 10: exactly two counted, in % of "
        f"{POWER_SEEDS} data sets, ± standard error",
        ["rows", 'SpectralMirror("auto")', "groups of 5", 'LinearClassifierMixture("auto")',
         "groups of 5"],
    )  # fmt: skip
    cells = [(norm, n) for norm in (2.0, 4.0) for n in (500, 2_000, 10_000)]
    ways = [(mixture, size) for mixture in (False, True) for size in (1, 5)]
    jobs = [
        (World(turned_profiles(2, 10, norm), HALVES, group_size=size), n, seed, mixture, {})
        for norm, n in cells for mixture, size in ways for seed in range(POWER_SEEDS)
    ]  # fmt: skip
    found = np.array(over_seeds(counted, jobs, "power")).reshape(len(cells), len(ways), -1)
    for (norm, n), part in zip(cells, found, strict=True):
        made.add_row(f"{n:,}, logistic norm {norm:g}", *(share(cell == 2) for cell in part))
    CONSOLE.print(made)

"""Log-loss of predictions, above that of the true mixture."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss

from benchmarks.simulated import CONSOLE, World, mean, over_seeds, table, turned_profiles
from spectralmirror import LinearClassifierMixture

#: Seeds that no choice was made on.
SEEDS = range(300, 310)
FRESH = 20_000


@dataclass(frozen=True)
class LossCase:
    """Data of k classifiers in 20 features, of norm 3, or 0 for labels without signal."""

    name: str
    n: int
    group_size: int = 1
    response: str = "logistic"
    k: int = 2
    norm: float = 3.0

    @property
    def world(self) -> World:
        """The mixture that makes the data."""
        weights = np.array((0.6, 0.4) if self.k == 2 else (1.0,))
        intercepts = np.linspace(0.0, 0.5, self.k)
        profiles = turned_profiles(self.k, 20, self.norm)
        return World(profiles, weights, intercepts, self.response, "Gaussian", self.group_size)


CASES = [
    *(LossCase(f"{n:,} rows", n) for n in (300, 500, 1_000, 2_000, 20_000)),
    *(LossCase(f"{n:,} rows in groups of 5", n, 5) for n in (300, 500, 1_000, 2_000, 20_000)),
    *(LossCase(f"{n:,} rows, hard labels", n, response="hard") for n in (2_000, 8_000)),
    *(LossCase(f"{n:,} rows, one classifier", n, k=1) for n in (500, 2_000)),
    LossCase("500 rows, no signal", 500, k=1, norm=0.0),
]


def losses(case: LossCase, seed: int) -> list[float]:
    """Return the loss above the truth of k = 2, of "auto", of one classifier; what "auto" took."""
    data, fresh = case.world.draw(case.n, seed), case.world.draw(FRESH, seed + 1_000)
    groups = data.groups if case.group_size > 1 else None
    models = [
        LinearClassifierMixture(k, response=case.response, random_state=seed) for k in (2, "auto")
    ]
    peer = LogisticRegressionCV(cv=5, scoring="neg_log_loss")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in models:
            model.fit(data.X, data.y, groups=groups)
        peer.fit(data.X, data.y)
    found = [log_loss(fresh.y, one.predict_proba(fresh.X)[:, 1]) for one in (*models, peer)]
    return [*(1_000 * (np.array(found) - fresh.log_loss)), models[1].n_components_]


def loss() -> None:
    """Print the loss of all cases."""
    found = over_seeds(losses, [(case, seed) for case in CASES for seed in SEEDS], "loss")
    found = np.array(found).reshape(len(CASES), len(SEEDS), 4)
    made = table(
        f"Log-loss above the truth in thousandths, 20 features; {len(SEEDS)} data sets, {FRESH:,} "
        "fresh rows each; ± standard error",
        ["fitted to", "two classifiers", '"auto"', "its number", "logistic regression, 5 folds"],
    )
    for case, part in zip(CASES, found, strict=True):
        two, auto, peer, number = part.T
        made.add_row(case.name, mean(two, 1), mean(auto, 1), f"{number.mean():.1f}", mean(peer, 1))
    CONSOLE.print(made)

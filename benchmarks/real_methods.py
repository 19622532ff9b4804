"""The methods that `benchmarks/real_prediction.py` compares: ours, scikit-learn's and R's."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spectralmirror import LinearClassifierMixture

PEERS = Path(__file__).with_name("real_peers.R")
#: Seconds that a call of R may take.
TIME_LIMITS = {"flexmix": 120, "lme4": 300, "bayesm": 600}


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows, and test rows whose labels are to be predicted.

    `known` says that the persons of the test rows also have training rows, and that methods may
    use them. `groups` and `groups_test` are None if rows stand alone.
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None
    X_test: np.ndarray
    groups_test: np.ndarray | None
    intercept: bool
    known: bool
    seed: int


#: Returns P(y = 1) of every test row, or None if the method cannot say.
Method = Callable[[Problem], np.ndarray | None]


def logistic_regression(problem: Problem) -> np.ndarray:
    """Ridge logistic regression whose penalty has the best log-loss in 5 inner folds.

    Folds keep persons together. Without an intercept, features are scaled but not centred.
    """
    folds = KFold if problem.groups is None else GroupKFold
    inner = folds(5, shuffle=True, random_state=problem.seed)
    model = LogisticRegressionCV(
        cv=list(inner.split(problem.X, problem.y, problem.groups)),
        fit_intercept=problem.intercept, scoring="neg_log_loss", max_iter=1_000,
    )  # fmt: skip
    pipeline = make_pipeline(StandardScaler(with_mean=problem.intercept), model)
    return pipeline.fit(problem.X, problem.y).predict_proba(problem.X_test)[:, 1]


def boosting(problem: Problem) -> np.ndarray:
    """Boosted trees; a fifth of the persons, or of the rows, decides when to stop."""
    X, y = problem.X, problem.y
    persons = np.arange(len(y)) if problem.groups is None else problem.groups
    split = GroupShuffleSplit(1, test_size=0.2, random_state=problem.seed)
    fit, check = next(split.split(X, y, persons))
    model = HistGradientBoostingClassifier(
        learning_rate=0.05, max_iter=500, early_stopping=True, random_state=problem.seed
    )
    model.fit(X[fit], y[fit], X_val=X[check], y_val=y[check])
    return model.predict_proba(problem.X_test)[:, 1]


def mixture(problem: Problem, k: int | str) -> np.ndarray:
    """Our mixture; known persons have the component weights that their training rows give."""
    model = LinearClassifierMixture(
        k, spread=None, fit_intercept=problem.intercept, random_state=problem.seed
    ).fit(problem.X, problem.y, groups=problem.groups)
    weights = None
    if problem.known:
        persons, first = np.unique(problem.groups, return_index=True)
        posterior = model.component_proba(problem.X, problem.y, problem.groups)[first]
        weights = posterior[np.searchsorted(persons, problem.groups_test)]
    return model.predict_proba(problem.X_test, weights)[:, 1]


def spread_mixture(problem: Problem) -> np.ndarray:
    """Our mixture whose persons differ by degrees; of known ones, it uses the training rows."""
    model = LinearClassifierMixture(
        "auto", spread="auto", fit_intercept=problem.intercept, random_state=problem.seed
    ).fit(problem.X, problem.y, groups=problem.groups)
    if not problem.known:
        return model.predict_proba(problem.X_test)[:, 1]
    history = (problem.X, problem.y, problem.groups)
    return model.predict_proba(problem.X_test, groups=problem.groups_test, history=history)[:, 1]


def peer(problem: Problem, package: str, variant: str) -> np.ndarray | None:
    """Return what `real_peers.R` predicts, or None if it fails or takes too long."""
    return None if (found := run_peer(problem, package, variant)) is None else found[0]


def run_peer(
    problem: Problem, package: str, variant: str
) -> tuple[np.ndarray, float, float] | None:
    """Return what `real_peers.R` predicts, its processor seconds and its peak memory in MB."""
    scaler = StandardScaler(with_mean=problem.intercept).fit(problem.X)
    command = ["Rscript", str(PEERS), package, variant]
    command += [f"{number:d}" for number in (problem.intercept, problem.known, problem.seed)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train = frame(scaler.transform(problem.X), problem.groups)
        train.with_columns(y=pl.Series(problem.y)).write_csv(folder / "train.csv")
        frame(scaler.transform(problem.X_test), problem.groups_test).write_csv(folder / "test.csv")
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, check=True, timeout=TIME_LIMITS[package],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, text=True,
            )  # fmt: skip
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
        predicted = pl.read_csv(folder / "predicted.csv", null_values="NA")["p"].to_numpy()
    if not np.isfinite(predicted).all():
        return None
    seconds, megabytes = map(float, done.stdout.rpartition("cost")[2].split())
    return predicted, seconds, megabytes


def frame(X: np.ndarray, groups: np.ndarray | None) -> pl.DataFrame:
    """Return features x0, x1, ... and groups as a table."""
    table = pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])])
    return table if groups is None else table.with_columns(group=pl.Series(groups))


#: The first is the one that others are compared with. Names of R's begin with their package.
METHODS: dict[str, Method] = {
    "logistic": logistic_regression,
    "boosting": boosting,
    "ours k=2": partial(mixture, k=2),
    "ours auto": partial(mixture, k="auto"),
    "ours spread": spread_mixture,
    "flexmix k=2": partial(peer, package="flexmix", variant="2"),
    "flexmix k=3": partial(peer, package="flexmix", variant="3"),
    "lme4": partial(peer, package="lme4", variant="intercept"),
    "lme4 slopes": partial(peer, package="lme4", variant="slopes"),
    "bayesm 1": partial(peer, package="bayesm", variant="1"),
    "bayesm 3": partial(peer, package="bayesm", variant="3"),
}
#: Methods that model how persons differ: they are left out where rows stand alone.
OF_PERSONS = ("ours spread", "lme4", "lme4 slopes", "bayesm 1", "bayesm 3")
#: Methods that take minutes.
SLOW = ("bayesm 1", "bayesm 3")


def available_methods() -> dict[str, Method]:
    """Return the methods that can run here, and print which packages of R are missing."""
    missing = [name for name in TIME_LIMITS if not has_package(name)]
    for name in missing:
        print(f"{name} is skipped: it needs R (Debian and Ubuntu: apt-get install r-cran-{name}).")
    return {name: method for name, method in METHODS.items() if name.split()[0] not in missing}


def has_package(name: str) -> bool:
    """Whether R is installed, with this package."""
    if shutil.which("Rscript") is None:
        return False
    call = f'quit(status = !requireNamespace("{name}", quietly = TRUE))'
    return subprocess.run(["Rscript", "-e", call], capture_output=True).returncode == 0

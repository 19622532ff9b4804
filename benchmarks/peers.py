"""Against other packages on the same data: the likelihood reached, processor seconds, memory.

Run with ``make peers``, which installs LCL, choice-learn and StepMix from PyPI into environments of
their own in output/peers; flexmix, mixtools, lme4 and bayesm are packages of R. What is not
installed is skipped with a message. ``DATA=folder`` adds real data: tables such as
`benchmarks/real.py` reads, and `electricity.csv.gz` with choices in the folder `choice` in or
beside it. ``SETS=cems,toenail`` takes some of them.

The likelihood is that of the same model without penalty. Ours has as many starts as it needs; the
others have those that the table names, and are repeated where a package does that itself. Seconds
are those of one thread without imports; memory is the peak of the process with all that it loads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.choice import ELECTRICITY
from benchmarks.choice_lcl import lcl_fits, lcl_python
from benchmarks.real_cases import RealCase, load_folder
from benchmarks.real_methods import Problem, has_package, run_peer
from benchmarks.real_prediction import chosen, known_persons
from benchmarks.simulated import CONSOLE, table
from spectralmirror.datasets import (
    load_senate_votes,
    make_choice_mixture,
    make_linear_classifier_mixture,
)

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent / "output" / "peers"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: Seconds that a fit may take, starts of packages whose starts are random, and many of them.
LIMIT, STARTS, MANY = 300, 3, 200
#: The closest votes of the Senate.
CLOSEST = 40


@dataclass(frozen=True)
class Cost:
    """The log-likelihood or log-loss, processor seconds, starts, and peak memory in megabytes."""

    value: float
    seconds: float
    starts: int
    megabytes: float


def installed() -> set[str]:
    """Return the packages that can run here, and print which cannot."""
    found = set()
    for name in ("flexmix", "mixtools", "lme4", "bayesm"):
        if has_package(name):
            found.add(name)
        else:
            print(f"{name} is skipped: it needs R (Debian, Ubuntu: apt-get install r-cran-{name}).")
    for name in ("stepmix", "choice-learn"):
        if interpreter(name).exists():
            found.add(name)
        else:
            print(f"{name} is skipped: {interpreter(name).parents[1]} does not have it.")
    return found


def interpreter(package: str) -> Path:
    """Return the Python of the environment of a package."""
    return ENVIRONMENTS / package / "bin" / "python"


def by_python(package: str, data: dict, k: int, starts: int = 1) -> Cost | None:
    """Return the cost of a fit by a package of Python; "ours" and "predictions" are ours."""
    own = package in ("ours", "predictions")
    program = ["-m", "benchmarks.peers_fit"] if own else [str(HERE / "peers_fit.py")]
    python = sys.executable if own else str(interpreter(package))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, **{name: value for name, value in data.items() if value is not None})
        output = run([python, *program, package, str(path), str(k), str(starts)], HERE.parent)
    return None if output is None else Cost(*json.loads(output.splitlines()[-1]))


def by_r(package: str, data: dict, k: int, starts: int = 1) -> Cost | None:
    """Return the cost of a fit by a package of R."""
    rows = pl.DataFrame(data["X"], schema=[f"x{j}" for j in range(data["X"].shape[1])])
    rows = rows.with_columns(y=pl.Series((np.asarray(data["y"]) > 0).astype(int)))
    if data["groups"] is not None:
        rows = rows.with_columns(group=pl.Series(data["groups"]))
    command = ["Rscript", str(HERE / "peers_fit.R"), package]
    command += [str(int(value)) for value in (k, starts, data["intercept"], 0)]
    with tempfile.TemporaryDirectory() as folder:
        rows.write_csv(Path(folder) / "rows.csv")
        output = run(command, Path(folder))
    if output is None:
        return None
    value, seconds, megabytes = map(float, output.split()[-3:])
    return Cost(value, seconds, starts, megabytes) if np.isfinite(value) else None


def run(command: list[str], folder: Path) -> str | None:
    """Return what a command prints, or None and a message if it fails or takes too long."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=True, timeout=LIMIT,
            env={**os.environ, **ONE_THREAD},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"{' '.join(command[:3])} took more than {LIMIT} s.")
        return None
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(command[:3])} failed: {error.stderr.strip().splitlines()[-1:]}")
        return None
    return done.stdout


def label_cases(real: list[RealCase]) -> Iterator[tuple[str, int, dict]]:
    """Yield name, number of classes and data of the cases with binary labels."""
    for n, d, k, size in ((5_000, 5, 2, 1), (5_000, 8, 3, 10), (20_000, 20, 2, 10)):
        X, y, truth = make_linear_classifier_mixture(
            n, d, k, profile_norm=3.0, group_size=size, random_state=0
        )
        groups = truth.groups if size > 1 else None
        name = f"simulated, {n:,} × {d}" + (f" in groups of {size}" if size > 1 else "")
        yield name, k, {"X": X, "y": y, "groups": groups, "intercept": True}
    for case in real:
        for k in (2, 3):
            data = {"X": case.X, "y": case.y, "groups": case.groups, "intercept": case.intercept}
            yield case.name, k, data


def compare_labels(real: list[RealCase], packages: set[str]) -> None:
    """Compare mixtures of logistic regressions with flexmix, and rows alone with mixtools, too."""
    made = table("Hidden classes behind binary labels", COLUMNS)
    for name, k, data in label_cases(real):
        found = {"ours": by_python("ours", data, k)}
        for package in ("flexmix", "mixtools"):
            if package in packages and (package == "flexmix" or data["groups"] is None):
                found[package] = by_r(package, data, k, STARTS)
        add(made, name, k, found)
    CONSOLE.print(made)


def compare_votes(packages: set[str]) -> None:
    """Compare latent classes of senators with StepMix: a feature for each roll call, no other."""
    votes = load_senate_votes().votes[1:]
    share = (votes == 1).sum(axis=0) / (votes != 0).sum(axis=0)
    votes = votes[:, np.argsort(np.abs(share - 0.5), kind="stable")[:CLOSEST]]
    senator, call = np.nonzero(votes)
    rows = {
        "X": np.eye(CLOSEST)[call],
        "y": votes[senator, call],
        "groups": senator,
        "intercept": False,
    }
    answers = {"answers": np.where(votes == 0, np.nan, (votes + 1) / 2)}
    made = table(f"Latent classes of {len(votes)} senators, {CLOSEST} closest votes", COLUMNS)
    for k in (2, 3, 4):
        found = {"ours": by_python("ours", rows, k)}
        if "stepmix" in packages:
            for starts in (STARTS, MANY):
                found[f"StepMix, {starts}"] = by_python("stepmix", answers, k, starts)
        add(made, "votes", k, found)
    CONSOLE.print(made)


def choice_cases(folder: Path | None) -> Iterator[tuple[str, list[str], pl.DataFrame]]:
    """Yield name, features and rows of choices: an alternative a line."""
    X, y, truth = make_choice_mixture(
        500, 6, 3, n_choices=8, n_alternatives=4, profile_norm=3.0, random_state=0
    )
    names = [f"x{j}" for j in range(X.shape[1])]
    at = np.arange(len(X))
    rows = pl.DataFrame(X, schema=names).with_columns(
        person=truth.groups, choice=truth.choices, alt=at % 4, chosen=y.astype(int)
    )
    yield "simulated, 4,000 of 500 persons", names, rows
    if folder is not None:
        places = (folder / "choice", folder.parent / "choice", folder)
        for path in (place / "electricity.csv.gz" for place in places):
            if path.exists() and "chosen" in pl.read_csv(path, n_rows=1).columns:
                yield "electricity", ELECTRICITY, pl.read_csv(path, infer_schema_length=None)
                return
        print("electricity is skipped: there is no choice/electricity.csv.gz in or beside DATA.")


def compare_choices(folder: Path | None, packages: set[str]) -> None:
    """Compare classes of persons with LCL, and classes of single choices with choice-learn."""
    made = table("Hidden classes behind choices", COLUMNS)
    python = lcl_python()
    for name, features, rows in choice_cases(folder):
        sets = np.unique((rows["person"] * 1_000_000 + rows["choice"]).to_numpy(),
                         return_inverse=True)[1]  # fmt: skip
        data = {
            "X": rows.select(features).to_numpy().astype(float),
            "choices": sets,
            "y": rows["chosen"].to_numpy() == 1,
            "groups": rows["person"].to_numpy(),
        }
        for k in (2, 3, 4):
            found = {"ours": by_python("ours", data, k)}
            if python is not None:
                found |= by_lcl(python, rows, features, k)
            add(made, name, k, found)
        alone = {**data, "groups": None}
        found = {"ours": by_python("ours", alone, 2)}
        if "choice-learn" in packages:
            found["choice-learn"] = by_python("choice-learn", alone, 2, 1)
        add(made, f"{name}, each choice alone", 2, found)
    CONSOLE.print(made)


def by_lcl(python: str, rows: pl.DataFrame, features: list[str], k: int) -> dict:
    """Return the costs of the first fit of LCL in a process, which compiles, and of the second."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "choices.csv"
        rows.write_csv(path)
        done = lcl_fits(python, path, features, [k])
    if k not in done:
        return {"LCL": None}
    value, cold, warm, megabytes = done[k]
    return {
        "LCL, first fit": Cost(value, cold, 1, megabytes),
        "LCL, second fit": Cost(value, warm, 1, megabytes),
    }


def compare_intercepts(real: list[RealCase], packages: set[str]) -> None:
    """Compare a random intercept of each person with lme4."""
    if "lme4" not in packages:
        return
    made = table("One class whose persons differ in the intercept", COLUMNS)
    X, y, truth = make_linear_classifier_mixture(
        4_500, profiles=[[1.0, -0.5, 0.5]], weights=[1.0], group_size=15,
        spread=[1e-3] * 3, random_state=0,
    )  # fmt: skip
    shift = np.random.default_rng(1).normal(size=truth.groups.max() + 1)[truth.groups]
    p = 1 / (1 + np.exp(-(X @ [1.0, -0.5, 0.5] + shift)))
    y = (np.random.default_rng(2).uniform(size=len(p)) < p).astype(int)
    simulated = RealCase("simulated, 300 × 15", X, y, truth.groups, True)
    for case in [simulated, *(one for one in real if one.groups is not None and one.intercept)]:
        data = {"X": case.X, "y": case.y, "groups": case.groups, "intercept": True}
        found = {"ours": by_python("ours", {**data, "spread": "intercept"}, 1)}
        found["lme4, nAGQ = 25"] = by_r("lme4", data, 1)
        add(made, case.name, 1, found)
    CONSOLE.print(made)


def compare_predictions(real: list[RealCase], packages: set[str]) -> None:
    """Compare predictions of known persons: half of the rows of each are fitted."""
    X, y, truth = make_linear_classifier_mixture(
        3_000, profiles=[[2.0, 1.0, -1.0], [-1.0, 1.0, 2.0]], weights=[0.6, 0.4], group_size=15,
        spread=[0.7] * 3, random_state=0,
    )  # fmt: skip
    cases = [RealCase("simulated, 200 × 15", X, (y > 0).astype(int), truth.groups, True)]
    cases += [case for case in real if case.groups is not None]
    made = table("Known persons who differ by degrees: log-loss of the other half of their rows",
                 ("data", "method", "log-loss", "CPU s", "MB"))  # fmt: skip
    rivals = (("lme4", "intercept"), ("lme4", "slopes"), ("bayesm", "1"), ("flexmix", "3"))
    for case in cases:
        (fold,) = known_persons(case, 0)
        train, test = fold.train, fold.test
        parts = case.X[train], case.y[train], case.groups[train], case.X[test], case.groups[test]
        names = ("X", "y", "groups", "X_test", "groups_test")
        data = {**dict(zip(names, parts, strict=True)), "intercept": case.intercept}
        found = {"ours": by_python("predictions", {**data, "y_test": case.y[test]}, 1)}
        problem = Problem(*parts, case.intercept, True, 0)
        for package, variant in rivals:
            if package in packages:
                done = run_peer(problem, package, variant)
                found[f"{package}, {variant}"] = done and Cost(
                    log_loss(done[0], case.y[test]), done[1], 1, done[2]
                )
        for i, (name, cost) in enumerate(found.items()):
            shown = case.name if i == 0 else ""
            if cost is None:
                made.add_row(shown, name, "failed", "", "")
            else:
                cells = f"{cost.value:.4f}", f"{cost.seconds:.2f}", f"{cost.megabytes:.0f}"
                made.add_row(shown, name, *cells)
    CONSOLE.print(made)


def log_loss(p: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of minus the log-probability of the labels."""
    tiny = np.finfo(np.float64).eps
    p = np.clip(p, tiny, 1 - tiny)
    return float(-np.log(np.where(y == 1, p, 1 - p)).mean())


COLUMNS = ("data", "classes", "package", "starts", "log-likelihood", "below ours", "CPU s", "MB")


def add(made, name: str, k: int, found: dict[str, Cost | None]) -> None:
    """Add a line for each package; the first is ours."""
    ours = found["ours"]
    for i, (package, cost) in enumerate(found.items()):
        shown = (name, str(k)) if i == 0 else ("", "")
        if cost is None:
            made.add_row(*shown, package, "", "failed", "", "", "")
            continue
        below = "" if i == 0 or ours is None else f"{ours.value - cost.value:.1f}"
        made.add_row(
            *shown, package, str(cost.starts), f"{cost.value:.1f}", below, f"{cost.seconds:.2f}",
            f"{cost.megabytes:.0f}",
        )  # fmt: skip


def main() -> None:
    """Run every comparison for which there are packages and data."""
    packages, folder = installed(), os.environ.get("DATA")
    cases = {case.name: case for case in load_folder(Path(folder))} if folder else {}
    real = [cases[name] for name in chosen("SETS", cases)]
    compare_votes(packages)
    compare_choices(Path(folder) if folder else None, packages)
    compare_labels(real, packages)
    compare_intercepts(real, packages)
    compare_predictions(real, packages)


if __name__ == "__main__":
    main()

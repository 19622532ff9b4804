"""Whether a fit finds the best known maximum on real data.

Run with ``make real DATA=folder`` (``SEEDS=5``; ``SETS=cems,mroz`` for some of them). The folder
holds a table ``NAME.csv.gz`` for each data set: ``y`` (0 or 1), ``group`` unless rows stand alone,
and features; and ``best-objectives.csv`` (set, k, l2, objective), the largest penalised
log-likelihood that is known. Sets that the folder's README.md calls "pairs" have no intercept.
Objectives larger than the best known are printed, so that the file can be corrected.
"""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from spectralmirror import LinearClassifierMixture
from spectralmirror.rows.reduce import one_blas_thread

#: A fit reaches the best known maximum if it is no more than this below.
SLACKS = (1.0, 3.0)


def without_intercept(folder: Path) -> set[str]:
    """Return the sets of comparisons: lines of the README's table whose last cell is "pairs"."""
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    return set(re.findall(r"^\| *(\w+) *\|.*\| *pairs *\|$", text, re.M))


def fitted(path: Path, intercept: bool, k: int, l2: float, seed: int) -> tuple[float, float, int]:
    """Return the objective of a fit, its processor seconds, and how many starts agreed."""
    table = pl.read_csv(path)
    X = table.drop("y", "group", strict=False).to_numpy().astype(float)
    groups = table["group"].to_numpy() if "group" in table.columns else None
    mixture = LinearClassifierMixture(k, fit_intercept=intercept, l2=l2, random_state=seed)
    start = time.process_time()
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        mixture.fit(X, table["y"].to_numpy(), groups=groups)
    return mixture.objective_, time.process_time() - start, mixture.n_agreed_


def main() -> None:
    folder = Path(os.environ.get("DATA", ""))
    if not (folder / "best-objectives.csv").exists():
        sys.exit("make real DATA=FOLDER needs a folder with NAME.csv.gz and best-objectives.csv.")
    seeds = int(os.environ.get("SEEDS", "5"))
    wanted = os.environ.get("SETS", "").split(",") if os.environ.get("SETS") else None
    best = pl.read_csv(folder / "best-objectives.csv")
    if wanted is not None:
        best = best.filter(pl.col("set").is_in(wanted))
    pairs = without_intercept(folder)
    problems = [(row["set"], row["k"], row["l2"]) for row in best.iter_rows(named=True)]
    jobs = [
        delayed(fitted)(folder / f"{name}.csv.gz", name not in pairs, k, l2, seed)
        for name, k, l2 in problems
        for seed in range(seeds)
    ]
    found = np.array(Parallel(-1)(jobs)).reshape(len(problems), seeds, 3)
    gaps = found[:, :, 0] - best["objective"].to_numpy()[:, None]
    console = Console(width=120)
    for l2 in sorted(set(best["l2"])):
        at = best["l2"].to_numpy() == l2
        table = Table(title=f"Objective less the best known, l2 = {l2:g}", title_justify="left")
        for column in ("set", "k", "each seed", "agreed", "CPU s"):
            table.add_column(column, justify="left" if column == "set" else "right")
        for (name, k, _), gap, fits in zip(
            (problem for problem, here in zip(problems, at, strict=True) if here),
            gaps[at], found[at], strict=True,
        ):  # fmt: skip
            table.add_row(
                name, str(k), "  ".join(f"{value:.1f}" for value in gap),
                "  ".join(f"{value:.0f}" for value in fits[:, 2]), f"{fits[:, 1].mean():.2f}",
            )  # fmt: skip
        console.print(table)
        shares = ", ".join(f"{(gaps[at] > -s).mean():.0%} within {s:g}" for s in SLACKS)
        cpu = found[at][:, :, 1].sum()
        console.print(f"{shares}, worst {gaps[at].min():.1f}; {cpu:.0f} s of CPU\n")
    for problem, value in zip(problems, found[:, :, 0].max(axis=1), strict=True):
        known = best["objective"][problems.index(problem)]
        if value > known + 0.1:
            console.print(f"Larger than the best known: {problem}, {value:.3f} instead of {known}")


if __name__ == "__main__":
    main()

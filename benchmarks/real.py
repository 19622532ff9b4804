"""Whether a fit finds the best known maximum on real data, and knows whether it did.

Run with ``make real DATA=folder`` (``SEEDS=5``; ``FIRST_SEED=0``; ``SETS=cems,mroz`` for some of
them); the prediction benchmark (`benchmarks/real_prediction.py`) follows. The folder holds a table
``NAME.csv.gz`` for each data set: ``y`` (0 or 1), ``group`` unless rows stand alone, and features;
and ``best-objectives.csv`` (set, k, l2, objective), the largest penalised log-likelihood that is
known. Sets that the folder's README.md calls "pairs" have no intercept.

A fit has missed the top if it ends more than 1 below the best that is known, or that any fit of
this run has found. With l2="auto" the penalty itself may differ: there, fits are compared by their
evidence, with the best of this run.
"""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from pathlib import Path

import polars as pl
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from spectralmirror import LinearClassifierMixture
from spectralmirror.rows.reduce import one_blas_thread

#: A fit reaches the best known maximum if it is no more than this below.
SLACKS = (1.0, 3.0)
#: Fits that state a smaller probability that a better maximum exists call themselves sure.
SURE = 0.05
CONSOLE = Console(width=120)


def without_intercept(folder: Path) -> set[str]:
    """Return the sets of comparisons: lines of the README's table whose last cell is "pairs"."""
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    return set(re.findall(r"^\| *(\w+) *\|.*\| *pairs *\|$", text, re.M))


def fitted(
    folder: Path, intercept: bool, name: str, k: int, l2: str, seed: int
) -> dict[str, object]:
    """Return what a fit has reached, its processor seconds, and its doubt."""
    table = pl.read_csv(folder / f"{name}.csv.gz", infer_schema_length=None)
    X = table.drop("y", "group", strict=False).to_numpy().astype(float)
    groups = table["group"].to_numpy() if "group" in table.columns else None
    mixture = LinearClassifierMixture(
        k, fit_intercept=intercept, l2=l2 if l2 == "auto" else float(l2), random_state=seed
    )
    start = time.process_time()
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        mixture.fit(X, table["y"].to_numpy(), groups=groups)
    return {
        "set": name, "k": k, "l2": l2, "seed": seed, "seconds": time.process_time() - start,
        "reached": mixture.log_evidence_ if l2 == "auto" else mixture.objective_,
        "doubt": mixture.doubt_,
    }  # fmt: skip


def compared(fits: pl.DataFrame, best: pl.DataFrame) -> pl.DataFrame:
    """Add how far each fit is from the best that is known."""
    known = best.select("set", "k", pl.col("l2").cast(pl.String), known="objective")
    fits = fits.join(known, on=["set", "k", "l2"], how="left")
    top = pl.max_horizontal(pl.col("reached").max().over("set", "k", "l2"), "known")
    return fits.with_columns(gap=pl.col("reached") - top)


def show(fits: pl.DataFrame, l2: str) -> None:
    """Print the fits with a penalty."""
    fits = fits.filter(pl.col("l2") == l2)
    what = "Evidence less the best of this run" if l2 == "auto" else "Objective less the best known"
    table = Table(title=f"{what}, l2 = {l2}", title_justify="left")
    for column in ("set", "k", "each seed", "doubt, %", "CPU s"):
        table.add_column(column, justify="left" if column == "set" else "right")
    for (name, k), part in fits.group_by("set", "k", maintain_order=True):
        table.add_row(
            str(name), str(k), "  ".join(f"{value:.1f}" for value in part["gap"]),
            "  ".join(f"{100 * value:.0f}" for value in part["doubt"]),
            f"{part['seconds'].mean():.2f}",
        )  # fmt: skip
    CONSOLE.print(table)
    shares = ", ".join(f"{(fits['gap'] > -s).mean():.0%} within {s:g}" for s in SLACKS)
    missed = fits["gap"] <= -SLACKS[0]
    sure = fits["doubt"] < SURE
    CONSOLE.print(
        f"{shares}, worst {fits['gap'].min():.1f}; missed though sure: {(missed & sure).sum()} of "
        f"{sure.sum()} sure and {len(fits)} fits; {fits['seconds'].mean():.2f} s of CPU a fit\n"
    )


def main() -> None:
    """Print the tables."""
    folder = Path(os.environ.get("DATA", ""))
    if not (folder / "best-objectives.csv").exists():
        sys.exit("make real DATA=FOLDER needs a folder with NAME.csv.gz and best-objectives.csv.")
    first = int(os.environ.get("FIRST_SEED", "0"))
    seeds = range(first, first + int(os.environ.get("SEEDS", "5")))
    best = pl.read_csv(folder / "best-objectives.csv")
    if os.environ.get("SETS"):
        best = best.filter(pl.col("set").is_in(os.environ["SETS"].split(",")))
    pairs = without_intercept(folder)
    problems = best.select("set", "k").unique(maintain_order=True).rows()
    penalties = [*map(str, sorted(set(best["l2"]))), "auto"]
    jobs = [
        delayed(fitted)(folder, name not in pairs, name, k, l2, seed)
        for l2 in penalties
        for name, k in problems
        for seed in seeds
    ]
    fits = compared(pl.DataFrame(Parallel(-1)(jobs)), best)
    for l2 in penalties:
        show(fits, l2)
    missed = pl.col("gap") <= -SLACKS[0]
    said = fits.group_by("doubt").agg(pl.len().alias("fits"), missed.mean().alias("missed"))
    CONSOLE.print("Missed, by the doubt that fits state:")
    for doubt, number, share in said.sort("doubt").rows():
        CONSOLE.print(f"  said {doubt:.0%}: {share:.1%} of {number}")
    better = fits.filter(pl.col("reached") > pl.col("known") + 0.1).group_by("set", "k", "l2")
    for row in better.agg(pl.col("reached").max(), pl.col("known").first()).rows():
        CONSOLE.print("Larger than the best known: {}, k={}, l2={}: {:.3f} (was {})".format(*row))


if __name__ == "__main__":
    main()

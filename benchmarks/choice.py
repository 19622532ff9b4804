"""Choices among several alternatives: the search, intervals, costs, and another package.

Run with ``make choice``; about ten minutes. ``DATA=folder`` holds `electricity.csv.gz` and
`modecanada.csv.gz` (both from R's mlogit, which may not be shipped), and ``LCL=python`` is an
interpreter with `lcl-choice`; without them these parts are skipped. ``SEEDS=5`` for fewer data
sets.
"""

from __future__ import annotations

import os
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from benchmarks.choice_lcl import lcl_fits, lcl_python
from spectralmirror import ChoiceMixture
from spectralmirror.datasets import make_choice_mixture
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.summary import quantile
from spectralmirror.responses import LOGISTIC
from spectralmirror.rows.choices import accept_choices
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.whitening import Whitening

#: A fit reaches the climb from the truth if its objective is at most this much lower.
SLACK = 2.0
PERSONS, CHOICES, ALTERNATIVES, D = 2_000, 8, 5, 10
ELECTRICITY = ["pf", "cl", "loc", "wk", "tod", "seas"]
#: Log-likelihood of two classes on the first 3,000 rows, from the help page of R's gmnl 1.1-3.
GMNL = -792.86
#: Of one class on sets of car, train and air (price, frequency, income, time by alternative), from
#: mlogit's vignette on the random utility model.
MLOGIT = -1951.3

console = Console(width=130)


def fitted(k: int, X, chosen, subspace="auto", **options):
    """Return a fit and its processor seconds; without a subspace if that is None."""
    ids = {name: options.pop(name) for name in ("choices", "groups") if name in options}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = ChoiceMixture(k, **{"random_state": 0, **options})
        mixture.subspace = subspace
        mixture.fit(X, chosen, **ids)
    return mixture, time.process_time() - start


def covered(mixture, truth) -> np.ndarray:
    """Return whether each coefficient and each weight lies in its 95 % interval."""
    order = linear_sum_assignment(cdist(truth.profiles, mixture.coef_))[1]
    error = np.abs(mixture.coef_[order] - truth.profiles)
    profiles = error < quantile(mixture, 0.95) * mixture.coef_standard_error_[order]
    frame = mixture.summary(as_frame=True).xs("(weight)", level="term").iloc[order]
    weights = (frame["lower"] < truth.weights) & (truth.weights < frame["upper"])
    return np.append(profiles.ravel(), weights)


def search_and_intervals(seeds: int) -> None:
    """Compare default fits with climbs from the truth, and their intervals with the truth."""
    title = (
        f"{seeds} data sets each: {PERSONS:,} persons with {CHOICES} choices from {ALTERNATIVES} "
        f"alternatives, d = {D}; targets 95 %, and 92 to 98 %"
    )
    table = Table(title=title, title_justify="left")
    for column in ("classes", "reached", "worst", "covered", "CPU s", "starts"):
        table.add_column(column, justify="right")
    for k in (2, 3, 5):
        found = []
        for seed in range(seeds):
            X, chosen, truth = make_choice_mixture(
                PERSONS, D, k, n_choices=CHOICES, n_alternatives=ALTERNATIVES, random_state=seed
            )
            ids = {"choices": truth.choices, "groups": truth.groups}
            ours, seconds = fitted(k, X, chosen, random_state=seed, **ids)
            start = truth.profiles, np.zeros(k), truth.weights
            top, _ = fitted(k, X, chosen, l2=ours.l2_, init=start, **ids)
            gap = penalised(ours) - penalised(top)
            found.append((gap, covered(ours, truth).mean(), seconds, len(ours.starts_)))
        gap, share, seconds, starts = np.array(found).T
        cells = f"{np.mean(gap > -SLACK):.0%}", f"{gap.min():.1f}", f"{share.mean():.1%}"
        table.add_row(str(k), *cells, f"{seconds.mean():.2f}", f"{starts.mean():.1f}")
        print(f"k = {k}, shares covered: {np.sort(share).round(2).tolist()}")
    console.print(table)


def gain_of_the_subspace(seeds: int) -> None:
    """Compare the search with and without a subspace from differences within sets."""
    title = f"{seeds} data sets each: the search with and without the subspace, l2 = 0.5"
    table = Table(title=title, title_justify="left")
    for column in ("persons", "d", "classes", "", "reached", "starts", "CPU s"):
        table.add_column(column, justify="right")
    for n, d, k in ((2_000, 10, 3), (2_000, 10, 5), (500, 40, 3), (1_000, 40, 5)):
        found: dict[str | None, list] = {"auto": [], None: []}
        for seed in range(100, 100 + seeds):
            X, chosen, truth = make_choice_mixture(
                n, d, k, n_alternatives=ALTERNATIVES, profile_norm=3.0, random_state=seed
            )
            ids = {"choices": truth.choices, "groups": truth.groups}
            top, _ = fitted(k, X, chosen, l2=0.5, init=truth.profiles, **ids)
            for subspace, results in found.items():
                ours, seconds = fitted(k, X, chosen, subspace, l2=0.5, random_state=seed, **ids)
                gap = ours.objective_ - top.objective_
                results.append((gap > -SLACK, len(ours.starts_), seconds))
        for subspace, results in found.items():
            reached, starts, seconds = np.mean(results, axis=0)
            what = "alone" if subspace is None else "subspace"
            cells = f"{reached:.0%}", f"{starts:.1f}", f"{seconds:.2f}"
            table.add_row(f"{n:,}", str(d), str(k), what, *cells)
    console.print(table)


def penalised(mixture) -> float:
    """Return the log-likelihood less the penalty on profiles."""
    size = np.square(mixture.coef_ * mixture.feature_scale_).sum()
    return float(mixture.log_likelihood_ - mixture.l2_ / 2 * size)


def seconds_of(function, repeat: int = 15) -> float:
    """Return the least processor seconds of several calls."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def cost_of_a_pass() -> None:
    """Compare choices with binary labels of as many rows of the same persons."""
    table = Table(title="One pass over 80,000 rows, value and gradient; target: ratio at most 1.5",
                  title_justify="left")  # fmt: skip
    for column in ("alternatives", "classes", "choices, ms", "binary, ms", "ratio"):
        table.add_column(column, justify="right")
    for J, k in ((3, 3), (5, 2), (5, 3), (5, 5), (10, 3)):
        X, chosen, truth = make_choice_mixture(
            80_000 // (8 * J), D, k, n_choices=8, n_alternatives=J, random_state=0
        )
        ids = truth.choices, truth.groups
        y = np.where(np.random.default_rng(0).uniform(size=len(X)) < 0.5, 1.0, -1.0)
        binary = InMemoryGroups.of(Rows(X, y, None, keys=truth.groups.astype(np.uint64)))
        parameters, times = Parameters.equal(truth.profiles), []
        for rows in (accept_choices(X, chosen, *ids, None, None, None), binary):
            whitening = Whitening.of(np.zeros(D), np.eye(D), X.dtype)
            coordinates = Coordinates.whitened(whitening, None, intercept=False)
            likelihood = Likelihood(rows, LOGISTIC, coordinates, 1.0, 5.0)
            times.append(1e3 * seconds_of(partial(likelihood.evaluate, parameters)))
        table.add_row(str(J), str(k), *[f"{t:.2f}" for t in times], f"{times[0] / times[1]:.2f}")
    console.print(table)


def electricity(path: Path) -> None:
    """Compare fits to 361 persons, four suppliers, with LCL and a published figure of gmnl."""
    data = pl.read_csv(path, infer_schema_length=None)
    X, chosen = data.select(ELECTRICITY).cast(pl.Float64), data["chosen"].to_numpy() == 1
    ids = {
        "choices": (data["person"] * 1_000 + data["choice"]).to_numpy(),
        "groups": data["person"].to_numpy(),
    }
    python = lcl_python()
    theirs = {} if python is None else lcl_fits(python, path, ELECTRICITY, range(2, 7))
    table = Table(title="electricity: log-likelihood and CPU seconds; LCL cold without its import, "
                        "4 s more", title_justify="left")  # fmt: skip
    ours = {"one start, l2=0": {"l2": 0.0, "n_init": 1}, "ours, l2=0": {"l2": 0.0}, "default": {}}
    columns = [cell for name in ours for cell in (name, "CPU")]
    for column in ("classes", *columns, "LCL", "cold", "warm"):
        table.add_column(column, justify="right")
    for k in range(1, 7):
        cells = [str(k)]
        for options in ours.values():
            mixture, seconds = fitted(k, X.to_numpy(), chosen, **options, **ids)
            cells += [f"{mixture.log_likelihood_:.1f}", f"{seconds:.2f}"]
        if k in theirs:
            value, cold, warm, _ = theirs[k]
            cells += [f"{value:.1f}", f"{cold:.1f}", f"{warm:.2f}"]
        table.add_row(*cells)
    console.print(table)
    first = {name: values[:3_000] for name, values in ids.items()}
    mixture, _ = fitted(2, X.to_numpy()[:3_000], chosen[:3_000], l2=0.0, **first)
    print(f"first 3,000 rows, 2 classes: {mixture.log_likelihood_:.2f}, gmnl's help: {GMNL}")


def modecanada(path: Path) -> None:
    """Fit sets of two to four alternatives, one for each person."""
    data = pl.read_csv(path, infer_schema_length=None)
    data = data.filter(pl.col("chosen").sum().over("choice") == 1)
    others = ("train", "air", "bus")
    columns = {name: pl.col(name).cast(pl.Float64) for name in ("cost", "ivt", "ovt", "freq")}
    columns |= {name: (pl.col("alt") == name).cast(pl.Float64) for name in others}
    columns |= {f"income:{name}": pl.col("income") * columns[name] for name in others}
    X = data.select(**columns)
    for k in (1, 2, 3):
        mixture, seconds = fitted(k, X.to_numpy(), data["chosen"].to_numpy() == 1,
                                  choices=data["choice"].to_numpy())  # fmt: skip
        print(f"modecanada, {k} classes: log-likelihood {mixture.log_likelihood_:.1f}, BIC "
              f"{mixture.bic_:.1f}, log evidence {mixture.log_evidence_:.1f}, {seconds:.2f} s of "
              f"CPU, converged: {mixture.converged_}")  # fmt: skip
    part = data.filter((pl.len().over("choice") == 4) & (pl.col("alt") != "bus"))
    part = part.filter(pl.col("chosen").sum().over("choice") == 1)
    time_ = pl.col("ivt") + pl.col("ovt")
    columns = {"cost": pl.col("cost"), "freq": pl.col("freq").cast(pl.Float64)}
    for name in ("train", "air"):
        columns |= {name: (pl.col("alt") == name).cast(pl.Float64)}
        columns |= {f"income:{name}": pl.col("income") * columns[name]}
    columns |= {f"time:{a}": time_ * (pl.col("alt") == a) for a in ("car", "train", "air")}
    mixture, _ = fitted(1, part.select(**columns).to_numpy(), part["chosen"].to_numpy() == 1,
                        choices=part["choice"].to_numpy(), l2=0.0)  # fmt: skip
    print(f"car, train, air: {mixture.log_likelihood_:.1f}, mlogit's vignette: {MLOGIT}")


def main() -> None:
    """Run everything for which there are data."""
    cost_of_a_pass()
    folder = Path(os.environ.get("DATA", "."))
    for name, run in (("electricity", electricity), ("modecanada", modecanada)):
        paths = [folder / f"{name}.csv.gz", folder / "choice" / f"{name}.csv.gz"]
        path = next(filter(Path.exists, paths), None)
        if path is None:
            print(f"{name} is skipped: there is no {name}.csv.gz in {folder} (DATA=folder).")
        else:
            run(path)
    seeds = int(os.environ.get("SEEDS", "20"))
    search_and_intervals(seeds)
    gain_of_the_subspace(-(-seeds // 4))

"""Held-out log-loss on real data, against logistic regression, boosting, flexmix, lme4 and bayesm.

Run with ``python -m benchmarks.real_prediction``. ``DATA=folder`` names a folder such as
`benchmarks/real.py` reads; without it, only the votes of the Senate are used. ``SEEDS=3`` repeats
the splits. Parts can be repeated: ``SETS=cems,mroz,senate`` takes some of the sets,
``TASKS=known,new`` some of the tasks ("rows", "new", "known", "components"), and
``METHODS='ours spread,bayesm 1'`` some of the methods, besides the logistic regression that others
are compared with. LOKY_MAX_CPU_COUNT=1 uses one core.

A cell of the tables holds three lines. The first is the log-loss per row. The second is its
difference from that of logistic regression in thousandths: negative is better. A star says that the
difference exceeds two standard errors, computed from the differences of the held-out rows, or from
their sums over each person. They ignore that folds share training rows. The third line holds the
processor seconds of one fit with its predictions; those of R contain its start, about a second.
"-" is printed if a method failed or took too long in any fold. The last row holds the mean and the
worst difference over the cases, and their number if a method failed in some.

"lme4" is `glmer` with a random intercept; "lme4 slopes" has random coefficients of all features,
uncorrelated or (up to 6 features) correlated, whichever has the smaller BIC, fitted with nAGQ=0.
"bayesm 1" and "bayesm 3" are `rhierMnlRwMixture` with 1 and 3 normal components, 12,000 draws. For
new persons bayesm runs only if METHODS names it: five folds take it long.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from rich.table import Table
from sklearn.model_selection import GroupKFold, KFold
from threadpoolctl import threadpool_limits

from benchmarks.real_cases import RealCase, load_folder, senate_cases
from benchmarks.real_methods import METHODS, OF_PERSONS, SLOW, Method, Problem, available_methods
from benchmarks.simulated import CONSOLE, over_seeds, table
from spectralmirror import LinearClassifierMixture
from spectralmirror.metrics import component_error

#: Probabilities are clipped here, as scikit-learn does.
SMALLEST = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Fold:
    """Numbers of the training rows and of the test rows; whether persons have rows in both."""

    train: np.ndarray
    test: np.ndarray
    known: bool = False


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Minus the log-probability of each test label, and processor seconds, those of R included."""

    losses: np.ndarray
    seconds: float


def rows_alone(case: RealCase, seed: int) -> list[Fold]:
    """Return 5 folds of the rows."""
    folds = KFold(5, shuffle=True, random_state=seed).split(case.X)
    return [Fold(train, test) for train, test in folds]


def new_persons(case: RealCase, seed: int) -> list[Fold]:
    """Return 5 folds of the persons."""
    folds = GroupKFold(5, shuffle=True, random_state=seed).split(case.X, groups=case.groups)
    return [Fold(train, test) for train, test in folds]


def known_persons(case: RealCase, seed: int) -> list[Fold]:
    """Return one fold: a random half of each person's rows is known, the other is predicted.

    Of an odd number of rows, more are known: persons of a single row are never predicted.
    """
    order = np.random.default_rng(seed).permutation(len(case.y))
    order = order[np.argsort(case.groups[order], kind="stable")]
    _, first, sizes = np.unique(case.groups[order], return_index=True, return_counts=True)
    rank = np.arange(len(order)) - np.repeat(first, sizes)
    tested = rank < np.repeat(sizes // 2, sizes)
    return [Fold(np.sort(order[~tested]), np.sort(order[tested]), known=True)]


@dataclass(frozen=True)
class Task:
    """Title of its table, whether it needs persons, and its folds."""

    title: str
    needs_persons: bool
    folds: Callable[[RealCase, int], list[Fold]]


TASKS = {
    "rows": Task("Rows alone, 5 folds", False, rows_alone),
    "new": Task("New persons, 5 folds of persons", True, new_persons),
    "known": Task("Known persons, half of the rows of each", True, known_persons),
}
#: Finding hidden components is a task without folds.
COMPONENTS = "components"


def processor_seconds() -> float:
    """Return the seconds that this process and its finished children have used."""
    return sum(os.times()[:4])


def evaluate(case: RealCase, method: Method, fold: Fold, seed: int) -> Evaluation | None:
    """Fit a method to the training rows of a fold and score its test rows; None if it fails."""
    train, test, groups = fold.train, fold.test, case.groups
    problem = Problem(
        case.X[train], case.y[train], None if groups is None else groups[train],
        case.X[test], None if groups is None else groups[test], case.intercept, fold.known, seed,
    )  # fmt: skip
    start = processor_seconds()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        p = method(problem)
    seconds = processor_seconds() - start
    if p is None:
        return None
    p = np.clip(p, SMALLEST, 1 - SMALLEST)
    return Evaluation(-np.log(np.where(case.y[test] == 1, p, 1 - p)), seconds)


def joined(evaluations: list[Evaluation | None]) -> Evaluation | None:
    """Return the losses of all folds, and the seconds of a fit; None if any fold failed."""
    done = [evaluation for evaluation in evaluations if evaluation is not None]
    if len(done) < len(evaluations):
        return None
    losses = np.concatenate([evaluation.losses for evaluation in done])
    return Evaluation(losses, float(np.mean([evaluation.seconds for evaluation in done])))


def standard_error(differences: np.ndarray, persons: np.ndarray) -> float:
    """Return the standard error of the mean of differences that are dependent within persons."""
    numbers = np.unique(persons, return_inverse=True)[1]
    sums = np.bincount(numbers, differences - differences.mean())
    return float(np.sqrt(np.square(sums).sum()) / len(differences))


def cell(found: Evaluation | None, base: Evaluation, persons: np.ndarray) -> str:
    """Return the log-loss, its difference from the base in thousandths, and the seconds."""
    if found is None:
        return "-"
    differences = found.losses - base.losses
    star = "*" if abs(differences.mean()) > 2 * standard_error(differences, persons) > 0 else " "
    difference = f"{1000 * differences.mean():+.1f}{star}"
    return f"{found.losses.mean():.4f} \n{difference}\n{found.seconds:.1f} s"


def add_case(made: Table, case: RealCase, folds: list[Fold], found: dict) -> None:
    """Add the line of a case to the table."""
    rows = np.concatenate([fold.test for fold in folds])
    persons = rows if case.groups is None else case.groups[rows]
    base, *others = found.values()
    size = f"{case.X.shape[0]} x {case.X.shape[1]}"
    made.add_row(
        case.name, size if case.groups is None else f"{size}\n{case.n_persons} persons",
        f"{base.losses.mean():.4f}\n\n{base.seconds:.1f} s",
        *(cell(other, base, persons) for other in others),
    )  # fmt: skip


def add_summary(made: Table, results: list[dict]) -> None:
    """Add the mean and the worst difference of each method from the first, over the cases."""
    base, *others = results[0]
    cells = []
    for name in others:
        done = [found for found in results if found[name] is not None]
        gaps = [1000 * (found[name].losses - found[base].losses).mean() for found in done]
        few = "" if len(gaps) == len(results) else f" ({len(gaps)})"
        cells.append(f"{np.mean(gaps):+.1f}{few}\n{max(gaps):+.1f}" if gaps else "-")
    made.add_row("mean, worst", "", "", *cells)


def compare(task: Task, cases: list[RealCase], methods: dict[str, Method], seeds: int) -> None:
    """Evaluate all methods on all cases and print their table."""
    folds = [[f for seed in range(seeds) for f in task.folds(case, seed)] for case in cases]
    jobs = [
        (case, method, fold, number * seeds // len(several))
        for case, several in zip(cases, folds, strict=True)
        for method, (number, fold) in product(methods.values(), enumerate(several))
    ]
    evaluations = iter(over_seeds(evaluate, jobs, task.title))
    made = table(task.title, ("case", "rows", *methods))
    made.show_lines = True
    results = []
    for case, several in zip(cases, folds, strict=True):
        found = {name: joined([next(evaluations) for _ in several]) for name in methods}
        add_case(made, case, several, found)
        results.append(found)
    add_summary(made, results)
    CONSOLE.print(made)


def share_right(case: RealCase, seed: int) -> float:
    """Return the share of rows, or of persons, whose hidden component a fit of two finds."""
    model = LinearClassifierMixture(2, spread=None, fit_intercept=case.intercept, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(case.X, case.y, groups=case.groups)
    found = model.predict_component(case.X, case.y, case.groups)
    units = np.arange(len(case.y)) if case.groups is None else case.groups
    first = np.unique(units, return_index=True)[1]
    return 1 - component_error(case.components[first], found[first])


def compare_components(cases: list[RealCase], seeds: int) -> None:
    """Print how many hidden components are found."""
    made = table("Assigned correctly by ours, k=2, fitted to all rows", ("case", "share"))
    shares = over_seeds(share_right, product(cases, range(seeds)), "Components")
    for case, several in zip(cases, np.reshape(shares, (len(cases), seeds)), strict=True):
        made.add_row(case.name, f"{several.mean():.1%}")
    CONSOLE.print(made)


def chosen(variable: str, names: Iterable[str]) -> list[str]:
    """Return the names that an environment variable lists, or all of them if it is not set."""
    names = list(names)
    wanted = os.environ.get(variable)
    if not wanted:
        return names
    for name in wanted.split(","):
        if name not in names:
            sys.exit(f"{variable}: there is no {name!r}. There are: {', '.join(names)}.")
    return [name for name in names if name in wanted.split(",")]


def omitted(task: Task) -> tuple[str, ...]:
    """Return the methods that are left out of a task."""
    if not task.needs_persons:
        return OF_PERSONS
    return SLOW if task is TASKS["new"] and not os.environ.get("METHODS") else ()


def main() -> None:
    folder, seeds = os.environ.get("DATA"), int(os.environ.get("SEEDS", "1"))
    sets = {case.name: [case] for case in load_folder(Path(folder))} if folder else {}
    sets["senate"] = senate_cases()
    cases = [case for name in chosen("SETS", sets) for case in sets[name]]
    tasks, base = chosen("TASKS", [*TASKS, COMPONENTS]), next(iter(METHODS))
    wanted = {base, *chosen("METHODS", METHODS)}
    methods = {name: m for name, m in available_methods().items() if name in wanted}
    for task in (TASKS[name] for name in tasks if name != COMPONENTS):
        suitable = [case for case in cases if (case.groups is not None) == task.needs_persons]
        usable = {name: m for name, m in methods.items() if name not in omitted(task)}
        if suitable:
            compare(task, suitable, usable, seeds)
    hidden = [case for case in cases if case.components is not None]
    if hidden and COMPONENTS in tasks:
        compare_components(hidden, seeds)


if __name__ == "__main__":
    main()

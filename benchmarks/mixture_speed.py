"""Speed of a default mixture fit, against EM from the truth, flexmix and X'X; its peak memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measure import Row, compare, cpu_seconds, peak_beyond
from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.preprocessing import whiten
from spectralmirror.responses import get_response
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.narrow import SMALL_PRODUCT

FLEXMIX = """
suppressMessages(library(flexmix))
data <- read.csv("{path}")
start <- proc.time()
fit <- stepFlexmix(cbind(y, 1 - y) ~ . - y, data = data, k = 2, nrep = 3, verbose = FALSE,
                   model = FLXMRglm(family = "binomial"))
used <- proc.time() - start
cat(used[["user.self"]] + used[["sys.self"]], as.numeric(logLik(fit)))
"""


def data(n: int, d: int, k: int, norm: float = 4.0):
    return make_linear_classifier_mixture(
        n, d, k, profile_norm=norm, weights=np.full(k, 1 / k), random_state=0
    )


def ours(X, y, k: int) -> LinearClassifierMixture:
    return LinearClassifierMixture(k, random_state=0).fit(X, y)


def em_from_truth(X, y, profiles) -> LinearClassifierMixture:
    """Run EM once, until a step gains less than 1e-3, as our own fits do."""
    return LinearClassifierMixture(
        len(profiles), init=profiles, subspace=None, solver="em", max_iter=2000
    ).fit(X, y)


def flexmix(X, y) -> tuple[float, float] | None:
    """Return the processor seconds of flexmix with 3 repetitions, and its log-likelihood."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        names = ",".join(["y", *(f"x{j}" for j in range(X.shape[1]))])
        np.savetxt(path, np.column_stack([y > 0, X]), delimiter=",", header=names, comments="")
        done = subprocess.run(
            ["Rscript", "-e", FLEXMIX.format(path=path)], capture_output=True, text=True
        )
    if done.returncode:
        return None
    seconds, value = done.stdout.split()
    return float(seconds), float(value)


def rows() -> Iterator[Row]:
    X, y, truth = data(10_000, 20, 2)
    fit, slow = compare(
        lambda: ours(X, y, 2), lambda: em_from_truth(X, y, truth.profiles), 5, cpu_seconds
    )
    yield Row(
        "mixture / one EM run from the truth, k=2, 10,000 x 20, CPU time",
        fit / slow,
        "<= 3",
        f"{fit:.2f} s / {slow:.2f} s",
    )
    other = flexmix(X, y)
    if other is None:
        print("flexmix is skipped: it needs R (Debian and Ubuntu: apt-get install r-cran-flexmix).")
    else:
        value = ours(X, y, 2).log_likelihood_
        yield Row(
            "flexmix, 3 repetitions / mixture, same rows, CPU time",
            other[0] / fit,
            ">= 30",
            f"{other[0]:.1f} s / {fit:.2f} s; log-likelihood {other[1]:.1f}, ours {value:.1f}",
        )

    X, y, truth = data(200_000, 100, 2)
    fit, slow = compare(
        lambda: ours(X, y, 2), lambda: em_from_truth(X, y, truth.profiles), 1, cpu_seconds
    )
    yield Row(
        "mixture / one EM run from the truth, k=2, 200,000 x 100, CPU time",
        fit / slow,
        "<= 0.33",
        f"{fit:.1f} s / {slow:.1f} s",
    )

    yield from groups()
    yield from cards()
    yield a_pass()
    yield from large()
    yield memory()
    yield from memory_of_groups()


def groups() -> Iterator[Row]:
    """Eight classes of persons with ten labels: starts need few rows, and the fit few passes."""
    X, y, truth = make_linear_classifier_mixture(
        100_000, 50, 8, profile_norm=5.0, weights=np.full(8, 1 / 8), group_size=10, random_state=0
    )
    fits = {}

    def default() -> None:
        fits["ours"] = LinearClassifierMixture(8, random_state=0).fit(X, y, groups=truth.groups)

    def from_truth() -> None:
        fits["truth"] = LinearClassifierMixture(
            8, init=truth.profiles, subspace=None, l2=fits["ours"].l2_
        ).fit(X, y, groups=truth.groups)

    fit, one = compare(default, from_truth, 3, cpu_seconds)
    gap = fits["ours"].objective_ - fits["truth"].objective_
    yield Row(
        "mixture / the same from the truth, k=8, 100,000 x 50, groups of 10, CPU time",
        fit / one,
        "<= 8",
        f"{fit:.2f} s / {one:.2f} s; objective {gap:+.2f}",
    )


def cards() -> Iterator[Row]:
    """Choose the number of classes of a survey in the folder `DATA`."""
    path = Path(os.environ.get("DATA", "")) / "bank.csv.gz"
    if not path.exists():
        print("bank is skipped: make bench DATA=FOLDER needs a folder with bank.csv.gz.")
        return
    table = pl.read_csv(path, infer_schema_length=None)
    X, y = table.drop("y", "group").to_numpy().astype(float), table["y"].to_numpy()
    mixture = LinearClassifierMixture("auto", fit_intercept=False, random_state=0)
    took = cpu_seconds(lambda: mixture.fit(X, y, groups=table["group"].to_numpy()))
    found = f"k={mixture.n_components_}, log evidence {mixture.log_evidence_:.1f}"
    yield Row('mixture, bank (14,799 x 14) with "auto", CPU seconds', took, "<= 5", found)


def a_pass() -> Row:
    """One gradient over all rows, over its two products in blocks that fit the cache."""
    X, y, truth = data(400_000, 100, 3)
    rows = Rows(X, y.astype(float))
    coordinates = Coordinates.whitened(whiten(rows).whitening, None, intercept=True)
    logistic = get_response("logistic")
    likelihood = Likelihood(InMemoryGroups.of(rows), logistic, coordinates, 1.0)
    parameters = Parameters.equal(np.column_stack([truth.profiles, np.zeros(3)]))
    columns, size = np.ascontiguousarray(truth.profiles.T), SMALL_PRODUCT // (3 * 100)

    def products() -> None:
        total = np.zeros((3, 100))
        for first in range(0, len(X), size):
            block = X[first : first + size]
            total += (block @ columns).T @ block

    one, bare = compare(lambda: likelihood.evaluate(parameters), products, 9, cpu_seconds)
    return Row(
        "one gradient / its two matrix products in blocks, k=3, 400,000 x 100, CPU time",
        one / bare,
        "<= 1.2",
        f"{1e9 * one / len(X):.0f} / {1e9 * bare / len(X):.0f} ns a row",
    )


def large() -> Iterator[Row]:
    X, y, _ = data(1_000_000, 100, 3)
    small = slice(0, 100_000)
    ten, one = compare(lambda: ours(X, y, 3), lambda: ours(X[small], y[small], 3), 2, cpu_seconds)
    bare, _ = compare(lambda: X.T @ X, lambda: time.sleep(0), 5, cpu_seconds)
    yield Row(
        "mixture / bare X'X, k=3, 1,000,000 x 100, CPU time",
        ten / bare,
        "<= 12",
        f"{ten:.1f} s / {bare:.2f} s",
    )
    yield Row(
        "the same: 1,000,000 rows / 100,000 rows", ten / one, "<= 11", f"{ten:.1f} s / {one:.1f} s"
    )
    X = X.astype(np.float32)
    single, bare = compare(lambda: ours(X, y, 3), lambda: X.T @ X, 2, cpu_seconds)
    yield Row(
        "the same in float32 / bare X'X in float32",
        single / bare,
        "<= 15",
        f"{single:.1f} s / {bare:.2f} s",
    )


def memory() -> Row:
    size, extra = peak_beyond(
        setup=(
            "from spectralmirror import LinearClassifierMixture\n"
            "from spectralmirror.datasets import make_linear_classifier_mixture\n"
            "X, y, _ = make_linear_classifier_mixture(\n"
            "    1_000_000, 100, 3, weights=[1 / 3] * 3, random_state=0)\n"
            "LinearClassifierMixture(3, random_state=0).fit(X[:20_000, :5], y[:20_000])\n"
        ),
        call="LinearClassifierMixture(3, random_state=0).fit(X, y)",
    )
    return Row(
        "the same: peak memory beyond X / X",
        extra / size,
        "<= 0.40",
        f"{extra / 1e6:.0f} MB / {size / 1e6:.0f} MB",
    )


def memory_of_groups() -> Iterator[Row]:
    for target, what, groups in (("<= 0.50", "", "None"), ("<= 0.60", ", groups of 5", "who")):
        size, extra = peak_beyond(
            setup=(
                "import numpy as np\n"
                "from spectralmirror import LinearClassifierMixture\n"
                "from spectralmirror.datasets import make_linear_classifier_mixture\n"
                "X, y, truth = make_linear_classifier_mixture(\n"
                "    400_000, 50, 2, weights=[0.6, 0.4], group_size=5, random_state=0)\n"
                "who = truth.groups\n"
                "LinearClassifierMixture(2, random_state=0).fit(X[:4_000], y[:4_000])\n"
            ),
            call=f"LinearClassifierMixture(2, random_state=0).fit(X, y, groups={groups})",
        )
        yield Row(
            f"mixture, k=2, 400,000 x 50{what}: peak memory beyond X / X",
            extra / size,
            target,
            f"{extra / 1e6:.0f} MB / {size / 1e6:.0f} MB",
        )

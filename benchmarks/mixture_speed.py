"""Speed of a default mixture fit, against EM from the truth, flexmix and X'X; its peak memory."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, compare, cpu_seconds, peak_beyond
from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture

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

    yield from large()
    yield memory()


def large() -> Iterator[Row]:
    X, y, _ = data(1_000_000, 100, 3)
    small = slice(0, 100_000)
    ten, one = compare(lambda: ours(X, y, 3), lambda: ours(X[small], y[small], 3), 2, cpu_seconds)
    bare, _ = compare(lambda: X.T @ X, lambda: time.sleep(0), 5, cpu_seconds)
    yield Row(
        "mixture / bare X'X, k=3, 1,000,000 x 100, CPU time",
        ten / bare,
        "<= 25",
        f"{ten:.1f} s / {bare:.2f} s",
    )
    yield Row(
        "the same: 1,000,000 rows / 100,000 rows", ten / one, "<= 11", f"{ten:.1f} s / {one:.1f} s"
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

"""Interrupted commands, full disks, files that change while they are read, killed workers.

Run with ``make faults``. ``N=24`` sets the number of interruptions of each of five commands, a
third by each signal; ``SEED=0`` the seed; ``PART=disk`` runs only parts of that name. Full disks
are small file systems in memory, which only the administrator may mount. No file may be
half-written, and what is finished must be kept.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.changing_files import changes
from benchmarks.full_disks import disks
from benchmarks.interruptions import COMMANDS, interrupted, prepare, resumed
from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture

__all__ = ["main"]

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
Outcome = tuple[str, str]


def interruptions(folder: Path, n: int, seed: int) -> Iterator[Outcome]:
    """Interrupt every command at random moments, from its first millisecond to its last."""
    known = prepare(folder / "source")
    jobs = []
    for command in COMMANDS:
        rng = Random(f"{seed} {command.name}")
        seconds, expected = known[command.name]
        for i in range(n):
            # not in the first 0.1 s, in which Python itself starts
            moment = rng.uniform(0.1, 1.1 * seconds)
            where = folder / f"{command.name}-{i}"
            jobs.append((command, folder / "source", where, SIGNALS[i % 3], moment, expected))
    with ThreadPoolExecutor(2) as pool:
        for job, outcome in zip(jobs, pool.map(lambda job: interrupted(*job), jobs), strict=True):
            yield f"{job[0].name}, {signal.Signals(job[3]).name}", outcome


def resuming(folder: Path, n: int, seed: int) -> Iterator[Outcome]:
    """Interrupt ``reproduce`` many times, and then let it finish."""
    for outcome in resumed(folder / "resumed", Random(seed), max(n // 3, 2)):
        yield "reproduce, interrupted again and again", outcome


def workers(folder: Path, n: int, seed: int) -> Iterator[Outcome]:
    """Kill a Dask worker at random moments of a fit."""
    import dask.array as da
    from distributed import Client, LocalCluster

    rng = Random(seed)
    X, y, _ = make_linear_classifier_mixture(8_000, 5, random_state=0)
    alone = LinearClassifierMixture(2, random_state=0).fit(X, y)
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for _ in range(5):
            there = da.from_array(X, chunks=(1_000, 5)).map_blocks(_slowly, dtype=X.dtype)
            labels = da.from_array(y, chunks=1_000)
            client.wait_for_workers(2, timeout=60)
            pids = list(client.run(os.getpid).values())
            kill = threading.Timer(rng.uniform(0.2, 3), os.kill, (rng.choice(pids), signal.SIGKILL))
            kill.start()
            found = LinearClassifierMixture(2, random_state=0).fit(there, labels)
            early = kill.is_alive()
            kill.join()
            alike = np.allclose(found.coef_, alone.coef_, rtol=1e-5, atol=1e-6)
            same = "finished before" if early else "the same answer"
            yield "a Dask worker is killed", same if alike else "BAD: another answer"


def _slowly(block: np.ndarray) -> np.ndarray:
    time.sleep(0.03)
    return block


PARTS: dict[str, Callable[[Path, int, int], Iterator[Outcome]]] = {
    "interruptions": interruptions,
    "resuming": resuming,
    "disks": disks,
    "changes": changes,
    "workers": workers,
}


def main() -> None:
    n, seed = int(os.environ.get("N", "24")), int(os.environ.get("SEED", "0"))
    console, wanted = Console(width=150), os.environ.get("PART", "")
    counts: dict[str, Counter[str]] = {}
    bad = []
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        for name, part in PARTS.items():
            if wanted in name:
                for what, outcome in part(Path(folder), n, seed):
                    short = "BAD" if outcome.startswith("BAD") else outcome
                    counts.setdefault(what, Counter())[short] += 1
                    if short == "BAD":
                        bad.append(f"{what}: {outcome}")
    table = Table(title=f"Faults, seed {seed}", title_justify="left")
    for column in ("what", "times", "outcome"):
        table.add_column(column, justify="right" if column == "times" else "left")
    for what, outcomes in counts.items():
        shown = "; ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
        table.add_row(what, str(sum(outcomes.values())), shown)
    console.print(table)
    for one in bad:
        console.print(one, markup=False, highlight=False)
    total = sum(sum(outcomes.values()) for outcomes in counts.values())
    console.print(f"{len(bad)} of {total} faults had a bad outcome.")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

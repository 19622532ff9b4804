"""Times of two calls, measured in turn, and the peak memory of a call."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

#: Seconds before each call: the threads of BLAS spin for a while after the previous one.
PAUSE = 0.25


@dataclass(frozen=True)
class Row:
    """One line of the table: what was compared, the ratio (or other value), and its target."""

    what: str
    ratio: float
    target: str
    detail: str


def seconds(function: Callable[[], Any]) -> float:
    """Return the wall-clock seconds of one call."""
    time.sleep(PAUSE)
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def cpu_seconds(function: Callable[[], Any]) -> float:
    """Return the processor seconds of one call, summed over all threads."""
    time.sleep(PAUSE)
    start = time.process_time()
    function()
    return time.process_time() - start


def compare(
    one: Callable[[], Any],
    other: Callable[[], Any],
    repeat: int = 7,
    clock: Callable[[Callable[[], Any]], float] = seconds,
) -> tuple[float, float]:
    """Return the shortest time of each, measured in turn under the same conditions."""
    times = [(clock(one), clock(other)) for _ in range(repeat)]
    return min(t for t, _ in times), min(t for _, t in times)


def peak_beyond(setup: str, call: str) -> tuple[int, int]:
    """Return the size of X and the peak growth of resident memory while `call` runs, in bytes.

    Runs in a process of its own (Linux). `setup` must define X and warm up the libraries.
    """
    program = f"""
def kilobytes(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key))
{setup}
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")  # reset the peak
base = kilobytes("VmRSS")
{call}
print(X.nbytes, 1024 * (kilobytes("VmHWM") - base))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    size, extra = done.stdout.split()
    return int(size), int(extra)


def print_table(rows: Iterable[Row]) -> None:
    """Print each row as soon as it is measured."""
    print(f"{'what':<72} {'value':>7}  {'target':<11} detail")
    for row in rows:
        print(f"{row.what:<72} {row.ratio:>7.2f}  {row.target:<11} {row.detail}", flush=True)

"""Timing two things against each other, and the memory that a call takes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

#: The threads of BLAS spin for a while after a call; whoever comes next should not pay for that.
PAUSE = 0.25


@dataclass(frozen=True)
class Row:
    """One line of the table: what was compared, the ratio (or error), and what it should be."""

    what: str
    ratio: float
    target: str
    detail: str


def seconds(function: Callable[[], Any]) -> float:
    """Wall-clock seconds of one call."""
    time.sleep(PAUSE)
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def cpu_seconds(function: Callable[[], Any]) -> float:
    """Processor seconds of one call, over all threads."""
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
    """Return the least time of each, measured in turn so that both see the same machine."""
    times = [(clock(one), clock(other)) for _ in range(repeat)]
    return min(t for t, _ in times), min(t for _, t in times)


def peak_beyond(setup: str, call: str) -> tuple[int, int]:
    """Return the size of X and the growth of resident memory, at its peak, while `call` runs.

    In a process of its own (Linux); `setup` must define X, and warm up the libraries.
    """
    program = f"""
def kilobytes(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key))
{setup}
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")  # forget the peak so far
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
    """Print the rows as they come."""
    print(f"{'what':<72} {'value':>7}  {'target':<11} detail")
    for row in rows:
        print(f"{row.what:<72} {row.ratio:>7.2f}  {row.target:<11} {row.detail}", flush=True)

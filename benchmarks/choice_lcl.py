"""LCL (lcl-choice, on JAX) on choices in a file, each number of classes in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

PROGRAM = """
import json, sys, time
import lcl, polars as pl
from lcl import ChoiceIds, FitOptions, LCLSpec, Options
path, k, *names = sys.argv[1:]
data = pl.read_csv(path).with_columns(
    pl.col("chosen") == 1, case=pl.col("person") * 1000 + pl.col("choice"),
    **{name: pl.col(name).cast(pl.Float64) for name in names})
ids = ChoiceIds(alt="alt", case="case", panel="person", choice="chosen")
formula = "chosen ~ " + " + ".join(names)
spec = LCLSpec(ids=ids, utility_formula=formula, classes=int(k))
times = []
for _ in range(2):
    start = time.process_time()
    fit = lcl.fit(data, spec, options=Options(fit=FitOptions(seed=0, num_devices=1)))
    times.append(time.process_time() - start)
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps([float(fit.loglik(data)), *times, peak / 1024]))
"""
#: Where `make peers` installs it.
INSTALLED = Path("output/peers/lcl-choice/bin/python")


def lcl_python() -> str | None:
    """Return an interpreter that has lcl-choice, None if there is none."""
    python = os.environ.get("LCL", str(INSTALLED) if INSTALLED.exists() else sys.executable)
    found = subprocess.run([python, "-c", "import lcl"], capture_output=True)
    if found.returncode == 0:
        return python
    print("LCL is skipped: `make peers` installs it; or pass LCL=python of an environment with it.")
    return None


def lcl_fits(
    python: str, path: Path, names: list[str], numbers: Iterable[int]
) -> dict[int, tuple[float, float, float, float]]:
    """Return log-likelihood, CPU seconds of two fits, and peak MB, for numbers of classes.

    The first fit compiles; both start once, as by default.
    """
    found = {}
    for k in numbers:
        done = subprocess.run(
            [python, "-c", PROGRAM, str(path), str(k), *names], capture_output=True, text=True
        )
        if done.returncode:
            print(f"LCL, {k} classes: {done.stderr.strip().splitlines()[-1]}")
        else:
            found[k] = tuple(json.loads(done.stdout.splitlines()[-1]))
    return found

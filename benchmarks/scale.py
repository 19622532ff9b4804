"""Rows that are not in memory: time and memory of files, Dask and Spark (``make scale``).

Every measurement runs in a process of its own, which has its own peak memory. The files are made
once, in output/scale, and need 6 GB. The results go to docs/scale, as a table and a picture.
``SECTION=files``, ``dask``, ``spark`` or ``curves`` measures one of them; ``spark`` needs 1 GB.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Row, print_table

FOLDER = Path("output/scale")
DOCS = Path("docs/scale")
BLOCK = 100_000
WEIGHTS = [0.5, 0.3, 0.2]

PRELUDE = """
import json, resource, sys, time, warnings
import numpy as np
import spectralmirror
from spectralmirror import LinearClassifierMixture, SpectralMirror
warnings.simplefilter("ignore")

def report(function, clock=time.process_time, **more):
    cpu, wall = clock(), time.perf_counter()
    found = function()
    wall, cpu = time.perf_counter() - wall, clock() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    scans = getattr(found, "n_scans_", 0)
    print(json.dumps(dict(seconds=wall, cpu=cpu, peak=peak, scans=scans, **more)))
"""


def measured(program: str, *arguments: Any) -> dict[str, float]:
    """Run a program in a fresh process and return what it reports."""
    command = [sys.executable, "-c", PRELUDE + program, *map(str, arguments)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def best(program: str, *arguments: Any, repeat: int = 2) -> dict[str, float]:
    """Return the quickest of several runs."""
    runs = [measured(program, *arguments) for _ in range(repeat)]
    return min(runs, key=lambda run: run["seconds"])


def rows_on_disk(n: int, d: int) -> Path:
    """Write rows of a mixture of three classifiers in float32, once, and return the path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = FOLDER / f"{n}x{d}.parquet"
    if path.exists():
        return path
    FOLDER.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    U = rng.standard_normal((3, d))
    U *= 4 / np.linalg.norm(U, axis=1, keepdims=True)
    schema = pa.schema([*((f"f{j}", pa.float32()) for j in range(d)), ("y", pa.int8())])
    unfinished = path.with_suffix(".unfinished")
    with pq.ParquetWriter(unfinished, schema, use_dictionary=False) as writer:
        for start in range(0, n, BLOCK):
            X = rng.standard_normal((min(BLOCK, n - start), d), dtype=np.float32)
            t = np.einsum("ij,ij->i", X, U[rng.choice(3, size=len(X), p=WEIGHTS)])
            y = (rng.random(len(X)) < 1 / (1 + np.exp(-t))).astype(np.int8)
            columns = {f"f{j}": np.ascontiguousarray(X[:, j]) for j in range(d)}
            writer.write_table(pa.table({**columns, "y": y}, schema=schema))
    unfinished.rename(path)
    return path


MIRROR = """
source = spectralmirror.scan(sys.argv[1], label="y")
report(lambda: SpectralMirror(3, random_state=0).fit(source))
"""
MIXTURE = """
source, k = spectralmirror.scan(sys.argv[1], label="y"), int(sys.argv[2])
report(lambda: LinearClassifierMixture(k, random_state=0).fit(source))
"""
#: Reads the batches that a fit reads, in blocks of 16 MB, and computes X'X only.
BARE = """
parts, n_passes = spectralmirror.scan(sys.argv[1], label="y").parts, int(sys.argv[2])

def bare():
    for _ in range(n_passes):
        total = 0
        for part in parts.read(16_000_000 // (4 * parts.n_features), parts.dtype):
            total = total + part.X.T @ part.X

report(bare)
"""
IN_MEMORY = """
import polars as pl
frame = pl.read_parquet(sys.argv[1])
y, X = frame["y"].to_numpy(), frame.drop("y").to_numpy(order="c")
SpectralMirror(3, random_state=0).fit(X[:100_000], y[:100_000])
report(lambda: SpectralMirror(3, random_state=0).fit(X, y))
"""
DASK = """
def main():
    import dask.array as da
    from distributed import Client, LocalCluster, wait
    import pyarrow.parquet as pq
    n, d, n_workers = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    options = dict(threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster):
        def block(number):
            table = pq.ParquetFile(sys.argv[1]).read_row_groups([number])
            return np.column_stack([table[name].to_numpy() for name in table.column_names])
        import dask
        whole = [da.from_delayed(dask.delayed(block)(i), (100_000, d + 1), np.float32)
                 for i in range(n // 100_000)]
        whole = da.concatenate(whole)
        X, y = dask.persist(whole[:, :-1], whole[:, -1])
        wait([X, y])
        SpectralMirror(3, random_state=0).fit(X[:200_000], y[:200_000])
        report(lambda: SpectralMirror(3, random_state=0).fit(X, y))

if __name__ == "__main__":
    main()
"""
SPARK = """
from pyspark.sql import SparkSession, functions
import spectralmirror.spark
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.memory", "6g")
builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
session.sparkContext.setLogLevel("OFF")
df = session.read.parquet(sys.argv[1])
names = [name for name in df.columns if name != "y"]
if sys.argv[2] == "array":
    df = df.select(functions.array(*names).alias("x"), "y")
    names = "x"
df = df.cache()
df.count()
few = spectralmirror.spark.scan(df.limit(100_000).repartition(4), label="y", features=names)
SpectralMirror(3, random_state=0).fit(few)
source = spectralmirror.spark.scan(df, label="y", features=names)
import psutil

def of_all():
    # this process, the JVM and the workers of Python
    us = psutil.Process()
    return sum(sum(one.cpu_times()[:4]) for one in [us, *us.children(recursive=True)])

def fit():
    return SpectralMirror(3, random_state=0).fit(source)

if sys.argv[3] == "warm":
    fit()
report(fit, of_all)
"""


def gigabytes(size: float) -> str:
    return f"{size / 1e9:.2f} GB"


def files() -> list[Row]:
    """Measure a file of 2 GB."""
    path = rows_on_disk(5_000_000, 100)
    mirror = best(MIRROR, path)
    bare = best(BARE, path, 3)
    mixture = measured(MIXTURE, path, 3)
    half = best(MIRROR, rows_on_disk(2_500_000, 100))
    return [
        Row(
            "SpectralMirror on 5,000,000 x 100 float32, wall time over bare reads and X'X",
            mirror["seconds"] / bare["seconds"],
            "<= 1.6",
            f"{mirror['seconds']:.1f} s, {mirror['scans']:.0f} scans, one of them of labels only",
        ),
        Row("  its peak memory in GB", mirror["peak"] / 1e9, "<= 1.0", ""),
        Row(
            "LinearClassifierMixture(3) on the same: peak memory in GB",
            mixture["peak"] / 1e9,
            "<= 1.0",
            f"{mixture['seconds']:.0f} s, {mixture['scans']:.0f} scans",
        ),
        Row(
            "twice the rows: time",
            mirror["seconds"] / half["seconds"],
            "1.8 to 2.3",
            f"{half['seconds']:.1f} s for 2,500,000",
        ),
        Row("twice the rows: memory", mirror["peak"] / half["peak"], "1", gigabytes(half["peak"])),
    ]


def dask() -> list[Row]:
    """Measure Dask against the same rows in memory."""
    path = rows_on_disk(2_000_000, 100)
    here, there = best(IN_MEMORY, path), best(DASK, path, 2_000_000, 100, 2)
    return [
        Row(
            "Dask, 2 workers of 1 thread, 2,000,000 x 100 in memory, over in process on 2 threads",
            there["seconds"] / here["seconds"],
            "<= 1.5",
            f"{there['seconds']:.1f} s and {here['seconds']:.1f} s",
        )
    ]


def spark() -> Iterator[Row]:
    """Measure Spark against the same rows in memory: CPU of all processes, and wall clock.

    "cold" is the first fit of these rows, after one of few rows; "warm" the second.
    """
    for n, target in ((500_000, "<= 6"), (2_000_000, "<= 4")) if shutil.which("java") else ():
        path = rows_on_disk(n, 100)
        here = best(IN_MEMORY, path)
        for kind, warmth in (("array", "cold"), ("array", "warm"), ("columns", "cold")):
            there = measured(SPARK, path, kind, warmth)
            yield Row(
                f"Spark local[2], {n:,} x 100 cached, {kind}, {warmth}, CPU over in process",
                there["cpu"] / here["cpu"],
                target if kind == "array" else "",
                f"{there['cpu']:.1f} s and {here['cpu']:.1f} s; wall clock "
                f"{there['seconds'] / here['seconds']:.1f}: {there['seconds']:.1f} s and "
                f"{here['seconds']:.1f} s",
            )


def curves() -> Any:
    """Measure how the time of one fit grows with n, d, k and workers."""
    import polars as pl

    found = []
    for n in (312_500, 625_000, 1_250_000, 2_500_000):
        found.append(("rows", n, "mirror", measured(MIRROR, rows_on_disk(n, 100))))
        found.append(("rows", n, "mixture", measured(MIXTURE, rows_on_disk(n, 100), 3)))
    for d in (25, 50, 100, 200, 400):
        path = rows_on_disk(625_000, d)
        found.append(("features", d, "mirror", measured(MIRROR, path)))
        if d <= 200:  # with fewer rows per feature, starts are drawn in all features
            found.append(("features", d, "mixture", measured(MIXTURE, path, 3)))
    for k in (1, 2, 3):  # there are three; the search for a fourth takes long
        found.append(("components", k, "mixture", measured(MIXTURE, rows_on_disk(625_000, 100), k)))
    for workers in (1, 2):
        path = rows_on_disk(2_000_000, 100)
        found.append(("workers", workers, "dask", measured(DASK, path, 2_000_000, 100, workers)))
    rows = [
        {"against": against, "value": value, "what": what}
        | {name: run[name] for name in ("seconds", "cpu", "scans")}
        for against, value, what, run in found
    ]
    return pl.DataFrame(rows)


def curves_and_picture() -> None:
    """Write the table of the curves, and their picture."""
    from benchmarks.scale_picture import draw

    DOCS.mkdir(parents=True, exist_ok=True)
    table = curves()
    table.write_csv(DOCS / "curves.csv", float_precision=3)
    draw(table, DOCS / "curves.svg")


def main() -> None:
    """Print the tables; write the curves."""
    section = os.environ.get("SECTION", "")
    for name, rows in {"files": files, "dask": dask, "spark": spark}.items():
        if section in ("", name):
            print_table(rows())
    if section in ("", "curves"):
        curves_and_picture()


if __name__ == "__main__":
    main()

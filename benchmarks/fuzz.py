"""Tens of thousands of damaged files: none may crash, hang, run code or pass for another model.

Run with ``make fuzz``; ``N=40000`` files in all, ``SEED=0``, ``KIND=Parquet`` for some kinds
only; Ctrl-C shows what was counted until then.
Files are damaged by :mod:`benchmarks.mutations` and read by child processes
(:mod:`benchmarks.fuzz_child`), whose memory and time per file are limited. Files with a bad outcome
are kept in ``output/fuzz``.
"""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.fuzz_child import KINDS

__all__ = ["fuzz", "main"]

#: Time limit per file, in seconds; undamaged files take some milliseconds.
SECONDS = 30.0
#: Files that one process reads.
BATCH = 500
#: Outcomes that are acceptable, and those that are not.
FINE = ("refused", "refused, of its rows", "harmless", "other data")
BAD = ("other model", "wrong exception", "crash", "hang", "memory", "code run")
SHARES = {"model, bytes": 6, "model, parts": 6, "CSV, command": 0.5, "Parquet, command": 0.5}

#: Number of a file, its outcome, and details.
Outcome = tuple[int, str, str]


def fuzz(kind: str, seed: int, first: int, last: int) -> Iterator[Outcome]:
    """Yield number, outcome and details of damaged files of a kind."""
    while first < last:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            for number, what, detail in _batch(kind, seed, first, last, folder):
                if not _is_fine(kind, what):
                    _keep(Path(folder), kind, seed, number, what, detail)
                yield number, what, detail
                first = number + 1


def _batch(kind: str, seed: int, first: int, last: int, folder: str) -> Iterator[Outcome]:
    """Read files in one process, until all are read or one of them ends it."""
    root = str(Path(__file__).parents[1])
    where = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": where}
    command = [
        sys.executable,
        "-m",
        "benchmarks.fuzz_child",
        kind,
        str(seed),
        str(first),
        str(last),
    ]
    with (
        open(Path(folder) / "errors.txt", "w+") as errors,
        subprocess.Popen(
            [*command, folder], stdout=subprocess.PIPE, stderr=errors, env=settings
        ) as child,
    ):
        begun, ended = first, "crash"
        for line in _lines(child):
            word, _, rest = line.partition(" ")
            if word == "begin":
                begun = int(rest)
            elif word == "end":
                number, what, detail = rest.split("\t", 2)
                begun = int(number) + 1
                yield int(number), what, detail
            elif word == "hang":
                ended = "hang"
                child.kill()
        child.wait()
        if child.returncode:  # also where an earlier file has spoiled memory
            errors.seek(0)
            yield (
                min(begun, last - 1),
                ended,
                f"exit code {child.returncode}; {errors.read()[:900]}",
            )


def _lines(child: subprocess.Popen[bytes]) -> Iterator[str]:
    """Yield the lines that a child prints; report a child that is silent for too long."""
    assert child.stdout is not None
    held, limit = b"", 20 * SECONDS  # it takes some seconds to start
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(limit):
                yield "hang"
                return
            piece = os.read(child.stdout.fileno(), 1 << 16)
            if not piece:
                return
            *lines, held = (held + piece).split(b"\n")
            for line in lines:
                yield line.decode()
                limit = SECONDS


def _keep(read: Path, kind: str, seed: int, number: int, what: str, detail: str) -> None:
    """Keep a file with a bad outcome."""
    folder = Path("output") / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{what}-{kind}-{seed}-{number}".replace(", ", "-").replace(" ", "-")
    at_hand = [read / f"kept-{number}", read / f"spoiled{KINDS[kind][0]}"]
    for path in [path for path in at_hand if path.exists()][:1]:
        shutil.copy(path, folder / f"{name}{KINDS[kind][0]}")
    (folder / f"{name}.txt").write_text(f"{detail}\n")


def _is_fine(kind: str, what: str) -> bool:
    """Whether an outcome is acceptable; changed numbers with valid checksums are another model."""
    return what in FINE or (what == "other model" and kind != "model, bytes")


def main() -> None:
    total, seed = int(os.environ.get("N", "40000")), int(os.environ.get("SEED", "0"))
    console, wanted = Console(width=150), os.environ.get("KIND", "")
    kinds = [kind for kind in KINDS if wanted in kind]
    share = total / sum(SHARES.get(kind, 2) for kind in kinds)
    sizes = {kind: max(1, round(share * SHARES.get(kind, 2))) for kind in kinds}
    jobs = [(kind, seed, first, min(first + BATCH, sizes[kind]))
            for kind in kinds for first in range(0, sizes[kind], BATCH)]  # fmt: skip
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    bad: list[tuple[str, str]] = []
    pool = ThreadPoolExecutor(os.cpu_count())
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("files", total=sum(sizes.values()))

        def work(job: tuple[str, int, int, int]) -> None:
            for number, what, detail in fuzz(*job):
                counts[job[0]][what] += 1
                progress.advance(task)
                if not _is_fine(job[0], what):
                    bad.append((f"{job[0]} {number}: {what}", detail))

        try:
            list(pool.map(work, jobs))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
    columns = [*FINE, *BAD]
    sizes = {kind: sum(counts[kind].values()) for kind in kinds}
    table = Table(title=f"{sum(sizes.values()):,} spoiled files, seed {seed}", title_justify="left")
    for column in ("kind", "files", *columns):
        table.add_column(column, justify="left" if column == "kind" else "right")
    for kind in kinds:
        table.add_row(kind, f"{sizes[kind]:,}", *(f"{counts[kind][c]:,}" for c in columns))
    every = sum(counts.values(), Counter())
    table.add_row("all", f"{sum(sizes.values()):,}", *(f"{every[c]:,}" for c in columns))
    console.print(table)
    for what, detail in bad[:40]:
        console.print(f"{what}: {detail}", markup=False, highlight=False)
    console.print(f"{len(bad)} files ended as none should; they are in output/fuzz."
                  if bad else "No file ended as none should.")  # fmt: skip
    sys.stdout.flush()
    os._exit(1 if bad else 0)  # without waiting for children, where this was interrupted


if __name__ == "__main__":
    main()

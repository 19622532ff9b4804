"""Interrupted commands, full disks, files that change while they are read, killed workers.

Run with ``make faults``; ``N=24`` interruptions of each of five commands, a third by each signal,
``SEED=0``, ``PART=disk`` for some parts only. Full disks are small file systems in memory, which
only the administrator may mount. Nothing may be half-written, and what is finished is kept.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.interruptions import (
    COMMANDS,
    OLD,
    Command,
    interrupted,
    prepare,
    resumed,
    run,
)
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.rows.files.writers import writing

__all__ = ["changing", "disk_full", "main"]

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
#: Kilobytes of the small disks.
SIZES = (8, 64, 256, 1024)
Outcome = tuple[str, str]


def interruptions(folder: Path, n: int, seed: int) -> Iterator[Outcome]:
    """Interrupt every command at random moments, from its first millisecond to its last."""
    known = prepare(folder / "source")
    jobs = []
    for command in COMMANDS:
        rng = Random(f"{seed} {command.name}")
        seconds, expected = known[command.name]
        for i in range(n):
            # not in the first moments: there Python itself starts, which no program can change
            moment = rng.uniform(0.1, 1.1 * seconds)
            where = folder / f"{command.name}-{i}"
            jobs.append((command, folder / "source", where, SIGNALS[i % 3], moment, expected))
    with ThreadPoolExecutor(2) as pool:
        for job, told in zip(jobs, pool.map(lambda job: interrupted(*job), jobs), strict=True):
            yield f"{job[0].name}, {signal.Signals(job[3]).name}", told


def resuming(folder: Path, n: int, seed: int) -> Iterator[Outcome]:
    """Interrupt ``reproduce`` until it has had enough."""
    for told in resumed(folder / "resumed", Random(seed), max(n // 3, 2)):
        yield "reproduce, interrupted again and again", told


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a small file system in memory."""
    folder.mkdir(parents=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise PermissionError(done.stderr.strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def disk_full(command: Command, source: Path, disk: Path) -> str:
    """Run a command whose output has no room; return what came of it."""
    output = disk / command.output
    output.write_bytes(OLD)
    code, said = run((*command.arguments, "-o", str(output)), source)
    left = sorted(path.name for path in disk.iterdir())
    if left != [command.output]:
        return f"BAD: left behind {left}"
    if code == 0:
        command.result(output)
        return "there was room"
    lines = said.strip().splitlines()
    if output.read_bytes() != OLD:
        return "BAD: the old file is gone"
    # before the work begins --output is tried, and is bad input where nothing fits
    fine = code == 1 or "cannot be written" in said
    if not fine or len(lines) != 1 or "No space left on device" not in said:
        return f"BAD: exit code {code}: {said!r:.600}"
    return "told, the old file kept"


def disks(folder: Path, n: int, seed: int) -> Iterator[Outcome]:
    """Let every command run out of room, at several sizes of the disk."""
    source = folder / "disk-source"
    prepare(source)
    for size in SIZES:
        for command in COMMANDS:
            try:
                with small_disk(folder / f"disk-{command.name}-{size}", size) as disk:
                    yield f"{command.name}, full disk", disk_full(command, source, disk)
            except PermissionError as problem:
                yield "full disks", f"skipped, as nothing can be mounted here: {problem}"
                return
        with small_disk(folder / f"disk-reproduce-{size}", size) as disk:
            yield "reproduce, full disk", _reproduce_full(disk)
        with small_disk(folder / f"disk-spill-{size}", size) as disk:
            yield "scattered groups, full disk", _spill_full(disk)


def _reproduce_full(disk: Path) -> str:
    arguments = ("reproduce", "hessian", "--quick", "--jobs", "2", "--quiet", "-o", str(disk))
    code, said = run(arguments, disk.parent)
    left = [path for path in disk.rglob("*") if ".unfinished" in path.name]
    lines = said.strip().splitlines()
    if left:
        return f"BAD: left behind {left}"
    if code == 0:
        return "there was room"
    if code not in (1, 2) or len(lines) != 1 or "No space left on device" not in said:
        return f"BAD: exit code {code}: {said!r:.600}"
    return "told, finished cells kept"


def _spill_full(disk: Path) -> str:
    """Bring scattered groups together in temporary files on the small disk."""
    from spectralmirror import LinearClassifierMixture, scan

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 10)), rng.choice([-1, 1], size=20_000)
    groups = rng.integers(0, 4_000, size=20_000)
    before, tempfile.tempdir = tempfile.tempdir, str(disk)
    try:
        LinearClassifierMixture(1, max_iter=3).fit(scan([(X, y, groups)]))
    except OSError as error:
        return "told" if error.errno == errno.ENOSPC else f"BAD: {error!r}"
    except Exception as error:
        return f"BAD: {error!r:.300}"
    finally:
        tempfile.tempdir = before
        if any(disk.iterdir()):
            time.sleep(0.2)
    return "there was room"


#: Something is done to the file when it is opened for the n-th time, or in the middle of that.
MEDDLING = """
import os, shutil, sys
from pathlib import Path
from spectralmirror.rows.files import readers
path, other, act, when = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
sys.argv[1:5] = []
opened = 0

def meddle():
    if act == "vanishes":
        path.unlink()
    elif act == "is replaced":
        shutil.copy(other, "beside")
        os.replace("beside", path)
    elif act == "shrinks":
        os.truncate(path, path.stat().st_size // 2)
    else:
        with path.open("ab") as file:
            file.write(path.read_bytes()[-2000:])

def meddling(kind):
    plain = kind.batches
    def batches(self, *arguments):
        global opened
        opened += 1
        if opened == when:
            meddle()
        for i, batch in enumerate(plain(self, *arguments)):
            yield batch
            if opened == when - 100 and i == 0:
                meddle()
                opened += 1000
    kind.batches = batches

for kind in (readers.CsvReader, readers.ParquetReader, readers.ArrowReader):
    meddling(kind)
from spectralmirror.__main__ import main
main()
"""


def changing(folder: Path, kind: str, act: str, when: int) -> str:
    """Fit a file that changes at its n-th reading, or (100 + n) in the middle of that."""
    folder.mkdir(parents=True)
    for name, seed in (("data", 0), ("other", 1)):
        X, y, _ = make_linear_classifier_mixture(9_000, 20, random_state=seed)
        with writing(folder / f"{name}.{kind}") as append:
            append(pa.table({**{f"x{j}": x for j, x in enumerate(X.T)}, "label": y}))
    meddling = [sys.executable, "-c", MEDDLING, f"data.{kind}", f"other.{kind}", act, str(when)]
    command = [*meddling, "fit", f"data.{kind}", "--label", "label", "-k", "1", "-o", "new/m.skops"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    lines = done.stderr.strip().splitlines()
    if done.returncode == 0:
        return "BAD: nobody noticed"
    if (folder / "new").exists():
        return "BAD: something was written"
    if done.returncode not in (1, 2) or len(lines) != 1 or f"data.{kind}" not in done.stderr:
        return f"BAD: exit code {done.returncode}: {done.stderr!r:.600}"
    return "told, nothing written"


def changes(folder: Path, n: int, seed: int) -> Iterator[Outcome]:
    """Let files change before and in the middle of each pass."""
    jobs = [
        (folder / f"{kind}-{act}-{when}".replace(" ", "-"), kind, act, when)
        for kind in ("csv", "parquet", "arrow")
        for act in ("grows", "shrinks", "is replaced", "vanishes")
        for when in (2, 101)
    ]
    with ThreadPoolExecutor(2) as pool:
        for job, told in zip(jobs, pool.map(lambda job: changing(*job), jobs), strict=True):
            yield f"a file {job[2]} while it is read", told


def workers(folder: Path, n: int, seed: int) -> Iterator[Outcome]:
    """Kill a Dask worker at random moments of a fit."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from spectralmirror import LinearClassifierMixture

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
                for what, told in part(Path(folder), n, seed):
                    short = "BAD" if told.startswith("BAD") else told
                    counts.setdefault(what, Counter())[short] += 1
                    if short == "BAD":
                        bad.append(f"{what}: {told}")
    table = Table(title=f"Faults, seed {seed}", title_justify="left")
    for column in ("what", "how often", "outcome"):
        table.add_column(column, justify="right" if column == "how often" else "left")
    for what, told in counts.items():
        shown = "; ".join(f"{count} {outcome}" for outcome, count in told.most_common())
        table.add_row(what, str(sum(told.values())), shown)
    console.print(table)
    for one in bad:
        console.print(one, markup=False, highlight=False)
    total = sum(sum(told.values()) for told in counts.values())
    console.print(f"{len(bad)} of {total} faults ended as none should.")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

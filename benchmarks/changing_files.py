"""Files that change while they are read: see faults.py."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.rows.files.writers import writing

__all__ = ["changes", "changing"]

#: Changes a file when it is read for the n-th time, or during that reading.
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
    """Fit a file that changes before its n-th reading, or (100 + n) during it."""
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
        return "BAD: the change was not noticed"
    if (folder / "new").exists():
        return "BAD: something was written"
    if done.returncode not in (1, 2) or len(lines) != 1 or f"data.{kind}" not in done.stderr:
        return f"BAD: exit code {done.returncode}: {done.stderr!r:.600}"
    return "reported, nothing written"


def changes(folder: Path, n: int, seed: int) -> Iterator[tuple[str, str]]:
    """Change files of every kind in every way, before a reading and during one."""
    jobs = [
        (folder / f"{kind}-{act}-{when}".replace(" ", "-"), kind, act, when)
        for kind in ("csv", "parquet", "arrow")
        for act in ("grows", "shrinks", "is replaced", "vanishes")
        for when in (2, 101)
    ]
    with ThreadPoolExecutor(2) as pool:
        for job, outcome in zip(jobs, pool.map(lambda job: changing(*job), jobs), strict=True):
            yield f"a file {job[2]} while it is read", outcome

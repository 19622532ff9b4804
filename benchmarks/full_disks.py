"""Commands whose disk is full: see faults.py."""

from __future__ import annotations

import errno
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.interruptions import COMMANDS, OLD, Command, prepare, run
from spectralmirror import LinearClassifierMixture, scan

__all__ = ["disk_full", "disks", "small_disk", "spill_full"]

#: Kilobytes of the small disks.
SIZES = (8, 64, 256, 1024)


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a small file system in memory; raise PermissionError if that is not allowed."""
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
    """Run a command whose output does not fit on the disk; return the outcome."""
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
    # --output is tried before the work begins, and is bad input if nothing fits
    fine = code == 1 or "cannot be written" in said
    if not fine or len(lines) != 1 or "No space left on device" not in said:
        return f"BAD: exit code {code}: {said!r:.600}"
    return "reported, the old file kept"


def disks(folder: Path, n: int, seed: int) -> Iterator[tuple[str, str]]:
    """Run every command on disks of several sizes that are too small."""
    source = folder / "disk-source"
    prepare(source)
    for size in SIZES:
        for command in COMMANDS:
            try:
                with small_disk(folder / f"disk-{command.name}-{size}", size) as disk:
                    yield f"{command.name}, full disk", disk_full(command, source, disk)
            except PermissionError as problem:
                yield "full disks", f"skipped, because mounting is not allowed here: {problem}"
                return
        with small_disk(folder / f"disk-reproduce-{size}", size) as disk:
            yield "reproduce, full disk", _reproduce_full(disk)
        with small_disk(folder / f"disk-spill-{size}", size) as disk:
            yield "scattered groups, full disk", spill_full(disk)


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
    return "reported, finished cells kept"


def spill_full(disk: Path) -> str:
    """Gather scattered groups in temporary files on the small disk; return the outcome."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 10)), rng.choice([-1, 1], size=20_000)
    groups = rng.integers(0, 4_000, size=20_000)
    before, tempfile.tempdir = tempfile.tempdir, str(disk)
    try:
        LinearClassifierMixture(1, max_iter=3).fit(scan([(X, y, groups)]))
    except OSError as error:
        return "reported" if error.errno == errno.ENOSPC else f"BAD: {error!r}"
    except Exception as error:
        return f"BAD: {error!r:.300}"
    finally:
        tempfile.tempdir = before
        if any(disk.iterdir()):
            time.sleep(0.2)
    return "there was room"

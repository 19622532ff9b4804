"""Commands that are interrupted at random moments: see faults.py."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import polars as pl

import spectralmirror

__all__ = ["COMMANDS", "Command", "interrupted", "prepare", "resumed", "run"]

OLD = b"what was there before\n"
SENTENCES = (
    "Interrupted. Nothing was written.",
    "Interrupted.",
    "Interrupted. The same command goes on from there.",
)


@dataclass(frozen=True)
class Command:
    """A command and the file that it writes."""

    name: str
    arguments: tuple[str, ...]
    output: str

    def result(self, path: Path) -> object:
        """Return what must equal that of an undisturbed run; raises if the file is damaged."""
        if self.output.endswith(".skops"):
            return spectralmirror.load(path).mixture.coef_.tobytes()
        if self.output.endswith(".parquet"):
            return pl.read_parquet(path).write_csv()
        return path.read_bytes()


COMMANDS = [
    Command(
        "fit", ("fit", "data.parquet", "--label", "label", "--group", "group", "-k", "2"), "m.skops"
    ),
    Command("predict", ("predict", "model.skops", "data.parquet"), "p.parquet"),
    Command("cluster", ("cluster", "model.skops", "data.parquet"), "c.csv"),
    Command("report", ("report", "model.skops", "data.parquet"), "r.html"),
    Command("simulate", ("simulate", "-n", "60000", "-d", "10"), "s.parquet"),
]


def start(arguments: tuple[str, ...], folder: Path) -> subprocess.Popen[str]:
    """Start a command in a folder, with its temporary files in a subfolder."""
    (folder / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "spectralmirror", *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(arguments: tuple[str, ...], folder: Path) -> tuple[int, str]:
    """Run a command to its end; return its exit code and its standard error."""
    with start(arguments, folder) as work:
        _, said = work.communicate(timeout=600)
    return work.returncode, said


def prepare(folder: Path) -> dict[str, tuple[float, object]]:
    """Make data and a model; return the seconds and the result of each command, undisturbed."""
    folder.mkdir(parents=True, exist_ok=True)
    made = ("simulate", "-o", "data.parquet", "-n", "20000", "-d", "6", "--group-size", "5")
    assert run(made, folder)[0] == 0
    fitted = (*COMMANDS[0].arguments, "-o", "model.skops")
    assert run(fitted, folder)[0] == 0
    known = {}
    for command in COMMANDS:
        began = time.monotonic()
        code, said = run((*command.arguments, "-o", command.output), folder)
        assert code == 0, said
        known[command.name] = (time.monotonic() - began, command.result(folder / command.output))
    return known


def interrupted(
    command: Command, source: Path, folder: Path, sent: int, moment: float, expected: object
) -> str:
    """Send a signal to a command after `moment` seconds; return the outcome."""
    folder.mkdir(parents=True)
    for name in ("data.parquet", "model.skops"):
        os.link(source / name, folder / name)
    output = folder / command.output
    has_old = int(moment * 1e6) % 2 == 0
    if has_old:
        output.write_bytes(OLD)
    arguments = (*command.arguments, "-o", command.output)
    with start(arguments, folder) as work:
        time.sleep(moment)
        ready = _listens(work.pid)
        work.send_signal(sent)
        _, said = work.communicate(timeout=600)
    early = not ready and work.returncode != 0  # then the message is that of Python itself
    problem = (
        None if early else _problem(command, folder, sent, work.returncode, said, has_old, expected)
    )
    if early and {path.name for path in folder.iterdir()} - _known(command):
        problem = "something was left behind"
    if problem is None and sent == signal.SIGKILL:
        code, said = run(arguments, folder)
        same = code == 0 and command.result(output) == expected
        problem = None if same else f"the next run: {code} {said}"
    shutil.rmtree(folder)
    if problem is not None:
        return f"BAD: {problem}"
    if early:
        return "while Python starts"
    return "finished before" if work.returncode == 0 else "nothing half-written"


def _known(command: Command) -> set[str]:
    return {"data.parquet", "model.skops", "tmp", command.output}


def _listens(pid: int) -> bool:
    """Return whether a process handles SIGTERM, which Python does not by default (Linux)."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return True
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("SigCgt", "SigIgn"))]
    return any(mask >> (signal.SIGTERM - 1) & 1 for mask in masks)


def _problem(
    command: Command, folder: Path, sent: int, code: int, said: str, has_old: bool, expected: object
) -> str | None:
    """Return what is wrong with the files and the message of an interrupted command, or None."""
    output = folder / command.output
    if output.exists() and not (has_old and output.read_bytes() == OLD):
        try:
            if command.result(output) != expected:
                return "another result under the final name"
        except Exception as error:
            return f"half a file under the final name ({error})"
    elif has_old and not output.exists():
        return "the old file is gone"
    if sent == signal.SIGKILL:
        return None if code in (0, -sent) else f"exit code {code}: {said}"
    left = [path for path in folder.rglob("*") if path.name not in _known(command)]
    if left:
        return f"left behind: {left}"
    if code == 0:
        return None
    if code != 1 or said.strip() not in SENTENCES:
        return f"exit code {code}: {said.strip()!r:.600}"
    return None


def resumed(folder: Path, rng: Random, times: int, name: str = "hessian") -> Iterator[str]:
    """Interrupt ``reproduce`` again and again; yield the outcome of each interruption."""
    arguments = ("reproduce", name, "--quick", "--jobs", "2", "-o", "out")
    alone = folder / "alone"
    alone.mkdir(parents=True)
    began = time.monotonic()
    assert run(arguments, alone)[0] == 0
    seconds = time.monotonic() - began
    kept: dict[Path, int] = {}
    for _ in range(times):
        sent = rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
        with start(arguments, folder) as work:
            time.sleep(rng.uniform(0.1, 0.8 * seconds))
            _send(work.pid, sent)
            _, said = work.communicate(timeout=600)
        cells = _cells(folder, name)
        if any(cells.get(path) != when for path, when in kept.items()):
            yield "BAD: a finished cell was lost, or measured again"
        elif "Traceback" in said or work.returncode not in (0, 1, -sent):
            yield f"BAD: exit code {work.returncode}: {said!r:.600}"
        elif work.returncode == 1 and not said.strip().startswith("Interrupted."):
            yield f"BAD: {said!r:.600}"
        else:
            yield f"{len(cells) - len(kept)} new cells kept"
        kept = cells
    code, said = run(arguments, folder)
    tables = [pl.read_parquet(where / "out" / f"{name}.parquet") for where in (folder, alone)]
    numbers = [t.select(pl.selectors.numeric()).to_numpy() for t in tables]
    same = code == 0 and np.array_equal(*numbers, equal_nan=True)
    yield f"then finished, {len(kept)} cells found again" if same else f"BAD: {code} {said}"


def _send(pid: int, sent: int) -> None:
    """Send a signal to all processes, as a terminal does, but SIGTERM to the first one only."""
    send: Callable[[int, int], None] = os.kill if sent == signal.SIGTERM else os.killpg
    try:
        send(pid, sent)
    except ProcessLookupError:
        return


def _cells(folder: Path, name: str) -> dict[Path, int]:
    found = (folder / "out" / ".cells" / name).glob("*.json")
    return {path: path.stat().st_mtime_ns for path in found}

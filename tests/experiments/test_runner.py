"""A run that is interrupted, by whatever, keeps what is finished and continues from there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from spectralmirror.cli import app
from spectralmirror.experiments import EXPERIMENTS, run
from spectralmirror.experiments.reproduce import reproduce
from spectralmirror.experiments.store import Store
from tests.helpers.experiments import assert_same_numbers


def finished(output, name):
    return {path: path.stat().st_mtime_ns for path in (output / ".cells" / name).glob("*.json")}


def start(output, *arguments):
    """Run the command line in a process group of its own."""
    command = [sys.executable, "-c", "from spectralmirror.cli import main; main()", "reproduce"]
    return subprocess.Popen(
        [*command, *arguments, "--output", str(output)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def wait_for(condition, process, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    """The same experiment without an interruption."""
    return reproduce("hessian", tmp_path_factory.mktemp("at-once"), scale="quick").table


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_killed_half_way_goes_on_where_it_stopped(tmp_path, at_once, how):
    name, total = "hessian", len(EXPERIMENTS["hessian"].cells("quick"))
    process = start(tmp_path, name, "--quick", "--jobs", "2")
    wait_for(lambda: len(finished(tmp_path, name)) >= 5, process)
    os.killpg(process.pid, how)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 1)
    if how == signal.SIGINT:
        assert "Interrupted. The same command goes on from there. What is finished is kept" in said
        assert "Traceback" not in said
    assert not (tmp_path / f"{name}.csv").exists()
    kept = finished(tmp_path, name)
    assert 5 <= len(kept) < total
    again = ["reproduce", name, "--quick", "--jobs", "1", "--output", str(tmp_path)]
    done = CliRunner().invoke(app, again, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert f"{total} cells, {len(kept)} from an earlier run" in done.output
    after = finished(tmp_path, name)
    assert len(after) == total
    assert {path: after[path] for path in kept} == kept  # none was written again
    assert_same_numbers(pl.read_csv(tmp_path / f"{name}.csv"), at_once)


def test_a_cell_that_vanishes_is_an_error(tmp_path):
    experiment = EXPERIMENTS["hessian"]
    path = Store.of(experiment, tmp_path).path(experiment.cells("tiny")[0])

    def lose(done, total):
        if done == total:
            path.unlink()

    with pytest.raises(RuntimeError, match="A finished cell is gone"):
        run(experiment, tmp_path, scale="tiny", n_jobs=1, listen=lose)


def workers_of(pid):
    """Return the processes below a process that measure cells (Linux)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            command = (path.parent / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if parent == pid and b"popen_loky" in command:
            found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("victim", "sentence"),
    [("worker", "A process was killed, or memory ran out"), ("terminated", "Interrupted.")],
)
def test_a_killed_process_ends_the_run_with_a_sentence(tmp_path, victim, sentence):
    process = start(tmp_path, "blindspot", "--quick", "--jobs", "2")
    wait_for(lambda: len(workers_of(process.pid)) == 2, process)
    workers = workers_of(process.pid)
    wait_for(lambda: (tmp_path / ".cells" / "blindspot").exists(), process)
    if victim == "worker":
        os.kill(workers[0], signal.SIGKILL)
    else:
        os.kill(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert sentence in said
    assert "What is finished is kept" in said
    assert "Traceback" not in said
    end = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < end, "workers go on without their parent"
        time.sleep(0.1)

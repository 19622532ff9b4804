"""Full disks, files that change while they are read, interruptions while a command is loaded.

``make faults`` tries many more moments.
"""

import os
import signal
import subprocess
import sys
import time

import pytest
import typer
from benchmarks.changing_files import changing
from benchmarks.full_disks import disk_full, small_disk, spill_full
from benchmarks.interruptions import COMMANDS

from spectralmirror.cli.console import one_sentence_errors

#: An import that says that it has begun, and never ends.
LOADING = """
import sys, time

class Slow:
    def find_spec(self, name, *_):
        if name == "typer":
            print("under way", flush=True)
            time.sleep(600)

sys.meta_path.insert(0, Slow())
from spectralmirror.__main__ import main
main()
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_while_the_command_is_loaded(tmp_path, sent):
    with subprocess.Popen(
        [sys.executable, "-c", LOADING, "simulate"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as work:  # fmt: skip
        assert work.stdout.readline() == "under way\n"
        work.send_signal(sent)
        _, told = work.communicate(timeout=60)
    assert work.returncode == 1
    assert told == "Interrupted.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "act", "when"),
    [
        ("csv", "is replaced", 2),
        ("csv", "grows", 101),
        ("parquet", "shrinks", 101),
        ("parquet", "is replaced", 2),
        ("arrow", "vanishes", 2),
    ],
)
def test_files_that_change_while_they_are_read(kind, act, when, tmp_path):
    assert changing(tmp_path / "here", kind, act, when) == "reported, nothing written"


def disk(folder, kilobytes):
    try:
        with small_disk(folder, 8):
            pass
        folder.rmdir()
    except (PermissionError, FileNotFoundError) as problem:
        pytest.skip(f"nothing can be mounted here: {problem}")
    return small_disk(folder, kilobytes)


@pytest.mark.skipif(sys.platform != "linux", reason="needs tmpfs")
def test_no_room_for_a_table(tmp_path):
    (simulate,) = (command for command in COMMANDS if command.name == "simulate")
    with disk(tmp_path / "disk", 256) as small:
        assert disk_full(simulate, tmp_path, small) == "reported, the old file kept"


@pytest.mark.skipif(sys.platform != "linux", reason="needs tmpfs")
def test_no_room_for_scattered_groups(tmp_path):
    with disk(tmp_path / "disk", 64) as small:
        assert spill_full(small) == "reported"


def interrupted_import():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    except KeyboardInterrupt:
        raise ImportError("cannot load") from None


def test_an_interruption_that_an_import_turns_into_something_else(capsys):
    with pytest.raises(typer.Exit) as ended, one_sentence_errors():
        interrupted_import()
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == "Interrupted. Nothing was written.\n"

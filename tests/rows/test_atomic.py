"""Files are written whole or not at all, and what killed processes left behind is removed."""

import os
import time

import pytest

from spectralmirror.rows.files.atomic import ABANDONED, sweep, written_whole


def test_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "folder" / "file.txt"
    with written_whole(path) as unfinished:
        unfinished.write_text("old")
    assert path.read_text() == "old"

    def fail():
        with written_whole(path) as unfinished:
            unfinished.write_text("half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_what_killed_processes_left_is_swept_after_a_day(tmp_path):
    old, new = (tmp_path / "cells" / f".unfinished-{name}" for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "file").write_text("half")
    long_ago = time.time() - ABANDONED - 60
    os.utime(old, (long_ago, long_ago))
    sweep(tmp_path)
    assert not old.exists()
    assert new.exists()

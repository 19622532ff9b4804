"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

__all__ = ["sweep", "written_whole"]

UNFINISHED = ".unfinished-"
#: Age in seconds from which an unfinished file counts as abandoned.
ABANDONED = 86_400


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which replaces `path` if all goes well.

    It is in a folder of its own next to `path`, so that two processes never write to one file. An
    interrupted process leaves the old file, or none; a killed process also leaves that folder,
    which :func:`sweep` removes.

    Parameters
    ----------
    path : Path
        The finished file; its folder is created, and removed again if nothing was written.

    Yields
    ------
    Path
        A path with the same name, so that writers see the same suffix.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name the file to write.")
    made = [parent for parent in path.parents if not parent.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(prefix=UNFINISHED, dir=path.parent))
    unfinished = folder / path.name
    try:
        yield unfinished
        os.replace(unfinished, path)
        made = []
    finally:
        unfinished.unlink(missing_ok=True)
        folder.rmdir()
        with suppress(OSError):  # another process has put a file there
            for parent in made:
                parent.rmdir()


def sweep(folder: Path) -> None:
    """Remove what killed processes left unfinished in a folder more than a day ago."""
    for left in folder.rglob(f"{UNFINISHED}*"):
        if time.time() - left.stat().st_mtime > ABANDONED:
            shutil.rmtree(left, ignore_errors=True)

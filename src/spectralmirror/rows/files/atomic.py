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
#: Seconds after which an unfinished file belongs to no living process.
ABANDONED = 86_400


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of `path` when all went well.

    It lies beside it, in a folder of its own, so that two processes never write to one file. What
    is interrupted leaves the old file, or none; of a killed process that folder stays, for
    :func:`sweep`.

    Parameters
    ----------
    path : Path
        Where the finished file shall be; its folder is made, and removed where nothing came of it.

    Yields
    ------
    Path
        A path of the same name elsewhere, so that writers see the same suffix.
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
        with suppress(OSError):  # somebody else has put something there
            for parent in made:
                parent.rmdir()


def sweep(folder: Path) -> None:
    """Remove what killed processes left unfinished below a folder, a day ago or longer."""
    for left in folder.rglob(f"{UNFINISHED}*"):
        if time.time() - left.stat().st_mtime > ABANDONED:
            shutil.rmtree(left, ignore_errors=True)

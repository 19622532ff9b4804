"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

__all__ = ["written_whole"]


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of `path` when all went well.

    It lies beside it, in a folder of its own, so that two processes never write to one file. What
    is interrupted leaves the old file, or none; of a killed process only that folder stays.

    Parameters
    ----------
    path : Path
        Where the finished file shall be; its folder is made.

    Yields
    ------
    Path
        A path of the same name elsewhere, so that writers see the same suffix.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(prefix=".unfinished-", dir=path.parent))
    unfinished = folder / path.name
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
        folder.rmdir()

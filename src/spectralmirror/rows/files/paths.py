"""Paths, folders and globs, as the files they stand for."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

__all__ = ["SUFFIXES", "file_suffix", "paths_of"]

_SUFFIXES = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
#: Suffixes of tables, but also of notes: such files are read if they are named, not if they are in
#: a folder that is named.
_ANY_TEXT = (".txt", ".txt.gz", ".dat", ".dat.gz")
#: Suffixes of files that are read from folders, and of those that can be read, for error messages.
_IN_FOLDERS = ".parquet, .arrow, .feather, .csv, .csv.gz or .tsv"
SUFFIXES = ".parquet, .arrow, .feather, .csv, .tsv, .txt or .dat (text also with .gz)"


def paths_of(source: Any) -> list[Path]:
    """Return the files of a path, a folder, a glob or a list of these."""
    if source == "":
        raise ValueError("scan was given an empty path.")
    if not isinstance(source, str | Path):
        return [path for one in source for path in paths_of(one)]
    path = Path(source)
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if one.is_file() and _is_data(one, path))
        if not found:
            raise FileNotFoundError(
                f"{source} is a folder without a file that ends in {_IN_FOLDERS}."
            )
        return found
    if path.exists():
        return [path]
    found = sorted(one for one in map(Path, glob.glob(str(source), recursive=True)) if one.exists())
    if not found:
        raise FileNotFoundError(f"There is no file {str(source)!r}.")
    return [one for path in found for one in paths_of(path)]


def file_suffix(path: Path) -> str | None:
    """Return the suffix that determines the format of a file, or None if it cannot be read."""
    name = path.name.lower()
    suffixes = (*_SUFFIXES, *_ANY_TEXT)
    return next((suffix for suffix in suffixes if name.endswith(suffix)), None)


def _is_data(path: Path, folder: Path) -> bool:
    """Return whether a file can be read and is neither hidden nor temporary."""
    names = path.relative_to(folder).parts
    is_table = path.name.lower().endswith(_SUFFIXES)
    return is_table and not any(name.startswith((".", "_")) for name in names)

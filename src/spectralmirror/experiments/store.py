"""Finished cells on disk, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy
import scipy
import sklearn

import spectralmirror
from spectralmirror.experiments.experiment import Cell, Experiment, Row
from spectralmirror.rows.files.atomic import written_whole

__all__ = ["Store"]

#: What decides how a table looks, but not what is in it.
NOT_NUMBERS = ("plotting", "cli.py", "reproduction.py", "files.py")
#: Modules that experiments share.
SHARED = ("experiment.py", "problems.py", "references.py")


@dataclass(frozen=True)
class Store:
    """One file a cell, named by everything that its numbers depend on.

    That is: the settings, the code of the experiment and of the library, the versions of NumPy,
    SciPy and scikit-learn, and for seconds the machine. Where any of these changes the name does
    too, and a cell that was measured before is not found any more.
    """

    folder: Path
    code: str

    @classmethod
    def of(cls, experiment: Experiment, output: Path) -> Store:
        """Return the store of an experiment below the output folder."""
        return cls(output / ".cells" / experiment.name, _code_digest(experiment))

    def path(self, cell: Cell) -> Path:
        """Return where a cell is kept."""
        key = json.dumps([self.code, dict(cell)], sort_keys=True)
        return self.folder / f"{sha256(key.encode()).hexdigest()[:24]}.json"

    def read(self, cell: Cell) -> list[Row] | None:
        """Return the rows of a finished cell, or None; a damaged file counts as not finished."""
        try:
            stored = json.loads(self.path(cell).read_text())
            whole = stored["cell"] == dict(cell) and all(stored["rows"]) and stored["rows"]
            rows: list[Row] = [dict(row) for row in stored["rows"]]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return rows if whole else None

    def write(self, cell: Cell, rows: list[Row]) -> None:
        """Keep a finished cell: all of it, or nothing."""
        with written_whole(self.path(cell)) as path:
            path.write_text(json.dumps({"cell": dict(cell), "rows": rows}))


def _sources() -> dict[Path, bytes]:
    """Return the source of every module whose code can change a number."""
    package = Path(str(spectralmirror.__file__)).parent
    paths = (path.relative_to(package) for path in sorted(package.rglob("*.py")))
    return {
        path: (package / path).read_bytes() for path in paths if path.parts[0] not in NOT_NUMBERS
    }


#: Read when this process started, as the code that runs in it was: files may change meanwhile.
SOURCES = _sources()


def _code_digest(experiment: Experiment) -> str:
    """Return a digest of all code on which the numbers of an experiment depend."""
    digest = sha256()
    for library in (numpy, scipy, sklearn, spectralmirror):
        digest.update(f"{library.__name__} {library.__version__}\n".encode())
    if experiment.alone:  # seconds are those of this machine
        digest.update(f"{platform.node()} {platform.machine()}\n".encode())
    own = f"{experiment.module.rpartition('.')[2]}.py"
    for path, source in SOURCES.items():
        if path.parts[0] != "experiments" or path.name in {own, *SHARED}:
            digest.update(f"{path.as_posix()}\n".encode() + source)
    return digest.hexdigest()

"""Finished cells on disk, so that an interrupted run continues where it stopped."""

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
from spectralmirror.experiments.sources import code_digest
from spectralmirror.rows.files.atomic import written_whole

__all__ = ["Store"]


@dataclass(frozen=True)
class Store:
    """One file per cell, whose name depends on everything that its numbers depend on.

    That is: the settings, the code behind the experiment, the versions of NumPy, SciPy and
    scikit-learn, and the machine if seconds are measured. If any of these changes, so does the
    name, and the cell is measured again.
    """

    folder: Path
    code: str

    @classmethod
    def of(cls, experiment: Experiment, output: Path) -> Store:
        """Return the store of an experiment below the output folder."""
        return cls(output / ".cells" / experiment.name, _digest(experiment))

    def path(self, cell: Cell) -> Path:
        """Return the path of the file of a cell."""
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
        """Store a finished cell, completely or not at all."""
        with written_whole(self.path(cell)) as path:
            path.write_text(json.dumps({"cell": dict(cell), "rows": rows}))


def _digest(experiment: Experiment) -> str:
    """Return a digest of what the numbers of an experiment depend on, besides its settings."""
    parts = [f"{lib.__name__} {lib.__version__}" for lib in (numpy, scipy, sklearn, spectralmirror)]
    if experiment.alone:  # it measures seconds, which are those of this machine
        parts.append(f"{platform.node()} {platform.machine()}")
    parts.append(code_digest(experiment.module))
    return sha256("\n".join(parts).encode()).hexdigest()

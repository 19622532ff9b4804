"""Measures the cells of an experiment on all cores, and keeps each as it ends."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config

from spectralmirror.engines import one_blas_thread
from spectralmirror.experiments.experiment import Cell, Experiment, Row
from spectralmirror.experiments.store import Store

__all__ = ["run"]


def run(
    experiment: Experiment,
    output: Path,
    *,
    scale: str = "full",
    n_jobs: int = -1,
    listen: Callable[[int, int], None] = lambda done, total: None,
) -> list[Row]:
    """Return the table of an experiment; cells that an earlier run finished are not repeated.

    Parameters
    ----------
    experiment : Experiment
        What to measure.
    output : Path
        Folder below which finished cells are kept.
    scale : {"tiny", "quick", "full"}, default="full"
        How much is measured.
    n_jobs : int, default=-1
        Processes; -1 is one a core.
    listen : callable, default does nothing
        ``listen(done, total)`` is told of the cells that are finished, at first of those that an
        earlier run finished.

    Returns
    -------
    list of dict
        The rows of all cells, in the order of the cells.
    """
    store, cells = Store.of(experiment, output), experiment.cells(scale)
    missing = [cell for cell in cells if store.read(cell) is None]
    done = len(cells) - len(missing)
    listen(done, len(cells))
    # the longest first, lest one core works on alone in the end
    missing.sort(key=lambda cell: -float(cell.get("n", 0)) * float(cell.get("d", 1)))
    with _processes(experiment.alone):
        jobs = Parallel(1 if experiment.alone else n_jobs, return_as="generator_unordered")
        for _ in jobs(delayed(_finish)(experiment, store, cell) for cell in missing):
            done += 1
            listen(done, len(cells))
    return [{**cell, **row} for cell in cells for row in store.read(cell) or ()]


def _processes(alone: bool) -> AbstractContextManager[Any]:
    if alone:
        return nullcontext()
    return parallel_config(backend="loky", inner_max_num_threads=1, initializer=_ignore_interrupts)


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the first process, which then ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _finish(experiment: Experiment, store: Store, cell: Cell) -> None:
    """Measure a cell and keep it, in whichever process this is."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")  # that a signal is weak is what many cells are about
        store.write(cell, experiment.measure(**cell))

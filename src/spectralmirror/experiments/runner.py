"""Measures the cells of an experiment on all cores, and stores each as soon as it is finished."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from spectralmirror.experiments.experiment import Cell, Experiment, Row
from spectralmirror.experiments.store import Store
from spectralmirror.rows.reduce import one_blas_thread

__all__ = ["run"]


def run(
    experiment: Experiment,
    output: Path,
    *,
    scale: str = "full",
    n_jobs: int = -1,
    listen: Callable[[int, int], None] = lambda done, total: None,
) -> list[Row]:
    """Return the table of an experiment; cells that an earlier run finished are reused.

    Parameters
    ----------
    experiment : Experiment
        What to measure.
    output : Path
        Folder below which finished cells are stored.
    scale : {"tiny", "quick", "full"}, default="full"
        How much is measured.
    n_jobs : int, default=-1
        Number of processes; -1 means one per core.
    listen : callable, default does nothing
        ``listen(done, total)`` is called with the number of finished cells: once at the start, and
        after each cell.

    Returns
    -------
    list of dict
        The rows of all cells, in the order of the cells.
    """
    store, cells = Store.of(experiment, output), experiment.cells(scale)
    missing = [cell for cell in cells if store.read(cell) is None]
    done = len(cells) - len(missing)
    listen(done, len(cells))
    # the longest first, so that no core works alone at the end
    missing.sort(key=lambda cell: -float(cell.get("n", 0)) * float(cell.get("d", 1)))
    n_jobs = 1 if experiment.alone else max(1, min(effective_n_jobs(n_jobs), len(missing)))
    with parallel_config(backend="loky", inner_max_num_threads=1) if n_jobs > 1 else nullcontext():
        if n_jobs > 1:
            _start_workers(n_jobs)
        jobs = Parallel(n_jobs, return_as="generator_unordered")
        for _ in jobs(delayed(_finish)(experiment, store, cell) for cell in missing):
            done += 1
            listen(done, len(cells))
    return [row for cell in cells for row in _rows(store, cell)]


def _rows(store: Store, cell: Cell) -> list[Row]:
    """Return the rows of a finished cell, with its settings."""
    rows = store.read(cell)
    if rows is None:
        raise RuntimeError(
            f"A finished cell is gone from {store.folder}: run the same command again."
        )
    return [{**cell, **row} for row in rows]


def _start_workers(n_jobs: int) -> None:
    """Start worker processes that leave Ctrl-C to this process, which then ends them.

    Signals that a process ignores are ignored by the processes that it starts.
    """
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may set signal handlers
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        Parallel(n_jobs)(delayed(os.getpid)() for _ in range(n_jobs))
    finally:
        signal.signal(signal.SIGINT, before)


def _finish(experiment: Experiment, store: Store, cell: Cell) -> None:
    """Measure a cell and store it, in this process or in a worker."""
    if Store.of(experiment, store.folder).code != store.code:
        raise RuntimeError(
            "The code of spectralmirror changed during the run: run the same command again."
        )
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")  # many cells are about weak signals
        store.write(cell, experiment.measure(**cell))

"""What long work is at: records of the logger "spectralmirror.progress", which nobody need hear.

The command line shows them. In Python, ``verbose=True`` prints each stage of a fit, and
``verbose=2`` each start, too; ``logging.basicConfig(level=logging.INFO)`` has the stages of all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["hear_progress", "n_classes", "print_progress", "stage", "step"]

_LOGGER = logging.getLogger("spectralmirror.progress")


def stage(text: str) -> None:
    """Say what is done now, such as "2 classes"."""
    _LOGGER.info(text)


def step(text: str) -> None:
    """Say which part of a stage is done now, such as "2 classes, start 7"."""
    _LOGGER.debug(text)


def n_classes(k: int) -> str:
    """Return how many classes are fitted, for a stage or a step."""
    return "1 class" if k == 1 else f"{k} classes"


@contextmanager
def hear_progress(listen: Callable[[str], None], level: int = logging.DEBUG) -> Iterator[None]:
    """Pass every stage of the work inside to a function, and every step unless `level` is INFO."""
    handler, before = _Listener(listen), _LOGGER.level
    handler.setLevel(level)
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(min(level, _LOGGER.getEffectiveLevel()))  # others may hear more
    try:
        yield
    finally:
        _LOGGER.removeHandler(handler)
        _LOGGER.setLevel(before)


@contextmanager
def print_progress(verbose: bool | int) -> Iterator[None]:
    """Print the stages of the work inside, its steps if `verbose` exceeds 1, and how long it took.

    Nothing is printed if `verbose` is 0 or False.
    """
    if not verbose:
        yield
        return
    start = time.monotonic()

    def listen(text: str) -> None:
        print(f"{time.monotonic() - start:7.1f} s  {text}", flush=True)

    with hear_progress(listen, logging.DEBUG if verbose > 1 else logging.INFO):
        yield
    listen("done")


class _Listener(logging.Handler):
    def __init__(self, listen: Callable[[str], None]):
        super().__init__()
        self.listen = listen

    def emit(self, record: logging.LogRecord) -> None:
        self.listen(record.getMessage())

"""What long work is at: records of the logger "spectralmirror.progress", which nobody need hear.

The command line shows them. In Python, ``logging.basicConfig(level=logging.INFO)`` prints each
stage, and with ``logging.getLogger("spectralmirror.progress").setLevel(logging.DEBUG)`` each start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["hear_progress", "stage", "step"]

_LOGGER = logging.getLogger("spectralmirror.progress")


def stage(text: str) -> None:
    """Say what is done now, such as "2 classes"."""
    _LOGGER.info(text)


def step(text: str) -> None:
    """Say which part of a stage is done now, such as "2 classes, start 7"."""
    _LOGGER.debug(text)


@contextmanager
def hear_progress(listen: Callable[[str], None]) -> Iterator[None]:
    """Pass every stage and step of the work inside to a function."""
    handler, before = _Listener(listen), _LOGGER.level
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        _LOGGER.removeHandler(handler)
        _LOGGER.setLevel(before)


class _Listener(logging.Handler):
    def __init__(self, listen: Callable[[str], None]):
        super().__init__()
        self.listen = listen

    def emit(self, record: logging.LogRecord) -> None:
        self.listen(record.getMessage())

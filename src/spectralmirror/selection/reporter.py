"""Progress of a comparison on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from spectralmirror.rows.progress import hear_progress

__all__ = ["shown_progress"]

#: Seconds between two lines where a line cannot be rewritten.
PAUSE = 5.0
WIDTH = 79


@contextmanager
def shown_progress(verbose: bool) -> Iterator[None]:
    """Print what the work inside is at: one line that is rewritten, or a line now and then."""
    if not verbose:
        yield
        return
    out = sys.stderr
    rewritten, last = out.isatty(), -PAUSE

    def listen(text: str) -> None:
        nonlocal last
        now = time.monotonic()
        if rewritten:
            out.write(f"\r{text[:WIDTH]:<{WIDTH}}")
            out.flush()
        elif now - last >= PAUSE:
            last = now
            out.write(f"{text}\n")

    try:
        with hear_progress(listen):
            yield
    finally:
        if rewritten:
            out.write(f"\r{'':<{WIDTH}}\r")

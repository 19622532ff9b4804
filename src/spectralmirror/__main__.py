"""``spectralmirror``, and ``python -m spectralmirror``: the command line."""

import os
import signal
import sys
from typing import Any

from spectralmirror.rows.extras import needs_extra

STOPS = signal.SIGINT, signal.SIGTERM


def main() -> None:
    """Run the command line; if interrupted while modules are loaded, say so in one sentence."""
    for number in STOPS:
        signal.signal(number, _interrupted)
    try:
        with needs_extra("cli", "The command line"):
            from spectralmirror.cli import main as run
    except ImportError as error:
        sys.exit(str(error))
    try:
        run()
    except KeyboardInterrupt:  # before or after the work of a command
        _interrupted()
    finally:
        for number in STOPS:  # everything is done and printed, and Python only has to end
            signal.signal(number, signal.SIG_IGN)
        # otherwise Python may end as if an interruption inside an earlier exec had not been caught
        exec("")


def _interrupted(*_: Any) -> None:
    """End at once: an exception raised inside an import may be swallowed there."""
    sys.stderr.write("Interrupted.\n")
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    main()

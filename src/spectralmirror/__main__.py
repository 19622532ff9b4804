"""``spectralmirror``, and ``python -m spectralmirror``: the command line."""

import sys


def main() -> None:
    """Run the command line, and end without a word when interrupted while it is loaded."""
    try:
        from spectralmirror.cli import main as run
    except KeyboardInterrupt:
        sys.exit(1)
    run()


if __name__ == "__main__":
    main()

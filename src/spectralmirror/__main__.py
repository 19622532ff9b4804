"""``python -m spectralmirror`` is the command line."""

from spectralmirror.cli import main

if __name__ == "__main__":
    main()

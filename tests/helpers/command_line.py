"""Run the command line inside the test process."""

import sys

import numpy as np
from typer.testing import CliRunner

from spectralmirror.cli import app

#: The command line as a process of its own.
COMMAND = [sys.executable, "-m", "spectralmirror"]


def run(*arguments, code=0):
    """Run a command, require its exit code, and return what it printed."""
    done = CliRunner().invoke(
        app, list(map(str, arguments)), env={"COLUMNS": "200", "NO_COLOR": "1"}
    )
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done


def encoded(frame, model):
    """Encode the columns of the fixture `people` by hand, in the order of a model."""
    columns = {
        **{name: frame[name].to_numpy() for name in ("taste", "price")},
        **{f"colour={c}": (frame["colour"] == c).to_numpy() for c in ("red", "green", "blue")},
        "smoker=true": frame["smoker"].to_numpy(),
    }
    return np.column_stack([columns[name] for name in model.recipe.names]).astype(float)

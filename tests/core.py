"""A user's program with the core alone: run by `make wheel` where no extra is installed.

Estimators work on arrays, and whatever needs an extra says in one sentence which.
"""

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse

import spectralmirror
import spectralmirror.baselines
from spectralmirror import *  # noqa: F403  (every public name can be imported)
from spectralmirror import LinearClassifierMixture, PrincipalHessianDirections, SpectralMirror
from spectralmirror.datasets import load_senate_votes, make_linear_classifier_mixture
from spectralmirror.metrics import profile_error, subspace_error
from spectralmirror.plotting import plot_spectrum

for package in ("dask", "jinja2", "matplotlib", "polars", "pyarrow", "pyspark", "skops", "typer"):
    assert find_spec(package) is None, f"{package} is installed: this is not the core alone."

X, y, truth = make_linear_classifier_mixture(4_000, 4, group_size=5, random_state=0)
mirror = SpectralMirror(2, random_state=0).fit(X, y)
assert subspace_error(truth.profiles, mirror.components_) < 0.2
mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=truth.groups)
assert profile_error(truth.profiles, mixture.coef_) < 0.2
again = LinearClassifierMixture(2, random_state=0).fit(sparse.csr_array(X), y, groups=truth.groups)
assert np.allclose(again.coef_, mixture.coef_, rtol=1e-3)
assert "weight" in mixture.summary()
assert SpectralMirror(2, method="paper", random_state=0).fit(X, y).transform(X).shape == (4_000, 2)
assert PrincipalHessianDirections(1).fit(X, y).components_.shape == (1, 4)
assert load_senate_votes().votes.any()
assert spectralmirror.pairwise_differences(X, -X, y)[0].shape == X.shape


def assert_names_extra(extra: str, use: Callable[[], Any]) -> None:
    """Use what is not installed, and find one sentence with the command that installs it."""
    try:
        use()
    except ImportError as error:
        sentence = str(error)
        assert sentence.endswith(f": pip install 'spectralmirror[{extra}]'."), sentence
        assert sentence.count(".") <= 2, sentence
    else:
        raise AssertionError(f"{extra} is not installed, but nothing was raised")


assert_names_extra("files", lambda: spectralmirror.scan("rows.csv", label="y"))
assert_names_extra("cli", lambda: spectralmirror.save(mixture, "mixture.skops"))
assert_names_extra("cli", lambda: spectralmirror.load("mixture.skops"))
assert_names_extra("plot", lambda: plot_spectrum(mirror))
assert_names_extra("cli", lambda: spectralmirror.report.write_report(mixture, X, y, "report.html"))
assert_names_extra("dask", lambda: import_module("spectralmirror.dask"))
assert_names_extra("spark", lambda: import_module("spectralmirror.spark"))

command = subprocess.run(
    [sys.executable, "-m", "spectralmirror", "demo"], capture_output=True, text=True
)
assert command.returncode == 1, command
assert not command.stdout
assert command.stderr == (
    "The command line needs typer, which is not installed: pip install 'spectralmirror[cli]'.\n"
), command.stderr

"""Data sets need NumPy, SciPy and scikit-learn only."""

import subprocess
import sys

from tests.helpers.hidden import hide

PROGRAM = """
from spectralmirror.datasets import load_senate_votes, make_linear_classifier_mixture
from spectralmirror.metrics import subspace_error

X, y, truth = make_linear_classifier_mixture(10, 3, random_state=0)
print(load_senate_votes().votes.shape, X.shape, round(subspace_error(X[:1], X), 9))
"""


def test_data_without_polars_pyarrow_pandas_and_matplotlib():
    program = hide("polars", "pyarrow", "pandas", "matplotlib") + PROGRAM
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "(102, 645) (10, 3) 0.0\n", done.stderr

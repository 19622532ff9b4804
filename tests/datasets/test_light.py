"""Data sets need NumPy, SciPy and scikit-learn only."""

import subprocess
import sys

PROGRAM = """
import sys

for name in ("polars", "pyarrow", "pandas", "matplotlib"):
    sys.modules[name] = None  # an import of it fails

from spectralmirror.datasets import load_senate_votes, make_linear_classifier_mixture
from spectralmirror.metrics import subspace_error

X, y, truth = make_linear_classifier_mixture(10, 3, random_state=0)
print(load_senate_votes().votes.shape, X.shape, round(subspace_error(X[:1], X), 9))
"""


def test_data_without_polars_pyarrow_pandas_and_matplotlib():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "(102, 645) (10, 3) 0.0\n", done.stderr

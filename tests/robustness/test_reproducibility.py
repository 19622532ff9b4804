"""The same seed gives the same answer, in any process and on any number of threads."""

import os
import subprocess
import sys
from pathlib import Path

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import profile_error
from tests.helpers.digests import digests

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


def test_the_same_seed_is_the_same_answer_in_any_process():
    """To the last bit, on one thread or two, whatever the hashes of text are."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.digests"],
            cwd=Path(__file__).parents[2],
            env={**os.environ, **dict.fromkeys(THREADS, n), "PYTHONHASHSEED": n},
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in ("1", "2")
    ]
    here = list(digests())
    for process in started:
        printed, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        assert printed.split() == here


def test_another_seed_reaches_the_same_clear_answer():
    X, y, truth = make_linear_classifier_mixture(4_000, 4, group_size=8, random_state=1)
    one, other = (
        LinearClassifierMixture(2, random_state=seed).fit(X, y, groups=truth.groups)
        for seed in (0, 1)
    )
    assert profile_error(one.coef_, other.coef_) < 1e-5

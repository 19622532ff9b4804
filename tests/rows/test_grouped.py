"""Rows in memory in blocks of whole groups."""

import numpy as np

from spectralmirror.rows.memory import Rows
from tests.helpers.agreement import mixture_rows
from tests.helpers.rows import in_groups


def test_a_sample_of_a_sample_of_groups():
    X, y, _, _ = mixture_rows(8000, 2)
    rowset = in_groups(Rows(X, np.where(y == "yes", 1.0, -1.0)), np.repeat(np.arange(2000), 4))
    large = rowset.sample(2000, 0, seed=0)
    small = large.sample(400, 0, seed=1)
    # 500 of 2,000 groups, and 100 of those: within four standard deviations
    assert abs(len(large.sizes) - 500) < 4 * np.sqrt(2000 * 0.25 * 0.75)
    assert abs(len(small.sizes) - 0.2 * len(large.sizes)) < 4 * np.sqrt(500 * 0.2 * 0.8)

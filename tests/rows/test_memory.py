"""Rows in memory, and their division into blocks."""

import numpy as np

from tests.helpers.agreement import assert_alike
from tests.helpers.scans import mirror, mixture


def test_rows_with_gaps_between_them(rows):
    X, y, _, _ = rows
    wide = np.column_stack([X, np.ones(len(X))])
    for make in (mirror, mixture):
        assert_alike(make().fit(wide[:, :-1], y), make().fit(X, y))

"""Tables of experiments, read back."""

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal


def assert_same_numbers(rounded, table):
    """CSV files hold four digits, and NaN where there is nothing."""
    table = table.with_columns(pl.selectors.float().fill_null(np.nan))
    assert_frame_equal(rounded, table, check_dtypes=False, rel_tol=6e-4, abs_tol=0)

"""The figures in the findings are those of the table."""

import polars as pl
import pytest

from spectralmirror.experiments.findings import spread


def test_spread_is_that_of_the_means_over_d():
    table = pl.DataFrame(
        {"rows_per_feature": [10] * 4 + [20] * 2, "d": [5, 5, 9, 9, 5, 9],
         "value": [0.1, 0.3, 0.2, 0.3, 0.1, 0.1]}
    )  # fmt: skip
    assert spread(table, "value")["spread"].to_list() == pytest.approx([0.25, 0.0])

"""A sample of rows that fits into memory."""

import numpy as np
import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables import table_sample
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.fit_table import fit_table
from spectralmirror.tables.table_sample import sample_rows

N, SIZE = 12_000, 20


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    return pl.DataFrame(
        {
            "x": x,
            "c": rng.choice(["u", "v"], size=N),
            "who": rng.permutation(N) // SIZE,
            "y": rng.uniform(size=N) < 1 / (1 + np.exp(-2 * x)),
        }
    )


def model_of(frame, group):
    roles = ColumnRoles("y", group, features=["x", "c"])
    mixture = LinearClassifierMixture(1)
    return fit_table(readers_of(frame.to_arrow()), roles, mixture, source="a frame")


def sample_of(frame, group, most, monkeypatch):
    monkeypatch.setattr(table_sample, "MOST_VALUES", 4 * most)  # 2 features of 2 columns
    model = model_of(frame, group)
    return sample_rows(model, readers_of(frame.to_arrow()), None, lambda n: None)


@pytest.mark.parametrize("group", [None, "who"])
def test_all_rows_if_they_fit(frame, group, monkeypatch):
    sample = sample_of(frame, group, N, monkeypatch)
    np.testing.assert_array_equal(sample.X[:, 0], frame["x"].to_numpy())
    np.testing.assert_array_equal(sample.y, frame["y"].to_numpy())
    assert sample.table.equals(frame[["x", "c"]])
    assert sample.n_rows == N


@pytest.mark.parametrize("group", [None, "who"])
def test_a_sample_is_no_larger_than_it_may_be_and_keeps_rows_together(frame, group, monkeypatch):
    sample = sample_of(frame, group, 3_500, monkeypatch)
    assert 1_000 < len(sample.X) <= 3_500
    assert sample.n_rows == N
    np.testing.assert_array_equal(sample.X[:, 0], sample.table["x"].to_numpy())
    rows = frame.join(sample.table.select("x"), on="x", how="semi", maintain_order="left")
    np.testing.assert_array_equal(rows["y"].to_numpy(), sample.y)
    assert abs(rows["y"].mean() - frame["y"].mean()) < 0.05
    if group:  # whole groups, whose rows lie anywhere
        assert set(np.unique(sample.groups, return_counts=True)[1]) == {SIZE}


def test_a_single_giant_group_is_kept_whole(frame, monkeypatch):
    giant = frame.with_columns(who=pl.lit(1))
    assert len(sample_of(giant, "who", 1_000, monkeypatch).X) == N

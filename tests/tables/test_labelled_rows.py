"""Labelled rows of groups in memory."""

import numpy as np
import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.fit_table import fit_table
from spectralmirror.tables.labelled_rows import LabelledRows


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    who = rng.permutation(np.repeat(list("abcdefgh"), 25))
    x = rng.normal(size=200)
    y = np.where(rng.uniform(size=200) < 1 / (1 + np.exp(-2 * x)), "yes", "no")
    return pl.DataFrame({"x": x, "who": who, "y": y})


@pytest.fixture(scope="module")
def model(frame):
    roles, mixture = ColumnRoles("y", "who", missing="drop"), LinearClassifierMixture(1, l2=1)
    return fit_table(readers_of(frame.to_arrow()), roles, mixture, source="a frame")


def read(model, frame):
    heard = []
    rows = LabelledRows.read(model, readers_of(frame.to_arrow()), None, heard.append)
    assert sum(heard) == len(frame)
    return rows


@pytest.mark.parametrize("block_bytes", [1, 4_000_000])
def test_rows_of_all_batches_are_read_in_their_order(model, frame, monkeypatch, block_bytes):
    monkeypatch.setattr("spectralmirror.tables.known_rows.BLOCK_BYTES", block_bytes)
    rows = read(model, frame)
    np.testing.assert_array_equal(rows.X[:, 0], frame["x"])
    assert rows.y.tolist() == frame["y"].to_list()
    names = list(rows.groups)
    assert [names[number] for number in rows.numbers] == frame["who"].to_list()
    assert names == frame["who"].unique(maintain_order=True).to_list()


def test_rows_of_some_groups_keep_their_numbers(model, frame):
    rows = read(model, frame)
    asked = np.array([rows.groups["c"], rows.groups["f"], rows.groups["c"]])
    some = rows.of(asked)
    kept = frame.filter(pl.col("who").is_in(["c", "f"]))
    np.testing.assert_array_equal(some.X[:, 0], kept["x"])
    assert some.y.tolist() == kept["y"].to_list()
    assert some.numbers.tolist() == [rows.groups[name] for name in kept["who"]]
    assert len(rows.of(asked[:0]).y) == 0


def test_rows_without_a_group_or_a_label_are_left_out(model, frame):
    gaps = frame.with_columns(
        who=pl.when(pl.int_range(200) >= 10).then("who"),
        y=pl.when(pl.int_range(200) < 150).then("y"),
    )
    rows = read(model, gaps)
    np.testing.assert_array_equal(rows.X[:, 0], frame["x"][10:150])


def test_there_may_be_no_rows(model, frame):
    rows = read(model, frame[:0])
    assert rows.X.shape == (0, 1)
    assert rows.posteriors(model) == {}


def test_posteriors_have_the_number_of_rows(model, frame):
    found = read(model, frame).posteriors(model)
    assert sorted(found) == list("abcdefgh")
    assert {n for _, n in found.values()} == {25}
    assert all(p == pytest.approx([1]) for p, _ in found.values())

"""Parts of a source, and whole groups from pieces of any size."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectralmirror.rows.memory import Rows
from spectralmirror.rows.part import Part, whole_groups


def part(n=10, **columns):
    places = (("a.csv", 5, 5 + n - 5), ("b.csv", 0, 3))
    return Part(np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 2, places=places, **columns)


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=20),
    st.lists(st.integers(1, 9), min_size=1, max_size=60),
)
def test_any_division_gives_the_same_groups(group_sizes, piece_sizes):
    keys = np.repeat(np.arange(len(group_sizes), dtype=np.uint64), group_sizes)
    n = len(keys)
    rows = Rows(np.arange(float(n))[:, None], np.ones(n), keys=keys)
    ends = np.minimum(np.cumsum(np.resize(piece_sizes, n)), n)
    pieces = [rows[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True) if a < b]
    found = [Rows.joined(held, in_order=False) for held in whole_groups(iter(pieces))]
    np.testing.assert_array_equal(np.concatenate([one.X for one in found]), rows.X)
    of_pieces = [set(one.keys.tolist()) for one in found]
    assert sum(map(len, of_pieces)) == len(group_sizes)  # no group is in two of them
    assert all(of_pieces)


def test_a_slice_knows_its_places():
    whole = part()
    assert whole.place == "from row 5 of a.csv to row 3 of b.csv"
    assert whole[:3].place == "a.csv, rows 5 to 7"
    assert whole[4:8].places == (("a.csv", 9, 10), ("b.csv", 0, 1))
    assert [whole.where(i) for i in (0, 5, 6, 9)] == [
        "5 of a.csv",
        "10 of a.csv",
        "0 of b.csv",
        "3 of b.csv",
    ]


def test_joined_slices_are_the_whole():
    columns = {"weight": np.arange(10.0), "groups": np.arange(10) // 3}
    whole = part(**columns, kept={"id": pa.array(range(10))})
    again = Part.joined([whole[:4], whole[4:5], whole[5:]])
    for name in ("X", "y", "weight", "groups"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    assert again.kept["id"].to_pylist() == list(range(10))


def test_keys_are_of_rows_that_count():
    groups = np.array(["x", "x", "y", "z"], dtype=object)
    found = Part(np.ones((4, 1)), np.ones(4), np.array([1.0, 0, 0, 2]), groups).keys
    assert len(found) == 2
    assert found[0] != found[1]


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_group_is_named_by_its_row(missing):
    groups = np.array(["x", "x", "x", "x", missing, *"yyyyy"], dtype=object)
    with pytest.raises(ValueError, match=r"missing values, as in row 9 of a.csv: give such rows"):
        _ = part(groups=groups).keys


def test_groups_that_cannot_be_compared():
    with pytest.raises(ValueError, match=r"mixes values that cannot be compared \(from row 5"):
        _ = part(groups=np.array([1, "x"] * 5, dtype=object)).keys

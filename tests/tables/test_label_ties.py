"""Columns that settle the label alone."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from spectralmirror.tables.label_ties import LabelTies

RNG = np.random.default_rng(0)
Y = RNG.uniform(size=60) < 0.4
X = RNG.normal(size=60)


def settling(columns, n_batches=3, sides=("",), label=None):
    """Return the features that settle the label of a table that comes in batches."""
    first = sides[0]
    own = {name.removeprefix(first): x for name, x in columns.items() if name.startswith(first)}
    kinds = {
        n: "number" if np.asarray(x).dtype.kind in "fi" else "category" for n, x in own.items()
    }
    ties = LabelTies(kinds, sides)
    table = pa.table(
        {**columns, "y": Y[: len(next(iter(columns.values())))] if label is None else label}
    )
    size = -(-table.num_rows // n_batches)
    for first in range(0, table.num_rows, size):
        ties.add(table.slice(first, size), "y")
    return ties.settling()


@pytest.mark.parametrize("n_batches", [1, 3, 60])
def test_copies_of_the_label_are_found(n_batches):
    columns = {
        "copy": Y.astype(int),
        "turned": -3.0 * Y,
        "score": np.where(Y, 1 + np.abs(X), -np.abs(X)),
        "gaps": np.where(RNG.uniform(size=60) < 0.3, np.nan, Y),
        "words": np.where(Y, "bought", np.where(X > 0, "left", "called")),
        "x": X,
        "almost": np.append(Y[:-1], not Y[-1]).astype(float),
        "touching": np.where(Y, np.maximum(X, 0), np.minimum(X, 0)),  # both have a 0
        "colour": np.where(X > 0, "red", "blue"),
    }
    assert settling(columns, n_batches) == ["copy", "turned", "score", "gaps", "words"]


def test_differences_of_comparisons_are_judged():
    left = RNG.integers(0, 9, size=60).astype(float)
    columns = {
        "a_rank": left, "b_rank": left - np.where(Y, 1, -1),
        "a_x": X, "b_x": X[::-1],
        "a_won": np.where(Y, "yes", "no"), "b_won": np.where(Y, "no", "yes"),
        "a_kind": np.where(X > 0, "u", "v"), "b_kind": np.where(X > 1, "u", "v"),
    }  # fmt: skip
    assert settling(columns, sides=("a_", "b_")) == ["rank", "won"]


def test_few_rows_settle_nothing_as_they_may_do_so_by_chance():
    """A third of all labels of three rows agree with any order of them."""
    assert settling({"x": np.array([1.0, 2, 3])}, label=[False, False, True]) == []
    keys = np.array([f"p{i}" for i in range(40)])  # a level for each row says nothing
    assert settling({"key": keys, "copy": Y[:40].astype(int)}) == ["copy"]


def test_the_bound_on_chance_holds():
    """Of all ways to label 3 of 9 rows, no more agree with a column than are counted."""
    for column in (np.arange(9.0), np.array(list("aabbbccdd"))):
        agree = 0
        labels = [np.array(one) for one in product([False, True], repeat=9) if sum(one) == 3]
        for one in labels:
            ties = LabelTies({"x": "number" if column.dtype.kind == "f" else "category"})
            ties.add(pa.table({"x": column, "y": one}), "y")
            agree += ties.ties["x"].settles(2)
        n_values = 1 if column.dtype.kind == "f" else 4
        assert 0 < agree <= 2**n_values


def test_more_than_two_labels_are_another_problem():
    assert settling({"x": np.arange(60)}, label=np.arange(60) % 3) == []
    assert settling({"x": np.arange(60)}, label=np.arange(60)) == []

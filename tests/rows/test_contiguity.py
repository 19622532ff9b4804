"""Checking, part by part, whether groups are contiguous."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectralmirror.rows.contiguity import ContiguityCheck
from spectralmirror.rows.part import Part


def check(groups, sizes):
    found, start = ContiguityCheck(), 0
    for size in sizes:
        some = groups[start : start + size]
        found.add(Part(np.empty((len(some), 0)), np.ones(len(some)), groups=some))
        start += size
    return found.is_contiguous


@given(st.lists(st.integers(1, 6), min_size=1, max_size=10), st.integers(1, 7))
def test_contiguous_groups_that_continue_in_the_next_part(sizes, size):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    assert check(groups, [size] * 60)
    assert not check(np.append(groups, [-1, 0]), [size] * 62)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(1, 10))
def test_groups_are_contiguous_if_none_begins_twice(groups, size):
    begun = [g for i, g in enumerate(groups) if i == 0 or groups[i - 1] != g]
    expected = len(set(begun)) == len(begun)
    assert check(np.array(groups), [size] * 30) == expected


@pytest.mark.parametrize("n", [5, 6])
def test_too_many_groups_count_as_scattered(n, monkeypatch):
    monkeypatch.setattr("spectralmirror.rows.contiguity.MOST_GROUPS", 5)
    assert check(np.arange(n), [2, 2, 2]) == (n <= 5)

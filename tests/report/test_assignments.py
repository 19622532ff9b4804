"""Assignments are counted by row and by group."""

import numpy as np

from tests.helpers.report import change, sentence


def test_every_row_and_every_group_is_counted_once(shop):
    found = shop.data["assignments"]
    assert np.sum(found["rows"]["counts"]) == 900
    assert np.sum(found["groups"]["counts"]) == 150
    by_row = shop.mixture.component_proba(shop.X, shop.y).max(axis=1)
    np.testing.assert_allclose(found["rows"]["mean"], by_row.mean(), rtol=1e-5)
    by_group = shop.mixture.component_proba(shop.X, shop.y, groups=shop.groups).max(axis=1)
    np.testing.assert_allclose(found["groups"]["mean"], by_group[::6].mean(), rtol=1e-5)


def test_sentence_states_both_means(shop):
    data = change(shop.data, "assignments/rows/mean", 0.77)
    data = change(change(data, "assignments/groups/mean", 0.992), "assignments/largest", 0.61)
    text = sentence(data, "assignments", "expected_accuracy").replace("\u00a0", " ")
    assert "for 77 % of the rows by a single label and 99.2 % of the groups by all" in text
    assert text.endswith("would be right for 61 %.")
    alone = sentence(change(data, "assignments/groups", None), "assignments", "expected_accuracy")
    assert "groups" not in alone
    assert " label. Always" in alone

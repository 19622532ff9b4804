"""The score test for spread inside the classes of a fit without it."""

import numpy as np
import pytest

from tests.helpers.mixtures import fitted
from tests.helpers.spreads import persons


def test_without_spread_it_is_nearly_standard_normal():
    """The largest of four z: above 3 in 0.5 % of data sets at most, below -1 hardly ever."""
    scores = [
        fitted(*persons(80, 8, spread=0.0, seed=seed)[:2], 1, np.repeat(np.arange(80), 8))
        .spread_score_ for seed in range(12)
    ]  # fmt: skip
    assert max(scores) < 3
    assert -1 < np.mean(scores) < 1.5


def test_persons_who_differ_are_noticed():
    X, y, g = persons(200, 12, spread=1.5)
    assert fitted(X, y, 1, g).spread_score_ > 3


def test_by_formula():
    """d = 1/2 ((sum_i s_i)^2 + sum_i s_i'), for the intercept alone, in one class."""
    X, y, g = persons(40, 6, spread=1.0)
    mixture = fitted(X, y, 1, g, l2=1e-6)
    p = mixture.predict_proba(X)[:, 1]
    s, h = (y == 1) - p, -p * (1 - p)
    Z = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0, ddof=1), np.ones(len(X))])
    d = np.array(
        [((s[g == i] @ Z[g == i]) ** 2 + h[g == i] @ Z[g == i] ** 2) / 2 for i in range(40)]
    )
    d = np.column_stack([d, d.sum(axis=1)])
    expected = (d.sum(axis=0) / np.sqrt((d**2).sum(axis=0))).max()
    assert mixture.spread_score_ == pytest.approx(expected, rel=1e-6)


def test_not_known_without_groups_or_with_a_spread():
    X, y, g = persons(40, 6)
    assert np.isnan(fitted(X, y, 1).spread_score_)
    assert np.isnan(fitted(X, y, 1, g, spread="diagonal").spread_score_)

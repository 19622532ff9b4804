"""The household of the demo has two people, and each rates by the tastes that are written down."""

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from polars.testing import assert_frame_equal

from spectralmirror.datasets.household import EVENINGS, FILMS, SHARE, TASTES, make_household


@pytest.fixture(scope="module")
def household():
    return make_household(0)


def test_every_evening_has_twelve_films_and_one_person(household):
    ratings, who = household
    assert ratings.columns == ["evening", "action", "humour", "romance", "length", "year",
                               "animated", "language", "liked"]  # fmt: skip
    assert ratings.group_by("evening").len()["len"].to_list() == [FILMS] * EVENINGS
    assert set(ratings["liked"]) == {"yes", "no"}
    assert who.shape == (EVENINGS,)
    assert abs((who == 0).mean() - SHARE) < 4 * np.sqrt(SHARE * (1 - SHARE) / EVENINGS)


@pytest.mark.parametrize("person", [0, 1])
def test_ratings_follow_the_tastes(household, person):
    """A logistic regression of one person's ratings: all within 4 standard errors."""
    ratings, who = household
    rows = ratings.filter(np.repeat(who == person, FILMS))
    columns = [
        rows[name].cast(pl.Float64)
        if "=" not in name
        else (rows["language"] == name.partition("=")[2]).cast(pl.Float64)
        for name in TASTES
    ]
    centre = np.array([{"length": 110, "year": 2002}.get(name, 0) for name in TASTES])
    X = np.column_stack(columns) - centre
    fit = sm.Logit(rows["liked"] == "yes", sm.add_constant(X)).fit(disp=0)
    expected = [0.0, *(taste[person] for taste in TASTES.values())]
    assert np.abs((fit.params - expected) / fit.bse).max() < 4


def test_a_seed_gives_the_same_evenings(household):
    ratings, who = make_household(0)
    assert_frame_equal(ratings, household[0])
    np.testing.assert_array_equal(who, household[1])
    assert not make_household(1)[0].equals(ratings)

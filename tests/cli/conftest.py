"""Ratings of two kinds of people, and models of them."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from tests.helpers.command_line import run


@pytest.fixture(scope="session")
def people():
    """Ratings of 200 people of two kinds, ten each, shuffled; and the kind of each person."""
    rng = np.random.default_rng(5)
    n = 2_000
    person = rng.permutation(np.repeat(np.arange(200), 10))
    kind = (np.arange(200) % 3 == 0).astype(int)
    x = rng.normal(size=(n, 2))
    colour = rng.choice(["red", "green", "blue"], size=n, p=[0.5, 0.3, 0.2])
    smoker = rng.uniform(size=n) < 0.3
    scores = np.column_stack(
        [
            2 * x[:, 0] + x[:, 1] + 2.0 * (colour == "green") - smoker,
            -2 * x[:, 0] + x[:, 1] - 1.0 * (colour == "green") + smoker,
        ]
    )
    liked = rng.uniform(size=n) < expit(scores[np.arange(n), kind[person]])
    frame = pl.DataFrame(
        {
            "person": [f"p{i:03d}" for i in person],
            "taste": x[:, 0],
            "price": 100 + 20 * x[:, 1],
            "colour": colour,
            "smoker": smoker,
            "liked": np.where(liked, "yes", "no"),
        }
    )
    return frame, kind


@pytest.fixture(scope="session")
def fitted(people, tmp_path_factory):
    """A folder with ratings.csv and model.skops, in which people of one kind do not differ."""
    folder = tmp_path_factory.mktemp("fitted")
    people[0].write_csv(folder / "ratings.csv")
    run("fit", folder / "ratings.csv", "--label", "liked", "--group", "person",
        "-k", 2, "--spread", "none", "-o", folder / "model.skops")  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def different(tmp_path_factory):
    """A folder with ratings of people who differ within their kind, and a model of them.

    60 people of two kinds gave 16 ratings each: four are in new.parquet, with ten ratings by
    strangers, and the others, in any order, in past.csv and past.parquet.
    """
    folder, rng = tmp_path_factory.mktemp("different"), np.random.default_rng(3)
    person, x = np.tile(np.arange(60), 16), rng.normal(size=(960, 2))
    own = np.where(np.arange(60) % 3 == 0, -2.0, 2.0)[:, None] * [1, 0] + [0, 1]
    own = own + rng.normal(size=(60, 2)) * [0.2, 1.5]
    liked = rng.uniform(size=960) < expit((x * own[person]).sum(axis=1))
    names = [f"p{i:02d}" for i in person]
    frame = pl.DataFrame({"person": names, "taste": x[:, 0], "price": 100 + 20 * x[:, 1]})
    frame = frame.with_columns(liked=np.where(liked, "yes", "no"))
    past = frame[240:].sample(fraction=1, shuffle=True, seed=0)
    strangers = frame[:10].with_columns(person=pl.lit("nobody"))
    pl.concat([frame[:240], strangers]).write_parquet(folder / "new.parquet")
    past.write_csv(folder / "past.csv")
    past.write_parquet(folder / "past.parquet", row_group_size=100)
    run("fit", folder / "past.csv", "--label", "liked", "--group", "person",
        "-k", 2, "--spread", "diagonal", "-o", folder / "model.skops")  # fmt: skip
    return folder

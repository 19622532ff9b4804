"""Ratings of two kinds of people, and a model of them."""

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
    """A folder with ratings.csv and model.skops."""
    folder = tmp_path_factory.mktemp("fitted")
    people[0].write_csv(folder / "ratings.csv")
    run("fit", folder / "ratings.csv", "--label", "liked", "--group", "person",
        "-k", 2, "-o", folder / "model.skops")  # fmt: skip
    return folder

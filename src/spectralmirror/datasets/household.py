"""Made data with a story: two people who share one account."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from spectralmirror.responses import get_response

__all__ = ["make_household"]

EVENINGS, FILMS = 500, 12
#: The first of the two watches on so many evenings.
SHARE = 0.6
#: What the scores of both people gain with each column (length a minute, year a year).
TASTES: dict[str, tuple[float, float]] = {
    "action": (1.6, -1.2),
    "humour": (0.8, 0.9),
    "romance": (-1.0, 1.5),
    "length": (0.02, -0.03),
    "year": (0.06, 0.0),
    "animated": (-0.5, 1.0),
    "language=french": (-1.2, 0.6),
    "language=korean": (0.4, 0.0),
}


def make_household(seed: int) -> tuple[Any, NDArray[np.int64]]:
    """Draw evenings of films, rated by one of two people.

    Parameters
    ----------
    seed : int
        The same seed gives the same evenings.

    Returns
    -------
    ratings : polars DataFrame
        Twelve films for each of 500 evenings: evening, six columns of features, and liked.
    who : ndarray of shape (500,)
        Who watched on each evening: 0 or 1.
    """
    import polars as pl

    rng = check_random_state(seed)
    n = EVENINGS * FILMS
    who = (rng.uniform(size=EVENINGS) > SHARE).astype(np.int64)
    language = rng.choice(["english", "french", "korean"], size=n, p=[0.6, 0.25, 0.15])
    columns: dict[str, Any] = {
        **{name: rng.standard_normal(n).round(2) for name in ("action", "humour", "romance")},
        "length": rng.normal(110, 20, size=n).round(),
        "year": rng.randint(1980, 2025, size=n),
        "animated": rng.uniform(size=n) < 0.2,
        "language": language,
    }
    numbers = {
        **columns,
        "length": columns["length"] - 110,
        "year": columns["year"] - 2002,
        **{f"language={name}": language == name for name in ("french", "korean")},
    }
    scores = sum(np.outer(numbers[name], taste) for name, taste in TASTES.items())
    person = np.repeat(who, FILMS)
    score = np.asarray(scores)[np.arange(n), person]
    liked = rng.uniform(size=n) < get_response("logistic").f(score)
    evening = np.repeat(np.arange(1, EVENINGS + 1), FILMS)
    labels = np.where(liked, "yes", "no")
    return pl.DataFrame({"evening": evening, **columns, "liked": labels}), who

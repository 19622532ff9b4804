"""Simulated ratings of two people who share one account: the data of the demo."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from spectralmirror.responses import get_response

__all__ = ["make_household"]

EVENINGS, FILMS = 500, 12
#: The share of evenings on which the first of the two watches.
SHARE = 0.6
#: The coefficients of both people, per unit of each column (minutes for length, years for year).
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
    """Draw evenings of films, each evening rated by one of two people.

    Parameters
    ----------
    seed : int
        Seed of the random numbers.

    Returns
    -------
    ratings : polars.DataFrame
        One row per film, twelve films per evening: `evening`, seven features and `liked`.
    who : ndarray of shape (500,)
        Who watched on each evening, 0 or 1.
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

"""Rows with membership covariates of their groups, and classes some of which are known."""

import numpy as np
import pandas as pd

from tests.helpers.scans import NAMES

COVARIATES = ["age", "income"]


def with_traits(X, y, groups, weight, seed=7):
    """Return a frame; the class of one group in ten is known, and missing otherwise."""
    rng = np.random.default_rng(seed)
    n_groups = int(groups.max()) + 1
    positive = np.bincount(groups, y == "yes", n_groups) / np.bincount(groups, minlength=n_groups)
    age = 40 + 10 * rng.standard_normal(n_groups) + 8 * positive
    income = np.exp(rng.standard_normal(n_groups))
    known = np.where(np.arange(n_groups) % 10 == 0, 1.0 * (positive > 0.5), np.nan)
    columns = {"y": y, "who": groups, "w": weight, "age": age[groups], "income": income[groups]}
    frame = pd.DataFrame(X, columns=NAMES[: X.shape[1]]).assign(**columns)
    return frame.assign(**{"class": known[groups]})

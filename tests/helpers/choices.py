"""A survey of choices as a table: one line for each alternative of each choice."""

import numpy as np
import polars as pl

from spectralmirror.datasets import make_choice_mixture

PROFILES = np.array([[1.5, -1.0, 0.5], [-1.0, 1.0, 1.5]])
NAMES = ["price", "speed", "comfort"]


def survey(n_persons=80, seed=0, *, sizes=True, n_alternatives=4):
    """Return choices of persons, with the columns case, alt, who, chosen and three features.

    With `sizes`, sets differ in size: some alternatives that were not chosen are not there.
    """
    X, chosen, truth = make_choice_mixture(
        n_persons, profiles=PROFILES, weights=[0.6, 0.4], n_alternatives=n_alternatives,
        random_state=seed,
    )  # fmt: skip
    position = np.arange(len(X)) % n_alternatives
    frame = pl.DataFrame(dict(zip(NAMES, X.T.round(6), strict=True))).with_columns(
        case=truth.choices + 100,
        alt=np.array(list("abcd"))[position],
        who=truth.groups,
        chosen=chosen.astype(int),
        income=truth.groups % 7,
    )
    rng = np.random.default_rng(seed)
    kept = chosen | (position == 0) | (rng.uniform(size=len(X)) < 0.7)
    several = np.bincount(truth.choices[kept])[truth.choices] > 1
    return frame.filter(kept & several) if sizes else frame


def arrays(frame):
    """Return features, choices, sets and persons."""
    columns = (frame[name].to_numpy() for name in ("chosen", "case", "who"))
    return (frame[NAMES].to_numpy(), *columns)


def widened(frame, pattern="{}_{}"):
    """Return choices in wide form; alternatives that are not there have empty columns."""
    wide = frame.select("case", "who", "income").unique(maintain_order=True)
    for name in NAMES:
        for alternative in sorted(frame["alt"].unique()):
            mine = frame.filter(pl.col("alt") == alternative)
            column = pattern.format(name, alternative)
            wide = wide.join(mine.select("case", pl.col(name).alias(column)), "case", "left")
    chosen = frame.filter(pl.col("chosen") == 1).select("case", pl.col("alt").alias("choice"))
    return wide.join(chosen, "case", "left", maintain_order="left").drop("case")

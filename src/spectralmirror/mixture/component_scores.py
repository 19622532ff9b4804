"""Scores <u_l, x> + b_l of new rows, in their own precision and without overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from spectralmirror.rows.kernels import shifted
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.types import AnyArray, Features, Matrix, Vector

__all__ = ["component_scores"]

#: Scores are clipped here, so that log f is finite for every response.
FURTHEST = 1e150


def component_scores(
    X: Features, profiles: Matrix, intercepts: Vector, origin: AnyArray | None
) -> Matrix:
    """Return <u_l, x - o> + (b_l + <u_l, o>), shape (n, k); an origin of None means 0."""
    t = intercepts
    if origin is not None:
        t = t + profiles @ origin.astype(np.float64)
    directions = profiles.T.astype(X.dtype)

    def of(block: Rows) -> Matrix:
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.asarray(shifted(block.X, origin) @ directions, dtype=np.float64) + t
        bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
        if len(bad):  # the terms are huge and of both signs
            found[bad] = _scores_of_huge_rows(shifted(block.X[bad], origin), profiles, t)
        return np.clip(found, -FURTHEST, FURTHEST, out=found)

    return collect(Rows(X, np.empty(X.shape[0])), of)


def _scores_of_huge_rows(X: Any, profiles: Matrix, t: Vector) -> Matrix:
    """Return <u_l, x> + t_l for rows so large that partial sums would overflow."""
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    size = np.abs(X).max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        return np.asarray((X / size @ profiles.T) * size + t)

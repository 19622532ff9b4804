"""Which columns can be computed from which others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from spectralmirror.rows.types import Matrix

__all__ = ["dependencies", "dependency_sentence"]

#: Columns beyond this many are not examined, and sentences name at most this many.
MOST_COLUMNS, MOST_NAMED = 500, 5


def dependencies(correlation: Matrix, rounding: float) -> dict[int, list[int]]:
    """Return the columns that can be computed from columns before them, and from which.

    Row by row this is a Cholesky factorisation L L' = R in which a column without a residual,
    1 - |l|^2 = 0, is left out; its coefficients on the columns that were kept are L^-T l.

    Parameters
    ----------
    correlation : ndarray of shape (d, d)
        The correlations R of the columns.
    rounding : float
        Residuals up to this, and coefficients up to its root, count as 0.

    Returns
    -------
    dict
        For each column that can be computed, the columns with coefficients that are not 0.
    """
    kept: list[int] = []
    L = np.zeros((len(correlation), len(correlation)))
    found: dict[int, list[int]] = {}
    for j in range(min(len(correlation), MOST_COLUMNS)):
        m = len(kept)
        factor = L[:m, :m]
        row = solve_triangular(factor, correlation[kept, j], lower=True) if m else np.empty(0)
        residual = correlation[j, j] - row @ row
        if residual > rounding:
            L[m, :m], L[m, m] = row, np.sqrt(residual)
            kept.append(j)
        else:
            weights = solve_triangular(factor, row, lower=True, trans="T")
            found[j] = [kept[i] for i in np.flatnonzero(np.abs(weights) > np.sqrt(rounding))]
    return found


def dependency_sentence(found: dict[int, list[int]], names: Sequence[str] | None) -> str:
    """Say which columns can be computed from which others."""

    def named(columns: Sequence[int]) -> str:
        few = columns[:MOST_NAMED]
        shown = [f"column {j}" if names is None else repr(str(names[j])) for j in few]
        if len(columns) > MOST_NAMED:
            shown.append(f"{len(columns) - MOST_NAMED} more")
        return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)

    parts = [f"{named([j])} from {named(sources)}" for j, sources in found.items()]
    more = f"; and {len(parts) - MOST_NAMED} more columns" if len(parts) > MOST_NAMED else ""
    first, *others = parts[:MOST_NAMED]
    first = first.replace(" from ", " can be computed from ", 1)
    said = "; ".join([first, *others]) + more
    return said[0].upper() + said[1:] if names is None else f"Column {said}"

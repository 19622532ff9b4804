"""Comparisons: which of two things was preferred, as labels of differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.messages import is_missing, numbers, refuse_masked
from spectralmirror.tables.winners import is_left, winner_words

__all__ = ["pairwise_differences"]


def pairwise_differences(left: Any, right: Any, winner: Any) -> tuple[Any, NDArray[np.bool_]]:
    """Turn comparisons into features and labels: phi(A) - phi(B), and whether A was preferred.

    If somebody with profile u prefers A to B with probability f(<u, phi(A)> - <u, phi(B)>), then
    "A was preferred" is the label that a linear classifier without intercept gives to the row
    phi(A) - phi(B): fit ``LinearClassifierMixture(fit_intercept=False)``, or keep the intercept to
    see whether the side matters.

    Parameters
    ----------
    left, right : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        The features of both things, in the same columns.
    winner : array-like of shape (n_samples,)
        Who won: "left" or "right", "a" or "b", True or False, 1 or 0, 1 or 2, 1 or -1; the first
        of each pair stands for the left.

    Returns
    -------
    X : ndarray, CSR matrix or DataFrame of shape (n_samples, n_features)
        left - right; a DataFrame, or sparse, if both sides are.
    y : ndarray of bool of shape (n_samples,)
        Whether the left won.

    Examples
    --------
    >>> from spectralmirror import pairwise_differences
    >>> X, y = pairwise_differences([[3, 1], [0, 2]], [[1, 1], [1, 0]], ["left", "right"])
    >>> X
    array([[ 2.,  0.],
           [-1.,  2.]])
    >>> y
    array([ True, False])
    """
    X = _difference(left, right)
    values = _winners(winner)
    if len(values) != X.shape[0]:
        raise ValueError(
            f"There are {X.shape[0]} comparisons, but winner has {len(values)} values."
        )
    row = next((i for i, value in enumerate(values) if is_missing(value)), None)
    if row is not None:
        raise ValueError(f"winner is missing in row {row}: leave such comparisons out.")
    different = set(values)
    words = winner_words(different)
    won = {value: is_left(value, words) for value in different}
    return X, np.array([won[value] for value in values], dtype=bool)


def _winners(winner: Any) -> list[Any]:
    """Return the winners as values of Python."""
    refuse_masked(winner, "winner")
    try:
        values = winner.tolist() if hasattr(winner, "tolist") else list(winner)
        set(values)
    except TypeError:  # a single value, or values that are lists
        raise ValueError("winner must hold one value for each comparison.") from None
    return values


def _difference(left: Any, right: Any) -> Any:
    names = [list(map(str, side.columns)) for side in (left, right) if hasattr(side, "columns")]
    if len(names) == 2 and names[0] != names[1]:
        if sorted(names[0]) != sorted(names[1]):
            odd = sorted(set(names[0]) ^ set(names[1]))
            raise ValueError(f"left and right must have the same columns; only one has {odd[:5]}.")
        right = right[list(left.columns)]
    A, B = (_numbers(side, name) for side, name in ((left, "left"), (right, "right")))
    if A.shape != B.shape:
        raise ValueError(
            f"left and right must have the same shape, got {A.shape} and {B.shape}: pass "
            "one row per comparison on both sides."
        )
    X = _subtracted(A, B)
    if len(names) == 2:
        kind, columns = type(left), list(left.columns)
        if kind.__module__.startswith("pandas"):
            return kind(X, columns=columns, index=left.index)
        return kind({name: X[:, j] for j, name in enumerate(columns)})
    return X


def _subtracted(A: Any, B: Any) -> Any:
    """Return A - B in float64, which is exact for whole numbers if float64 can hold it."""
    if sparse.issparse(A) and sparse.issparse(B):
        return (A.astype(np.float64) - B.astype(np.float64)).tocsr()
    A, B = (M.toarray() if sparse.issparse(M) else M for M in (A, B))
    with np.errstate(over="ignore", invalid="ignore"):  # fit refuses what is not finite
        X = A.astype(np.float64) - B.astype(np.float64)
    if A.dtype.kind in "iu" and B.dtype.kind in "iu":
        # integers of either sign are stored modulo 2^64; exact unless the difference wraps around
        wrapped = (A.astype(np.uint64) - B.astype(np.uint64)).view(np.int64)
        X = np.where(np.abs(X) < 2.0**62, wrapped, X)
    return X


def _numbers(side: Any, name: str) -> Any:
    """Return the features of one side as a table of integers or floating-point numbers."""
    if sparse.issparse(side):
        return side
    refuse_masked(side, name)
    message = (
        f"{name} must hold numbers: encode categories first (for example with "
        "sklearn.preprocessing.OneHotEncoder, fitted on both sides together)."
    )
    values = numbers(side, message)
    if values.ndim != 2:
        raise ValueError(f"{name} must be a table of rows and columns, got shape {values.shape}.")
    given = np.asarray(side)
    return given if given.dtype.kind in "iu" else values

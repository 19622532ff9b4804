"""Comparisons: which of two things was preferred, as labels of differences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.messages import is_missing, numbers, refuse_masked
from spectralmirror.tables.features import as_text

__all__ = ["left_won", "pairwise_differences", "winner_words"]

#: Words for the winner that need no explanation, left first.
WORDS = (("left", "right"), ("true", "false"), ("1", "0"), ("1", "2"), ("1", "-1"), ("a", "b"))


def pairwise_differences(left: Any, right: Any, winner: Any) -> tuple[Any, NDArray[np.bool_]]:
    """Turn comparisons into features and labels: phi(A) - phi(B), and whether A was preferred.

    If somebody with profile u prefers A to B with probability f(<u, phi(A)> - <u, phi(B)>), the
    label "A was preferred" of the row phi(A) - phi(B) is that of a linear classifier without
    intercept: fit ``LinearClassifierMixture(fit_intercept=False)``, or leave the intercept to see
    whether the side matters.

    Parameters
    ----------
    left, right : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        The features of both things, in the same columns.
    winner : array-like of shape (n_samples,)
        Who won: "left" and "right", "a" and "b", True and False, 1 and 0, 1 and 2, or 1 and -1,
        where the first of each stands for the left.

    Returns
    -------
    X : ndarray, CSR matrix or DataFrame of shape (n_samples, n_features)
        left - right; a DataFrame, or sparse, where both are.
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
    n, column = X.shape[0], _winners(winner)
    if len(column) != n:
        raise ValueError(f"There are {n} comparisons, but winner has {len(column)} values.")
    gone = pc.is_null(column, nan_is_null=True)
    if pc.any(gone).as_py():
        row = pc.index(gone, True).as_py()
        raise ValueError(f"winner is missing in row {row}: leave such comparisons out.")
    words = winner_words(pc.unique(as_text(column)).to_pylist())
    return X, np.asarray(left_won(column, words).to_numpy(zero_copy_only=False), dtype=bool)


def _winners(winner: Any) -> Any:
    """Return the winners as an Arrow column, null where one is missing."""
    refuse_masked(winner, "winner")
    told = "winner must hold one value for each comparison, of one kind."
    try:
        values = winner.tolist() if hasattr(winner, "tolist") else list(winner)
        column = pa.array([None if is_missing(value) else value for value in values])
    except (pa.ArrowException, TypeError, OverflowError):
        raise ValueError(told) from None
    if pa.types.is_nested(column.type):
        raise ValueError(told)
    return column


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
            f"left and right must have the same shape, got {A.shape} and {B.shape}: one row for "
            "each comparison on both sides."
        )
    X = _subtracted(A, B)
    if len(names) == 2:
        kind, columns = type(left), list(left.columns)
        if kind.__module__.startswith("pandas"):
            return kind(X, columns=columns, index=left.index)
        return kind({name: X[:, j] for j, name in enumerate(columns)})
    return X


def _subtracted(A: Any, B: Any) -> Any:
    """Return A - B in float64; of whole numbers exactly, where float64 can hold the difference."""
    if sparse.issparse(A) and sparse.issparse(B):
        return (A.astype(np.float64) - B.astype(np.float64)).tocsr()
    A, B = (M.toarray() if sparse.issparse(M) else M for M in (A, B))
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by fit
        X = A.astype(np.float64) - B.astype(np.float64)
    if A.dtype.kind in "iu" and B.dtype.kind in "iu":
        # modulo 2^64, as which numbers of either sign are stored; right where it cannot wrap
        wrapped = (A.astype(np.uint64) - B.astype(np.uint64)).view(np.int64)
        X = np.where(np.abs(X) < 2.0**62, wrapped, X)
    return X


def _numbers(side: Any, name: str) -> Any:
    """Return a side as a table of whole or floating-point numbers."""
    if sparse.issparse(side):
        return side
    refuse_masked(side, name)
    told = (
        f"{name} must hold numbers: encode categories first (for example with "
        "sklearn.preprocessing.OneHotEncoder, fitted on both sides together)."
    )
    values = numbers(side, told)
    if values.ndim != 2:
        raise ValueError(f"{name} must be a table of rows and columns, got shape {values.shape}.")
    given = np.asarray(side)
    return given if given.dtype.kind in "iu" else values


def winner_words(values: Iterable[str], sides: tuple[str, str] | None = None) -> tuple[str, str]:
    """Return what winners are called, the left first, from all values that there are.

    `sides` are the beginnings of names of columns, such as "a_" and "b_", by which winners may be
    called too.
    """
    found = {_plain(value) for value in values}
    words = WORDS if sides is None else (_words(sides), sides, *WORDS)
    for left, right in words:
        if found <= {_plain(left), _plain(right)}:
            return _plain(left), _plain(right)
    shown = ", ".join(map(repr, sorted(found)[:5]))
    raise ValueError(
        f"The winner must be called left or right, a or b, true or false, 1 or 0, or 1 or 2, the "
        f"first for the left side; got {shown}."
    )


def left_won(winner: Any, words: tuple[str, str]) -> Any:
    """Return whether the left won, from an Arrow column of the winners and what they are called."""
    text = pc.utf8_lower(pc.utf8_trim_whitespace(as_text(winner)))
    unknown = [v for v in pc.unique(text).to_pylist() if v is not None and v not in words]
    if unknown:
        raise ValueError(f"The winner is {words[0]!r} or {words[1]!r}, but also {unknown[0]!r}.")
    return pc.equal(text, words[0])


def _plain(word: str) -> str:
    return word.strip().lower()


def _words(sides: tuple[str, str]) -> tuple[str, str]:
    return sides[0].strip("_-. "), sides[1].strip("_-. ")

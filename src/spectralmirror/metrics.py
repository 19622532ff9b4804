"""Distances between an estimate and the truth: of subspaces, components and profiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import orth, svdvals
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_consistent_length, column_or_1d

from spectralmirror.rows.checks import check_table
from spectralmirror.rows.messages import is_missing, refuse_masked
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["component_error", "principal_angles", "profile_error", "subspace_error"]


def principal_angles(A: ArrayLike, B: ArrayLike) -> Vector:
    """Return the principal angles between the row spaces of A and B, largest first.

    Each angle is computed from its sine and its cosine, both of them singular values (Knyazev and
    Argentati 2002), and is accurate to rounding near 0 as well as near pi/2. Rows need not be
    orthogonal or of unit length.

    Parameters
    ----------
    A, B : array-like of shape (k, n_features)
        Vectors that span each subspace, one per row.

    Returns
    -------
    ndarray of shape (min(rank A, rank B),)
        Angles in radians.

    Examples
    --------
    >>> from spectralmirror.metrics import principal_angles
    >>> principal_angles([[1, 0, 0], [0, 1, 0]], [[2, 0, 0], [0, 1, 1]]).round(4)
    array([0.7854, 0.    ])
    """
    A, B = _unit_rows(A, "A"), _unit_rows(B, "B")
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"A and B must have the same number of columns, got {A.shape[1]} and {B.shape[1]}."
        )
    for matrix, name in ((A, "A"), (B, "B")):
        if not matrix.any():
            raise ValueError(f"{name} has only zero rows, which span nothing to measure.")
    larger, smaller = sorted((orth(A.T), orth(B.T)), key=lambda basis: -basis.shape[1])
    inside = larger.T @ smaller
    cosines = svdvals(inside)[::-1]
    sines = svdvals(smaller - larger @ inside)
    return np.asarray(np.arctan2(sines, cosines))


def subspace_error(A: ArrayLike, B: ArrayLike) -> float:
    """Return the sine of the largest principal angle, sin d_P, between the row spaces of A and B.

    It is 0 if the spaces agree, and 1 if some direction of one is orthogonal to the other. If the
    dimensions differ, it is 0 if the smaller space lies inside the larger.

    Parameters
    ----------
    A, B : array-like of shape (k, n_features)
        Vectors that span each subspace, one per row.

    Returns
    -------
    float
        In [0, 1].
    """
    return float(np.sin(principal_angles(A, B)[0]))


def component_error(true: ArrayLike, found: ArrayLike) -> float:
    """Return the share of rows assigned incorrectly, under the best matching of component names.

    The names of components carry no meaning, so they are matched one to one first (Hungarian method
    on the contingency table). Either side may have more components than the other.

    Parameters
    ----------
    true, found : array-like of shape (n_samples,)
        The component of each row.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from spectralmirror.metrics import component_error
    >>> component_error([0, 0, 1, 1], ["b", "b", "a", "b"])
    0.25
    """
    check_consistent_length(true, found)
    table = contingency_matrix(_assignment(true, "true"), _assignment(found, "found"))
    if not table.size:
        raise ValueError("true and found are empty: pass at least one row.")
    agreed = table[linear_sum_assignment(table, maximize=True)].sum()
    return float(1 - agreed / table.sum())


def profile_error(true: ArrayLike, found: ArrayLike, *, scale_free: bool = False) -> float:
    """Return the relative error of profiles under the best matching of components.

    sqrt( min over permutations s of sum_l |u_l - v_s(l)|^2  /  sum_l |u_l|^2 ).

    Parameters
    ----------
    true, found : array-like of shape (k, n_features)
        The profiles u_l and their estimates v_l, one per row, in any order.
    scale_free : bool, default=False
        Compare directions only, by scaling every profile to unit length first: hard labels do not
        identify norms.

    Returns
    -------
    float
        0 if all profiles agree.
    """
    U, V = check_table(true, "true"), check_table(found, "found")
    if U.shape != V.shape:
        raise ValueError(
            f"true and found must have the same shape, got {U.shape} and {V.shape}: "
            "pass equally many profiles of the same features."
        )
    if not U.any():
        raise ValueError("true has only zero profiles, so a relative error is not defined.")
    if scale_free:
        U, V = _unit_rows(U, "true"), _unit_rows(V, "found")
    length = np.abs(U).max()
    scale = max(length, np.abs(V).max())
    squares = np.square(U[:, None, :] / scale - V[None, :, :] / scale).sum(axis=2)
    total = squares[linear_sum_assignment(squares)].sum()
    with np.errstate(over="ignore", divide="ignore"):  # an error above 1e308 is inf
        return float(np.sqrt(total) / np.linalg.norm(U / length) / (length / scale))


def _unit_rows(A: ArrayLike, name: str) -> Matrix:
    """Scale rows to unit length, except zero rows, without overflow or underflow."""
    rows = check_table(A, name)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = np.ldexp(rows, -np.frexp(largest)[1])  # by a power of two, so that nothing is rounded
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))


def _assignment(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return the component of each row as an array; raise ValueError if one is missing."""
    refuse_masked(values, name)
    found = column_or_1d(values)
    if found.dtype.kind in "fO" and any(map(is_missing, found.tolist())):
        raise ValueError(f"{name} has missing values: leave such rows out on both sides.")
    return np.asarray(found)

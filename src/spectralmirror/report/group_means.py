"""The mean of a group's known labels as a feature: what a history says without classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.types import Matrix, Vector

__all__ = ["mean_labels", "with_mean"]


def mean_labels(
    positive: NDArray[np.bool_], known_of: NDArray[np.intp], of: NDArray[np.intp], share: float
) -> Vector:
    """Return the mean label of the known rows of groups, less the share of all labels.

    One more label, which is `share`, stands for what is known about a group without rows: for a
    group with s positive ones among n known labels this is (s + share) / (n + 1) - share.

    Parameters
    ----------
    positive, known_of : ndarray of shape (m,)
        The known labels, and their groups.
    of : ndarray of shape (n,)
        The groups to return means for, one for each row.
    share : float
        The share of positive labels among those that were fitted.
    """
    size = int(max(known_of.max(initial=-1), of.max(initial=-1))) + 1
    n = np.bincount(known_of, minlength=size)
    s = np.bincount(known_of, positive, minlength=size)
    return np.asarray((s + share) / (n + 1) - share)[of]


def with_mean(X: Any, means: Vector) -> Matrix:
    """Return features and, as one more, the mean label of the row's group."""
    return np.column_stack([np.asarray(X), means])

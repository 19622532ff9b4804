"""The interface of every collection of rows, wherever the rows are stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from spectralmirror.rows.memory import Rows

__all__ = ["Source"]


class Source(Protocol):
    """Rows in memory, in files or on a cluster.

    Attributes
    ----------
    in_memory : bool
        Whether the rows are arrays in this process, so that another pass costs no reading.
    is_remote : bool
        Whether other processes hold the rows and sum them there (``reduce(statistic, factor)``).
    n_features : int
        Number of features.
    dtype : dtype
        Precision of the features, float64 or float32.
    n_present : int
        Number of rows with a positive weight.
    total_weight : float
        Sum of the weights.
    effective_rows : float
        Kish's effective sample size: the number of equally weighted rows with the same variance.
    has_fractions : bool
        Whether some weights are not integers, so that they are not frequencies.
    """

    @property
    def in_memory(self) -> bool: ...  # noqa: D102
    @property
    def is_remote(self) -> bool: ...  # noqa: D102
    @property
    def n_features(self) -> int: ...  # noqa: D102
    @property
    def dtype(self) -> np.dtype[Any]: ...  # noqa: D102
    @property
    def n_present(self) -> int: ...  # noqa: D102
    @property
    def total_weight(self) -> float: ...  # noqa: D102
    @property
    def effective_rows(self) -> float: ...  # noqa: D102
    @property
    def has_fractions(self) -> bool: ...  # noqa: D102

    def blocks(self, factor: int = 1) -> Iterable[Rows]:
        """Yield the rows in order, in blocks of `factor` times the usual size."""

    def between(self, first: int, last: int) -> Source:
        """Return rows `first` to `last - 1`, not counting rows of weight 0."""

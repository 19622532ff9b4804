"""Check, part by part, whether the rows of each group are contiguous."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.part import Part

__all__ = ["ContiguityCheck", "SetOrder"]

#: Beyond this number of groups we stop tracking and assume that groups are scattered.
MOST_GROUPS = 20_000_000


class ContiguityCheck:
    """Groups are contiguous if no group begins twice."""

    def __init__(self) -> None:
        self._begun: list[NDArray[np.uint64]] = []
        self._n_begun = 0
        self._last: np.uint64 | None = None
        self._is_scattered = False

    def add(self, part: Part) -> Part:
        """Track the groups of the next part, and return the part."""
        if part.groups is None or self._is_scattered:
            return part
        keys = part.keys
        if len(keys):
            begun = keys[np.append(keys[0] != self._last, keys[1:] != keys[:-1])]
            self._last = keys[-1]
            self._begun.append(begun)
            self._n_begun += len(begun)
            self._is_scattered = len(np.unique(begun)) < len(begun) or self._n_begun > MOST_GROUPS
        return part

    @property
    def is_contiguous(self) -> bool:
        """Whether the groups of all parts so far are contiguous."""
        if self._is_scattered or not self._begun:
            return not self._is_scattered
        return len(np.unique(np.concatenate(self._begun))) == self._n_begun


class SetOrder:
    """Whether a choice set begins twice, given the keys of the sets that begin, part by part."""

    def __init__(self) -> None:
        self._begun: list[NDArray[np.uint64]] = []
        self._n_begun = 0

    def add(self, begun: NDArray[np.uint64]) -> None:
        """Track the sets that begin in the next part; too many of them are not tracked."""
        if self._n_begun <= MOST_GROUPS:
            self._begun.append(begun)
            self._n_begun += len(begun)

    def twice(self) -> np.uint64 | None:
        """Return the key of the first set that begins again; None if there is none."""
        if not self._begun:
            return None
        begun = np.concatenate(self._begun)
        again = np.ones(len(begun), dtype=bool)
        again[np.unique(begun, return_index=True)[1]] = False
        return begun[again.argmax()] if again.any() else None

"""What must be known of all parts before any of them can be used: classes, weights, lengths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.labels import MOST_LABELS, check_classes, coded, unique_labels
from spectralmirror.rows.memory import BLOCK_BYTES, Rows
from spectralmirror.rows.messages import first_missing
from spectralmirror.rows.part import Part
from spectralmirror.rows.weights import WeightSums

__all__ = ["Encoding", "Survey"]


@dataclass(frozen=True, eq=False)
class Survey:
    """What all parts together hold.

    Attributes
    ----------
    classes : ndarray
        The different labels of rows with a positive weight.
    weights : WeightSums
        Sums of the weights, which are 1 if none are given.
    lengths : tuple of int
        Number of rows with a positive weight in each part.
    """

    classes: NDArray[Any]
    weights: WeightSums
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, part: Part) -> Survey:
        """Survey one part."""
        y = np.asarray(part.y)
        row = first_missing(y)
        if row is not None:
            raise ValueError(
                f"Input y contains NaN (a missing label) in row {part.where(row)}: drop such rows."
            )
        n = len(y)
        if part.weight is None:
            weights = WeightSums.ones(n)
        else:
            weight = np.asarray(part.weight, dtype=np.float64)
            weights = WeightSums.of(weight, part.where)
            y = y[weight > 0]
        if part.groups is not None:
            part.check_groups()
        return cls(unique_labels(y)[:MOST_LABELS], weights, (weights.n_present,))

    def __add__(self, other: Survey) -> Survey:
        # an empty part may have labels of another dtype
        known = [one.classes for one in (self, other) if len(one.classes)]
        classes = unique_labels(np.concatenate(known)) if known else self.classes
        return Survey(
            classes[:MOST_LABELS], self.weights + other.weights, self.lengths + other.lengths
        )

    def as_one_part(self) -> Survey:
        """Return the survey of a part that was read in pieces."""
        return replace(self, lengths=(sum(self.lengths),))

    def of_choices(self) -> Survey:
        """Return the survey of choices, whose labels are truth values even if all are alike."""
        return replace(self, classes=np.array([False, True]))

    def check(self) -> None:
        """Raise if there is nothing to fit."""
        if not sum(self.lengths):
            raise ValueError("There are no rows (0 samples), or all of them have a weight of 0.")
        check_classes(self.classes, why=None)


@dataclass(frozen=True, eq=False)
class Encoding:
    """How a part is turned into rows with labels of -1 and +1, or 0, 1, ... if there are more.

    Attributes
    ----------
    classes : ndarray
        The different labels.
    weights : WeightSums
        Sums of the weights of all rows.
    dtype : dtype
        Precision of the features.
    block_bytes : int
        Size of the blocks in which the rows are summed.
    """

    classes: NDArray[Any]
    weights: WeightSums
    dtype: np.dtype[Any]
    block_bytes: int = BLOCK_BYTES

    def rows(self, part: Part, start: int = 0, *, keyed: bool = False) -> Rows:
        """Return the rows with a positive weight, numbered from `start`, with keys if `keyed`."""
        weight = None
        if part.weight is not None:
            weight = self.weights.scaled(np.asarray(part.weight, np.float64), self.dtype)
        rows = Rows(
            part.X.astype(self.dtype, copy=False),
            coded(part.y, self.classes, self.dtype),
            weight,
            self.block_bytes,
            place=part.place,
            traits=part.traits,
            sets=part.choices,
        )
        return replace(rows.present(), start=start, keys=part.keys if keyed else None)

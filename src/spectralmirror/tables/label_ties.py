"""Columns that settle the label alone, as a copy of the label does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.special import gammaln

from spectralmirror.rows.files.arrow import column_values, unique_values
from spectralmirror.tables.features import as_text
from spectralmirror.tables.sides import column_of

__all__ = ["LabelTies", "Tie"]

#: Probability below which it is no coincidence that a column settles the label.
COINCIDENCE = 1e-3


@dataclass
class Tie:
    """Whether the values of a column tell the labels apart, in the rows that were added.

    Numbers do if all those with one label are smaller than all with the other, and categories if
    every level occurs with one label only. Missing values do not count.

    Attributes
    ----------
    broken : bool
        Whether they do not; then no further rows matter.
    ranges : dict
        For numbers: the smallest and the largest with each label.
    owners : dict
        For categories: the label of each level.
    """

    broken: bool = False
    ranges: dict[Any, tuple[float, float]] = field(default_factory=dict)
    owners: dict[str, Any] = field(default_factory=dict)

    def add_numbers(self, x: NDArray[Any], label: Any) -> None:
        """Add numbers of rows with one label; NaN means missing."""
        x = x[~np.isnan(x)]
        if len(x):
            low, high = self.ranges.get(label, (np.inf, -np.inf))
            self.ranges[label] = min(low, x.min()), max(high, x.max())
        self.broken |= any(a[1] >= b[0] for a, b in pairwise(sorted(self.ranges.values())))

    def add_levels(self, text: Any, label: Any) -> None:
        """Add an Arrow column of text of rows with one label."""
        for level in pc.unique(text.drop_null()).to_pylist():
            self.broken |= self.owners.setdefault(level, label) != label

    def settles(self, n_labels: int) -> bool:
        """Return whether every label has values, and none that another label has."""
        return not self.broken and len({*self.owners.values(), *self.ranges}) == n_labels


@dataclass
class LabelTies:
    """The ties between the label and the features of a table, to which rows can be added.

    Attributes
    ----------
    kinds : mapping
        The features, and whether each is a "number" or a "category".
    sides : sequence of str
        The sides of a comparison, whose differences are the features; a single "" without one.
    counts : Counter
        How often each label occurs.
    """

    kinds: Mapping[str, str]
    sides: Sequence[str] = ("",)
    counts: Counter[Any] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.ties = {name: Tie() for name in self.kinds}

    def add(self, table: Any, label: str) -> None:
        """Add rows of an Arrow table."""
        if len(self.counts) > 2:  # there is more to be wrong than a tie
            return
        values, numbers = unique_values(table.column(label))
        self.counts.update(dict(zip(values, np.bincount(numbers).tolist(), strict=True)))
        for name, tie in self.ties.items():
            if tie.broken:
                continue
            column = self._feature(table, name)
            for number, value in enumerate(values[:3]):
                if self.kinds[name] == "number":
                    tie.add_numbers(column[numbers == number], value)
                else:
                    tie.add_levels(column.filter(numbers == number), value)

    def _feature(self, table: Any, name: str) -> Any:
        """Return a feature as an array, or as an Arrow column of text."""
        columns = [table.column(column_of(side, name)) for side in self.sides]
        if self.kinds[name] == "number":
            arrays = [np.asarray(column_values(one), dtype=np.float64) for one in columns]
            return arrays[0] if len(arrays) == 1 else arrays[0] - arrays[1]
        return pc.binary_join_element_wise(*map(as_text, columns), "\x1f")

    def settling(self) -> list[str]:
        """Return the features that settle the label, unless that may well be chance."""
        if len(self.counts) != 2:
            return []
        return [n for n, tie in self.ties.items() if tie.settles(2) and not self._is_chance(tie)]

    def _is_chance(self, tie: Tie) -> bool:
        """Return whether one of these features may well settle the label by chance.

        Of the C(n, m) ways to label m of n rows, at most 2^v agree with a category of v levels, and
        2 with numbers.
        """
        m, rest = self.counts.values()
        log_ways = gammaln(m + rest + 1) - gammaln(m + 1) - gammaln(rest + 1)
        log_agree = max(len(tie.owners), 1) * np.log(2)
        return bool(np.log(len(self.kinds)) + log_agree - log_ways > np.log(COINCIDENCE))

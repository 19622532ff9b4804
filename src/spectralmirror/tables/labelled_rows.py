"""Labelled rows of groups in memory: what a mixture with a spread needs to judge a group.

Without a spread, the posterior of a group is a sum over its rows, and files are read in blocks.
With one it is an integral over the group's place in the spread, whose nodes depend on all labels of
the group, and these may be anywhere in the files. So the rows are read once and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.types import Matrix
from spectralmirror.tables.known_rows import known_rows

if TYPE_CHECKING:
    from spectralmirror.tables.table_model import FittedTable

__all__ = ["LabelledRows"]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The complete labelled rows of files.

    Attributes
    ----------
    groups : dict
        The number of each group, 0, 1, ... in the order in which they first occur.
    X, y : ndarray
        Features and labels.
    numbers : ndarray of shape (n_rows,)
        The number of each row's group.
    choices : ndarray of shape (n_rows,) or None
        The number of each row's choice set; None if labels are binary.
    membership : ndarray or None
        Covariates of the groups; None if there are none.
    """

    groups: dict[Any, int]
    X: NDArray[Any]
    y: NDArray[Any]
    numbers: NDArray[np.intp]
    choices: NDArray[np.int64] | None = None
    membership: Matrix | None = None

    @classmethod
    def read(
        cls,
        model: FittedTable,
        readers: Sequence[Reader],
        missing: str | None,
        listen: Callable[[int], None],
    ) -> LabelledRows:
        """Read files once."""
        groups: dict[Any, int] = {}
        X = [np.empty((0, len(model.recipe.names)), dtype=model.recipe.dtype)]
        y = [model.mixture.classes_[:0]]
        numbers = [np.empty(0, dtype=np.intp)]
        choices = [np.empty(0, dtype=np.int64)]
        membership: list[Matrix] = []
        for known in known_rows(
            model, readers, labelled=True, grouped=True, missing=missing, listen=listen
        ):
            values, places = known.group_values(str(model.group))
            own = [groups.setdefault(value, len(groups)) for value in values]
            assert known.y is not None  # as labels were asked for
            X.append(known.X)
            y.append(known.y)
            numbers.append(np.array(own, dtype=np.intp)[places])
            choices += [] if known.choices is None else [known.choices]
            membership += [] if known.membership is None else [known.membership]
        sets = None if model.choices is None else np.concatenate(choices)
        Z = np.concatenate(membership) if membership else None
        return cls(groups, np.concatenate(X), np.concatenate(y), np.concatenate(numbers), sets, Z)

    def of(self, numbers: NDArray[np.intp]) -> LabelledRows:
        """Return the rows of some groups, which keep their numbers."""
        asked = np.zeros(len(self.groups), dtype=bool)
        asked[numbers] = True
        rows = asked[self.numbers]
        sets = None if self.choices is None else self.choices[rows]
        Z = None if self.membership is None else self.membership[rows]
        return LabelledRows(self.groups, self.X[rows], self.y[rows], self.numbers[rows], sets, Z)

    def posteriors(self, model: FittedTable) -> dict[Any, tuple[Matrix, int]]:
        """Return the posterior of the classifiers for each group, and its number of rows.

        For choices, their number.
        """
        if not self.groups:
            return {}
        labels: dict[str, Any] = {} if self.choices is None else {"choices": self.choices}
        labels |= model.of_groups(self)
        X = model.named(self.X)
        found = np.asarray(model.mixture.component_proba(X, self.y, groups=self.numbers, **labels))
        first = np.unique(self.numbers, return_index=True)[1]
        of_labels = self.numbers
        if self.choices is not None:
            of_labels = of_labels[np.unique(self.choices, return_index=True)[1]]
        counts = np.bincount(of_labels).tolist()
        return dict(zip(self.groups, zip(found[first], counts, strict=True), strict=True))

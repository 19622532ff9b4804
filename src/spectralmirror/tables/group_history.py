"""What labelled rows say about groups, and how it predicts further rows of the same groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.types import Matrix
from spectralmirror.tables.known_rows import KnownRows
from spectralmirror.tables.labelled_rows import LabelledRows
from spectralmirror.tables.table_model import FittedTable

__all__ = ["GroupHistory", "read_history"]


class GroupHistory(Protocol):
    """Groups whose earlier labels are known."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the groups."""

    def __contains__(self, group: Any) -> bool:
        """Return whether a group has a history."""

    def probabilities(self, model: FittedTable, known: KnownRows) -> Matrix:
        """Return the probabilities of labels for rows; groups without history as strangers."""


def read_history(
    model: FittedTable,
    readers: Sequence[Reader],
    missing: str | None,
    listen: Callable[[int], None],
) -> GroupHistory:
    """Read the history of groups from files."""
    if model.mixture._has_spread:
        return _PersonHistory(LabelledRows.read(model, readers, missing, listen))
    return _ClassHistory(model.group_weights(readers, missing, listen))


@dataclass(frozen=True, eq=False)
class _ClassHistory:
    """Without a spread, the posterior of the classifiers is all that a history says."""

    weights: dict[Any, tuple[Matrix, int]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.weights)

    def __contains__(self, group: Any) -> bool:
        return group in self.weights

    def probabilities(self, model: FittedTable, known: KnownRows) -> Matrix:
        values, numbers = known.group_values(str(model.group))
        p = np.tile(model.mixture.weights_, (len(known.X), 1))
        if known.membership is not None:
            p = np.array(model.mixture.membership_proba(known.membership))
        met = np.array([value in self.weights for value in values], dtype=bool)[numbers]
        own = [self.weights[value][0] for value in values if value in self.weights]
        places = np.cumsum([value in self.weights for value in values]) - 1
        p[met] = np.reshape(own, (-1, p.shape[1]))[places[numbers[met]]]
        return np.asarray(model.mixture.predict_proba(model.named(known.X), p))


@dataclass(frozen=True, eq=False)
class _PersonHistory:
    """With a spread, the labels themselves say where in the spread a person is."""

    past: LabelledRows

    def __iter__(self) -> Iterator[Any]:
        return iter(self.past.groups)

    def __contains__(self, group: Any) -> bool:
        return group in self.past.groups

    def probabilities(self, model: FittedTable, known: KnownRows) -> Matrix:
        values, places = known.group_values(str(model.group))
        strangers = (-1 - np.arange(len(values))).tolist()  # no numbers of groups
        of_values = zip(values, strangers, strict=True)
        numbers = np.array([self.past.groups.get(value, other) for value, other in of_values])
        past = self.past.of(numbers[numbers >= 0])
        X, of_groups = model.named(known.X), model.of_groups(known)
        if not len(past.y):
            return np.asarray(model.mixture.predict_proba(X, **of_groups))
        history = model.named(past.X), past.y, past.numbers
        P = model.mixture.predict_proba(X, groups=numbers[places], history=history, **of_groups)
        return np.asarray(P)

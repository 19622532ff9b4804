"""Rows as a reader hands them over: labels and groups of any kind, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.hashing import group_keys
from spectralmirror.rows.messages import first_missing
from spectralmirror.rows.types import AnyArray, Features, Matrix

__all__ = ["SURVEYED", "Part", "whole_groups"]

#: Rows whose labels and groups are surveyed at a time.
SURVEYED = 65_536
_COLUMNS = ("X", "y", "weight", "groups", "choices", "traits")


@dataclass(frozen=True, eq=False)
class Part:
    """Consecutive rows of a source, as they were read.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Features.
    y : ndarray of shape (n,)
        Labels of any kind.
    weight, groups : ndarray of shape (n,) or None
        Weights, and the values that name the groups.
    places : tuple
        Where the rows come from, for error messages: name, first and last row there.
    kept : dict
        Other columns by name, as pyarrow arrays, which go into an output unchanged.
    choices : ndarray of shape (n,) or None
        The values that name the choice set of each row; None if labels are binary.
    traits : ndarray of shape (n, m) or None
        What is known about each row's group (:mod:`spectralmirror.rows.traits`).
    """

    X: Features
    y: NDArray[Any]
    weight: AnyArray | None = None
    groups: NDArray[Any] | None = None
    places: tuple[tuple[str, int, int], ...] = ()
    kept: dict[str, Any] = field(default_factory=dict)
    choices: NDArray[Any] | None = None
    traits: Matrix | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def place(self) -> str:
        """Where the rows come from."""
        if not self.places:
            return ""
        (first, start, _), (last, _, end) = self.places[0], self.places[-1]
        if first != last:
            return f"from row {start:,} of {first} to row {end:,} of {last}"
        return f"{first}, rows {start:,} to {end:,}"

    def where(self, i: int) -> str:
        """Name row i of the part."""
        for name, start, end in self.places:
            if i <= end - start:
                return f"{start + i:,} of {name}"
            i -= end - start + 1
        return f"{i:,}"

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The key of each row's group, for rows with a positive weight."""
        self.check_groups()
        try:
            found, numbers = np.unique(np.asarray(self.groups), return_inverse=True)
        except TypeError:
            raise ValueError(
                f"groups mixes values that cannot be compared ({self.place}): use one kind."
            ) from None
        keys = group_keys(found)[numbers]
        return keys if self.weight is None else keys[np.asarray(self.weight) > 0]

    def group_of(self, key: np.uint64) -> list[Any]:
        """Return the group that has a key, in a list; an empty one if there is none here."""
        found = np.unique(np.asarray(self.groups))
        here: list[Any] = found[group_keys(found) == key].tolist()
        return here[:1]

    def check_groups(self) -> None:
        """Raise if a group is missing."""
        row = first_missing(np.asarray(self.groups))
        if row is not None:
            raise ValueError(
                f"groups has missing values, as in row {self.where(row)}: give such rows a group "
                "of their own."
            )

    def __getitem__(self, rows: slice) -> Part:
        start, stop, _ = rows.indices(len(self))
        given = {name: getattr(self, name) for name in _COLUMNS}
        columns: dict[str, Any] = {name: v[rows] for name, v in given.items() if v is not None}
        kept = {name: column.slice(start, stop - start) for name, column in self.kept.items()}
        return replace(self, **columns, places=self._places(start, stop), kept=kept)

    def _places(self, start: int, stop: int) -> tuple[tuple[str, int, int], ...]:
        found, before = [], 0
        for name, first, last in self.places:
            a, b = max(start - before, 0), min(stop - before, last - first + 1)
            if a < b:
                found.append((name, first + a, first + b - 1))
            before += last - first + 1
        return tuple(found)

    @classmethod
    def joined(cls, parts: list[Part]) -> Part:
        """Concatenate parts in the given order."""
        if len(parts) == 1:
            return parts[0]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in _COLUMNS
            if getattr(parts[0], name) is not None
        }
        places = tuple(place for part in parts for place in part.places)
        return cls(**columns, places=places, kept=_joined_columns([part.kept for part in parts]))


def _joined_columns(kept: list[dict[str, Any]]) -> dict[str, Any]:
    if not kept[0]:
        return {}
    import pyarrow as pa

    return {name: pa.concat_arrays([one[name] for one in kept]) for name in kept[0]}


class _Keyed(Protocol):
    @property
    def keys(self) -> NDArray[np.uint64] | None: ...
    def __getitem__(self, rows: slice) -> Self: ...


Piece = TypeVar("Piece", bound=_Keyed)


def whole_groups(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Yield lists of pieces that together hold whole groups; rows of a group must be contiguous.

    Pieces are non-empty :class:`Rows` or :class:`Part`; they are cut where the last group begins.
    """
    held: list[Piece] = []
    last: np.uint64 | None = None
    for piece in pieces:
        keys = piece.keys
        assert keys is not None
        begins = np.flatnonzero(np.append(keys[0] != last, keys[1:] != keys[:-1]))
        last = keys[-1]
        if not len(begins):  # still the same group
            held.append(piece)
            continue
        cut = int(begins[-1])
        if held or cut:
            yield [*held, piece[:cut]] if cut else held
        held = [piece[cut:]]
    if held:
        yield held

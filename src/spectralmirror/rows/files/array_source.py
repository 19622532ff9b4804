"""Rows from arrays, from .npy files, or from blocks that the user's own reader yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.column_types import check_columns, common_dtype
from spectralmirror.rows.files.paths import paths_of
from spectralmirror.rows.part import SURVEYED, Part
from spectralmirror.rows.traits import TraitColumns, stacked, trait_columns

__all__ = ["ArrayParts", "OwnParts"]


@dataclass(frozen=True, eq=False)
class ArrayParts:
    """Arrays in memory, or memory-mapped."""

    X: Any
    y: Any
    groups: Any
    weight: Any
    place: str
    membership: Any = None
    known: Any = None
    choices: Any = None
    names: None = None

    @classmethod
    def of(
        cls,
        source: Any,
        label: Any,
        groups: Any,
        weight: Any,
        membership: Any = None,
        known: Any = None,
        choices: Any = None,
    ) -> ArrayParts:
        """Open the arrays."""
        X = _array(source)
        y, groups, weight, membership, known, choices = (
            None if value is None else _array(value)
            for value in (label, groups, weight, membership, known, choices)
        )
        if X.ndim != 2 or not X.shape[1]:
            raise ValueError(
                f"X must be a table of rows and columns (Expected 2D array), got shape {X.shape}."
            )
        check_columns({"X": X.dtype})
        others = {"label": y, "groups": groups, "sample_weight": weight, "known": known}
        others["choices"] = choices
        for name, values in others.items():
            if values is not None and values.shape != X.shape[:1]:
                raise ValueError(
                    f"{name} must hold one value for each of {len(X):,} rows, got shape "
                    f"{values.shape}."
                )
        place = str(source) if isinstance(source, str | Path) else "the array"
        return cls(X, y, groups, weight, place, membership, known, choices)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the features."""
        return common_dtype([self.X.dtype])

    @property
    def has_labels(self) -> bool:
        """Whether there are labels."""
        return self.y is not None

    @property
    def has_groups(self) -> bool:
        """Whether there are groups."""
        return self.groups is not None

    def survey(self) -> Iterator[Part]:
        """Yield everything but the features."""
        for start in range(0, len(self.X), SURVEYED):
            part = self._part(start, min(start + SURVEYED, len(self.X)))
            yield replace(part, X=np.empty((len(part), 0)))

    def read(self, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield parts of `n_rows` rows; the last may be shorter."""
        if keep:
            raise ValueError("Arrays have no named columns to keep.")
        for start in range(0, len(self.X), n_rows):
            part = self._part(start, min(start + n_rows, len(self.X)))
            yield replace(part, X=np.asarray(part.X).astype(dtype, copy=False))

    def _part(self, start: int, end: int) -> Part:
        columns = (self.y, self.weight, self.groups, self.membership, self.known, self.choices)
        y, weight, groups, membership, known, choices = (
            None if values is None else np.asarray(values[start:end]) for values in columns
        )
        y = np.empty(end - start) if y is None else y
        part = Part(self.X[start:end], y, weight, groups, ((self.place, start, end - 1),))
        traits = stacked(membership, known, len(part), part.place)
        return replace(part, traits=traits, choices=choices)

    @property
    def set_column(self) -> str | None:
        """What errors call the column of choice sets; None if labels are binary."""
        return None if self.choices is None else "choices"

    @property
    def trait_columns(self) -> TraitColumns | None:
        """What is known about the group of each row."""
        return trait_columns(self.membership, self.known)


@dataclass(frozen=True, eq=False)
class OwnParts:
    """Blocks that the user's own reader yields."""

    blocks: Callable[[], Iterable[Any]]
    first: Part
    traits: TraitColumns | None
    has_labels: bool = True
    names: None = None
    set_column: None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.first.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the features."""
        return common_dtype([self.first.X.dtype])

    @property
    def has_groups(self) -> bool:
        """Whether there are groups."""
        return self.first.groups is not None

    @property
    def trait_columns(self) -> TraitColumns | None:
        """What is known about the group of each row."""
        return self.traits

    @classmethod
    def of(cls, source: Any) -> OwnParts:
        """Read the first block, which determines the number and precision of the features."""
        if isinstance(source, Iterator):
            raise ValueError(
                "The rows are read several times, but a generator or iterator yields them once: "
                "pass the function that makes it, or an object with __iter__."
            )
        blocks = source if callable(source) else lambda: source
        for number, block in enumerate(blocks()):
            part = _own_part(block, number)
            if len(part):
                return cls(blocks, part, trait_columns(*(*block, *[None] * 4)[4:6]))
        raise ValueError("There are no rows (0 samples).")

    def survey(self) -> Iterator[Part]:
        """Yield the parts."""
        for number, block in enumerate(self.blocks()):
            part = _own_part(block, number)
            if len(part):
                self._check_like_first(part)
                yield part

    def _check_like_first(self, part: Part) -> None:
        """Raise if the columns of a block differ from those of the first one."""
        first, where = self.first, part.places[0][0]
        if part.X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {part.X.shape[1]} features in {where}, but {self.n_features} in the first."
            )
        if common_dtype([part.X.dtype]).itemsize > self.dtype.itemsize:
            raise ValueError(f"X is {part.X.dtype} in {where}, but {self.dtype} in the first.")
        if _width(part.traits) != _width(first.traits):
            raise ValueError(
                f"{where} and the first block do not both have the same columns of membership and "
                "known."
            )
        for name in ("y", "groups", "weight"):
            ours, theirs = getattr(part, name), getattr(first, name)
            if (ours is None) != (theirs is None):
                raise ValueError(f"{where} and the first block do not both have {name}.")
            if ours is not None and _kind_of(ours) != _kind_of(theirs):
                raise ValueError(
                    f"{name} holds {ours.dtype} in {where}, but {theirs.dtype} in the first block."
                )

    def read(self, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield the parts as they come."""
        if keep:
            raise ValueError("Blocks from your own reader have no named columns to keep.")
        yield from self.survey()


def _own_part(block: Any, number: int) -> Part:
    place = f"block {number}"
    if not isinstance(block, tuple) or not 2 <= len(block) <= 6:
        raise ValueError(
            f"Your own reader yields tuples (X, y), (X, y, groups) or (X, y, groups, "
            "sample_weight, membership, known), the last of which may be left out or None, but "
            f"{place} is a {type(block).__name__}."
        )
    X, y, groups, weight, membership, known = (*block, None, None, None, None)[:6]
    if sparse.issparse(X):
        raise ValueError(f"X is sparse in {place}: pass arrays, X.toarray().")
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, got shape {X.shape} in {place}.")
    check_columns({"X": X.dtype}, f" of {place}")
    others = [None if values is None else np.asarray(values) for values in (groups, weight)]
    for name, values in zip(("y", "groups", "sample_weight"), (y, *others), strict=True):
        if values is not None and values.shape != X.shape[:1]:
            raise ValueError(f"X has {len(X)} rows in {place} but {name} has {values.shape}.")
    traits = stacked(membership, known, len(X), place)
    return Part(X, y, others[1], others[0], ((place, 0, len(X) - 1),), traits=traits)


def _width(traits: NDArray[Any] | None) -> int:
    return 0 if traits is None else int(traits.shape[1])


def _kind_of(values: NDArray[Any]) -> str:
    """Return what values can be compared with; the first one decides for objects."""
    if values.dtype == object:
        return _kind_of(np.asarray(values[:1].tolist())) if values[0] is not None else "text"
    return {"i": "numbers", "u": "numbers", "f": "numbers", "b": "numbers", "U": "text"}.get(
        values.dtype.kind, str(values.dtype)
    )


def _array(source: Any) -> Any:
    if isinstance(source, str | Path):
        path = paths_of(source)[0]
        try:
            found = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise ValueError(f"{source} is not a readable .npy file: {error}.") from None
        if not isinstance(found, np.ndarray):
            raise ValueError(f"{source} is not a readable .npy file: it holds several arrays.")
        return found
    return np.asarray(source)

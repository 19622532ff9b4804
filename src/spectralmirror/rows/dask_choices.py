"""Choices in Dask collections: the rows of a person, and so those of a set, are brought together.

Every row is sent to the partition that the key of its person determines. There, sets are checked
and become the rows of a mixture.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.choice_parts import (
    PairRange,
    SetCounts,
    as_rows,
    no_rows,
    set_keys,
    sets_of_part,
)
from spectralmirror.rows.dask import (
    _aligned,
    _column,
    _computed,
    _delayed,
    _literal,
    _part,
)
from spectralmirror.rows.dask_features import blocks_of, whole_rows
from spectralmirror.rows.dask_shuffle import shuffled
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.part import Part
from spectralmirror.rows.partitioned import RemoteRows
from spectralmirror.rows.partitioned_groups import PartitionedGroups, group_rows
from spectralmirror.rows.sets import changes_inside
from spectralmirror.rows.survey import Encoding, Survey
from spectralmirror.rows.traits import trait_columns

__all__ = ["dask_choices"]

T = TypeVar("T")


def dask_choices(
    X: Any,
    chosen: Any,
    choices: Any,
    groups: Any,
    sample_weight: Any,
    membership: Any = None,
    known: Any = None,
) -> tuple[PartitionedGroups, Any, int]:
    """Return the rows of Dask collections, the names of the features, and the number of sets."""
    import dask

    X = whole_rows(X)
    names, dtype, blocks = blocks_of(X)
    persons = choices if groups is None else groups
    columns = {
        "choices": choices, "chosen": chosen, "sample_weight": sample_weight, "groups": persons,
        "membership": membership, "known": known,
    }  # fmt: skip
    aligned = [_aligned(name, values, X, len(blocks)) for name, values in columns.items()]
    there = [
        _delayed(_named_part, i, block, *row)
        for i, (block, *row) in enumerate(zip(blocks, *aligned, strict=True))
    ]
    together = list(dask.persist(*shuffled(there, _persons, _rows_of, _together)))
    if groups is not None:
        _check_persons(together)
    counts: SetCounts = _computed([_delayed(_counted, one) for one in together])
    in_pairs = counts.in_pairs
    if in_pairs:
        ranges: PairRange = _computed([_delayed(_range, one) for one in together])
        in_pairs = ranges.varies
    tasks = list(dask.persist(*[_delayed(_as_rows, one, in_pairs) for one in together]))
    survey = _computed([_delayed(_surveyed, one) for one in tasks]).of_choices()
    rows = RemoteRows.of(_PartTasks(tasks), int(X.shape[1]), dtype, survey)
    rows = replace(rows, has_sets=not in_pairs)
    rows.passes["rows"] += 1
    alone = groups is None and in_pairs  # each set is a row of its own
    partitions = None if alone else _PersonTasks(tasks, rows.encoding)
    columns_of_traits = trait_columns(membership, known)
    return group_rows(rows, partitions, columns_of_traits), names, counts.n_sets


@dataclass(frozen=True, eq=False)
class _PartTasks:
    """Partitions: tasks that compute parts."""

    tasks: list[Any]

    def map_reduce(self, function: Callable[[int, int, Part], T]) -> T | None:
        """Return the sum of function(number, 0, part), computed by the active client."""
        shared = _literal(function)
        found: T | None = _computed(
            [_delayed(_apply, shared, i, task) for i, task in enumerate(self.tasks)]
        )
        return found


@dataclass(frozen=True, eq=False)
class _PersonTasks:
    """Partitions that hold all rows of their persons."""

    tasks: list[Any]
    encoding: Encoding

    def map_reduce(self, function: Callable[[InMemoryGroups], T]) -> T | None:
        """Return the sum of a function of each partition."""
        shared = _literal(functools.partial(_of_persons, function, self.encoding))
        found: T | None = _computed([_delayed(_call, shared, task) for task in self.tasks])
        return found


def _apply(function: Callable[[int, int, Part], T], number: int, part: Part) -> T:
    return function(number, 0, part)


def _call(function: Callable[[Part], T], part: Part) -> T:
    return function(part)


def _of_persons(function: Callable[[InMemoryGroups], T], encoding: Encoding, part: Part) -> T:
    return function(InMemoryGroups.of(encoding.rows(part, keyed=True)))


def _named_part(number: int, X: Any, choices: Any, *columns: Any) -> Part:
    """Return the rows of a partition, with their choice sets."""
    part = _part(number, X, *columns)
    sets = _column(choices)
    if sets.shape != (len(part),):
        raise ValueError(
            f"X has {len(part)} rows in partition {number} but choices has shape {sets.shape}: "
            "partition them alike."
        )
    return replace(part, choices=sets, places=())


def _persons(part: Part) -> Any:
    return replace(part, weight=None).keys  # rows of weight 0, too


def _rows_of(part: Part, rows: Any) -> Part:
    columns = {
        name: getattr(part, name)[rows]
        for name in ("X", "y", "weight", "groups", "traits", "choices")
        if getattr(part, name) is not None
    }
    return replace(part, **columns)


def _together(*parts: Part) -> Part:
    """Join parts, of which those without rows may have values of another kind."""
    present = [part for part in parts if len(part)] or [parts[0]]
    if sparse.issparse(present[0].X):
        X = sparse.vstack([part.X for part in present], format="csr")
        rest = Part.joined([replace(part, X=np.empty((len(part), 0))) for part in present])
        return replace(rest, X=X)
    return Part.joined(present)


def _check_persons(together: list[Any]) -> None:
    """Raise if a set belongs to several persons, whose rows may be in different partitions."""
    pairs = [_delayed(_set_and_person, one) for one in together]
    by_set = shuffled(pairs, _first_column, getitem, _stacked)
    found = _computed([_delayed(_set_of_several, one) for one in by_set])
    if found:
        names = _computed([_delayed(_named, one, found[0]) for one in together])
        raise changes_inside("groups", f"set {names[0]!r} of choices")


def _set_and_person(part: Part) -> NDArray[np.uint64]:
    if not len(part):
        return np.empty((0, 2), dtype=np.uint64)
    return np.unique(np.column_stack([set_keys(part, "choices"), _persons(part)]), axis=0)


def _first_column(pairs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return pairs[:, 0]


def _stacked(*pairs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.unique(np.concatenate(pairs), axis=0)


def _set_of_several(pairs: NDArray[np.uint64]) -> list[np.uint64]:
    """Return the key of a set that appears with several persons, in a list."""
    return list(pairs[1:, 0][pairs[1:, 0] == pairs[:-1, 0]][:1])


def _named(part: Part, key: np.uint64) -> list[Any]:
    """Return the name of the set that has a key, in a list; an empty one if it is not here."""
    if not len(part):
        return []
    names: list[Any] = np.asarray(part.choices)[set_keys(part, "choices") == key][:1].tolist()
    return names


def _counted(part: Part) -> SetCounts:
    return SetCounts.of(sets_of_part(part, contiguous=False)) if len(part) else SetCounts(0, 0)


def _range(part: Part) -> PairRange | None:
    return PairRange.of(part, sets_of_part(part, contiguous=False)) if len(part) else None


def _as_rows(part: Part, in_pairs: bool) -> Part:
    if not len(part):
        return no_rows(part, in_pairs=in_pairs)
    return as_rows(part, sets_of_part(part, contiguous=False), in_pairs=in_pairs)


def _surveyed(part: Part) -> Survey:
    return Survey.of(replace(part, X=np.empty((len(part), 0))))

"""One look at all rows of a table: what its columns hold, and so how they become features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spectralmirror.pairs import winner_words
from spectralmirror.readers import Reader
from spectralmirror.recipe import Category, Number, Recipe, as_text, check_names, kind_of
from spectralmirror.tables import column_values, common_dtype, family, nearest

__all__ = [
    "Census",
    "Question",
    "agreed_types",
    "check_present",
    "n_missing",
    "take_census",
    "told_missing",
]

FILLING = (
    "Fill the gaps with --missing impute (by the mean, or the most frequent level; rows without "
    "label are left out). "
)
#: Text with more different values than this is no category.
MOST_LEVELS = 50
#: Rows that are looked at together.
ROWS = 65_536


@dataclass(frozen=True)
class Question:
    """What is wanted of a table.

    Attributes
    ----------
    label : str
        The column of labels.
    group : str or None
        The column of groups.
    features, drop : sequence of str
        The columns that shall be features (all others where there are none), and those that shall
        not.
    categorical : sequence of str
        Columns of numbers that are codes of categories.
    pairs : pair of str or None
        What names of columns begin with, for the left and the right of a comparison.
    missing : {"error", "impute", "drop"}
        What to do about missing values.
    """

    label: str
    group: str | None = None
    features: Sequence[str] = ()
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    pairs: tuple[str, str] | None = None
    missing: str = "error"

    @property
    def others(self) -> list[str]:
        """Columns that are needed and no features."""
        return [self.label] if self.group is None else [self.label, self.group]


@dataclass
class Tally:
    """What a column holds."""

    kind: str
    n: int = 0
    n_missing: int = 0
    n_infinite: int = 0
    origin: float = 0.0
    total: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    counts_up: bool = True
    levels: Counter[str] = field(default_factory=Counter)

    def add(self, column: Any) -> None:
        """Count more rows."""
        self.n += len(column)
        if self.kind == "number":
            self._add_numbers(np.asarray(column_values(column), dtype=np.float64))
        else:
            text = as_text(column)
            self.n_missing += text.null_count
            if len(self.levels) <= MOST_LEVELS:
                for pair in pc.value_counts(text.drop_null()).to_pylist():
                    self.levels[pair["values"]] += pair["counts"]

    def _add_numbers(self, x: Any) -> None:
        present = x[~np.isnan(x)]
        finite = present[np.isfinite(present)]
        self.n_missing += len(x) - len(present)
        self.n_infinite += len(present) - len(finite)
        if len(finite) == 0:
            return
        whole = bool((finite == np.floor(finite)).all())
        self.counts_up &= whole and self.high < finite[0] and bool((np.diff(finite) > 0).all())
        # sums of distances to the first value: a mean of 1e6 keeps its digits
        if self.low > self.high:
            self.origin = float(finite[0])
        self.total += float((finite - self.origin).sum())
        self.low, self.high = min(self.low, finite.min()), max(self.high, finite.max())

    @property
    def mean(self) -> float:
        """The mean of numbers."""
        return self.origin + self.total / max(self.n_finite, 1)

    @property
    def n_finite(self) -> int:
        """How many numbers there are."""
        return self.n - self.n_missing - self.n_infinite

    @property
    def is_empty(self) -> bool:
        """Whether nothing is there."""
        return self.n_missing == self.n

    @property
    def is_constant(self) -> bool:
        """Whether all values are the same."""
        return self.low == self.high if self.kind == "number" else len(self.levels) == 1

    def __add__(self, other: Tally) -> Tally:
        """Put the columns of both sides of a comparison together: means by their numbers."""
        both = Tally(self.kind, self.n + other.n, self.n_missing + other.n_missing)
        both.n_infinite = self.n_infinite + other.n_infinite
        both.low, both.high = min(self.low, other.low), max(self.high, other.high)
        both.counts_up = self.counts_up and other.counts_up
        both.levels = self.levels + other.levels
        if both.n_finite:
            counts = self.n_finite, other.n_finite
            both.origin = float(np.average([self.mean, other.mean], weights=counts))
        return both


@dataclass(frozen=True)
class Census:
    """What a table holds.

    Attributes
    ----------
    recipe : Recipe
        How its columns become features.
    n_rows : int
        Number of rows.
    missing : dict
        Columns with missing values, and how many.
    notes : list of str
        What the user should know.
    """

    recipe: Recipe
    n_rows: int
    missing: dict[str, int]
    notes: list[str]


def take_census(
    readers: Sequence[Reader], question: Question, listen: Callable[[int], None]
) -> Census:
    """Look at all rows once, and decide how columns become features.

    Raises where a column cannot be one, where columns are not there or differ between files, and
    where values are missing that may not be.
    """
    types = _types(readers, question)
    columns = _candidates(types, question)
    tallies = _tallies(readers, columns, question, listen)
    n_rows = tallies[question.label].n
    missing = {name: tally.n_missing for name, tally in tallies.items() if tally.n_missing}
    if n_rows == 0:
        raise ValueError(f"{readers[0].name} has no rows.")
    sides: tuple[str, ...] = question.pairs or ("",)
    merged = {name: tallies[sides[0] + name] for name in columns}
    for side in sides[1:]:
        merged = {name: tally + tallies[side + name] for name, tally in merged.items()}
    _refuse_text(merged)
    _refuse_infinite(tallies, n_rows)
    terms, notes = _terms(merged, question)
    if not terms:
        raise ValueError("No column is left that can be a feature.")
    used = [*question.others, *(side + term.column for side in sides for term in terms)]
    missing = {name: count for name, count in missing.items() if name in used}
    check_missing(missing, n_rows, question)
    numbers = [side + t.column for side in sides for t in terms if isinstance(t, Number)]
    kinds = {str(reader.types[name]) for reader in readers for name in numbers}
    winner = None
    if question.pairs is not None:
        winner = winner_words(tallies[question.label].levels, question.pairs)
    dtype = str(common_dtype(kinds or {"float64"}))
    recipe = Recipe(tuple(terms), question.pairs, winner, dtype)
    check_names([*recipe.names, *question.others])
    if "" in types:
        notes.insert(0, "A column without a name (an index, perhaps) was left out.")
    return Census(recipe, n_rows, missing, [*_unpaired(types, question), *notes])


def _terms(
    tallies: Mapping[str, Tally], question: Question
) -> tuple[list[Number | Category], list[str]]:
    """Return how columns become features, and what there is to say of them."""
    terms: list[Number | Category] = []
    notes = []
    for name, tally in tallies.items():
        left_out = _left_out(name, tally, question)
        if left_out:
            notes.append(left_out)
        elif tally.kind == "number":
            if tally.counts_up and question.pairs is None and tally.n > 2:
                notes.append(
                    f"Column {name!r} counts up from row to row: leave it out with --drop if it is "
                    "an identifier or a date."
                )
            terms.append(Number(name, float(tally.mean)))
        else:
            terms.append(Category(name, tuple(level for level, _ in tally.levels.most_common())))
    return terms, notes


def agreed_types(readers: Sequence[Reader]) -> dict[str, Any]:
    """Return the columns of all files and their types, which must agree."""
    types: dict[str, Any] = dict(readers[0].types)
    for reader in readers[1:]:
        for name, kind in reader.types.items():
            known = types.get(name)
            if known is None or str(known) == "null":
                types[name] = kind
            elif str(kind) != "null" and family(kind) != family(known):
                raise ValueError(
                    f"Column {name!r} holds {kind} in {reader.name}, but {known} in "
                    f"{readers[0].name}: files that are read together must agree."
                )
    return types


def _types(readers: Sequence[Reader], question: Question) -> dict[str, Any]:
    """Return the columns of all files, and see that those named are there."""
    types = agreed_types(readers)
    if question.label == question.group:
        raise ValueError(f"Column {question.label!r} cannot be both the label and the group.")
    named = (*question.others, *question.features, *question.drop, *question.categorical)
    sides = question.pairs or ("",)
    for name in named:
        if name not in types and not any(side + name in types for side in sides):
            raise ValueError(f"{readers[0].name} has no column {name!r}{_perhaps(name, types)}")
    for name in question.others:
        if pa.types.is_nested(types[name]):
            raise ValueError(f"Column {name!r} holds {types[name]}: a label or group is one value.")
    return types


def _candidates(types: Mapping[str, Any], question: Question) -> dict[str, str]:
    """Return the columns that may be features, and what they hold; without prefix for pairs."""
    kept = [n for n in types if n and n not in question.others and n not in question.drop]
    for name in question.features:
        if name in question.others or name in question.drop:
            what = "dropped" if name in question.drop else "the label or the group"
            raise ValueError(f"Column {name!r} cannot be a feature and {what}.")
    if question.pairs is None:
        names = list(dict.fromkeys(question.features)) or kept
        wanted = {name: types[name] for name in names}
    else:
        left, right = question.pairs
        names = [n.removeprefix(left) for n in kept if n.startswith(left) and n != left]
        names = [n for n in names if n not in question.drop and right + n in kept]
        if not names:
            raise ValueError(
                f"No column stands twice, once with {left!r} and once with {right!r} before its "
                f"name; the columns are {_listed(types)}."
            )
        wished = {n.removeprefix(left).removeprefix(right) for n in question.features}
        names = [n for n in names if not wished or n in wished]
        wanted = {name: types[left + name] for name in names}
    kinds = {n: kind_of(kind, categorical=n in question.categorical) for n, kind in wanted.items()}
    refused = {n: kind for n, kind in kinds.items() if kind not in ("number", "category")}
    if refused:
        told = ", ".join(f"{name!r} ({kind})" for name, kind in refused.items())
        raise ValueError(
            f"{_columns(refused)} cannot be used: {told}. Turn what matters about them into "
            f"numbers, or leave them out: {_drop(refused)}."
        )
    if not kinds:
        raise ValueError("There is no column besides label and group, so there are no features.")
    return kinds


def _tallies(
    readers: Sequence[Reader],
    columns: Mapping[str, str],
    question: Question,
    listen: Callable[[int], None],
) -> dict[str, Tally]:
    sides = question.pairs or ("",)
    tallies = {side + name: Tally(kind) for side in sides for name, kind in columns.items()}
    tallies |= {name: Tally("other") for name in question.others}
    if question.pairs is not None:
        tallies[question.label] = Tally("category")
    numbers = [name for name, tally in tallies.items() if tally.kind == "number"]
    for reader in readers:
        check_present(reader, list(tallies))
        for batch in reader.batches(list(tallies), ROWS, numbers):
            for name, tally in tallies.items():
                column = batch.table.column(name)
                if tally.kind == "other":
                    tally.n += len(column)
                    tally.n_missing += n_missing(column)
                else:
                    tally.add(column)
            listen(batch.table.num_rows)
    return tallies


def n_missing(column: Any) -> int:
    """Return how many values are missing: null, or NaN."""
    return int(pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0)


def check_present(reader: Reader, columns: Sequence[str]) -> None:
    """Raise where a file lacks a column."""
    for name in columns:
        if name not in reader.types:
            raise ValueError(f"{reader.name} has no column {name!r}{_perhaps(name, reader.types)}")


def check_missing(missing: Mapping[str, int], n_rows: int, question: Question) -> None:
    """Raise where values are missing that may not be."""
    if question.missing == "drop" or not missing:
        return
    if question.missing == "error":
        raise ValueError(
            f"{told_missing(missing, n_rows)} "
            + ("" if question.group in missing else FILLING)
            + "Leave these rows out with --missing drop."
        )
    if question.group is not None and question.group in missing:
        raise ValueError(
            f"The group {question.group!r} is missing in {missing[question.group]:,} of "
            f"{n_rows:,} rows and cannot be filled: leave these rows out with --missing drop."
        )


def told_missing(missing: Mapping[str, int], n_rows: int) -> str:
    """Say how many values are missing, and where."""
    most = sorted(missing.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name!r} {count:,}" for name, count in most[:12])
    more = f" and {len(most) - 12} more columns" if len(most) > 12 else ""
    return f"Values are missing in some of {n_rows:,} rows: {shown}{more}."


def _refuse_text(tallies: Mapping[str, Tally]) -> None:
    long = {n: tally for n, tally in tallies.items() if len(tally.levels) > MOST_LEVELS}
    if long:
        told = ", ".join(f"{n!r} (such as {next(iter(t.levels))[:40]!r})" for n, t in long.items())
        raise ValueError(
            f"{_columns(long)} cannot be used: {told}. Text with more than {MOST_LEVELS} different "
            f"values is no category. Leave it out: {_drop(long)}."
        )


def _refuse_infinite(tallies: Mapping[str, Tally], n_rows: int) -> None:
    bad = {name: tally.n_infinite for name, tally in tallies.items() if tally.n_infinite}
    if bad:
        told = ", ".join(f"{name!r} {count:,}" for name, count in bad.items())
        raise ValueError(
            f"Values are infinite in some of {n_rows:,} rows: {told}. Mend them, or leave the "
            f"column out: {_drop(bad)}."
        )


def _left_out(name: str, tally: Tally, question: Question) -> str | None:
    """Return why a column is no feature."""
    if tally.is_empty and question.missing != "error":
        return f"Column {name!r} is empty and was left out."
    gaps_matter = tally.n_missing > 0 and question.missing == "error"
    if tally.is_constant and not gaps_matter:
        return f"Column {name!r} holds the same value in all rows and was left out."
    return None


def _unpaired(types: Mapping[str, Any], question: Question) -> list[str]:
    """Say which columns are not compared."""
    if question.pairs is None:
        return []
    sides = question.pairs
    alone = [
        n
        for n in types
        if n not in question.others
        and n not in question.drop
        and not any(n.startswith(s) and o + n.removeprefix(s) in types for s, o in _swaps(sides))
    ]
    what = "are the same for both sides, or have no partner, and were left out"
    return [f"Columns that {what}: {_listed(alone)}."] if alone else []


def _swaps(sides: tuple[str, str]) -> tuple[tuple[str, str], tuple[str, str]]:
    return sides, (sides[1], sides[0])


def _perhaps(name: str, names: Mapping[str, Any]) -> str:
    return nearest(name, names) or f"; its columns are {_listed(names)}."


def _listed(names: Any) -> str:
    names = list(names)
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(map(repr, names[:12])) + more


def _columns(names: Mapping[str, Any]) -> str:
    return "This column" if len(names) == 1 else "These columns"


def _drop(names: Mapping[str, Any]) -> str:
    return " ".join(f"--drop {name}" for name in names)

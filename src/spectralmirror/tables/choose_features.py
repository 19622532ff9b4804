"""One look at all rows of a table: what its columns hold, and so how they become features."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from spectralmirror.rows.files.arrow import common_dtype, family, listed, told_names
from spectralmirror.rows.files.readers import Reader
from spectralmirror.tables.column_stats import MOST_LEVELS, Counts, count_columns
from spectralmirror.tables.features import Category, Number, Recipe, check_names, kind_of
from spectralmirror.tables.pairs import winner_words

__all__ = ["Census", "Question", "agreed_types", "check_single", "take_census", "told_missing"]

NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+(,\d+)?\s*")
IDENTIFIER = re.compile(r"(^|[_ .-])(id|key|uuid|index)$", re.IGNORECASE)
FILLING = (
    "Fill the gaps with --missing impute (by the mean, or the most frequent level; rows without "
    "label are left out). "
)


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
    kinds = _candidates(types, question)
    ask = partial(count_columns, others=question.others, pairs=question.pairs, listen=listen)
    counts = ask(readers, kinds)
    n_rows, sides = counts.n_rows, question.pairs or ("",)
    if n_rows == 0:
        raise ValueError(f"{readers[0].name} has no rows.")
    _refuse_absent(counts, question)
    _refuse_text(counts, question)
    _refuse_infinite(counts)
    terms, notes = _terms(counts, question)
    used = [*question.others, *(side + term.column for side in sides for term in terms)]
    missing = {name: counts.missing[name] for name in used if counts.missing[name]}
    check_missing(missing, n_rows, question)
    if missing and question.missing == "drop":  # means and levels are those of the rows that stay
        counts = ask(readers, {t.column: kinds[t.column] for t in terms}, complete=True)
        terms, more = _terms(counts, question)
        notes += [note for note in more if note not in notes]
    winner = winner_words(counts.winners, question.pairs) if question.pairs else None
    recipe = Recipe(tuple(terms), question.pairs, winner, _dtype(readers, terms, sides))
    check_names([*recipe.names, *question.others])
    if "" in types:
        notes.insert(0, "A column without a name (an index, perhaps) was left out.")
    return Census(recipe, n_rows, missing, [*_unpaired(types, question), *notes])


def _dtype(
    readers: Sequence[Reader], terms: Sequence[Number | Category], sides: Sequence[str]
) -> str:
    """Return the precision that the numbers of all files need."""
    numbers = [side + t.column for side in sides for t in terms if isinstance(t, Number)]
    kinds = {str(reader.types[name]) for reader in readers for name in numbers}
    return str(common_dtype(kinds or {"float64"}))


def _terms(counts: Counts, question: Question) -> tuple[list[Number | Category], list[str]]:
    """Return how columns become features, and what there is to say of them."""
    terms: list[Number | Category] = []
    notes = []
    for name, tally in counts.tallies.items():
        left_out = _left_out(name, counts, question)
        if left_out:
            notes.append(left_out)
        elif tally.kind == "number":
            if tally.n > 2 and (tally.counts_up or IDENTIFIER.search(name)):
                what = "counts up from row to row" if tally.counts_up else "is called like a key"
                notes.append(
                    f"Column {name!r} {what}: leave it out with --drop if it is an identifier."
                )
            terms.append(Number(name, float(tally.mean)))
        else:
            terms.append(Category(name, tuple(level for level, _ in tally.levels.most_common())))
    if not terms:
        raise ValueError(" ".join(["No column is left that can be a feature.", *notes[:3]]))
    return terms, notes


def agreed_types(readers: Sequence[Reader]) -> dict[str, Any]:
    """Return the columns of all files and their types, which must agree."""
    types: dict[str, Any] = dict(readers[0].types)
    for reader in readers[1:]:
        for name, kind in reader.types.items():
            known = types.get(name)
            if known is None or str(known) == "null":
                types[name] = kind
            elif str(kind) != "null" and _family(kind) != _family(known):
                raise ValueError(
                    f"Column {name!r} holds {kind} in {reader.name}, but {known} in "
                    f"{readers[0].name}: files that are read together must agree."
                )
    return types


def _family(kind: Any) -> str:
    return "truth values" if pa.types.is_boolean(kind) else family(kind)


def _types(readers: Sequence[Reader], question: Question) -> dict[str, Any]:
    """Return the columns of all files, and see that those named are there."""
    types = agreed_types(readers)
    if question.label == question.group:
        raise ValueError(f"Column {question.label!r} cannot be both the label and the group.")
    named = (*question.others, *question.features, *question.drop, *question.categorical)
    sides = question.pairs or ("",)
    for name in named:
        if name not in types and not any(side + name in types for side in sides):
            raise ValueError(f"{readers[0].name} has no column {name!r}{told_names(name, types)}")
    check_single(types, question.others)
    what = kind_of(types[question.label], categorical=True)
    if what.startswith("bytes"):
        raise ValueError(f"Label {question.label!r} holds {what}.")
    return types


def check_single(types: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise where labels or groups are lists."""
    for name in names:
        if pa.types.is_nested(types[name]):
            raise ValueError(f"Column {name!r} holds {types[name]}: a label or group is one value.")


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
                f"name; the columns are {listed(types)}."
            )
        wished = _unsided(question.features, question.pairs)
        names = [n for n in names if not wished or n in wished]
        wanted = {name: types[left + name] for name in names}
    codes = _unsided(question.categorical, question.pairs)
    kinds = {n: kind_of(kind, categorical=n in codes) for n, kind in wanted.items()}
    refused = {n: kind for n, kind in kinds.items() if kind not in ("number", "category")}
    if refused:
        told = ", ".join(f"{name!r} ({kind})" for name, kind in refused.items())
        raise ValueError(
            f"{_columns(refused)} cannot be used: {told}. Turn what matters about them into "
            f"numbers, or leave them out: {_out(refused, question)}."
        )
    if not kinds:
        raise ValueError("There is no column besides label and group, so there are no features.")
    return kinds


def _unsided(names: Sequence[str], pairs: tuple[str, str] | None) -> set[str]:
    """Return names of columns without the beginnings that comparisons give them."""
    for side in pairs or ():
        names = [name.removeprefix(side) for name in names]
    return set(names)


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


def _refuse_absent(counts: Counts, question: Question) -> None:
    for name, what in zip(question.others, ("label", "group"), strict=False):
        if counts.missing[name] == counts.n_rows:
            raise ValueError(f"The {what} {name!r} is missing in all {counts.n_rows:,} rows.")


def _refuse_text(counts: Counts, question: Question) -> None:
    long = {n: tally for n, tally in counts.tallies.items() if len(tally.levels) > MOST_LEVELS}
    if long:
        told = ", ".join(f"{n!r} ({_such_as(list(t.levels))})" for n, t in long.items())
        raise ValueError(
            f"{_columns(long)} cannot be used: {told}. Text with more than {MOST_LEVELS} different "
            f"values is no category. Mend it, or leave it out: {_out(long, question)}."
        )


def _such_as(values: list[str]) -> str:
    """Say what text holds, and what keeps it from being numbers."""
    words = [value for value in values if not NUMBER.fullmatch(value)]
    if len(words) <= len(values) / 2 and words:
        return f"numbers, but also {words[0][:40]!r}"
    if all(DECIMAL_COMMA.fullmatch(value) for value in values):
        return f"numbers with a decimal comma, such as {values[0]!r}"
    return f"such as {values[0][:40]!r}"


def _refuse_infinite(counts: Counts) -> None:
    bad = {name: t.n_infinite for name, t in counts.tallies.items() if t.n_infinite}
    if bad:
        told = ", ".join(f"{name!r} {count:,}" for name, count in bad.items())
        raise ValueError(
            f"Values are infinite in some of {counts.n_rows:,} rows: {told}. Mend them, or leave "
            f"the column out with --drop."
        )


def _left_out(name: str, counts: Counts, question: Question) -> str | None:
    """Return why a column is no feature."""
    tally, sides = counts.tallies[name], question.pairs or ("",)
    gaps_matter = question.missing == "error" and any(counts.missing[s + name] for s in sides)
    if gaps_matter:
        return None
    if tally.is_empty:
        return f"Column {name!r} is empty and was left out."
    if tally.is_constant:
        return f"Column {name!r} holds the same value in all rows and was left out."
    if question.pairs and name in counts.alike:
        return f"Column {name!r} does not tell the sides apart and was left out."
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
    return [f"Columns that {what}: {listed(alone)}."] if alone else []


def _swaps(sides: tuple[str, str]) -> tuple[tuple[str, str], tuple[str, str]]:
    return sides, (sides[1], sides[0])


def _columns(names: Mapping[str, Any]) -> str:
    return "This column" if len(names) == 1 else "These columns"


def _out(names: Mapping[str, Any], question: Question) -> str:
    """Say how to leave columns out."""
    if question.features and question.pairs is None:
        return "take what is refused out of --features"
    return " ".join(f"--drop {name}" for name in names)

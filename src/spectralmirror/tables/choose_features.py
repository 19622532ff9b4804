"""How the columns of a table become features, decided from one pass over all rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from spectralmirror.rows.column_types import common_dtype
from spectralmirror.rows.files.arrow import column_values
from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.labels import check_classes
from spectralmirror.rows.messages import listed
from spectralmirror.tables.column_roles import ColumnRoles, column_types, feature_kinds
from spectralmirror.tables.column_stats import MOST_LEVELS, TableStats, table_stats
from spectralmirror.tables.features import Category, Number, Recipe, check_names
from spectralmirror.tables.sides import column_of, paired_features
from spectralmirror.tables.winners import is_left, winner_words

__all__ = ["ChosenFeatures", "choose_features", "missing_sentence"]

NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+(,\d+)?\s*")
IDENTIFIER = re.compile(r"(^|[_ .-])(id|key|uuid|index)$", re.IGNORECASE)


@dataclass(frozen=True)
class ChosenFeatures:
    """How the columns of a table become features.

    Attributes
    ----------
    recipe : Recipe
        The features.
    n_rows, n_kept : int
        Number of all rows, and of those that are fitted.
    missing : dict
        How many values are missing, for each column in which some are.
    notes : list of str
        What the user should know.
    """

    recipe: Recipe
    n_rows: int
    n_kept: int
    missing: dict[str, int]
    notes: list[str]


def choose_features(
    readers: Sequence[Reader], roles: ColumnRoles, listen: Callable[[int], None]
) -> ChosenFeatures:
    """Read all rows once, and decide how columns become features.

    Raises ValueError if a column cannot become a feature, if columns are absent or differ between
    files, if values are missing that must not be, and if there are not exactly two labels.
    """
    types = column_types(readers, roles)
    kinds = feature_kinds(types, roles)
    read = partial(table_stats, readers, others=roles.others, pairs=roles.pairs, listen=listen)
    stats = read(kinds)
    n_rows = stats.n_rows
    if n_rows == 0:
        raise ValueError(f"{readers[0].name} has no rows.")
    _refuse_absent(stats, roles)
    _refuse_text(stats, roles)
    _refuse_infinite(stats)
    terms, notes = _terms(stats, roles)
    used = [
        *roles.others,
        *(column_of(side, term.column) for side in roles.sides for term in terms),
    ]
    missing = {name: stats.missing[name] for name in used if stats.missing[name]}
    _refuse_missing(missing, n_rows, roles)
    if missing and roles.missing == "drop":
        stats, terms, more = _of_complete_rows(read, kinds, terms, roles)
        notes += [note for note in more if note not in notes]
    winner = _check_labels(stats.labels, roles)
    recipe = Recipe(tuple(terms), roles.pairs, winner, _dtype(readers, terms, roles))
    check_names([*recipe.names, *roles.others])
    if "" in types:
        notes.insert(0, "A column without a name (an index, perhaps) was left out.")
    return ChosenFeatures(recipe, n_rows, stats.n_kept, missing, [*_unpaired(types, roles), *notes])


def _of_complete_rows(
    read: Callable[..., TableStats],
    kinds: Mapping[str, str],
    terms: list[Number | Category],
    roles: ColumnRoles,
) -> tuple[TableStats, list[Number | Category], list[str]]:
    """Return the statistics of the rows in which nothing is missing, and their features.

    A column that turns out to be constant in these rows does not become a feature. Rows in which
    only this column is missing are then kept, so all rows are read again.
    """
    notes: list[str] = []
    while True:
        stats = read({term.column: kinds[term.column] for term in terms}, complete=True)
        fewer, more = _terms(stats, roles)
        notes += more
        if len(fewer) == len(terms):
            return stats, fewer, notes
        terms = fewer


def _check_labels(labels: Sequence[Any], roles: ColumnRoles) -> tuple[str, str] | None:
    """Raise unless there are two labels; return what the winners are called, if there are any."""
    words = None
    if roles.pairs is not None:
        words = winner_words(labels, roles.pairs)
        labels = [is_left(value, words) for value in labels]
    check_classes(np.unique(column_values(pa.array(labels))), f"Label {roles.label!r}")
    return words


def _dtype(
    readers: Sequence[Reader], terms: Sequence[Number | Category], roles: ColumnRoles
) -> str:
    """Return the precision that the numbers of all files need."""
    numbers = [
        column_of(side, term.column)
        for side in roles.sides
        for term in terms
        if isinstance(term, Number)
    ]
    kinds = {str(reader.types[name]) for reader in readers for name in numbers}
    return str(common_dtype(kinds or {"float64"}))


def _terms(stats: TableStats, roles: ColumnRoles) -> tuple[list[Number | Category], list[str]]:
    """Return how columns become features, and notes about them."""
    terms: list[Number | Category] = []
    notes = []
    for name, column in stats.columns.items():
        left_out = _why_left_out(name, stats, roles)
        if left_out:
            notes.append(left_out)
        elif column.kind == "number":
            if column.n > 2 and (column.counts_up or IDENTIFIER.search(name)):
                what = "counts up from row to row" if column.counts_up else "is named like a key"
                notes.append(
                    f"Column {name!r} {what}: leave it out with --drop if it is an identifier."
                )
            terms.append(Number(name, float(column.mean)))
        else:
            terms.append(Category(name, tuple(level for level, _ in column.levels.most_common())))
    if not terms:
        raise ValueError(" ".join(["No column is left that can be a feature.", *notes[:3]]))
    return terms, notes


def _why_left_out(name: str, stats: TableStats, roles: ColumnRoles) -> str | None:
    """Return why a column does not become a feature, or None if it does."""
    column = stats.columns[name]
    if roles.missing == "error" and any(stats.missing[column_of(s, name)] for s in roles.sides):
        return None  # the missing values are refused first
    if column.is_empty:
        return f"Column {name!r} is empty and was left out."
    if column.is_constant:
        return f"Column {name!r} holds the same value in all rows and was left out."
    if roles.pairs and name in stats.alike:
        return f"Column {name!r} does not tell the sides apart and was left out."
    return None


def _unpaired(types: Mapping[str, Any], roles: ColumnRoles) -> list[str]:
    """Return a note about the columns that are not compared."""
    if roles.pairs is None:
        return []
    features = paired_features(roles.pairs, types)
    paired = {column_of(side, name) for side in roles.pairs for name in features}
    alone = [n for n in types if n not in paired and n not in (*roles.others, *roles.drop)]
    what = "are the same for both sides, or have no partner, and were left out"
    return [f"Columns that {what}: {listed(alone)}."] if alone else []


def missing_sentence(missing: Mapping[str, int], n_rows: int) -> str:
    """Say how many values are missing, and in which columns."""
    most = sorted(missing.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name!r} {count:,}" for name, count in most[:12])
    more = f" and {len(most) - 12} more columns" if len(most) > 12 else ""
    return f"Values are missing in some of {n_rows:,} rows: {shown}{more}."


def _refuse_missing(missing: Mapping[str, int], n_rows: int, roles: ColumnRoles) -> None:
    """Raise if values are missing and are neither dropped nor imputed."""
    if not missing or roles.missing == "drop":
        return
    if roles.missing == "error":
        impute = (
            "Impute them with --missing impute (the mean, or the most frequent level; rows "
            "without label are left out). "
        )
        raise ValueError(
            f"{missing_sentence(missing, n_rows)} {'' if roles.group in missing else impute}"
            "Leave these rows out with --missing drop."
        )
    if roles.group is not None and roles.group in missing:
        raise ValueError(
            f"The group {roles.group!r} is missing in {missing[roles.group]:,} of {n_rows:,} rows "
            "and cannot be imputed: leave these rows out with --missing drop."
        )


def _refuse_absent(stats: TableStats, roles: ColumnRoles) -> None:
    for name, what in zip(roles.others, ("label", "group"), strict=False):
        if stats.missing[name] == stats.n_rows:
            raise ValueError(f"The {what} {name!r} is missing in all {stats.n_rows:,} rows.")


def _refuse_text(stats: TableStats, roles: ColumnRoles) -> None:
    long = {n: column for n, column in stats.columns.items() if len(column.levels) > MOST_LEVELS}
    if long:
        which = ", ".join(f"{n!r} ({_such_as(list(c.levels))})" for n, c in long.items())
        raise ValueError(
            f"{'This column' if len(long) == 1 else 'These columns'} cannot be used: {which}. Text "
            f"with more than {MOST_LEVELS} different values is not a category. Correct it, or "
            f"leave it out: {roles.how_to_drop(list(long))}."
        )


def _such_as(values: list[str]) -> str:
    """Say what text holds, and what keeps it from being numbers."""
    words = [value for value in values if not NUMBER.fullmatch(value)]
    if len(words) <= len(values) / 2 and words:
        return f"numbers, but also {words[0][:40]!r}"
    if all(DECIMAL_COMMA.fullmatch(value) for value in values):
        return f"numbers with a decimal comma, such as {values[0]!r}"
    return f"such as {values[0][:40]!r}"


def _refuse_infinite(stats: TableStats) -> None:
    bad = {name: c.n_infinite for name, c in stats.columns.items() if c.n_infinite}
    if bad:
        which = ", ".join(f"{name!r} {count:,}" for name, count in bad.items())
        raise ValueError(
            f"Values are infinite in some of {stats.n_rows:,} rows: {which}. Correct them, or "
            "leave the column out with --drop."
        )

"""What is wrong with a table: sentences that say what, where, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spectralmirror.mixture.diagnostics import RARE
from spectralmirror.rows.files.arrow import column_values
from spectralmirror.rows.labels import check_classes
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.column_stats import MOST_LEVELS, TableStats
from spectralmirror.tables.winners import is_left, winner_words, word

__all__ = ["missing_sentence", "of_kinds", "of_missing", "of_values", "outcomes_of", "winner_of"]

NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*", re.IGNORECASE)
#: The most kinds of labels.
MOST_KINDS = 50
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+(,\d+)?\s*")


def of_kinds(kinds: Mapping[str, str], roles: ColumnRoles) -> list[str]:
    """Say which columns are of a kind that cannot become a feature."""
    refused = {n: kind for n, kind in kinds.items() if kind not in ("number", "category")}
    if not refused:
        return []
    which = ", ".join(f"{name!r} ({kind})" for name, kind in refused.items())
    return [
        f"{'This column' if len(refused) == 1 else 'These columns'} cannot be used: {which}. Turn "
        f"what matters into numbers, or leave it out: {roles.how_to_drop(list(refused))}."
    ]


def of_values(stats: TableStats, roles: ColumnRoles) -> list[str]:
    """Say what is wrong with the values of columns, apart from those that are missing."""
    absent = [
        f"The {what} {name!r} is missing in all {stats.n_rows:,} rows."
        for name, what in _without_values(stats, roles).items()
    ]
    problems = [*absent, *_text(stats, roles), *_infinite(stats)]
    if stats.n_kept:
        try:
            winner_of(stats, roles)
            outcomes_of(stats.labels, roles)
        except ValueError as problem:
            problems.append(str(problem))
    return problems


def of_missing(missing: Mapping[str, int], stats: TableStats, roles: ColumnRoles) -> list[str]:
    """Say which values are missing and are neither dropped nor imputed.

    `missing` counts them in each column in which there are any.
    """
    missing = {n: count for n, count in missing.items() if n not in _without_values(stats, roles)}
    if not missing or roles.missing == "drop":
        return []
    if roles.missing == "error":
        impute = (
            "Impute them with --missing impute (the mean, or the most frequent level; rows "
            "without label are left out). "
        )
        return [
            f"{missing_sentence(missing, stats.n_rows)} "
            f"{'' if roles.group in missing else impute}Leave these rows out with --missing drop."
        ]
    if roles.group is not None and roles.group in missing:
        return [
            f"The group {roles.group!r} is missing in {missing[roles.group]:,} of "
            f"{stats.n_rows:,} rows and cannot be imputed: leave these rows out with --missing "
            "drop."
        ]
    return []


def missing_sentence(missing: Mapping[str, int], n_rows: int) -> str:
    """Say how many values are missing, and in which columns."""
    most = sorted(missing.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name!r} {count:,}" for name, count in most[:12])
    more = f" and {len(most) - 12} more columns" if len(most) > 12 else ""
    return f"Values are missing in some of {n_rows:,} rows: {shown}{more}."


def winner_of(stats: TableStats, roles: ColumnRoles) -> tuple[str, str] | None:
    """Raise unless labels can be fitted; return what the winners are called, if there are any."""
    words, labels = None, stats.labels
    if roles.pairs is not None:
        words = winner_words(labels, roles.pairs)
        labels = [is_left(value, words) for value in labels]
    classes, name = np.unique(column_values(pa.array(labels))), f"Label {roles.label!r}"
    if roles.choices and len(classes) != 2:
        raise ValueError(_not_chosen(classes, roles.label))
    if roles.pairs is not None or len(classes) <= 2:
        check_classes(classes, name)
    else:
        check_classes(classes, name, why=None)
        _check_kinds(classes, name, stats)
    return words


def _not_chosen(classes: NDArray[Any], name: str) -> str:
    """Say that a column does not tell which rows were chosen."""
    if len(classes) == 1:
        return (
            f"Column {name!r} is {classes.tolist()[0]!r} in all rows: exactly one row of each "
            "choice set is chosen, which needs two values, such as 0 and 1."
        )
    shown = ", ".join(f"{value!r:.80}" for value in classes[:3].tolist())
    return (
        f"Column {name!r} has {len(classes)} different values ({shown}, ...), but says of each row "
        "whether it was chosen: use two values, such as 0 and 1. If there is one line for each "
        "choice, and the column names the alternative that was chosen, use --wide."
    )


def _check_kinds(classes: NDArray[Any], name: str, stats: TableStats) -> None:
    """Raise if labels are of too many kinds, or if one of them may be a mistake."""
    shown = ", ".join(f"{value!r:.80}" for value in classes[:3].tolist())
    shown = f"{name} has {len(classes)} different values ({shown}{', ...' * (len(classes) > 3)})"
    if len(classes) > MOST_KINDS:
        raise ValueError(
            f"{shown}: labels of files may be of up to {MOST_KINDS} kinds. Merge some of them, or "
            "name another column."
        )
    rarest = int(np.argmin(stats.label_counts))
    n = stats.label_counts[rarest]
    if n < RARE:
        rows = "row" if n == 1 else "rows"
        raise ValueError(
            f"{shown}, of which {stats.labels[rarest]!r:.80} occurs in {n} {rows} only: correct it "
            "if it is a mistake, merge it with another one, or leave such rows out."
        )


def outcomes_of(labels: Sequence[Any], roles: ColumnRoles) -> tuple[Any, Any] | None:
    """Return the labels that count as -1 and +1; None if that is their natural order."""
    if roles.positive is None and not roles.choices:
        return None
    if len(labels) > 2:
        raise ValueError(
            f"--positive is for labels of two kinds, and {roles.label!r} has {len(labels)}: leave "
            "it out."
        )
    first, second = np.unique(column_values(pa.array(labels))).tolist()
    if roles.positive is None:
        return first, second
    wanted = roles.positive if roles.positive in (first, second) else word(roles.positive)
    if wanted in (second, word(second)):
        return (first, second) if roles.choices else None
    if wanted not in (first, word(first)):
        raise ValueError(
            f"--positive must be a label of {roles.label!r}, {first!r} or {second!r}, got "
            f"{roles.positive!r}."
        )
    return second, first


def _without_values(stats: TableStats, roles: ColumnRoles) -> dict[str, str]:
    """Return the label and the group, if they have no values at all, and what they are."""
    named = zip(roles.others, ("label", "group"), strict=False)
    return {name: what for name, what in named if stats.missing[name] == stats.n_rows}


def _text(stats: TableStats, roles: ColumnRoles) -> list[str]:
    left_out = stats.alike if roles.choices else set()
    columns = {n: column for n, column in stats.columns.items() if n not in left_out}
    long = {n: column for n, column in columns.items() if len(column.levels) > MOST_LEVELS}
    if not long:
        return []
    which = ", ".join(f"{n!r} ({_such_as(list(c.levels))})" for n, c in long.items())
    return [
        f"{'This column' if len(long) == 1 else 'These columns'} cannot be used: {which}. Text "
        f"with more than {MOST_LEVELS} different values is not a category. Correct it, or leave it "
        f"out: {roles.how_to_drop(list(long))}."
    ]


def _such_as(values: list[str]) -> str:
    """Say what text holds, and what keeps it from being numbers."""
    words = [value for value in values if not NUMBER.fullmatch(value)]
    if len(words) <= len(values) / 2 and words:
        return f"numbers, but also {words[0][:40]!r}"
    if all(DECIMAL_COMMA.fullmatch(value) for value in values):
        return f"numbers with a decimal comma, such as {values[0]!r}"
    return f"such as {values[0][:40]!r}"


def _infinite(stats: TableStats) -> list[str]:
    bad = {name: c.n_infinite for name, c in stats.columns.items() if c.n_infinite}
    if not bad:
        return []
    which = ", ".join(f"{name!r} {count:,}" for name, count in bad.items())
    return [
        f"Values are infinite in some of {stats.n_rows:,} rows: {which}. Correct them, or leave "
        "the column out with --drop."
    ]

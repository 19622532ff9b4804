"""How the columns of a table become features, decided from one pass over all rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from spectralmirror.rows.column_types import common_dtype
from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.messages import listed
from spectralmirror.tables.column_roles import ColumnRoles, column_types, feature_kinds
from spectralmirror.tables.column_stats import TableStats, table_stats
from spectralmirror.tables.features import Category, Number, Recipe, check_names, kind_of
from spectralmirror.tables.problems import of_kinds, of_missing, of_values, outcomes_of, winner_of
from spectralmirror.tables.sides import column_of, paired_features
from spectralmirror.tables.table_error import refuse

__all__ = ["ChosenFeatures", "choose_features"]

IDENTIFIER = re.compile(r"(^|[_ .-])(id|key|uuid|index)$", re.IGNORECASE)


@dataclass(frozen=True)
class ChosenFeatures:
    """How the columns of a table become features.

    Attributes
    ----------
    recipe : Recipe
        The features.
    membership : Recipe or None
        The covariates of groups; None if there are none.
    n_rows, n_kept : int
        Number of all rows, and of those that are fitted.
    missing : dict
        How many values are missing, for each column in which some are.
    notes : list of str
        What the user should know.
    """

    recipe: Recipe
    membership: Recipe | None
    n_rows: int
    n_kept: int
    missing: dict[str, int]
    notes: list[str]


def choose_features(
    readers: Sequence[Reader], roles: ColumnRoles, listen: Callable[[int], None]
) -> ChosenFeatures:
    """Read all rows once, and decide how columns become features.

    Raises TableError, with all problems at once, if columns cannot become features, if columns are
    absent or differ between files, if values are missing that must not be, and if there are no
    labels that can be fitted.
    """
    types = column_types(readers, roles)
    found = feature_kinds(types, roles)
    kinds = {name: kind for name, kind in found.items() if kind in ("number", "category")}
    read = partial(table_stats, readers, others=roles.required, pairs=roles.pairs, listen=listen)
    stats = read(kinds)
    n_rows = stats.n_rows
    if n_rows == 0:
        raise ValueError(f"{readers[0].name} has no rows.")
    terms, notes = _terms(stats, roles)
    features = [column_of(side, term.column) for side in roles.sides for term in terms]
    used = dict.fromkeys([*roles.required, *features])
    missing = {name: stats.missing[name] for name in used if stats.missing[name]}
    covariates = choose_covariates(readers, roles, types, features)
    missing |= covariates.missing
    problems = [*of_kinds(found, roles), *of_values(stats, roles), *covariates.problems]
    refuse(list(dict.fromkeys([*problems, *of_missing(missing, stats, roles)])))
    _refuse_nothing(terms, notes)
    if missing and roles.missing == "drop":
        stats, terms, more = _of_complete_rows(read, kinds, terms, roles)
        notes += [note for note in more if note not in notes]
    winner = winner_of(stats, roles)
    outcomes = outcomes_of(stats.labels, roles)
    recipe = Recipe(tuple(terms), roles.pairs, winner, _dtype(readers, terms, roles), outcomes)
    check_names([*recipe.names, *roles.others])
    if "" in types:
        notes.insert(0, "A column without a name (an index, perhaps) was left out.")
    notes = [*_unpaired(types, roles), *_settled(stats, terms, roles), *notes, *covariates.notes]
    return ChosenFeatures(recipe, covariates.recipe, n_rows, stats.n_kept, missing, notes)


@dataclass(frozen=True)
class _Covariates:
    """The covariates of groups, and what is wrong with them."""

    recipe: Recipe | None = None
    missing: dict[str, int] = field(default_factory=dict)
    problems: Sequence[str] = ()
    notes: Sequence[str] = ()


def choose_covariates(
    readers: Sequence[Reader],
    roles: ColumnRoles,
    types: Mapping[str, Any],
    features: Sequence[str],
) -> _Covariates:
    """Decide how columns become covariates of groups, from one more pass over the rows."""
    if not roles.membership:
        return _Covariates()
    own = replace(
        roles, pairs=None, features=roles.membership, membership=(), known=None, positive=None,
        choices=(), alternative=None, constants=False, listed_by="--membership",
    )  # fmt: skip
    plain = replace(own, choices=())  # covariates are the same in all rows of a choice set
    names = dict.fromkeys(roles.membership)
    kinds = {n: kind_of(types[n], categorical=n in roles.categorical) for n in names}
    usable = {name: kind for name, kind in kinds.items() if kind in ("number", "category")}
    required = [*roles.others, *(features if roles.missing == "drop" else ())]
    stats = table_stats(readers, usable, list(dict.fromkeys(required)), None, lambda _: None)
    missing = {name: stats.missing[name] for name in usable if stats.missing[name]}
    problems = [*of_kinds(kinds, plain), *of_values(stats, plain)]
    if roles.missing == "drop" and missing:
        stats = table_stats(readers, usable, required, None, lambda _: None, complete=True)
    terms, notes = _terms(stats, plain)
    if not terms and not problems:
        raise ValueError(" ".join(["No column is left for --membership.", *notes[:3]]))
    recipe = Recipe(tuple(terms))
    check_names(recipe.names)
    return _Covariates(recipe, missing, problems, notes)


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
        _refuse_nothing(fewer, notes)
        if len(fewer) == len(terms):
            return stats, fewer, notes
        terms = fewer


def _refuse_nothing(terms: Sequence[Number | Category], notes: Sequence[str]) -> None:
    if not terms:
        raise ValueError(" ".join(["No column is left that can be a feature.", *notes[:3]]))


def _dtype(
    readers: Sequence[Reader], terms: Sequence[Number | Category], roles: ColumnRoles
) -> str:
    """Return the precision that the numbers of all files need."""
    features = [term.column for term in terms if isinstance(term, Number)]
    numbers = [column_of(side, name) for side in roles.sides for name in features]
    kinds = {str(reader.types[name]) for reader in readers for name in numbers}
    return str(common_dtype(kinds or {"float64"}))


def _terms(stats: TableStats, roles: ColumnRoles) -> tuple[list[Number | Category], list[str]]:
    """Return how columns become features, and notes about them."""
    terms: list[Number | Category] = []
    notes = []
    same = [name for name in stats.columns if roles.choices and name in stats.alike]
    if same:
        which = "Columns that are" if len(same) > 1 else "A column that is"
        notes.append(
            f"{which} the same for all alternatives of each set, so that no choice depends on "
            f"{'them' if len(same) > 1 else 'it'}, {'were' if len(same) > 1 else 'was'} left out: "
            f"{listed(same)}."
        )
    for name, column in stats.columns.items():
        left_out = _why_left_out(name, stats, roles)
        if name in same:
            continue
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
    return terms, notes


def _why_left_out(name: str, stats: TableStats, roles: ColumnRoles) -> str | None:
    """Return why a column does not become a feature, or None if it does."""
    column = stats.columns[name]
    if column.is_empty:
        return f"Column {name!r} is empty and was left out."
    if roles.missing == "error" and any(stats.missing[column_of(s, name)] for s in roles.sides):
        return None  # the missing values are refused
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


def _settled(
    stats: TableStats, terms: Sequence[Number | Category], roles: ColumnRoles
) -> list[str]:
    """Return a note about each feature that settles the label alone."""
    return [
        f"Column {term.column!r} alone settles the label {roles.label!r}: if it is known only "
        f"together with the label, leave it out ({roles.how_to_drop([term.column])})."
        for term in terms
        if term.column in stats.settling
    ]

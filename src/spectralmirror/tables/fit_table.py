"""Fit a mixture to columns of files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.files.readers import count_rows
from spectralmirror.rows.files.scan import Scan
from spectralmirror.rows.messages import did_you_mean, listed
from spectralmirror.rows.part import Part
from spectralmirror.tables.choice_readers import choice_readers
from spectralmirror.tables.choose_features import ChosenFeatures, choose_features
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.encoded_rows import EncodedRows
from spectralmirror.tables.features import Recipe
from spectralmirror.tables.problems import missing_sentence
from spectralmirror.tables.set_columns import SET, ChoiceColumns
from spectralmirror.tables.table_model import FittedTable, named_features

__all__ = ["about_rows", "checked_sets", "collected", "fit_table", "prepared_rows"]

#: Features of at most this many bytes are fitted in memory; more are read again in every pass.
IN_MEMORY = 1 << 28


def fit_table(
    readers: Sequence[Reader],
    roles: ColumnRoles,
    mixture: Any,
    *,
    source: str,
    listen: Callable[[str, int, int | None], None] = lambda stage, n_rows, total: None,
) -> FittedTable:
    """Fit a mixture to columns of files.

    Parameters
    ----------
    readers : list of Reader
        The files.
    roles : ColumnRoles
        What the columns are used for.
    mixture : LinearClassifierMixture or ChoiceMixture
        The mixture, which is fitted in place; the latter if `roles` name choice sets.
    source : str
        What the user calls the files.
    listen : callable
        Called with the stage of the work, the number of rows of every batch, and the number of all
        rows or None if it is unknown.

    Returns
    -------
    FittedTable
        The fitted mixture and its recipe.
    """
    rows, chosen = prepared_rows(readers, roles, mixture, listen)
    given = collected(rows, chosen.n_kept)
    if given is not None:
        listen("fitting", 0, None)
        mixture.fit(**given)
    else:
        mixture.fit(Scan(rows))
    choices = None
    if roles.choices:
        wide = getattr(rows.readers[0], "form", None)
        choices = ChoiceColumns(tuple(roles.choices), roles.alternative, wide)
    return FittedTable(
        mixture, chosen.recipe, roles.label, roles.group, roles.missing,
        about_rows(chosen, roles, source), choices, chosen.membership,
    )  # fmt: skip


def collected(rows: EncodedRows, n_rows: int) -> dict[str, Any] | None:
    """Return so many rows as arguments of a mixture's fit; None if they are too many for memory."""
    recipe = rows.recipe
    if n_rows * len(recipe.names) * np.dtype(recipe.dtype).itemsize > IN_MEMORY:
        return None
    part = rows.collect(n_rows)
    X, of_groups = named_features(part.X, recipe.names), _of_groups(part, rows)
    labels = {"y": part.y} if part.choices is None else {"chosen": part.y}
    sets = {} if part.choices is None else {"choices": part.choices}
    return {"X": X, **labels, "groups": part.groups, **sets, **of_groups}


def prepared_rows(
    readers: Sequence[Reader],
    roles: ColumnRoles,
    mixture: Any,
    listen: Callable[[str, int, int | None], None],
) -> tuple[EncodedRows, ChosenFeatures]:
    """Look at the columns of files, and give the mixture the constraints that the roles name.

    Returns the rows, and how columns become features.
    """
    total = count_rows(readers)
    if roles.choices:
        readers = choice_readers(readers, ChoiceColumns(tuple(roles.choices)), roles.group)
    chosen = choose_features(readers, roles, lambda n: listen("looking at columns", n, total))
    recipe = chosen.recipe
    if roles.choices:
        readers = [checked_sets(reader, recipe, roles) for reader in readers]
    rows = EncodedRows(
        readers,
        recipe,
        roles.label,
        roles.group,
        roles.missing,
        lambda n: listen("reading", n, chosen.n_rows),
        choices=SET if roles.choices else None,
        membership=chosen.membership,
        known=roles.known,
    )
    mixture.set_params(**_constraints(recipe, roles))
    return rows, chosen


def _constraints(recipe: Recipe, roles: ColumnRoles) -> dict[str, Any]:
    """Return the features that classes share, and those of a given sign; {} if there are none."""
    if not roles.shared and not roles.signs:
        return {}
    shared: Any = roles.shared
    if shared != "all":
        shared = [feature for name in shared for feature in _features(recipe, name, "--shared")]
    signs = {
        feature: sign
        for name, sign in roles.signs.items()
        for feature in _features(recipe, name, "--sign")
    }
    return {"shared": shared, "signs": signs or None}


def _features(recipe: Recipe, name: str, option: str) -> list[str]:
    """Return the features of a column, or the feature of that name."""
    if name in recipe.names:
        return [name]
    of_columns = {term.column: term.names for term in recipe.terms}
    if name not in of_columns:
        known = list(dict.fromkeys([*of_columns, *recipe.names]))
        hint = did_you_mean(name, known)
        hint = f": features are {listed(known)}." if hint == "." else hint
        raise ValueError(f"{option} names {name!r}, which is no feature{hint}")
    return of_columns[name]


def _of_groups(part: Part, rows: EncodedRows) -> dict[str, Any]:
    """Return what is known about groups as the mixture takes it."""
    if part.traits is None or rows.trait_columns is None:
        return {}
    names, found = rows.trait_columns.names, {}
    if names:
        found["membership"] = named_features(part.traits[:, : len(names)], names)
    if rows.known is not None:
        found["known"] = part.traits[:, -1]
    return found


def checked_sets(reader: Any, recipe: Recipe, roles: ColumnRoles) -> Any:
    """Return a reader of the sets that are fitted, exactly one row of which was chosen."""
    needed = [roles.label] if roles.group is None else [roles.label, roles.group]
    if roles.missing == "drop":
        needed += [*recipe.columns, *roles.membership]
    return replace(
        reader, needed=needed, chosen=lambda table: recipe.labels(table.column(roles.label))
    )


def about_rows(chosen: ChosenFeatures, roles: ColumnRoles, source: str) -> dict[str, Any]:
    """Return where the rows came from, how many were fitted, and notes for the user."""
    notes = list(chosen.notes)
    left_out = chosen.n_rows - chosen.n_kept
    if left_out:
        what = "label is" if roles.missing == "impute" else "values are"
        notes.append(
            f"{left_out:,} of {chosen.n_rows:,} rows were left out, as their {what} missing."
        )
    imputed = {name: n for name, n in chosen.missing.items() if name != roles.label}
    if imputed and roles.missing == "impute":
        notes.append(f"{missing_sentence(imputed, chosen.n_rows)} They were imputed.")
    return {"source": source, "n_rows": chosen.n_kept, "missing": chosen.missing, "notes": notes}

"""Rows of files, encoded for a fitted table; rows that it cannot accept raise a clear error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from spectralmirror.rows.files.arrow import column_values, unique_values
from spectralmirror.rows.files.reader import Batch, Reader
from spectralmirror.rows.memory import BLOCK_BYTES, block_rows
from spectralmirror.rows.sets import of_whole_sets
from spectralmirror.rows.types import Matrix
from spectralmirror.tables.choice_readers import choice_readers
from spectralmirror.tables.column_roles import agreed_types, check_single
from spectralmirror.tables.column_stats import check_present, n_missing, present
from spectralmirror.tables.features import Category, Recipe, kind_of
from spectralmirror.tables.problems import missing_sentence
from spectralmirror.tables.set_columns import SET
from spectralmirror.tables.set_reader import check_chosen_in
from spectralmirror.tables.sides import column_of
from spectralmirror.tables.table_error import TableError, refuse

if TYPE_CHECKING:
    from spectralmirror.tables.table_model import FittedTable

__all__ = ["NO_ROWS", "KnownRows", "covariates_in", "known_rows", "without_covariates"]

NO_ROWS = "There are no rows, or none that has everything that the model needs."


@dataclass(frozen=True, eq=False)
class KnownRows:
    """A batch of rows, and the features, labels and groups of those that are complete.

    Attributes
    ----------
    table : pyarrow table
        All rows of the batch.
    complete : ndarray of bool
        Which of them have a value in every column that the model needs.
    X, y, groups : ndarray
        Features, labels and groups of the complete rows.
    n_filled : int
        Number of rows in which values were imputed.
    choices : ndarray or None
        Numbers of the choice sets of the complete rows, which are whole; None if labels are binary.
    membership : ndarray or None
        Covariates of the groups of the complete rows; None if the files lack them.
    """

    table: Any
    complete: NDArray[np.bool_]
    X: NDArray[Any]
    y: NDArray[Any] | None
    groups: NDArray[Any] | None
    n_filled: int = 0
    choices: NDArray[np.int64] | None = None
    membership: Matrix | None = None

    def group_values(self, column: str) -> tuple[list[Any], NDArray[np.intp]]:
        """Return the distinct groups of the complete rows, and the number of each row's group."""
        return unique_values(self.table.column(column).filter(self.complete))

    def spread(self, values: NDArray[Any], kind: Any = None) -> Any:
        """Return values of the complete rows as a column of all rows, null for the others."""
        column = pa.array(values.tolist(), kind) if kind is not None else pa.array(values)
        if self.complete.all():
            return column
        places = np.where(self.complete, np.cumsum(self.complete) - 1, 0)
        return pc.take(column, pa.array(places, mask=~self.complete))


def known_rows(
    model: FittedTable,
    readers: Sequence[Reader],
    *,
    labelled: bool = False,
    grouped: bool = False,
    keep: Sequence[str] = (),
    missing: str | None = None,
    listen: Callable[[int], None] = lambda _: None,
) -> Iterator[KnownRows]:
    """Yield the rows of files in batches, as the mixture of a fitted table takes them.

    Parameters
    ----------
    model : FittedTable
        The fitted table.
    readers : list of Reader
        The files.
    labelled, grouped : bool, default=False
        Whether labels and groups are needed.
    keep : list of str, default=()
        Columns to read besides those that the model needs.
    missing : {"error", "impute", "drop"} or None, default=None
        What to do about missing values: raise, impute them, or mark their rows as not complete;
        None for what was done when the mixture was fitted.
    listen : callable
        Called with the number of rows of every batch.

    Yields
    ------
    KnownRows
        Features, labels and groups of the rows that are complete.
    """
    recipe, missing = model.recipe, missing or model.missing
    required = [model.label] if labelled else []
    if grouped and model.group is not None:
        required.append(model.group)
    of_groups = covariates_in(model, readers)
    recipes = [recipe] if of_groups is None else [recipe, of_groups]
    encoded = [name for one in recipes for name in one.columns]
    columns = list(dict.fromkeys([*encoded, *required, *keep]))
    if model.choices is not None:
        readers = choice_readers(readers, model.choices, model.group)
        columns = list(dict.fromkeys([*columns, *model.choices.sets, SET]))
    for reader in readers:
        check_present(reader, columns)
    check_single(agreed_types(readers), required)
    numbers = [name for one in recipes for name in one.numbers]
    for one in recipes:
        _check_kinds(one, readers)
    size = block_rows(BLOCK_BYTES, max(len(recipe.names), len(columns)), np.dtype(np.float64))
    for reader in readers:
        for batch in reader.batches(columns, size, numbers):
            table = batch.table
            matrices = [one.encode(table) for one in recipes]
            gaps = np.any([np.isnan(one).any(axis=1) for one in matrices], axis=0)
            n_filled = int(gaps.sum()) if missing == "impute" else 0
            if n_filled:
                matrices = [one.encode(table, impute=True) for one in recipes]
            finite = np.all([np.isfinite(one).all(axis=1) for one in matrices], axis=0)
            complete = present(table, required) & finite
            infinite = any(np.isinf(one).any() for one in matrices)
            if (missing == "error" and not complete.all()) or infinite:
                raise _what_is_missing(recipes, readers, required)
            X = matrices[0]
            y = groups = sets = None
            if model.choices is not None:
                complete = of_whole_sets(complete, column_values(table.column(SET)))
                sets = column_values(table.column(SET))[complete]
            if labelled:
                y = _labels(model, table.column(model.label).filter(complete))
            if y is not None and model.choices is not None:
                whole = Batch(table.filter(pa.array(complete)), batch.name, batch.first_row)
                check_chosen_in(whole, np.flatnonzero(complete), y, model.choices.sets)
            if grouped:
                groups = column_values(table.column(model.group).filter(complete))
            chosen = X if complete.all() else X.T[:, complete].T  # stored by columns, as X is
            Z = None if of_groups is None else matrices[1][complete]
            yield KnownRows(table, complete, chosen, y, groups, n_filled, sets, Z)
            listen(table.num_rows)


def covariates_in(model: FittedTable, readers: Sequence[Reader]) -> Recipe | None:
    """Return the recipe of the covariates of groups; None if the files have none of them."""
    if model.membership is None:
        return None
    names = model.membership.columns
    known = [name for name in names if all(name in reader.types for reader in readers)]
    if known and len(known) < len(names):
        absent = ", ".join(repr(name) for name in names if name not in known)
        raise ValueError(
            f"{readers[0].name} lacks {absent}, on which the weights of the classes depend, too: "
            f"add it, or leave {', '.join(map(repr, known))} out as well for average weights."
        )
    return model.membership if known else None


def without_covariates(model: FittedTable, readers: Sequence[Reader]) -> dict[str, list[str]]:
    """Return the columns of covariates if the files have none of them, as plain data."""
    if model.membership is None or covariates_in(model, readers) is not None:
        return {}
    return {"without_membership": model.membership.columns}


def _check_kinds(recipe: Recipe, readers: Sequence[Reader]) -> None:
    """Raise if columns are of another kind than when the mixture was fitted."""
    problems = []
    for reader in readers:
        for term in recipe.terms:
            wanted = "category" if isinstance(term, Category) else "number"
            for side in recipe.pairs or ("",):
                column = column_of(side, term.column)
                kind = reader.types[column]
                found = kind_of(kind, categorical=wanted == "category")
                if str(kind) != "null" and found != wanted:
                    problems.append(
                        f"Column {column!r} of {reader.name} holds {kind}, but was a {wanted} when "
                        "the model was fitted."
                    )
    refuse(problems)


def _labels(model: FittedTable, column: Any) -> NDArray[Any]:
    """Return labels as the mixture knows them."""
    y, classes = model.recipe.labels(column), model.mixture.classes_
    if np.isin(y, classes).all():
        return y
    # 0 and 1 in one file may be "0" and "1", or false and true, in another
    words = {str(value).lower(): value for value in classes.tolist()}
    unknown = [v for v in np.unique(y).tolist() if str(v).lower() not in words]
    if unknown or len(words) < 2:
        raise ValueError(
            f"Label {model.label!r} holds {unknown[0]!r:.80}, but the labels that were fitted are "
            f"{classes.tolist()}."
        )
    return np.array([words[str(value).lower()] for value in y.tolist()], dtype=classes.dtype)


def _what_is_missing(
    recipes: Sequence[Recipe], readers: Sequence[Reader], required: Sequence[str]
) -> TableError:
    """Return an error that says which columns hold missing, infinite or unknown values."""
    encoded = [name for recipe in recipes for name in recipe.columns]
    numbers = [name for recipe in recipes for name in recipe.numbers]
    columns = list(dict.fromkeys([*encoded, *required]))
    categories = {
        column_of(side, term.column): term
        for recipe in recipes
        for side in recipe.pairs or ("",)
        for term in recipe.terms
        if isinstance(term, Category)
    }
    counts: Counter[str] = Counter()
    unknown: dict[str, list[str]] = {}
    infinite: dict[str, str] = {}
    n_rows = 0
    for reader in readers:
        for batch in reader.batches(columns, 65_536, numbers):
            n_rows += batch.table.num_rows
            for name in columns:
                column = batch.table.column(name)
                counts[name] += n_missing(column)
                if name in categories:
                    unknown.setdefault(name, []).extend(categories[name].unknown(column))
                elif name in numbers and _has_infinity(column):
                    infinite.setdefault(name, f"Column {name!r} of {reader.name} holds infinity.")
    problems = [
        f"Column {name!r} holds {levels[0]!r:.80}, which did not occur when the model was fitted "
        f"(it knows {', '.join(categories[name].levels)}): correct it, or treat it as missing with "
        "--missing impute or --missing drop."
        for name, levels in unknown.items()
        if levels
    ]
    problems += infinite.values()
    found = {name: count for name, count in counts.items() if count}
    if found:
        problems.append(
            f"{missing_sentence(found, n_rows)} Impute them with --missing impute, or leave these "
            "rows without an answer with --missing drop."
        )
    return TableError(problems)


def _has_infinity(column: Any) -> bool:
    return bool(np.isinf(np.asarray(column_values(column), dtype=np.float64)).any())

"""A mixture, and how the columns of a table become its features: what the command line fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.special import softmax

from spectralmirror.mixture import LinearClassifierMixture
from spectralmirror.mixture.summary import letters, table
from spectralmirror.rows.files.arrow import column_values, unique_values
from spectralmirror.rows.files.columns import Columns
from spectralmirror.rows.files.readers import Reader, count_rows
from spectralmirror.rows.files.scan import Scan
from spectralmirror.rows.memory import BLOCK_BYTES, block_rows
from spectralmirror.rows.types import Matrix
from spectralmirror.tables.choose_features import (
    Census,
    Question,
    agreed_types,
    check_single,
    take_census,
    told_missing,
)
from spectralmirror.tables.column_stats import check_present, n_missing, present
from spectralmirror.tables.encoded_reader import EncodedReader
from spectralmirror.tables.features import Category, Recipe, kind_of
from spectralmirror.tables.pairs import left_won

__all__ = ["NO_ROWS", "FittedTable", "Known", "fit_table"]

#: Features of so many bytes are fitted in memory; more are read from the files in every pass.
IN_MEMORY = 1 << 28
NO_ROWS = "There are no rows, or none that has everything that the model needs."


def _silent(n_rows: int) -> None:
    """Listen to nothing."""


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A mixture that was fitted to columns of a table.

    Attributes
    ----------
    mixture : LinearClassifierMixture
        The hidden classifiers.
    recipe : Recipe
        How columns become features.
    label : str
        The column of labels, or of winners.
    group : str or None
        The column of groups.
    missing : {"error", "impute", "drop"}
        What was done about missing values.
    about : dict
        Where the rows came from, how many there were, and what the user was told.

    Examples
    --------
    >>> import polars as pl
    >>> from spectralmirror import LinearClassifierMixture
    >>> from spectralmirror.tables.choose_features import Question
    >>> from spectralmirror.tables.table_model import fit_table
    >>> from spectralmirror.rows.files.readers import readers_of
    >>> frame = pl.DataFrame(
    ...     {
    ...         "price": [3, 5, 2, 8, 6, 1, 9, 4],
    ...         "colour": ["red", "red", "blue", "red", "blue", "blue", "red", "red"],
    ...         "liked": ["yes", "no", "yes", "no", "no", "yes", "yes", "no"],
    ...     }
    ... )
    >>> model = fit_table(
    ...     readers_of(frame.to_arrow()),
    ...     Question(label="liked"),
    ...     LinearClassifierMixture(1, l2=1),
    ...     source="a frame",
    ... )  # or: model = spectralmirror.load("model.skops")
    >>> model.recipe.names
    ['price', 'colour=blue']
    >>> X = model.recipe.encode(frame[:2].to_arrow())
    >>> model.mixture.predict_proba(model.named(X)).shape
    (2, 2)
    """

    mixture: LinearClassifierMixture
    recipe: Recipe
    label: str
    group: str | None
    missing: str
    about: dict[str, Any]

    @property
    def labels(self) -> NDArray[Any]:
        """The labels that stand for -1 and +1; of comparisons what the winners are called."""
        if self.recipe.winner is None:
            return np.asarray(self.mixture.classes_)
        return np.array(self.recipe.winner[::-1])

    def known(
        self,
        readers: Sequence[Reader],
        *,
        labelled: bool = False,
        grouped: bool = False,
        keep: Sequence[str] = (),
        missing: str | None = None,
        listen: Callable[[int], None] = _silent,
    ) -> Iterator[Known]:
        """Yield the rows of files, as the mixture takes them, in blocks.

        Where values are missing, that raises, they are filled, or the row is marked, as `missing`
        says (by default as when the mixture was fitted).
        """
        missing = self.missing if missing is None else missing
        required = [self.label] if labelled else []
        if grouped and self.group is not None:
            required.append(self.group)
        raw = list(dict.fromkeys([*self.recipe.columns, *required, *keep]))
        size = block_rows(BLOCK_BYTES, max(len(self.recipe.names), len(raw)), np.dtype(np.float64))
        for reader in readers:
            check_present(reader, raw)
        check_single(agreed_types(readers), required)
        self._check_kinds(readers)
        for reader in readers:
            for batch in reader.batches(raw, size, self.recipe.numbers):
                table = batch.table
                X = self.recipe.encode(table)
                gaps = np.isnan(X).any(axis=1) if missing == "impute" else np.zeros(0, dtype=bool)
                if gaps.any():
                    X = self.recipe.encode(table, impute=True)
                there = present(table, required) & np.isfinite(X).all(axis=1)
                if (missing == "error" and not there.all()) or np.isinf(X).any():
                    raise self._missing(readers, required)
                y = groups = None
                if labelled:
                    y = self._labels(table.column(self.label).filter(there))
                if grouped:
                    groups = column_values(table.column(self.group).filter(there))
                yield Known(table, there, X[there], y, groups, int(gaps.sum()))
                listen(table.num_rows)

    def _check_kinds(self, readers: Sequence[Reader]) -> None:
        """Raise where a column is not what it was when the mixture was fitted."""
        for reader in readers:
            for term in self.recipe.terms:
                wanted = "category" if isinstance(term, Category) else "number"
                for side in self.recipe.pairs or ("",):
                    kind = reader.types[side + term.column]
                    found = kind_of(kind, categorical=wanted == "category")
                    if str(kind) != "null" and found != wanted:
                        raise ValueError(
                            f"Column {side + term.column!r} of {reader.name} holds {kind}, but was "
                            f"a {wanted} when the model was fitted."
                        )

    def _labels(self, column: Any) -> NDArray[Any]:
        if self.recipe.winner is not None:
            column = left_won(column, self.recipe.winner)
        y = column_values(column)
        classes = self.mixture.classes_
        if np.isin(y, classes).all():
            return y
        # 0 and 1 in one file may be "0" and "1", or false and true, in another
        words = {str(value).lower(): value for value in classes.tolist()}
        unknown = [v for v in np.unique(y).tolist() if str(v).lower() not in words]
        if unknown or len(words) < 2:
            raise ValueError(
                f"Label {self.label!r} holds {unknown[0]!r:.80}, but the labels that were fitted "
                f"are {classes.tolist()}."
            )
        return np.array([words[str(value).lower()] for value in y.tolist()], dtype=classes.dtype)

    def _missing(self, readers: Sequence[Reader], required: Sequence[str]) -> ValueError:
        """Say what is missing, infinite or not known in which columns."""
        counts: dict[str, int] = {}
        columns = list(dict.fromkeys([*self.recipe.columns, *required]))
        categories = {t.column: t for t in self.recipe.terms if isinstance(t, Category)}
        sides, n_rows = self.recipe.pairs or ("",), 0
        for reader in readers:
            for batch in reader.batches(columns, 65_536, self.recipe.numbers):
                n_rows += batch.table.num_rows
                for name in columns:
                    column = batch.table.column(name)
                    counts[name] = counts.get(name, 0) + n_missing(column)
                    for side in sides:
                        term = categories.get(name.removeprefix(side))
                        unknown = [] if term is None else term.unknown(column)
                        if term is not None and unknown and name not in required:
                            return ValueError(
                                f"Column {name!r} holds {unknown[0]!r:.80}, which was not there "
                                f"when the model was fitted (it knows {', '.join(term.levels)}): "
                                "mend it, or use --missing impute or drop, where it counts as "
                                "missing."
                            )
                    if name in self.recipe.numbers:
                        x = np.asarray(column_values(column), dtype=np.float64)
                        if np.isinf(x).any():
                            return ValueError(f"Column {name!r} of {reader.name} holds infinity.")
        found = {name: count for name, count in counts.items() if count}
        return ValueError(
            f"{told_missing(found, n_rows)} Fill the gaps with --missing impute, or get no answer "
            "for these rows with --missing drop."
        )

    def group_weights(
        self, readers: Sequence[Reader], missing: str | None, listen: Callable[[int], None]
    ) -> dict[Any, tuple[Matrix, int]]:
        """Return which classifier made the labels of each group, and their number.

        The logarithms sum over rows wherever they stand: log p_l + sum_i log f(y_i t_il).
        """
        log_p = np.log(self.mixture.weights_)
        sums: dict[Any, tuple[Matrix, int]] = {}
        for known in self.known(
            readers, labelled=True, grouped=True, missing=missing, listen=listen
        ):
            if known.groups is None or not len(known.X):
                continue
            joint = self.mixture._joint(self.named(known.X), known.y, None)[0] - log_p
            values, numbers = known.group_values(str(self.group))
            total, counts = np.zeros((len(values), len(log_p))), np.bincount(numbers)
            np.add.at(total, numbers, joint)
            for value, line, count in zip(values, total, counts.tolist(), strict=True):
                before, n = sums.get(value, (log_p, 0))
                sums[value] = before + line, n + count
        return {value: (softmax(line), n) for value, (line, n) in sums.items()}

    def described(self) -> dict[str, Any]:
        """Return what was found, as plain data."""
        mixture, names = self.mixture, self.recipe.names
        lines = table(mixture, 0.95)
        return {
            "label": self.label,
            "classes": self.labels.tolist(),
            "group": self.group,
            "n_components": mixture.n_components_,
            "response": mixture.response,
            "l2": mixture.l2,
            "log_likelihood": mixture.log_likelihood_,
            "bic": mixture.bic_,
            "bic_path": {str(k): value for k, value in mixture.bic_path_.items()},
            "converged": mixture.converged_,
            "status": mixture.status_,
            "expected_accuracy": float(mixture.expected_accuracy_),
            "features": names,
            "references": self.recipe.references,
            "missing": self.missing,
            "about": self.about,
            "classifiers": [
                {
                    "name": name,
                    "weight": float(mixture.weights_[c]),
                    "terms": [
                        {
                            "term": line.term,
                            **{
                                name: value if np.isfinite(value) else None
                                for name, value in line._asdict().items()
                                if name not in ("component", "term")
                            },
                        }
                        for line in lines
                        if line.component == c
                    ],
                }
                for c, name in enumerate(letters(mixture.n_components_))
            ],
        }

    def named(self, X: NDArray[Any]) -> Any:
        """Give features their names."""
        return _frame(X, self.recipe.names)


@dataclass(frozen=True, eq=False)
class Known:
    """Rows of a table: those of which everything is there, as the mixture takes them.

    Attributes
    ----------
    table : pyarrow table
        All rows, as they are.
    there : ndarray of bool
        Which of them have everything.
    X, y, groups : ndarray
        Features, labels and groups of these.
    n_filled : int
        In how many of them gaps were filled.
    """

    table: Any
    there: NDArray[np.bool_]
    X: NDArray[Any]
    y: NDArray[Any] | None
    groups: NDArray[Any] | None
    n_filled: int = 0

    def group_values(self, column: str) -> tuple[list[Any], NDArray[np.intp]]:
        """Return the different groups of these rows, and for each row which of them it is in."""
        return unique_values(self.table.column(column).filter(self.there))

    def spread(self, values: NDArray[Any], kind: Any = None) -> Any:
        """Return values of the rows that have everything, as a column of all rows."""
        column = pa.array(values.tolist(), kind) if kind is not None else pa.array(values)
        if self.there.all():
            return column
        places = np.where(self.there, np.cumsum(self.there) - 1, 0)
        return pc.take(column, pa.array(places, mask=~self.there))


def fit_table(
    readers: Sequence[Reader],
    question: Question,
    mixture: LinearClassifierMixture,
    *,
    source: str,
    listen: Callable[[str, int, int | None], None] = lambda stage, n_rows, total: None,
) -> FittedTable:
    """Fit a mixture to columns of files.

    Parameters
    ----------
    readers : list of Reader
        The files.
    question : Question
        Which columns, and how.
    mixture : LinearClassifierMixture
        What to fit.
    source : str
        What the user calls the files.
    listen : callable
        Told the stage, how many rows were read, and how many there are, where that is known.

    Returns
    -------
    FittedTable
        The fitted mixture and its recipe.
    """
    n_rows = count_rows(readers)
    census = take_census(readers, question, lambda n: listen("looking at columns", n, n_rows))
    names = census.recipe.names
    encoded: list[Any] = [
        EncodedReader(
            reader,
            census.recipe,
            question.others,
            question.missing == "impute",
            lambda n: listen("reading", n, census.n_rows),
        )
        for reader in readers
    ]
    rows = Scan(Columns.of(encoded, question.label, names, question.group, None))
    n_bytes = census.n_rows * len(names) * np.dtype(census.recipe.dtype).itemsize
    if n_bytes <= IN_MEMORY:
        X, y, groups = rows.collected(census.n_rows)
        n_fitted = len(y)
        listen("fitting", 0, None)
        arguments: dict[str, Any] = {"X": _frame(X, names), "y": y, "groups": groups}
    else:
        n_fitted = sum(len(part) for part in rows.parts.survey())
        arguments = {"X": rows}
    try:
        mixture.fit(**arguments)
    except ValueError as error:
        told = re.sub(r"\by (?=has|is|mixes)", f"Label {question.label!r} ", str(error))
        raise ValueError(told) from None
    about = _about(census, question, source, n_fitted)
    return FittedTable(
        mixture, census.recipe, question.label, question.group, question.missing, about
    )


def _frame(X: NDArray[Any], names: list[str]) -> Any:
    import polars as pl

    return pl.from_numpy(X, schema=names, orient="row")


def _about(census: Census, question: Question, source: str, n_fitted: int) -> dict[str, Any]:
    notes = list(census.notes)
    if n_fitted < census.n_rows:
        left = census.n_rows - n_fitted
        what = "label is" if question.missing == "impute" else "values are"
        notes.append(f"{left:,} of {census.n_rows:,} rows were left out, as their {what} missing.")
    if census.missing and question.missing == "impute":
        filled = {n: c for n, c in census.missing.items() if n != question.label}
        if filled:
            notes.append(f"{told_missing(filled, census.n_rows)} They were filled.")
    return {"source": source, "n_rows": n_fitted, "missing": census.missing, "notes": notes}

"""How the columns of a table become features: numbers as they are, categories one-hot."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from spectralmirror.rows.column_types import is_number
from spectralmirror.rows.files.arrow import column_values, unique_values
from spectralmirror.rows.types import Matrix
from spectralmirror.tables.sides import column_of
from spectralmirror.tables.winners import is_left, word

__all__ = ["Category", "Number", "Recipe", "as_text", "check_names", "kind_of"]


@dataclass(frozen=True)
class Number:
    """A column of numbers, which is one feature.

    Attributes
    ----------
    column : str
        Its name.
    mean : float
        Its mean, which is imputed for missing values.
    """

    column: str
    mean: float

    @property
    def names(self) -> list[str]:
        """The names of its features."""
        return [self.column]

    @property
    def fill(self) -> list[float]:
        """What is imputed for a missing value: the mean."""
        return [self.mean]

    def encode(self, column: Any) -> Matrix:
        """Return the feature of an Arrow column, NaN for missing values."""
        return np.asarray(column_values(column), dtype=np.float64)[:, None]


@dataclass(frozen=True)
class Category:
    """A column of categories: one feature of 0 and 1 for each level except the first.

    Attributes
    ----------
    column : str
        Its name.
    levels : tuple of str
        Its levels, the most frequent one first. This is the reference level, with which the others
        are compared, and which is imputed for missing values.
    """

    column: str
    levels: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names of its features."""
        return [f"{self.column}={level}" for level in self.levels[1:]]

    @property
    def fill(self) -> list[float]:
        """What is imputed for a missing value: the reference level."""
        return [0.0] * (len(self.levels) - 1)

    def encode(self, column: Any) -> Matrix:
        """Return the features of an Arrow column, NaN for missing values and unknown levels."""
        numbers = pc.index_in(as_text(column), value_set=pa.array(self.levels, pa.string()))
        level = np.asarray(numbers.fill_null(-1).to_numpy(zero_copy_only=False))
        X: Matrix = (level[:, None] == np.arange(1, len(self.levels))).astype(np.float64)
        X[level < 0] = np.nan
        return X

    def unknown(self, column: Any) -> list[str]:
        """Return the levels of an Arrow column that are not among `levels`."""
        found = pc.unique(as_text(column)).to_pylist()
        return [level for level in found if level is not None and level not in self.levels]


@dataclass(frozen=True)
class Recipe:
    """How the columns of a table become features.

    Attributes
    ----------
    terms : tuple of Number and Category
        The columns.
    pairs : pair of str or None
        For comparisons: the left and the right side (:mod:`.sides`). Features are those of the left
        minus those of the right.
    winner : pair of str or None
        For comparisons: what the left and the right side are called when they win.
    dtype : str
        Precision of the features.
    outcomes : pair or None
        The labels that count as -1 and +1, if they are not in their natural order.
    """

    terms: tuple[Number | Category, ...]
    pairs: tuple[str, str] | None = None
    winner: tuple[str, str] | None = None
    dtype: str = "float64"
    outcomes: tuple[Any, Any] | None = None

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return [name for term in self.terms for name in term.names]

    @property
    def columns(self) -> list[str]:
        """The columns of the table from which features are made."""
        sides = self.pairs or ("",)
        return [column_of(side, term.column) for side in sides for term in self.terms]

    @property
    def numbers(self) -> list[str]:
        """Those of `columns` that hold numbers."""
        sides = self.pairs or ("",)
        terms = [term for term in self.terms if isinstance(term, Number)]
        return [column_of(side, term.column) for side in sides for term in terms]

    @property
    def references(self) -> dict[str, str]:
        """The reference level of each feature that stems from a category."""
        categories = [term for term in self.terms if isinstance(term, Category)]
        return {name: term.levels[0] for term in categories for name in term.names}

    def encode(self, table: Any, *, impute: bool = False) -> NDArray[Any]:
        """Return the features of the rows of an Arrow table.

        Missing values and unknown levels are NaN in all features of their column. With `impute`
        they are replaced by the mean or the most frequent level.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Stored column by column, as data frames store them.
        """
        left = self._side(table, self.pairs[0] if self.pairs else "", impute)
        if self.pairs is not None:
            left -= self._side(table, self.pairs[1], impute)
        return left

    def labels(self, column: Any) -> NDArray[Any]:
        """Return the labels of an Arrow column, or whether they count as +1 (the left won)."""
        if self.winner is None and self.outcomes is None:
            return column_values(column)
        values, numbers = unique_values(column)
        return np.array([self._is_positive(value) for value in values], dtype=bool)[numbers]

    def _is_positive(self, value: Any) -> bool:
        if self.winner is not None:
            return is_left(value, self.winner)
        assert self.outcomes is not None
        negative, positive = map(word, self.outcomes)
        if word(value) not in (negative, positive):
            known = " or ".join(map(repr, self.outcomes))
            raise ValueError(f"The label must be {known}, as in the fit, got {value!r:.80}.")
        return word(value) == positive

    def _side(self, table: Any, side: str, impute: bool) -> NDArray[Any]:
        X = np.empty((table.num_rows, len(self.names)), dtype=self.dtype, order="F")
        start = 0
        for term in self.terms:
            stop = start + len(term.names)
            values = term.encode(table.column(column_of(side, term.column)))
            if impute:
                values = np.where(np.isnan(values), term.fill, values)
            X[:, start:stop] = values
            start = stop
        return X


def _is_category(kind: Any) -> bool:
    """Return whether an Arrow type stands for text, booleans or categories."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return pa.types.is_boolean(kind) or any(is_text(kind) for is_text in text)


def as_text(column: Any) -> Any:
    """Return an Arrow column as text: whole numbers without a point, booleans in lower case.

    So codes of categories are the same however a file stores them. Empty text is missing, as it
    is in CSV files.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
        with suppress(pa.ArrowInvalid):  # there are fractions
            column = column.cast(pa.int64())
    text = column.cast(pa.string())
    small = pc.utf8_lower(text)
    truth = pc.is_in(small, value_set=pa.array(["true", "false"]))
    return pc.if_else(pc.equal(text, ""), None, pc.if_else(truth, small, text))


def check_names(names: Sequence[str]) -> None:
    """Raise if two features have the same name."""
    for name in {name for name in names if list(names).count(name) > 1}:
        raise ValueError(
            f"Two features would be named {name!r}: rename the column, or drop one of them."
        )


def kind_of(kind: Any, *, categorical: bool) -> str:
    """Return "number" or "category" for the Arrow type of a column, or what it holds instead."""
    if _is_category(kind) or (categorical and is_number(kind)):
        return "category"
    if is_number(kind):
        return "number"
    if pa.types.is_temporal(kind):
        return "dates or times"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "bytes, or text that is not UTF-8: save the file as UTF-8"
    return str(kind)

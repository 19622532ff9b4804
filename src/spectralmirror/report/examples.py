"""Rows that one classifier labels differently from all others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.report.effects import contrast_weights
from spectralmirror.report.inputs import Inputs
from spectralmirror.report.text.formatting import value_text
from spectralmirror.rows.types import Matrix

__all__ = ["examples", "only_one_says_so"]

#: Rows and columns that are shown for each classifier.
MAX_EXAMPLES, MAX_COLUMNS = 3, 6
#: Number of the clearest rows that are searched for examples that differ from each other.
MAX_CANDIDATES = 200


def examples(inputs: Inputs) -> list[dict[str, Any]]:
    """Return, for each classifier, rows that only it labels so, and the columns that matter."""
    mixture, k = inputs.mixture, inputs.mixture.n_components_
    if k == 1:
        return [{"columns": [], "rows": []}]
    says = np.column_stack([mixture.predict_proba(inputs.X, one)[:, 1] for one in np.eye(k)])
    found = []
    for c in range(k):
        clearest = only_one_says_so(says, c)
        if k == 2:  # both disagree about the same rows: each shows those that it labels positive
            clearest = clearest[says[clearest, c] > 0.5]
        clearest = clearest[:MAX_CANDIDATES]
        columns = _distinctive_columns(inputs, c, clearest[:MAX_EXAMPLES])
        found.append(
            {
                "columns": [name for name, _ in columns],
                "rows": [
                    _row(inputs, i, c, says[i], columns) for i in _different(clearest, columns)
                ],
            }
        )
    return found


def only_one_says_so(says: Matrix, c: int) -> NDArray[np.intp]:
    """Return the rows to which classifier c alone gives its label, the clearest first.

    `says` holds the probability of label +1 by every classifier. The clarity of a row is the
    certainty of the classifier that is least certain about it.
    """
    labels = says > 0.5
    alone = (labels != labels[:, [c]]).sum(axis=1) == says.shape[1] - 1
    certainty = np.maximum(says, 1 - says).min(axis=1)
    candidates = np.flatnonzero(alone)
    return np.asarray(candidates[np.argsort(-certainty[candidates], kind="stable")])


def _distinctive_columns(inputs: Inputs, c: int, chosen: NDArray[np.intp]) -> list[tuple[str, Any]]:
    """Return names and values of the columns that set classifier c apart in these rows."""
    mixture = inputs.mixture
    profiles = mixture.coef_ * mixture.sharpness_[:, None]
    away = (inputs.X[chosen] - mixture.feature_mean_) * (
        contrast_weights(mixture.weights_, c) @ profiles
    )
    order = np.argsort(-np.abs(away).sum(axis=0), kind="stable")
    columns: dict[str, Any] = {}
    for j in order:
        name, values = _user_column(inputs, j)
        columns.setdefault(name, values)
        if len(columns) == MAX_COLUMNS:
            break
    return list(columns.items())


def _user_column(inputs: Inputs, j: int) -> tuple[str, Any]:
    """Return the user's column behind a feature, such as "colour" behind "colour=red"."""
    name = inputs.names[j]
    for candidate in (name, name.rpartition("=")[0], name.partition("=")[0]):
        if inputs.table is not None and candidate in inputs.table.columns:
            return candidate, inputs.table[candidate]
    return name, inputs.X[:, j]


def _different(clearest: NDArray[np.intp], columns: list[tuple[str, Any]]) -> list[int]:
    """Return the first few rows whose displayed values differ."""
    seen: dict[tuple[Any, ...], int] = {}
    for i in clearest.tolist():
        seen.setdefault(tuple(values[i] for _, values in columns), i)
        if len(seen) == MAX_EXAMPLES:
            break
    return list(seen.values())


def _row(
    inputs: Inputs, i: int, c: int, says: Any, columns: list[tuple[str, Any]]
) -> dict[str, Any]:
    return {
        "row": i,
        "values": [_cell(values[i]) for _, values in columns],
        "own": says[c],
        "others": [p for other, p in enumerate(says) if other != c],
        "label": inputs.label_text(inputs.y[i]),
    }


def _cell(value: Any) -> str:
    """Return a value as text; booleans in lower case, as in the names of their features."""
    text = value_text(value)
    return text.lower() if isinstance(value, bool | np.bool_) else text

"""Rows that only one of the classifiers would label so."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.report.effects import contrast_weights
from spectralmirror.report.inputs import Given
from spectralmirror.report.plain import value_text
from spectralmirror.rows.types import Matrix

__all__ = ["examples", "only_one_says_so"]

#: Rows and columns that are shown of each classifier.
MOST_EXAMPLES, MOST_COLUMNS = 3, 6
#: So many of the clearest rows are looked through for some that look different from each other.
LOOKED_THROUGH = 200


def examples(given: Given) -> list[dict[str, Any]]:
    """Return, for every classifier, the columns that tell most and rows that it alone labels so."""
    mixture, k = given.mixture, given.mixture.n_components_
    if k == 1:
        return [{"columns": [], "rows": []}]
    says = np.column_stack([mixture.predict_proba(given.X, one)[:, 1] for one in np.eye(k)])
    found = []
    for c in range(k):
        clearest = only_one_says_so(says, c)
        if k == 2:  # which disagree about the same rows: each has those it calls positive
            clearest = clearest[says[clearest, c] > 0.5]
        clearest = clearest[:LOOKED_THROUGH]
        columns = _telling_columns(given, c, clearest[:MOST_EXAMPLES])
        found.append(
            {
                "columns": [name for name, _ in columns],
                "rows": [
                    _row(given, i, c, says[i], columns) for i in _different(clearest, columns)
                ],
            }
        )
    return found


def only_one_says_so(says: Matrix, c: int) -> NDArray[np.intp]:
    """Return the rows where classifier c alone names its label, the clearest first.

    `says` holds the probability of label +1 by every classifier. A row is as clear as the least
    certain of the classifiers is about it.
    """
    labels = says > 0.5
    alone = (labels != labels[:, [c]]).sum(axis=1) == says.shape[1] - 1
    certainty = np.maximum(says, 1 - says).min(axis=1)
    candidates = np.flatnonzero(alone)
    return np.asarray(candidates[np.argsort(-certainty[candidates], kind="stable")])


def _telling_columns(given: Given, c: int, chosen: NDArray[np.intp]) -> list[tuple[str, Any]]:
    """Return names and values of the columns in which these rows make the classifiers differ."""
    mixture = given.mixture
    profiles = mixture.coef_ * mixture.sharpness_[:, None]
    away = (given.X[chosen] - mixture.feature_mean_) * (
        contrast_weights(mixture.weights_, c) @ profiles
    )
    order = np.argsort(-np.abs(away).sum(axis=0), kind="stable")
    columns: dict[str, Any] = {}
    for j in order:
        name, values = _raw(given, j)
        columns.setdefault(name, values)
        if len(columns) == MOST_COLUMNS:
            break
    return list(columns.items())


def _raw(given: Given, j: int) -> tuple[str, Any]:
    """Return the user's column behind a feature: of its name, or of that before the "="."""
    name = given.names[j]
    for candidate in (name, name.rpartition("=")[0], name.partition("=")[0]):
        if given.table is not None and candidate in given.table.columns:
            return candidate, given.table[candidate]
    return name, given.X[:, j]


def _different(clearest: NDArray[np.intp], columns: list[tuple[str, Any]]) -> list[int]:
    """Return the first few rows whose shown values differ."""
    seen: dict[tuple[Any, ...], int] = {}
    for i in clearest.tolist():
        seen.setdefault(tuple(values[i] for _, values in columns), i)
        if len(seen) == MOST_EXAMPLES:
            break
    return list(seen.values())


def _row(given: Given, i: int, c: int, says: Any, columns: list[tuple[str, Any]]) -> dict[str, Any]:
    return {
        "row": i,
        "values": [_shown(values[i]) for _, values in columns],
        "own": says[c],
        "others": [p for other, p in enumerate(says) if other != c],
        "label": given.label_text(given.y[i]),
    }


def _shown(value: Any) -> str:
    """Return a value of a row; truth values as the levels of features are called."""
    text = value_text(value)
    return text.lower() if isinstance(value, bool | np.bool_) else text

"""Labels of any kind, turned into signs of -1 and +1, or into numbers if there are several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from spectralmirror.rows.messages import first_missing, refuse_masked, shortened

__all__ = [
    "MOST_LABELS",
    "check_classes",
    "check_labels",
    "coded",
    "label_array",
    "unique_labels",
    "why_binary",
]

#: Labels are of fewer kinds than this.
MOST_LABELS = 1_000


def check_labels(y: Any) -> NDArray[Any]:
    """Return labels as an array in the type that NumPy has for them; none may be missing."""
    refuse_masked(y, "y")
    try:
        values = np.asarray(y)
    except ValueError:  # lists of different lengths
        values = np.empty(())
    if values.ndim == 0:
        raise ValueError(
            f"y must hold one label for each row of X (be a 1d array), got {shortened(y)}."
        )
    if values.dtype.kind == "c":
        raise ValueError(
            "Complex data not supported: labels y must be text, truth values or numbers."
        )
    row = first_missing(values.ravel()) if values.size == len(values) else None
    if row is not None:
        raise ValueError(f"Input y contains NaN (a missing label) in row {row}: drop such rows.")
    return label_array(values)


def label_array(y: Any) -> NDArray[Any]:
    """Return labels as an array; text of variable length as objects, which scikit-learn knows."""
    values = np.asarray(y)
    return values.astype(object) if values.dtype.kind == "T" else values


def unique_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return the different labels, sorted: truth values, integers or text if all of them are."""
    try:
        found = np.unique(y)
    except (TypeError, ValueError):  # ValueError if labels are arrays
        raise ValueError(
            "y mixes values that cannot be compared (such as text and missing values): "
            "use labels of one kind."
        ) from None
    if found.dtype != object or len({type(value) for value in found}) != 1:
        return found
    if not isinstance(found[0], bool | int | float | str | bytes | np.generic):
        return found
    natural = np.array(found.tolist())
    return natural if natural.tolist() == found.tolist() else found


def why_binary(estimator: Any) -> str | None:
    """Return why an estimator takes two labels only, as an addition to a sentence; None if not."""
    reason = getattr(estimator, "_why_binary", None)
    return "" if reason is None else reason()


def check_classes(
    classes: NDArray[Any], name: str = "y", *, why: str | None = "", n_rows: int | None = None
) -> None:
    """Raise unless there are exactly two different labels, or several if that is allowed.

    `name` is what the user calls them, and `why` says why there must be two; None allows more, but
    not a label of its own for most of the rows.
    """
    odd = next((value for value in classes.tolist() if isinstance(value, tuple | list)), None)
    if odd is not None:
        raise ValueError(
            f"{name} holds {shortened(odd)}: use single values as labels, text or numbers."
        )
    if len(classes) == 2:
        return
    if len(classes) < 2:
        raise ValueError(
            f"{name} has only one class, {classes.tolist()[0]!r}: pass labels of two classes."
        )
    shown = ", ".join(f"{value!r:.80}" for value in classes[:3].tolist())
    if type_of_target(classes) == "continuous":
        raise ValueError(
            f"Unknown label type: {name} is continuous ({shown}, ...), but labels have two "
            "classes: compare it with a threshold first, for example y > 0."
        )
    shown += ", ..." if len(classes) > 3 else ""
    if why is not None:
        raise ValueError(
            f"Only binary classification is supported{why}. {name} has {len(classes)} different "
            f"values ({shown}): keep or merge them into two classes."
        )
    if len(classes) >= MOST_LABELS:
        raise ValueError(
            f"{name} has {len(classes)} different values ({shown}) or more: use labels of fewer "
            "kinds."
        )
    if n_rows is not None and 2 * len(classes) > n_rows:
        raise ValueError(
            f"{name} has {len(classes)} different values ({shown}) in {n_rows} rows, so that most "
            "occur once: use labels that come again."
        )


def coded(y: NDArray[Any], classes: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return -1 for the first class and +1 for the second; 0, 1, ... if there are more."""
    if len(classes) > 2:
        return np.searchsorted(classes, y).astype(dtype)
    return np.where(y == classes[1], 1, -1).astype(dtype)

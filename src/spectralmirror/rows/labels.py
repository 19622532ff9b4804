"""Labels of any kind, turned into two classes and signs of -1 and +1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from spectralmirror.rows.messages import first_missing, refuse_masked, shortened

__all__ = ["check_classes", "check_labels", "label_array", "signs", "unique_labels"]


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
        raise ValueError("Complex data not supported: labels y must be of two classes.")
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
            "use two labels of one kind."
        ) from None
    if found.dtype != object or len({type(value) for value in found}) != 1:
        return found
    if not isinstance(found[0], bool | int | float | str | bytes | np.generic):
        return found
    natural = np.array(found.tolist())
    return natural if natural.tolist() == found.tolist() else found


def check_classes(classes: NDArray[Any], name: str = "y") -> None:
    """Raise unless there are exactly two different labels; `name` is what the user calls them."""
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
    raise ValueError(
        f"Only binary classification is supported. {name} has {len(classes)} different values "
        f"({shown}{', ...' if len(classes) > 3 else ''}): keep or merge them into two classes."
    )


def signs(y: NDArray[Any], classes: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return -1 for the first class and +1 for the second."""
    return np.where(y == classes[1], 1, -1).astype(dtype)

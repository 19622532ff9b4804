"""What users pass, turned into rows; what cannot be, into one clear sentence."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from spectralmirror.rows.hashing import group_keys
from spectralmirror.rows.memory import Rows, Source
from spectralmirror.rows.messages import (
    explain_features,
    explain_labels,
    is_missing,
    names_of,
    numbers,
    refuse_features,
    refuse_masked,
    shortened,
)
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.weights import check_weights

__all__ = [
    "CollinearError",
    "ColumnError",
    "check_classes",
    "check_covariance",
    "check_features",
    "check_finite",
    "check_group_keys",
    "check_groups",
    "check_labels",
    "check_mean",
    "check_memory",
    "check_rows",
    "check_table",
    "is_dask",
    "named_columns",
    "signs",
    "unique_labels",
]

FLOATS = [np.float64, np.float32]
#: So many matrices of d x d numbers are in memory at the same time, at least.
MATRICES = 4


class ColumnError(ValueError):
    """Something is wrong with columns of X; `describe` names them as the user does."""

    def __init__(self, message: str, columns: NDArray[np.intp]):
        super().__init__(message, columns)
        self.message, self.columns = message, columns

    def __str__(self) -> str:
        return self.describe(None)

    def describe(self, names: Sequence[str] | None) -> str:
        """Return the message with the columns by name, or by number where they have none."""
        shown = [str(j) if names is None else repr(str(names[j])) for j in self.columns[:10]]
        more = "" if len(self.columns) <= 10 else f" and {len(self.columns) - 10} more"
        plural = "s" if len(self.columns) > 1 else ""
        return self.message.format(columns=f"column{plural} {', '.join(shown)}{more}")


class CollinearError(ColumnError):
    """Some columns can be computed from others."""


@contextmanager
def named_columns(estimator: Any) -> Iterator[None]:
    """Let errors about columns speak of them by the names that the estimator has seen."""
    try:
        yield
    except ColumnError as error:
        raise ValueError(error.describe(getattr(estimator, "feature_names_in_", None))) from None


def check_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, NDArray[Any]]:
    """Return rows with labels -1 and +1, and the two classes they stand for.

    Values are not looked at here: that would cost a pass over the rows, and what is not finite
    shows in the first sums (:func:`check_finite`).
    """
    refuse_features(X)
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: "
            "call fit(X, y) with one binary label for each row."
        )
    y = check_labels(y)
    if hasattr(X, "__len__") or hasattr(X, "shape"):
        n, n_labels = _num_samples(X), _num_samples(y)
        if n != n_labels:
            raise ValueError(
                f"X has {n} rows but y has {n_labels} labels: pass exactly one label for each row."
            )
    X, y = _validated(partial(validate_data, estimator), X, y)
    weight = None if sample_weight is None else check_weights(sample_weight, len(y), X.dtype)
    y = column_or_1d(y)
    classes = unique_labels(y if weight is None else y[weight > 0])
    check_classes(classes)
    return Rows(X, signs(y, classes, X.dtype), weight), classes


def check_labels(y: Any) -> Any:
    """Return labels that are all there, in a type that scikit-learn knows."""
    refuse_masked(y, "y")
    if hasattr(y, "isna") and np.any(y.isna()):
        explain_labels(y)
    try:
        single = np.asarray(y).ndim == 0
    except ValueError:  # lists of different lengths
        single = True
    if single:
        raise ValueError(
            f"y must hold one label for each row of X (be a 1d array), got {shortened(y)}."
        )
    kind = getattr(getattr(y, "dtype", None), "kind", "")
    return y.astype(object) if kind == "T" else y  # text of variable length


def check_features(X: Any, estimator: Any = None) -> Any:
    """Return X as an array or CSR matrix of finite floats.

    With the features that a fitted estimator knows, where there is one.
    """
    refuse_features(X)
    checked = partial(check_array, input_name="X")
    if estimator is not None:
        checked = partial(validate_data, estimator, reset=False)
    found = _validated(checked, X)
    with np.errstate(over="ignore", invalid="ignore"):
        total = found.sum()
    if not np.isfinite(total):
        bad = reduce(Rows(found, np.empty(found.shape[0])), _Bad.of)
        if bad.what:
            names = names_of(X) if hasattr(X, "columns") else None
            raise ValueError(bad.error().describe(names))
    return found


def check_table(A: Any, name: str) -> NDArray[np.float64]:
    """Return a small table of finite numbers, such as profiles, one a row."""
    refuse_masked(A, name)
    try:
        with np.errstate(over="ignore"):
            return np.asarray(check_array(A, dtype=np.float64, input_name=name))
    except OverflowError:
        raise ValueError(f"{name} holds whole numbers that are too large for float64.") from None
    except ValueError as error:
        if "Expected 2D" not in str(error):
            raise
        raise ValueError(
            f"{name} must be a table, one vector a row, got shape {np.shape(A)}: use "
            f"[{name}] for a single vector."
        ) from None


def check_memory(d: int) -> None:
    """Raise where matrices of d x d numbers do not fit into memory.

    A few of them are needed at the same time: sums of the rows, their factors, and copies.
    """
    needed, there = MATRICES * 8 * d * d, memory()
    if there is not None and needed > there:
        raise ValueError(
            f"X has {d} features: products of all pairs of them take {needed / 1e9:,.0f} GB of "
            f"memory, and there are {there / 1e9:,.0f}. Select features, or reduce X first, for "
            "example with sklearn.decomposition.TruncatedSVD."
        )


def memory() -> int | None:
    """Return how many bytes of memory the machine has, None where it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _validated(checked: Callable[..., Any], X: Any, *labels: Any) -> Any:
    """Let scikit-learn make floats of X, which may be infinite, in our words where it cannot."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # of longer floats: infinity is told
            return checked(X, *labels, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False)
    except (TypeError, ValueError, OverflowError) as error:
        explain_features(X, error)
        for y in labels:
            explain_labels(y)
        raise


def check_groups(groups: Any, n: int) -> NDArray[np.int64] | None:
    """Return the groups numbered from 0 on, in the order of their values; None for None."""
    return None if groups is None else _numbered(groups, n)[1]


def check_group_keys(groups: Any, n: int) -> NDArray[np.uint64] | None:
    """Return the key of each row's group, None for None."""
    if groups is None:
        return None
    found, numbers = _numbered(groups, n)
    return group_keys(found)[numbers]


def _numbered(groups: Any, n: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the different values of groups, and the number of its value for each row."""
    missing = "groups has missing values: give such rows a group of their own."
    refuse_masked(groups, "groups")
    values = np.asarray(groups)
    known = hasattr(groups, "isna") and values.ndim == 1 and values.dtype.kind != "O"
    if known and np.any(groups.isna()):
        raise ValueError(missing)
    if values.dtype.kind in "US" and isinstance(groups, list | tuple):
        values = np.asarray(groups, dtype=object)  # 1 and "1" are not the same group
    if values.shape != (n,):
        raise ValueError(
            f"groups must hold one value for each of {n} rows, got shape {values.shape}."
        )
    if values.dtype.kind in "fOMm" and any(map(is_missing, values)):
        raise ValueError(missing)
    try:
        found, numbers = np.unique(values, return_inverse=True)
    except TypeError:
        raise ValueError("groups mixes values that cannot be compared: use one kind.") from None
    return found, numbers.astype(np.int64)


def unique_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return the different labels, sorted."""
    try:
        return np.unique(y)
    except (TypeError, ValueError):  # the latter of arrays
        explain_labels(y)
        raise ValueError(
            "y mixes values that cannot be compared (such as text and missing values): "
            "use two labels of one kind."
        ) from None


def signs(y: NDArray[Any], classes: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return -1 for the first class and +1 for the second."""
    return np.where(y == classes[1], 1, -1).astype(dtype)


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


def check_finite(rows: Source, *sums: NDArray[Any]) -> None:
    """Raise where sums over the rows show that some value is not finite."""
    if all(np.isfinite(part).all() for part in sums):
        return
    bad = reduce(rows, _Bad.of)
    if bad.what:
        raise bad.error()
    large = [~np.isfinite(part) for part in sums if part.shape == (rows.n_features,)]
    columns = np.flatnonzero(np.any(large, axis=0)) if large else np.arange(0)
    raise ColumnError(
        f"X has {'in {columns} ' * (len(columns) > 0)}values too large for sums in {rows.dtype}: "
        "rescale the columns first (for example with sklearn.preprocessing.StandardScaler).",
        columns,
    )


@dataclass(frozen=True)
class _Bad:
    """The first value that is not finite: what it is (empty for none), its column and place."""

    what: str
    column: int
    place: str

    @classmethod
    def of(cls, block: Rows) -> _Bad:
        X = block.X.toarray() if sparse.issparse(block.X) else block.X
        finite = np.isfinite(X)
        if finite.all():
            return cls("", 0, "")
        column = int(np.flatnonzero(~finite.all(axis=0))[0])
        what = "NaN" if np.isnan(X[:, column]).any() else "infinity"
        return cls(what, column, f" ({block.place})" if block.place else "")

    def __add__(self, other: _Bad) -> _Bad:
        return self if self.what else other

    def error(self) -> ColumnError:
        """Return what to raise."""
        return ColumnError(
            f"Input X contains {self.what} in {{columns}}{self.place}: remove or impute such "
            "values first (for example with sklearn.impute.SimpleImputer).",
            np.array([self.column]),
        )


def check_mean(mean: ArrayLike, d: int) -> NDArray[np.float64]:
    """Return a known mean of the features."""
    mu = numbers(mean, "mean must hold numbers only, in rows of equal length.")
    if mu.shape not in ((), (d,)) or not np.isfinite(mu).all():
        raise ValueError(
            f"mean must be a finite number or hold one for each of {d} features, "
            f"got an array of shape {mu.shape}."
        )
    return np.broadcast_to(mu, (d,)).copy()


def check_covariance(covariance: ArrayLike, d: int) -> NDArray[np.float64]:
    """Return a known covariance: symmetric, of shape (d, d), with positive variances."""
    sigma = numbers(covariance, "covariance must hold numbers only, in rows of equal length.")
    if sigma.shape != (d, d):
        raise ValueError(f"covariance must have shape ({d}, {d}), got {sigma.shape}.")
    if not np.isfinite(sigma).all() or (np.diagonal(sigma) <= 0).any():
        raise ValueError("covariance must be finite, with positive variances on its diagonal.")
    if np.array_equal(sigma, sigma.T):
        return sigma
    scale = np.sqrt(np.diagonal(sigma))
    if np.abs((sigma - sigma.T) / scale[:, None] / scale).max() > 1e-8:
        raise ValueError("covariance must be symmetric: pass (covariance + covariance.T) / 2.")
    return (sigma + sigma.T) / 2


def is_dask(value: Any) -> bool:
    """Return whether a value is a dask collection, without importing dask."""
    return type(value).__module__.split(".")[0].startswith("dask")

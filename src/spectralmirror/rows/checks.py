"""Validate what users pass, and turn it into rows; errors are one clear sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from spectralmirror.rows.feature_table import (
    NamedMatrix,
    check_kind,
    check_names,
    column_names,
    find_column_without_numbers,
)
from spectralmirror.rows.hashing import group_keys
from spectralmirror.rows.labels import check_classes, check_labels, coded, unique_labels, why_binary
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.messages import (
    ColumnError,
    first_missing,
    numbers,
    refuse_masked,
    shortened,
)
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.source import Source
from spectralmirror.rows.weights import check_weights

__all__ = [
    "check_covariance",
    "check_features",
    "check_finite",
    "check_group_keys",
    "check_groups",
    "check_mean",
    "check_memory",
    "check_rows",
    "check_table",
    "is_dask",
    "not_finite",
    "require_count",
]

FLOATS = [np.float64, np.float32]
#: At least this many matrices of d x d numbers are in memory at the same time.
MATRICES = 4


def check_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, NDArray[Any]]:
    """Return rows with labels -1 and +1, and the two classes they stand for.

    Values are not inspected here, which would cost a pass over the rows: the first sums show
    whether all of them are finite (:func:`check_finite`).
    """
    if y is None:
        check_kind(X)
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: "
            "call fit(X, y) with one label for each row."
        )
    X, y = check_kind(X), check_labels(y)
    check_names(X)
    if hasattr(X, "__len__") or hasattr(X, "shape"):
        n = _num_samples(X)
        if n != len(y):
            raise ValueError(
                f"X has {n} rows but y has {len(y)} labels: pass exactly one label for each row."
            )
    X, y = _validated(partial(validate_data, estimator), X, y)
    weight = None if sample_weight is None else check_weights(sample_weight, len(y), X.dtype)
    y = column_or_1d(y)
    present = y if weight is None else y[weight > 0]
    classes = unique_labels(present)
    check_classes(classes, why=why_binary(estimator), n_rows=len(present))
    return Rows(X, coded(y, classes, X.dtype), weight), classes


def check_features(X: Any, estimator: Any = None, *, reset: bool = False) -> Any:
    """Return X as an array or CSR matrix of finite floats.

    A fitted estimator, if given, knows how many features there must be and their names; with
    `reset` it is told.
    """
    names = None
    if isinstance(X, NamedMatrix):
        names, X = X.columns, _without_names(X, estimator)
    X = check_kind(X)
    check = partial(check_array, input_name="X")
    if estimator is not None and names is None:
        check_names(X)
        check = partial(validate_data, estimator, reset=reset)
    found = _validated(check, X)
    with np.errstate(over="ignore", invalid="ignore"):
        total = found.sum()
    if not np.isfinite(total):
        names = column_names(X) if names is None and hasattr(X, "columns") else names
        bad = reduce(Rows(found, np.empty(found.shape[0])), _FirstNotFinite.of)
        if bad.error is not None:
            raise ValueError(bad.error.describe(names))
    return found


def _without_names(X: NamedMatrix, estimator: Any) -> NDArray[Any]:
    """Return the values; raise if the estimator was fitted to columns of other names."""
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and list(known) != X.columns:
        raise ValueError(f"X has the feature names {X.columns}, but {list(known)} were fitted.")
    return X.values


def check_table(A: Any, name: str) -> NDArray[np.float64]:
    """Return a small table of finite numbers, such as profiles, one vector per row."""
    refuse_masked(A, name)
    try:
        with np.errstate(over="ignore"):
            found = np.asarray(
                check_array(A, dtype=np.float64, input_name=name, ensure_2d=False, allow_nd=True)
            )
    except OverflowError:
        raise ValueError(f"{name} holds whole numbers that are too large for float64.") from None
    if found.ndim != 2:
        raise ValueError(
            f"{name} must be a table, one vector per row, got shape {found.shape}: use [{name}] "
            "for a single vector."
        )
    return found


def check_memory(d: int) -> None:
    """Raise if matrices of d x d numbers do not fit into memory.

    Several are needed at the same time: sums of the rows, their factors, and copies.
    """
    needed, available = MATRICES * 8 * d * d, memory()
    if available is not None and needed > available:
        raise ValueError(
            f"X has {d} features: products of all pairs of them take {needed / 1e9:,.0f} GB of "
            f"memory, and there are {available / 1e9:,.0f}. Select features, or reduce X first, "
            "for example with sklearn.decomposition.TruncatedSVD."
        )


def memory() -> int | None:
    """Return the memory of the machine in bytes, or None if it is unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _validated(check: Callable[..., Any], X: Any, *labels: Any) -> Any:
    """Convert X to floats by scikit-learn, infinite values included; an error names the column."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # infinite values are reported later
            return check(X, *labels, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, TypeError) and not hasattr(X, "columns"):
            raise  # neither numbers nor text: scikit-learn says so
        found = find_column_without_numbers(X)
        if found is None:
            raise
        raise found from None


def check_groups(groups: Any, n: int) -> NDArray[np.int64] | None:
    """Return the groups numbered from 0 in the order of their values, or None for None."""
    return None if groups is None else _numbered(groups, n)[1]


def check_group_keys(groups: Any, n: int) -> NDArray[np.uint64] | None:
    """Return the key of each row's group, or None for None."""
    if groups is None:
        return None
    found, numbers = _numbered(groups, n)
    return group_keys(found)[numbers]


def _numbered(groups: Any, n: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct values of groups, and for each row the index of its value."""
    refuse_masked(groups, "groups")
    values = np.asarray(groups)
    if values.dtype.kind in "US" and isinstance(groups, list | tuple):
        values = np.asarray(groups, dtype=object)  # 1 and "1" are not the same group
    if values.shape != (n,):
        raise ValueError(
            f"groups must hold one value for each of {n} rows, got shape {values.shape}."
        )
    unknown = hasattr(groups, "isna") and np.any(groups.isna())
    if unknown or first_missing(values) is not None:
        raise ValueError("groups has missing values: give such rows a group of their own.")
    try:
        found, numbers = np.unique(values, return_inverse=True)
    except TypeError:
        raise ValueError("groups mixes values that cannot be compared: use one kind.") from None
    return found, numbers.astype(np.int64)


def check_finite(rows: Source, *sums: NDArray[Any]) -> None:
    """Raise if sums over the rows show that some value is not finite."""
    if all(np.isfinite(part).all() for part in sums):
        return
    bad = reduce(rows, _FirstNotFinite.of)
    if bad.error is not None:
        raise bad.error
    large = [~np.isfinite(part) for part in sums if part.shape == (rows.n_features,)]
    columns = np.flatnonzero(np.any(large, axis=0)) if large else np.arange(0)
    raise ColumnError(
        f"X has {'in {columns} ' * (len(columns) > 0)}values too large for sums in {rows.dtype}: "
        "rescale the columns first (for example with sklearn.preprocessing.StandardScaler).",
        columns,
    )


def not_finite(X: Any, where: Callable[[int], str]) -> ColumnError | None:
    """Return an error about the first value that is not finite; `where` names its row."""
    X = X.toarray() if sparse.issparse(X) else X
    bad = ~np.isfinite(X)
    if not bad.any():
        return None
    row, column = np.argwhere(bad)[0].tolist()
    what = "NaN" if np.isnan(X[row, column]) else "infinity"
    return ColumnError(
        f"Input X contains {what} in {{columns}}{{place}}: remove or impute such values first "
        "(for example with sklearn.impute.SimpleImputer).",
        (column,),
        where(row),
    )


@dataclass(frozen=True)
class _FirstNotFinite:
    error: ColumnError | None

    @classmethod
    def of(cls, block: Rows) -> _FirstNotFinite:
        return cls(not_finite(block.X, lambda _: block.place))

    def __add__(self, other: _FirstNotFinite) -> _FirstNotFinite:
        return self if self.error is not None else other


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


def require_count(**counts: int) -> None:
    """Raise ValueError unless every count is an integer of at least 1."""
    for name, value in counts.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            shown = " ".join(shortened(value).split())
            raise ValueError(f"{name} must be a whole number of at least 1, got {shown}.")


def is_dask(value: Any) -> bool:
    """Return whether a value is a dask collection, without importing dask."""
    return type(value).__module__.split(".")[0].startswith("dask")

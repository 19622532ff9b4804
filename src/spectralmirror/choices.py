"""Rankings and best-worst answers as choices, and constants, for :class:`ChoiceMixture`.

Who ranks J alternatives chooses the best of all, then the best of the others, and so on: with
scores t_j, a ranking j_1, j_2, ... has the probability

    prod_m exp t_{j_m} / sum_{i not among j_1, ..., j_(m-1)} exp t_i

(rank-ordered, or exploded, logit; Beggs, Cardell and Hausman 1981), the likelihood of J - 1 choices
from smaller and smaller sets. Who says which alternative is the worst chooses under -t, that is,
from alternatives with the features -x.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectralmirror.rows.checks import require_count
from spectralmirror.rows.messages import first_missing, listed, refuse_masked
from spectralmirror.rows.sets import ChoiceSets, check_chosen, check_same_in_sets, check_sets
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["ChoiceRows", "alternative_constants", "best_worst", "explode_rankings"]


class ChoiceRows(NamedTuple):
    """Choices in long form, made from other answers.

    Attributes
    ----------
    X : ndarray, CSR matrix or DataFrame of shape (n, n_features)
        The alternatives of each choice, in the container of the original rows.
    chosen : ndarray of shape (n,)
        Whether the row was chosen from its set.
    choices : ndarray of shape (n,)
        The number of the set of each row.
    groups : ndarray of shape (n,)
        The person of each row; without persons, the original set, whose choices belong together.
    rows : ndarray of shape (n,)
        Which original row each row is, for weights and covariates.
    """

    X: Any
    chosen: NDArray[np.bool_]
    choices: NDArray[np.intp]
    groups: NDArray[Any]
    rows: NDArray[np.intp]


def alternative_constants(alternatives: Any, *, reference: Any = None) -> tuple[Matrix, list[str]]:
    """Return a column of 0 and 1 for each alternative but one, and their names.

    The coefficient of such a column, an alternative-specific constant, says how much more the
    alternative is liked than the reference, all else being equal. Products with other columns let
    the coefficient of a price, or of a person's age, differ between alternatives.

    Parameters
    ----------
    alternatives : array-like of shape (n_samples,)
        The alternative that each row stands for.
    reference : object, default=None
        The alternative without a column; None means the first in sorted order.

    Returns
    -------
    columns : ndarray of shape (n_samples, n_alternatives - 1)
        The columns, in the order of the sorted alternatives.
    names : list of str
        The alternatives that have a column.

    Examples
    --------
    >>> from spectralmirror.choices import alternative_constants
    >>> columns, names = alternative_constants(["car", "bus", "car", "train"], reference="car")
    >>> names, columns.tolist()
    (['bus', 'train'], [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    """
    refuse_masked(alternatives, "alternatives")
    values = np.asarray(alternatives)
    missing = first_missing(values) if values.ndim == 1 else None
    if values.ndim != 1 or missing is not None:
        problem = f"is missing in row {missing}" if values.ndim == 1 else "must be one column"
        raise ValueError(f"alternatives {problem}: name the alternative of each row.")
    if not len(values):
        raise ValueError("alternatives is empty: name the alternative of each row.")
    try:
        found = np.unique(values)
    except TypeError:
        raise ValueError(
            "alternatives mixes values that cannot be compared: use one kind."
        ) from None
    if reference is None:
        reference = found[0]
    if reference not in found.tolist():
        known = listed(map(str, found.tolist()))
        raise ValueError(f"reference {reference!r} is not among the alternatives {known}.")
    kept = found[found != reference]
    return (values[:, None] == kept).astype(np.float64), [str(name) for name in kept.tolist()]


def explode_rankings(
    X: Any, rank: Any, *, choices: Any, groups: Any = None, depth: int | None = None
) -> ChoiceRows:
    """Turn rankings into choices: the best of all alternatives, then the best of what is left.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        The alternatives, one in each row, in any order.
    rank : array-like of shape (n_samples,)
        The rank of each row within its set, 1 for the best. Alternatives without a rank (NaN) come
        after all that have one, in no order.
    choices : array-like of shape (n_samples,)
        The set of each row.
    groups : array-like of shape (n_samples,), default=None
        The person of each row; None means that each ranking is another person's.
    depth : int, default=None
        How many ranks to use, from the best; None means all. Lower ranks are often given with less
        care.

    Returns
    -------
    ChoiceRows
        A choice for each rank that is used and leaves two alternatives or more to choose from.

    Examples
    --------
    >>> from spectralmirror.choices import explode_rankings
    >>> found = explode_rankings([[5], [3], [4]], [3, 1, 2], choices=["a", "a", "a"])
    >>> found.X.ravel().tolist(), found.choices.tolist()
    ([3, 4, 5, 4, 5], [0, 0, 0, 1, 1])
    >>> found.chosen.tolist()
    [True, False, False, True, False]
    """
    n = _n_rows(X)
    sets = check_sets(choices, n)
    place, n_ranked = _places(_ranks(rank, n)[sets.order], sets)
    if depth is not None:
        require_count(depth=depth)
    n_stages = np.minimum(n_ranked, sets.sizes - 1)
    n_stages = n_stages if depth is None else np.minimum(n_stages, depth)
    parts, chosen, numbers = [], [], []
    for stage in range(int(n_stages.max())):
        left = (place >= stage) & (stage < n_stages)[sets.numbers]
        rows = np.flatnonzero(left)
        rows = rows[np.lexsort((place[rows], sets.numbers[rows]))]
        parts.append(rows)
        chosen.append(place[rows] == stage)
        numbers.append(sets.numbers[rows])
    stages = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return _joined(X, sets, groups, parts, chosen, numbers, stages)


def best_worst(
    X: Any, best: Any, worst: Any, *, choices: Any, groups: Any = None, from_rest: bool = True
) -> ChoiceRows:
    """Turn best-worst answers into choices: the best as it is, the worst as a choice under -x.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        The alternatives, one in each row, in any order; numbers only.
    best, worst : array-like of shape (n_samples,)
        Whether the row is the best, and the worst, of its set: True for one row of each set.
    choices : array-like of shape (n_samples,)
        The set of each row.
    groups : array-like of shape (n_samples,), default=None
        The person of each row; None means that each set is another person's.
    from_rest : bool, default=True
        Whether the worst is chosen from what the best leaves (sequential best-worst); False: from
        all alternatives. The rest of a set of two is no choice.

    Returns
    -------
    ChoiceRows
        Two choices for each set; the features of the second have the opposite sign.

    Examples
    --------
    >>> from spectralmirror.choices import best_worst
    >>> found = best_worst([[5], [3], [4]], [1, 0, 0], [0, 1, 0], choices=["a", "a", "a"])
    >>> found.X.ravel().tolist(), found.choices.tolist()
    ([5.0, 3.0, 4.0, -3.0, -4.0], [0, 0, 0, 1, 1])
    >>> found.chosen.tolist()
    [True, False, False, True, False]
    """
    n = _n_rows(X)
    sets = check_sets(choices, n)
    is_best, is_worst = (_answer(values, name, sets) for values, name in
                         ((best, "best"), (worst, "worst")))  # fmt: skip
    same = np.flatnonzero(is_best & is_worst)
    if len(same):
        called = sets.called(int(sets.numbers[same[0]]))
        raise ValueError(f"The same alternative is the best and the worst of {called}.")
    rest = ~is_best & (sets.sizes > 2)[sets.numbers] if from_rest else np.ones(n, dtype=bool)
    second = np.flatnonzero(rest)
    parts, chosen = [np.arange(n), second], [is_best, is_worst[second]]
    numbers = [sets.numbers, sets.numbers[second]]
    stages = np.repeat([0, 1], [n, len(second)])
    return _joined(X, sets, groups, parts, chosen, numbers, stages, negative=1)


def _joined(
    X: Any,
    sets: ChoiceSets,
    groups: Any,
    parts: list[NDArray[np.intp]],
    chosen: list[NDArray[np.bool_]],
    numbers: list[NDArray[np.intp]],
    stages: NDArray[np.intp],
    negative: int | None = None,
) -> ChoiceRows:
    """Return the choices of all stages, those of one original set together."""
    ordered, number = np.concatenate(parts), np.concatenate(numbers)
    order = np.lexsort((np.arange(len(ordered)), stages, number))
    keys = number * (int(stages.max()) + 1) + stages
    rows = sets.order[ordered[order]]
    signs = None if negative is None else np.where(stages[order] == negative, -1.0, 1.0)
    persons = sets.names[number[order]]
    if groups is not None:
        values = np.asarray(groups)
        if values.shape != (len(sets.order),):
            raise ValueError(
                f"groups must name the person of each of {len(sets.order)} rows, got shape "
                f"{values.shape}."
            )
        check_same_in_sets(values[sets.order], sets, "groups")
        persons = values[rows]
    return ChoiceRows(
        _taken(X, rows, signs),
        np.concatenate(chosen)[order],
        np.unique(keys[order], return_inverse=True)[1],
        persons,
        rows,
    )


def _n_rows(X: Any) -> int:
    try:
        shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    except ValueError:
        raise ValueError("X must be a table, but its rows have different lengths.") from None
    if len(shape) != 2:
        raise ValueError(f"X must be a table of rows and columns, got shape {tuple(shape)}.")
    if not shape[0]:
        raise ValueError("X has no rows: there is nothing to choose from.")
    return int(shape[0])


def _ranks(rank: Any, n: int) -> Vector:
    refuse_masked(rank, "rank")
    try:
        values = np.asarray(rank, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("rank must hold numbers: 1 for the best, NaN for no rank.") from None
    if values.shape != (n,):
        raise ValueError(f"rank must hold the rank of each of {n} rows, got shape {values.shape}.")
    return values


def _places(ranks: Vector, sets: ChoiceSets) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the place of each ordered row, 0 for the best, and the number of ranks of each set.

    Rows without a rank share the place after the last one.
    """
    by_rank = np.lexsort((ranks, sets.numbers))  # NaN comes last
    ordered = ranks[by_rank]
    tied = np.flatnonzero((np.diff(ordered) == 0) & (np.diff(sets.numbers) == 0))
    if len(tied):
        called = sets.called(int(sets.numbers[tied[0]]))
        raise ValueError(
            f"Two alternatives of {called} have the rank {ordered[tied[0]]:g}: ranks must differ; "
            "leave the rank out (NaN) where there is none."
        )
    n_ranked = np.add.reduceat(np.isfinite(ranks).astype(np.intp), sets.starts)
    if (n_ranked == 0).any():
        called = sets.called(int(np.flatnonzero(n_ranked == 0)[0]))
        raise ValueError(f"No alternative of {called} has a rank: leave such sets out.")
    place = np.empty(len(ranks), dtype=np.intp)
    place[by_rank] = np.arange(len(ranks)) - sets.starts[sets.numbers]
    return np.minimum(place, n_ranked[sets.numbers]), n_ranked


def _answer(values: Any, name: str, sets: ChoiceSets) -> NDArray[np.bool_]:
    """Return whether each ordered row is the best, or the worst, of its set."""
    return np.asarray(check_chosen(values, sets, name) > 0)


def _taken(X: Any, rows: NDArray[np.intp], signs: Vector | None) -> Any:
    """Return some rows of any container, times their signs."""
    if sparse.issparse(X):
        found = X.tocsr()[rows]
        return found if signs is None else (sparse.diags_array(signs) @ found).tocsr()
    if hasattr(X, "iloc"):
        found = X.iloc[rows].reset_index(drop=True)
        return found if signs is None else _floats(found).mul(signs, axis=0)
    if hasattr(X, "columns") and signs is None:
        return X[rows]  # each column keeps its type
    values = np.asarray(X)[rows]
    if signs is not None:
        values = _floats(values) * signs[:, None]
    if hasattr(X, "columns"):
        return type(X)({name: values[:, j] for j, name in enumerate(X.columns)})
    return values


def _floats(values: Any) -> Any:
    """Return an array or a frame of floats, whose signs can be changed."""
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "X must hold numbers, as the worst alternative is chosen under -x: encode other "
            f"columns first ({error})."
        ) from None

"""Compare numbers of classes in every way that is worth a look."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_random_state

from spectralmirror.mixture.fit_base import MixtureFit
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.reopened import fitted_parameters, with_spread
from spectralmirror.mixture.resampling import in_batches, mean_weights
from spectralmirror.rows.checks import require_count
from spectralmirror.rows.containers import output_container
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.progress import print_progress, stage, step
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.selection.comparison import ComponentComparison
from spectralmirror.selection.parts import Fitted, Rows, fitted, score_part
from spectralmirror.selection.ratio_test import ENOUGH, RatioTest, p_value, ratio_test
from spectralmirror.selection.simulation import frequencies_repeated
from spectralmirror.selection.split_test import largest_log_likelihood, log_ratios

__all__ = ["compare_components"]

#: Rows that integer weights may stand for.
MOST_ROWS = 20_000_000
#: Nodes that persons share in tests with a spread.
N_NODES = 128
#: What is drawn from a seed: folds, halves, the search for maxima, a sample of the groups.
FOLDS, HALVES, SEARCH, SAMPLE = 1, 2, 3, 4


def compare_components(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    membership: Any = None,
    choices: Any = None,
    max_components: int = 6,
    n_resamples: int = 199,
    n_splits: int = 5,
    alpha: float = 0.05,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool | int = False,
) -> ComponentComparison:
    """Compare 1, 2, ... classes: criteria, held-out likelihood, and two tests.

    For each number k of classes the estimator is fitted to all rows and, for the held-out
    log-likelihood, to all but one of `n_splits` parts of whole groups. Then follow

    - the bootstrap likelihood-ratio test of k - 1 classes against k: labels are drawn from the fit
      of k - 1 classes, for the same X, groups and weights, and both numbers are fitted to them
      again. k = 2, 3, ... are tested in turn, until k - 1 classes are not rejected;
    - the split likelihood-ratio test, which says that there are "at least k" classes with
      confidence 1 - `alpha`. It needs no large samples and no regularity, and it is cautious.

    With a spread, both numbers of classes have the same kind of it, that of the fit of k - 1
    classes, and persons of resamples have profiles of their own. Each resample takes seconds: a
    test ends early when ten of them have reached the statistic of the data, and cannot become
    significant (Besag and Clifford 1991). The split test needs a named kind, not "auto".

    Parameters
    ----------
    estimator : LinearClassifierMixture or ChoiceMixture
        What to fit; its `n_components` does not matter.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or source
        The features, or rows of files or a cluster, as ``fit`` takes them. Of more than 200 MB a
        random sample of whole groups is compared, and the result says so.
    y : array-like of shape (n_samples,), default=None
        The labels; for a ChoiceMixture, whether each alternative was chosen.
    groups : array-like of shape (n_samples,), default=None
        Rows with the same value share their class, and stay together in all parts.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. Integers are frequencies. With other weights there is no split test.
    membership : array-like of shape (n_samples, n_covariates), default=None
        Covariates of groups on which the weights of the classes depend.
    choices : array-like of shape (n_samples,), default=None
        The choice set of each row, for a ChoiceMixture only.
    max_components : int, default=6
        The largest number of classes.
    n_resamples : int, default=199
        Resamples of each bootstrap test; 0 for no test. A p-value is at least 1 / (1 + this).
    n_splits : int, default=5
        Number of parts of which one is held out in turn.
    alpha : float, default=0.05
        Level of both tests.
    random_state : int, RandomState instance or None, default=None
        Seed of the parts and resamples, and of the fits if the estimator has none. With the same
        int, a run with more resamples continues one with fewer.
    n_jobs : int, default=None
        Number of processes; None means 1 (unless in a joblib context), -1 all processors. It does
        not change the result.
    verbose : bool or int, default=False
        True prints each stage, 2 each fit and every tenth resample, too.

    Returns
    -------
    ComponentComparison
        A table that can be printed and drawn, and the fits.

    Examples
    --------
    >>> from spectralmirror import LinearClassifierMixture
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> from spectralmirror.selection import compare_components
    >>> X, y, truth = make_linear_classifier_mixture(
    ...     900, 2, 2, profile_norm=5, group_size=6, random_state=0)
    >>> comparison = compare_components(
    ...     LinearClassifierMixture(), X, y, groups=truth.groups, max_components=3,
    ...     n_resamples=19, random_state=0)
    >>> comparison.at_least_
    2
    """
    _check_estimator(estimator)
    estimator._validate_params()
    _check_options(max_components, n_resamples, n_splits, alpha)
    seed = int(check_random_state(random_state).randint(2**31))
    clone(estimator).set_params(verbose=verbose)._validate_params()
    estimator = clone(estimator).set_params(verbose=False)
    if estimator.random_state is None:
        estimator.set_params(random_state=seed)
    given = {"X": X, "groups": groups, "sample_weight": sample_weight, "membership": membership}
    rows, n_all = _accepted(estimator, given, y, choices, seed)
    _check_size(rows.groups, max_components, n_splits)
    options = Options(max_components, n_resamples, n_splits, alpha, seed, n_jobs)
    with print_progress(verbose):
        found = _compared(estimator, rows, options)
    return found if n_all is None else replace(found, sampled_from=n_all)


@dataclass(frozen=True)
class Options:
    """What was asked for; `seed` is that of parts and resamples."""

    max_components: int
    n_resamples: int
    n_splits: int
    alpha: float
    seed: int
    n_jobs: int | None

    def run(self, jobs: Sequence[Callable[[], Any]], what: str) -> list[Any]:
        """Return the results of all jobs, in order."""
        found = []
        stage(f"{what}: {len(jobs)} fits")
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        for one in parallel(delayed(job)() for job in jobs):
            found.append(one)
            step(f"{what}: fit {len(found)} of {len(jobs)}")
        return found


def _compared(estimator: Any, rows: Rows, options: Options) -> ComponentComparison:
    """Fit all numbers of classes, and compare them in all ways."""
    numbers = range(1, options.max_components + 1)
    fits: list[Fitted] = options.run(
        [partial(fitted, estimator, k, rows) for k in numbers], "all rows"
    )
    whole = [fit.model.n_components_ == k for k, fit in zip(numbers, fits, strict=True)]
    fits = fits[: int(np.cumprod(whole).sum())]  # others left classes without rows
    held_out = _held_out(estimator, rows, len(fits), options)
    log_ratio = None
    if estimator.spread != "auto" and not rows.groups.rows.has_fractions:
        log_ratio = _split_test(estimator, rows, fits, options)
    tests = _ratio_tests(rows, fits, options)
    return ComponentComparison.of(
        [fit.model for fit in fits],
        mean_weights(rows.groups),
        held_out,
        tests,
        log_ratio,
        options.alpha,
        options.max_components,
        output_container(estimator),
    )


def _ratio_tests(
    rows: Rows, fits: list[Fitted], options: Options
) -> dict[int, tuple[float, Vector]]:
    """Return the statistics of data and resamples for k = 2, 3, ..., until one is not rejected."""
    found: dict[int, tuple[float, Vector]] = {}
    if not options.n_resamples:
        return found
    for k in range(2, len(fits) + 1):
        test = _ratio_test(rows, fits[k - 2], fits[k - 1], options.seed)
        what = f"{k - 1} against {k} classes"
        stage(f"{what}: {options.n_resamples} resamples")
        T = test.observed.statistic
        until = None if test.null.spread is None else partial(_enough, T)
        resampled = in_batches(
            test.resampled, options.n_resamples, options.n_jobs, f"{what}: resample", batch=5,
            until=until,
        )  # fmt: skip
        found[k] = T, np.array(resampled if until is None else _first_enough(T, resampled))
        if p_value(*found[k]) > options.alpha:
            break
    return found


def _enough(statistic: float, resampled: Sequence[float]) -> bool:
    """Return whether so many resamples have reached the statistic that it is not significant."""
    return sum(one >= statistic for one in resampled) >= ENOUGH


def _first_enough(statistic: float, resampled: list[float]) -> list[float]:
    """Return the resamples up to the one with which they were enough, whatever came after it."""
    reached = np.cumsum(np.array(resampled) >= statistic)
    return resampled[: int(np.searchsorted(reached, ENOUGH)) + 1]


def _held_out(estimator: Any, rows: Rows, K: int, options: Options) -> Matrix:
    """Return the log-likelihood of each group under fits without it, shape (n_groups, K)."""
    n = rows.groups.n_groups
    rng = np.random.default_rng([options.seed, FOLDS])
    fold = rng.permutation(np.arange(n) % options.n_splits)
    each = range(options.n_splits)
    parts = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in each]
    numbers = range(1, K + 1)
    jobs = [partial(score_part, estimator, k, rows, *part) for part in parts for k in numbers]
    found = np.empty((n, K))
    for place, one in enumerate(options.run(jobs, "held out")):
        f, column = divmod(place, K)
        found[parts[f][1], column] = one.log_likelihoods
    return found


def _split_test(estimator: Any, rows: Rows, fits: list[Fitted], options: Options) -> Vector:
    """Return log U for each number of classes."""
    n, K = rows.groups.n_groups, len(fits)
    order = np.random.default_rng([options.seed, HALVES]).permutation(n)
    halves = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
    jobs: list[Callable[[], Any]] = []
    searches = [_largest(rows, fit, options.seed) for fit in fits[:-1]]
    for one, other in (halves, halves[::-1]):
        jobs += [partial(score_part, estimator, k, rows, one, other) for k in range(1, K + 1)]
        jobs += [partial(search, rows.part(other).groups) for search in searches]
    done, ways = options.run(jobs, "split test"), []
    for first in (0, 2 * K - 1):
        of_fits = dict(enumerate(done[first : first + K], 1))
        ways.append((of_fits, dict(enumerate(done[first + K : first + 2 * K - 1], 1))))
    return log_ratios(ways)


def _largest(rows: Rows, fit: Fitted, seed: int) -> Callable[[InMemoryGroups], float]:
    """Return the search for the largest log-likelihood that the classes of a fit have on a part.

    It is in the whole space, wherever the fit was looked for, and starts there, too.
    """
    likelihood = _opened(rows, fit.model, fit.model.spread_kind_)
    start = fitted_parameters(fit.model, likelihood)
    return partial(_largest_on, likelihood, start, (seed + SEARCH) % 2**32)


def _largest_on(
    likelihood: Likelihood, start: Parameters, seed: int, groups: InMemoryGroups
) -> float:
    likelihood = replace(likelihood, rows=groups)
    return largest_log_likelihood(likelihood, len(start), [start], seed)


def _ratio_test(rows: Rows, fewer: Fitted, more: Fitted, seed: int) -> RatioTest:
    """Return the test, under the first penalties of fits, which do not depend on the labels.

    Both numbers of classes have the kind of spread of the smaller one.
    """
    models, kind = (fewer.model, more.model), fewer.model.spread_kind_
    null, larger = (_opened(rows, one, kind) for one in models)
    of_fewer = fitted_parameters(models[0], null)
    if models[1].spread_kind_ == kind:
        of_more = fitted_parameters(models[1], larger)
    else:
        of_more = fitted_parameters(models[1], replace(larger, spread=None))
        of_more = replace(of_more, spread=of_fewer.spread)
    return ratio_test(null, larger, of_fewer, of_more, seed)


def _opened(rows: Rows, model: Any, kind: str | None) -> Likelihood:
    """Return the likelihood of a fit with the first penalties, and nodes that persons share."""
    likelihood: Likelihood = model._opened(rows.groups, model.n_components_)
    return likelihood if kind is None else with_spread(likelihood, kind, N_NODES)


def _accepted(
    estimator: Any, given: dict[str, Any], y: Any, choices: Any, seed: int
) -> tuple[Rows, int | None]:
    """Return the rows in memory, and the number of all groups if these are a sample of them.

    Groups of integer weights are repeated.
    """
    if "choices" in inspect.signature(estimator.fit).parameters:
        given = given | {"chosen": y, "choices": choices}
    elif choices is not None:
        raise ValueError("choices is for a ChoiceMixture: leave it out, and pass binary labels.")
    else:
        given = given | {"y": y}
    before = set(vars(estimator))
    accepted, classes = estimator._accepted(**given)
    groups: InMemoryGroups = accepted.brought(seed + SAMPLE)
    n_all = int(accepted.n_groups) if groups.n_groups < accepted.n_groups else None
    learned = {name: value for name, value in vars(estimator).items() if name not in before}
    for name in learned:
        delattr(estimator, name)
    if not groups.rows.has_fractions and groups.row_weight > MOST_ROWS:
        raise ValueError(
            f"sample_weight stands for {groups.row_weight:,.0f} rows, which would be repeated: at "
            f"most {MOST_ROWS:,}. Divide the weights, or sample."
        )
    return Rows(frequencies_repeated(groups), classes, learned), n_all


def _check_estimator(estimator: Any) -> None:
    if not isinstance(estimator, MixtureFit):
        raise TypeError(
            "compare_components compares fits of a LinearClassifierMixture or a ChoiceMixture, got "
            f"{type(estimator).__name__}."
        )
    if not isinstance(estimator.init, str):
        raise ValueError(
            "compare_components needs init='spectral' or 'random': given profiles fit one number "
            "of classes only."
        )


def _check_options(max_components: Any, n_resamples: Any, n_splits: Any, alpha: Any) -> None:
    require_count(max_components=max_components)
    if not isinstance(n_resamples, Integral) or n_resamples < 0:
        raise ValueError(
            f"n_resamples must be a whole number, 0 for no bootstrap test, got {n_resamples!r}."
        )
    if not isinstance(n_splits, Integral) or n_splits < 2:
        raise ValueError(f"n_splits must be a whole number of at least 2, got {n_splits!r}.")
    if not isinstance(alpha, Real) or not 0 < float(alpha) < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}.")


def _check_size(rows: InMemoryGroups, max_components: int, n_splits: int) -> None:
    """Raise if halves and parts would be too small to be fitted."""
    what, n = ("groups" if rows.is_repeated else "rows"), rows.n_groups
    needed = max(2 * max_components, n_splits)
    if n < needed:
        raise ValueError(
            f"{n} {what} are too few to compare 1 to {max_components} classes with n_splits="
            f"{n_splits}: at least {needed} are needed, and many more to see anything."
        )

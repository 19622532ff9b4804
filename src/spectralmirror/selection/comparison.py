"""The result of a comparison of numbers of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.mixture.evidence import CLEARLY
from spectralmirror.plotting.comparison import plot_comparison
from spectralmirror.rows.containers import frame
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.selection.ratio_test import ENOUGH, p_value
from spectralmirror.selection.split_test import at_least
from spectralmirror.selection.stored import loaded_comparison, save_comparison

__all__ = ["ComponentComparison"]

#: Persons differ inside classes if the score test says so more clearly than this.
DIFFER = 3.0
COLUMNS = (
    "n_components", "log_likelihood", "n_parameters", "aic", "bic", "icl", "log_evidence",
    "held_out", "held_out_error", "gain", "gain_error", "statistic", "p_value", "split_log_ratio",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class ComponentComparison:
    """How well 1, 2, ... classes explain the labels. Entries follow `n_components`.

    Attributes
    ----------
    n_components : ndarray of shape (K,)
        1, 2, ..., K. K is smaller than requested if classes were left without rows.
    log_likelihood, n_parameters, aic, bic, icl, log_evidence : ndarray of shape (K,)
        Of the fits to all rows. Larger likelihoods and evidence are better, smaller criteria.
    held_out, held_out_error : ndarray of shape (K,)
        Mean log-likelihood of a group (a row if there are no groups) under fits without it, and its
        standard error.
    gain, gain_error : ndarray of shape (K,)
        How much better that is than with one class less, and the standard error of the difference,
        which is much smaller, as both are of the same groups. NaN for one class.
    statistic, p_value : ndarray of shape (K,)
        The modified likelihood ratio of k classes against k - 1, and the p-value of k - 1 classes
        in the bootstrap test. NaN where it was not tested.
    split_log_ratio : ndarray of shape (K,)
        log U of the split test of fewer than k classes, which are rejected if it exceeds
        -log(alpha). NaN without the test.
    at_least_ : int or None
        With confidence 1 - alpha, there are at least so many classes. None without the test.
    suggested_ : dict
        The number of classes by "evidence", "bic", "icl", "held out" and "bootstrap test"; the last
        only with enough resamples for a p-value of alpha.
    models_ : dict
        The fits, by their number of classes; none in a comparison that was stored.
    resampled_ : dict
        The statistics of all resamples, by the larger number of classes.
    alpha : float
        Level of the tests.
    requested : int
        The largest number of classes that was asked for.
    n_units : int
        Number of groups, or of rows if there are no groups.
    grouped : bool
        Whether there are groups.
    spread : str or None
        How persons of one class may differ in these fits.
    spread_score : ndarray of shape (K,)
        z of the score test of a spread within the classes; NaN where it is not known.
    sampled_from : int or None
        The number of all groups, or rows, if a random sample of them was compared.
    """

    n_components: NDArray[np.intp]
    log_likelihood: Vector
    n_parameters: NDArray[np.intp]
    aic: Vector
    bic: Vector
    icl: Vector
    log_evidence: Vector
    held_out: Vector
    held_out_error: Vector
    gain: Vector
    gain_error: Vector
    statistic: Vector
    p_value: Vector
    split_log_ratio: Vector
    at_least_: int | None
    suggested_: dict[str, int]
    models_: dict[int, Any] = field(repr=False)
    resampled_: dict[int, Vector] = field(repr=False)
    alpha: float
    requested: int
    n_units: int
    grouped: bool
    spread: str | None
    spread_score: Vector
    sampled_from: int | None = None
    _container: str = "default"

    @classmethod
    def of(
        cls,
        models: Sequence[Any],
        weights: Vector,
        held_out: Matrix,
        tests: dict[int, tuple[float, Vector]],
        log_ratio: Vector | None,
        alpha: float,
        requested: int,
        container: str,
    ) -> ComponentComparison:
        """Collect the result.

        Parameters
        ----------
        models : sequence of mixtures
            Fits of 1, 2, ... classes to all rows.
        weights : ndarray of shape (n_groups,)
            Weights of the groups.
        held_out : ndarray of shape (n_groups, K)
            The log-likelihood of each group under fits without it.
        tests : dict
            The statistic of the data, and those of the resamples, by the larger number of classes.
        log_ratio : ndarray of shape (K,) or None
            log U of the split test.
        alpha : float
            Level of the tests.
        requested : int
            The largest number of classes that was asked for.
        container : str
            What makes frames.
        """
        K = len(models)
        (mean, error), steps = _mean(held_out, weights), np.full((2, K), np.nan)
        steps[:, 1:] = _mean(np.diff(held_out, axis=1), weights)
        of_tests = np.full((2, K), np.nan)
        for k, test in tests.items():
            of_tests[:, k - 1] = test[0], p_value(*test)

        log_ratios = np.full(K, np.nan)
        if log_ratio is not None:
            log_ratios[1:] = log_ratio[1:]

        def each(name: str) -> Vector:
            return np.array([getattr(model, f"{name}_") for model in models], dtype=np.float64)

        suggested = _by_criteria(each) | {"held out": _by_held_out(held_out, weights)}
        if tests and _could_reject(*tests[2], alpha):
            rejected: Any = of_tests[1, 1:] <= alpha
            suggested["bootstrap test"] = 1 + int(np.cumprod(rejected).sum())
        return cls(
            n_components=np.arange(1, K + 1),
            log_likelihood=each("log_likelihood"),
            n_parameters=each("n_parameters").astype(int),
            aic=each("aic"),
            bic=each("bic"),
            icl=each("icl"),
            log_evidence=each("log_evidence"),
            held_out=mean,
            held_out_error=error,
            gain=steps[0],
            gain_error=steps[1],
            statistic=of_tests[0],
            p_value=of_tests[1],
            split_log_ratio=log_ratios,
            at_least_=None if log_ratio is None else at_least(log_ratio, alpha),
            suggested_=suggested,
            models_=dict(enumerate(models, 1)),
            resampled_={k: resampled for k, (_, resampled) in tests.items()},
            alpha=alpha,
            requested=requested,
            n_units=models[0].n_groups_ if models[0].grouped_ else models[0].n_rows_,
            grouped=models[0].grouped_,
            spread=models[0].spread,
            spread_score=each("spread_score"),
            _container=container,
        )

    @property
    def units(self) -> str:
        """How many groups, or rows, were compared."""
        found = f"{self.n_units:,} {'groups' if self.grouped else 'rows'}"
        if self.sampled_from is None:
            return found
        return f"{found}, a random sample of {self.sampled_from:,}"

    @property
    def is_tested(self) -> bool:
        """Whether there is any test."""
        return bool(np.isfinite(self.p_value).any()) or self.at_least_ is not None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table, as a dictionary for each number of classes."""
        columns = {name: getattr(self, name).tolist() for name in COLUMNS}
        whole = ("n_components", "n_parameters")
        columns |= {name: [int(x) for x in columns[name]] for name in whole}
        return [
            dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)
        ]

    def to_frame(self) -> Any:
        """Return the table as a DataFrame with a line for each number of classes.

        Returns
        -------
        DataFrame
            Of pandas, or of the package that ``estimator.set_output(transform=...)`` names.
            :attr:`rows` needs neither.
        """
        return frame({name: [row[name] for row in self.rows] for name in COLUMNS}, self._container)

    def save(self, path: str | Path, **about: Any) -> None:
        """Store the figures, but not the fits, in a JSON file, whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file.
        **about
            What else to store, as plain data: the command line stores the columns.
        """
        save_comparison(self, Path(path), about)

    @classmethod
    def load(cls, path: str | Path) -> ComponentComparison:
        """Load a comparison that :meth:`save` has stored.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        ComponentComparison
            The comparison, without the fits.
        """
        return cls(**loaded_comparison(Path(path))[0])

    def plot(self, axes: Any = None) -> Any:
        """Draw held-out likelihood, evidence and criteria, and tests.

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, default=None
            Where to draw; None creates a new figure.

        Returns
        -------
        list of matplotlib Axes
            The axes with the figures.
        """
        return plot_comparison(self, axes)

    def __str__(self) -> str:
        K = len(self.n_components)
        head = (
            f"{'k':>2}  {'log-lik':>10}  {'BIC':>10}  {'ICL':>10}  {'evidence':>10}  "
            f"{'held out':>9}  {'gain (std. error)':>18}  {'p-value':>7}  {'split':>6}"
        )
        title = f"Comparison of 1 to {K} classes, {self.units}"
        lines = [title, "", head, "-" * len(head)]
        for row in self.rows:
            both = f"{row['gain']:.4f} ({row['gain_error']:.4f})"
            lines.append(
                f"{row['n_components']:>2}  {row['log_likelihood']:>10.1f}  {row['bic']:>10.1f}  "
                f"{row['icl']:>10.1f}  {_number(row['log_evidence'], 10, '.1f')}  "
                f"{row['held_out']:>9.4f}  {'' if row['n_components'] == 1 else both:>18}  "
                f"{_number(row['p_value'], 7, '.3f')}  {_number(row['split_log_ratio'], 6, '.1f')}"
            )
        return "\n".join(line.rstrip() for line in [*lines, "", *self.conclusions()])

    def conclusions(self) -> list[str]:
        """Return what follows from the table, in sentences."""
        found = []
        if self.at_least_ is not None:
            bound = -np.log(self.alpha)
            found.append(
                f"At least {self.at_least_} {_classes(self.at_least_)}, with {1 - self.alpha:.0%} "
                f"confidence (split test: all above {bound:.1f})."
            )
        names = {"bic": "BIC", "icl": "ICL", "held out": "held-out likelihood"}
        said = ", ".join(f"{k} by {names.get(x, x)}" for x, k in self.suggested_.items())
        found.append(f"Number of classes: {said}.")
        if len(self.n_components) < self.requested:
            found.append(f"{len(self.n_components) + 1} classes left some without rows.")
        if self.spread == "auto":
            found.append("The split test needs one kind of spread, such as `spread='diagonal'`.")
        if self.spread is None:
            found += self._degrees()
        return found

    def _degrees(self) -> list[str]:
        """Return what is to be said about persons who differ by degrees."""
        k = self.suggested_.get("evidence", self.suggested_["bic"])
        z = float(self.spread_score[k - 1])
        if z > DIFFER:
            return [
                f"Persons differ inside {'the class' if k == 1 else f'each of {k} classes'} "
                f"(z = {z:.1f}): compare with `spread='auto'`."
            ]
        if k == 1 or np.isnan(z):
            return []
        advice = "compare with `spread='auto'`"
        return [f"Persons who differ by degrees look like classes, too: {advice}."]


def _could_reject(statistic: float, resampled: Vector, alpha: float) -> bool:
    """Return whether there are enough resamples to reject, or ended because many reached T."""
    return 1 / (1 + len(resampled)) <= alpha or int((resampled >= statistic).sum()) >= ENOUGH


def _mean(values: Matrix, weights: Vector) -> tuple[Vector, Vector]:
    """Return the weighted mean of each column, and its standard error."""
    mean = weights @ values / weights.sum()
    square = np.square(weights[:, None] * (values - mean)).sum(axis=0)
    n = len(values)
    return mean, np.sqrt(square * n / max(n - 1, 1)) / weights.sum()


def _by_criteria(each: Any) -> dict[str, int]:
    """Return the number of classes with the most evidence, clearly, and the smallest criteria."""
    evidence, found = each("log_evidence"), {}
    if np.isfinite(evidence).all():
        best = 0
        for k in range(1, len(evidence)):
            best = k if evidence[k] > evidence[best] + CLEARLY else best
        found["evidence"] = best + 1
    return found | {name: int(np.argmin(each(name))) + 1 for name in ("bic", "icl")}


def _by_held_out(held_out: Matrix, weights: Vector) -> int:
    """Return the smallest number that is not worse than the best by more than a standard error."""
    best = int(np.argmax(weights @ held_out))
    less, error = _mean(held_out[:, [best]] - held_out, weights)
    return int(np.flatnonzero(less <= error)[0]) + 1


def _number(value: float, width: int, form: str) -> str:
    return f"{'' if np.isnan(value) else format(value, form):>{width}}"


def _classes(k: int) -> str:
    return "class" if k == 1 else "classes"

"""Bootstrap standard errors and intervals of a fitted mixture."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from spectralmirror.mixture.fit_base import held_at_zero
from spectralmirror.mixture.lbfgs import Ascent
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.membership import Membership
from spectralmirror.mixture.newton import MOST_PARAMETERS, information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.reopened import centred, fitted_likelihood, fitted_parameters
from spectralmirror.mixture.resampling import SHARED_BATCH, Refits, in_batches
from spectralmirror.mixture.spread_units import SpreadUnits
from spectralmirror.mixture.summary import (
    INTERCEPT,
    WEIGHT,
    WITHIN,
    Line,
    deviations_within,
    letters,
    quantile,
    table,
)
from spectralmirror.responses import get_response
from spectralmirror.rows.checks import require_count
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.reduce import one_blas_thread
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["Bootstrap", "BootstrapLine", "Estimates", "OtherRowsError", "bootstrap"]

#: What is stored with a mixture.
KEPT = (
    "coef", "intercept", "weights", "spread_deviation", "intercept_deviation", "membership_coef",
    "membership_intercept", "converged",
)  # fmt: skip
AGAIN = "Pass X, y, groups, sample_weight and membership as they were passed to fit."
#: The log-likelihood of the rows that were fitted must be that of the model, to this share of it;
#: with a spread, the nodes over which it integrates are others than those of the fit.
SAME, ALIKE = 1e-5, 1e-2
STEP = "bootstrap: resample"
TITLE_WITHIN = "Standard deviations within each class"


class OtherRowsError(ValueError):
    """Rows are not those that a mixture was fitted to.

    Attributes
    ----------
    reason : str
        How that can be seen.
    """

    def __init__(self, reason: str):
        super().__init__(f"{reason} {AGAIN}")
        self.reason = reason


class Estimates(NamedTuple):
    """One number for each coefficient, intercept and weight."""

    coef: Matrix
    intercept: Vector
    weights: Vector


class BootstrapLine(NamedTuple):
    """A line of a mixture's summary, and what the bootstrap says about the same estimate."""

    line: Line
    standard_error: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap:
    """Estimates from resamples of the groups, their classes matched to those of the fit.

    Attributes
    ----------
    coef : ndarray of shape (n, k, d)
        Profiles, one table for each resample; of shape (n, k, n_labels, d) with more than two
        labels.
    intercept, weights : ndarray of shape (n, k)
        Intercepts and weights. There is an intercept for each of more than two labels.
    spread_deviation : ndarray of shape (n, d)
        Standard deviations of the coefficients within a class, 0 without a spread.
    intercept_deviation : ndarray of shape (n,)
        The same for intercepts, at the mean of the features.
    membership_coef : ndarray of shape (n, k, q)
        Coefficients of the weights, relative to the first class.
    membership_intercept : ndarray of shape (n, k)
        The same for their intercepts.
    converged : ndarray of shape (n,)
        Whether the refit ended at a maximum.
    """

    coef: AnyArray
    intercept: Matrix
    weights: Matrix
    spread_deviation: Matrix
    intercept_deviation: Vector
    membership_coef: AnyArray
    membership_intercept: Matrix
    converged: NDArray[np.bool_]
    _model: Any = field(repr=False)

    def __len__(self) -> int:
        return len(self.coef)

    def keep(self) -> None:
        """Let the mixture carry these resamples, until it is fitted again.

        Its summary then has the table of :meth:`summary`, too, and so have reports; ``save`` stores
        them. ``mixture.resamples_`` holds them.
        """
        self._model.resamples_ = {name: getattr(self, name) for name in KEPT}

    @classmethod
    def kept(cls, model: Any) -> Bootstrap | None:
        """Return the resamples that a mixture carries; None without any."""
        found = getattr(model, "resamples_", None)
        return None if found is None else cls(**found, _model=model)

    @property
    def standard_error(self) -> Estimates:
        """Standard deviations over the resamples: (coef, intercept, weights)."""
        return Estimates(*(part.std(axis=0, ddof=1) for part in self._parts))

    @property
    def covariance(self) -> Matrix:
        """Covariance of (u_1, b_1, ..., u_k, b_k, p_1, ..., p_k), as in `covariance_`."""
        profiles = np.concatenate([self.coef, self.intercept[..., None]], axis=-1)
        theta = np.column_stack([profiles.reshape(len(self), -1), self.weights])
        return np.asarray(np.cov(theta, rowvar=False))

    def interval(self, level: float = 0.95) -> tuple[Estimates, Estimates]:
        """Return the ends of percentile intervals.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        lower, upper : Estimates
            (coef, intercept, weights): the (1 - level) / 2 quantiles over the resamples at either
            end.
        """
        quantile(self._model, level)  # checks the level
        tails = (1 - level) / 2, (1 + level) / 2
        ends = [np.quantile(part, tails, axis=0) for part in self._parts]
        return Estimates(*(end[0] for end in ends)), Estimates(*(end[1] for end in ends))

    def summary(self, level: float = 0.95) -> str:
        """Return a table of both kinds of errors and intervals, side by side.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        str
            For each coefficient, the estimate; standard error and interval from the curvature of
            the likelihood, as in the model's summary; and those of the bootstrap.
        """
        lines = self.lines(level)
        names, width = letters(self.coef.shape[1]), max(12, *(len(one.line.term) for one in lines))
        interval = f"{100 * level:g}% interval"
        head = f"{'':<{width}}  {'':>10}  {'from the curvature':>34}  {'bootstrap':>34}\n"
        head += f"{'':<{width}}  {'estimate':>10}" + f"  {'std. error':>10}  {interval:>22}" * 2
        parts = [f"Bootstrap: {len(self)} resamples of {self.units}"]
        if not self.converged.all():
            n = int((~self.converged).sum())
            parts.append(f"{n} refits ended at max_iter={self._model.max_iter} steps")
        label, within = None, False
        for line, *own in lines:
            if line.label is not None and line.label != label:
                parts.append(f"label {line.label}")
            label = line.label
            if line.term == WEIGHT or (line.component == WITHIN and not within):
                within = line.component == WITHIN
                title = f"Class {names[line.component]}" if not within else TITLE_WITHIN
                parts += ["", title, head, "-" * (width + 84)]
            figures = line.standard_error, line.lower, line.upper, *own
            parts.append(f"{line.term:<{width}}  {_number(line.estimate)}" + _figures(figures))
        return "\n".join(parts)

    def lines(self, level: float = 0.95) -> list[BootstrapLine]:
        """Return a line for each weight, intercept and coefficient, as the summary shows them.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        list of BootstrapLine
            The line of the mixture's own summary, and what the bootstrap says.
        """
        error, (lower, upper) = self.standard_error, self.interval(level)
        found, place = list[BootstrapLine](), 0
        within = iter(self._within(level))
        for line in table(self._model, level):
            c = line.component
            if c == WITHIN:
                own = next(within).tolist()
            elif line.term == WEIGHT:
                own, place = [one.weights[c] for one in (error, lower, upper)], 0
            elif line.term == INTERCEPT:
                first = place // self.coef.shape[-1]  # of the label
                own = [one.intercept[c].flat[first] for one in (error, lower, upper)]
            else:
                own = [one.coef[c].flat[place] for one in (error, lower, upper)]
                place += 1
            found.append(BootstrapLine(line, *map(float, own)))
        return found

    def _within(self, level: float) -> list[Vector]:
        """Return the error and the interval of each standard deviation that is not 0."""
        of_all = np.column_stack([self.intercept_deviation, self.spread_deviation])
        deviations, of_intercept = deviations_within(self._model)
        found = of_all[:, np.append(of_intercept[0], deviations[0]) > 0]
        ends = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return [*np.vstack([found.std(axis=0, ddof=1), ends]).T]

    def __repr__(self) -> str:
        return f"<Bootstrap: {len(self)} resamples of {self.units}; summary() prints a table>"

    @property
    def _parts(self) -> tuple[AnyArray, Matrix, Matrix]:
        return self.coef, self.intercept, self.weights

    @property
    def units(self) -> str:
        """What was drawn, and how many there are."""
        model = self._model
        return f"{model.n_groups_:,} groups" if model.grouped_ else f"{model.n_rows_:,} rows"


def bootstrap(
    model: Any, given: dict[str, Any], n: int, random_state: Any, n_jobs: int | None
) -> Bootstrap:
    """Return refits of a fitted mixture to resamples of its rows, which are given again."""
    require_count(n=n)
    if n < 2:
        raise ValueError("n must be 2 or more: standard errors are those over n resamples, got 1.")
    _check_kind(model)
    rows = _same_rows(model, given)
    seed = int(check_random_state(random_state).randint(2**31))
    with one_blas_thread():
        refits = _refits(model, rows, seed)
        if rows.in_memory:
            made = in_batches(refits.of, n, n_jobs, STEP)
        else:  # this process reads the rows, or asks for them
            made = in_batches(refits.in_shared_passes, n, 1, STEP, SHARED_BATCH)
    return _collected(model, refits.likelihood, made)


def _refits(model: Any, rows: GroupedRows, seed: int) -> Refits:
    """Return how resamples of the rows are fitted."""
    likelihood = fitted_likelihood(model, rows)
    parameters = fitted_parameters(model, likelihood)
    likelihood = centred(likelihood, parameters)
    _check_same(model, likelihood, parameters)
    found = information(likelihood, parameters, seed=0)
    if found is None and not likelihood.coordinates.is_scaled:
        raise ValueError(
            f"bootstrap needs second derivatives, and {model.n_parameters_:,} parameters are too "
            f"many for them: at most {MOST_PARAMETERS:,}."
        )
    inverse = None if found is None else found.inverse  # climbs of wide rows need none
    return Refits(likelihood.rows, likelihood, parameters, inverse, seed, model.max_iter)


def _collected(model: Any, likelihood: Likelihood, made: list[tuple[Ascent, Vector]]) -> Bootstrap:
    """Return the refits in the units of X."""
    membership = likelihood.membership or Membership.none()
    thetas = [ascent.parameters for ascent, _ in made]
    units = [likelihood.in_units(theta.profiles) for theta in thetas]
    for coef, _ in units:
        coef[held_at_zero(likelihood, coef, model.feature_scale_)] = 0.0
    of_weights = [membership.in_units(theta.of_weights) for theta in thetas]
    mean, scale = model.feature_mean_, model.feature_scale_
    spreads = [SpreadUnits.of(likelihood, theta.spread, mean, scale) for theta in thetas]
    return Bootstrap(
        np.array([coef for coef, _ in units]),
        np.array([intercept for _, intercept in units]),
        np.array([weights for _, weights in made]),
        np.array([np.atleast_2d(one.coef_deviation)[0] for one in spreads]),
        np.array([np.atleast_1d(one.intercept_deviation)[0] for one in spreads]),
        np.array([coef for coef, _ in of_weights]),
        np.array([intercept for _, intercept in of_weights]),
        np.array([ascent.converged for ascent, _ in made]),
        model,
    )


def _check_kind(model: Any) -> None:
    """Raise if the maximum of a fit is not that of its likelihood alone."""
    check_is_fitted(model, "coef_")
    if not get_response(model.response).norm_identified:
        raise ValueError(
            f"bootstrap needs errors that vanish as 1/sqrt(n), which those of "
            f"response={model.response!r} do not: use 'logistic' or 'probit'."
        )
    if not model.refine:
        raise ValueError("bootstrap refits all features: it needs a mixture with refine=True.")


def _same_rows(model: Any, given: dict[str, Any]) -> GroupedRows:
    """Return the rows, in memory if they are few; raise if they cannot be those of the fit."""
    twin = copy.copy(model)  # acceptance sets attributes
    accepted, classes = twin._accepted(**given)
    rows: GroupedRows = accepted.brought() if accepted.is_small else accepted
    names = [getattr(one, "feature_names_in_", np.empty(0)).tolist() for one in (model, twin)]
    found = int(rows.n_present), int(rows.n_groups), classes.tolist()
    fitted = model.n_rows_, model.n_groups_, model.classes_.tolist()
    if twin.n_features_in_ != model.n_features_in_ or names[0] != names[1]:
        raise OtherRowsError("X has other features than those that were fitted.")
    for what, now, before in zip(("rows", "groups", "labels"), found, fitted, strict=True):
        if now != before:
            raise OtherRowsError(f"The mixture was fitted to {what} {before}, not {now}.")
    return rows


def _check_same(model: Any, likelihood: Likelihood, parameters: Parameters) -> None:
    """Raise if the model does not have its log-likelihood on the rows."""
    found = likelihood.evaluate(parameters)[0] - likelihood.log_prior(parameters)
    bound = SAME if model.spread_kind_ is None else ALIKE
    if abs(found - model.log_likelihood_) > bound * max(abs(model.log_likelihood_), 1):
        raise OtherRowsError(
            f"The mixture has the log-likelihood {model.log_likelihood_:.6g} on the rows that were "
            f"fitted, but {found:.6g} on these."
        )


def _figures(figures: tuple[float, ...]) -> str:
    error, lower, upper, *own = map(_number, figures)
    return f"  {error}  {lower} {upper}  {own[0]}  {own[1]} {own[2]}"


def _number(value: float) -> str:
    return f"{'' if np.isnan(value) else format(value, '.4g'):>10}"

"""From the likelihood to a fitted mixture: the steps of docs/mixture.md, in their order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spectralmirror.mixture.averaging import ParameterPosterior
from spectralmirror.mixture.constraints import orthonormal
from spectralmirror.mixture.curvature import known_share
from spectralmirror.mixture.evidence import Laplace, laplace
from spectralmirror.mixture.fewer import evidence_of_fewer
from spectralmirror.mixture.integration import Integration
from spectralmirror.mixture.lbfgs import Ascent
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.newton import MOST_PARAMETERS, Information, Top, information, polish
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.samples import (
    WarmStart,
    follow_maximum,
    growing_samples,
    largest_sample,
    small_sample,
    start_sample,
    wide_sample,
)
from spectralmirror.mixture.search import adapt_penalty, find_maxima, penalty_of_one
from spectralmirror.mixture.starts import Maximum, Start, independent, n_agreeing
from spectralmirror.mixture.task import Subspace, Task
from spectralmirror.mixture.wide_evidence import laplace_by_products
from spectralmirror.mixture.wide_search import adapt_wide_penalty, find_wide_maxima, fit_single
from spectralmirror.rows.progress import n_classes, stage

__all__ = ["Fit", "alive_components", "by_weight", "fit", "refine"]

#: A component with an expected number of rows below this is dead.
LEAST_EXPECTED_ROWS = 0.5
#: With more rows per parameter than this, theta is as good as known.
MANY_ROWS = 1_000
#: Limit on the number of climbs over all rows, if none ends at a proper maximum.
MOST_CLIMBS = 5
#: A small sample is enough if this many of at most so many starts have reached its best maximum,
#: and more than this share of the information is left although classes are hidden.
AGREED, FEW_STARTS, CLEARLY_KNOWN = 3, 30, 0.6


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted mixture.

    Attributes
    ----------
    likelihood : Likelihood
        Of all rows, in the coordinates in which it was maximised.
    ascent : Ascent
        The last climb, to theta, heaviest component first.
    starts : list of Start
        Best first.
    information : Information or None
        None if it was not computed, or if the maximum is not a proper one.
    n_dropped : int
        Number of components that were left without rows.
    fewer : dict
        Log evidence of fewer components, and of k, on the rows on which starts were compared; empty
        if they were not compared.
    on_all_rows : bool
        Whether these were all rows.
    maxima : tuple of Maximum
        What the starts have found there, best first.
    """

    likelihood: Likelihood
    ascent: Ascent
    starts: list[Start]
    information: Information | None
    n_dropped: int
    fewer: dict[int, float] = field(default_factory=dict)
    on_all_rows: bool = True
    maxima: tuple[Maximum, ...] = ()

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        parameters = self.ascent.parameters
        n_equations = len(orthonormal(self.likelihood.equations(parameters)))
        return len(parameters.packed()) - parameters.n_fixed - n_equations

    @property
    def kind(self) -> str | None:
        """The kind of spread; None without spread."""
        spread = self.likelihood.spread
        return None if spread is None else spread.kind

    @cached_property
    def observed(self) -> Information | None:
        """The information, proper or not; None if there are too many parameters."""
        if self.information is not None:
            return self.information
        return information(self.likelihood, self.ascent.parameters, seed=0)

    @cached_property
    def laplace(self) -> Laplace | None:
        """The posterior of theta; None if there are too many parameters, or no penalty.

        The evidence is that of the labels, given the classes that are known: fewer classes do not
        explain these, and could not be compared otherwise.
        """
        found = self._joint_laplace
        if found is None:
            return None
        known = self.likelihood.log_known(self.ascent.parameters)
        return replace(found, log_evidence=found.log_evidence - known)

    @property
    def _joint_laplace(self) -> Laplace | None:
        if self.likelihood.l2 == 0:
            return None
        if self.likelihood.coordinates.is_scaled:
            known = self.fewer.get(len(self.ascent.parameters)) if self.on_all_rows else None
            if known is not None:
                return Laplace(None, known, np.nan)
            return laplace_by_products(self.likelihood, self.ascent, seed=0)
        found = self.observed
        if found is None:
            return None
        posterior = laplace(self.likelihood, self.ascent, found)
        exact = posterior.log_evidence + self.integration.missing
        return replace(posterior, log_evidence=exact)

    @cached_property
    def integration(self) -> Integration:
        """How far the log-likelihood with the nodes of the fit is off."""
        return Integration.of(self.likelihood, self.ascent.parameters)

    @property
    def parameter_posterior(self) -> ParameterPosterior | None:
        """The posterior of theta in working coordinates; None if theta is as good as known."""
        parameters = self.ascent.parameters
        many = self.likelihood.rows.n_present > MANY_ROWS * (self.n_parameters + 1)
        single = len(parameters) == 1 and self.kind is None
        if many or single or self.laplace is None or self.laplace.root is None:
            return None
        return ParameterPosterior(parameters, self.laplace.root)

    @property
    def is_flat(self) -> bool:
        """Whether the likelihood is flat in some direction around theta, as far as is known."""
        small = self.n_parameters <= MOST_PARAMETERS and not self.likelihood.coordinates.is_scaled
        return self.information is None and small


@dataclass(frozen=True, eq=False)
class Found:
    """What the search on a sample has found.

    Attributes
    ----------
    maxima : list of Maximum
        Best first.
    warm : WarmStart
        The best maximum, followed to larger samples.
    l2 : float
        The penalty.
    fewer, on_all_rows
        As in :class:`Fit`.
    """

    maxima: list[Maximum]
    warm: WarmStart
    l2: float
    fewer: dict[int, float]
    on_all_rows: bool


@dataclass(frozen=True, eq=False)
class Refinement:
    """The state of the climbs over all rows.

    Attributes
    ----------
    top : Top
        Where the last climb ended.
    tol : float
        Tolerance of the next climb.
    n_passes : int
        Number of passes over the rows so far.
    finished : bool
        Whether there is no reason, or no budget, to climb again.
    """

    top: Top
    tol: float
    n_passes: int
    finished: bool


def fit(task: Task) -> Fit:
    """Fit a mixture of k components."""
    what = n_classes(task.k)
    stage(f"{what}: looking for starts")
    target, space = _target(task)
    found = _start(task, target, space)
    target = target.with_l2(found.l2)
    stage(f"{what}: climbing over all rows")
    top = refine(task, target, found.warm)
    n_dropped = task.k - len(top.ascent.parameters)
    starts = [one.start for one in found.maxima]
    return Fit(
        target, top.ascent, starts, top.information, n_dropped, found.fewer, found.on_all_rows,
        tuple(found.maxima),
    )  # fmt: skip


def _target(task: Task) -> tuple[Likelihood, Subspace | None]:
    """Return the likelihood to maximise, and the subspace of it in which to look for starts."""
    if task.subspace is None or task.refine:
        return task.likelihood, task.subspace
    return task.likelihood.inside(task.subspace.basis), None


def _start(task: Task, target: Likelihood, space: Subspace | None) -> Found:
    """Find the best maximum of a sample and the penalty, and follow the maximum to larger samples.

    The samples are copies of rows, which are released on return.
    """
    if target.coordinates.is_scaled:
        return _wide_start(task, target)
    largest = largest_sample(task, target)
    sample, maxima = _search(task, largest, target, space)
    fewer: dict[int, float] = {}
    if task.choose_l2:
        sample, maxima = adapt_penalty(task, sample, maxima)
        largest = largest.with_l2(largest.l2 * sample.l2 / target.l2)
    if task.compare_fewer:
        fewer = evidence_of_fewer(task, sample, maxima[0].ascent)
    samples = growing_samples(task, sample, largest, target)
    warm = follow_maximum(task, maxima[0].ascent.parameters, samples)
    l2 = sample.l2 if task.choose_l2 else target.l2
    return Found(maxima, warm, l2, fewer, len(samples) == 1)


def _search(
    task: Task, largest: Likelihood, target: Likelihood, space: Subspace | None
) -> tuple[Likelihood, list[Maximum]]:
    """Return the sample on which starts competed, and its maxima, best first.

    A small sample is enough if its groups tell their classes and the starts agree; otherwise its
    best maximum is one of the starts on the usual one.
    """
    small = small_sample(task, largest) if task.k > 1 and task.is_spectral else None
    if small is not None and not small.has_known:
        small = with_prior(task, small, target)
        maxima = find_maxima(replace(task, n_init=min(task.n_init, FEW_STARTS)), small, space)
        best, starts = maxima[0].ascent.parameters, independent([one.start for one in maxima])
        if n_agreeing(starts) >= AGREED and known_share(small, best) > CLEARLY_KNOWN:
            return small, maxima
        task = replace(task, before=best)
    sample = with_prior(task, start_sample(task, largest), target)
    sample = penalty_of_one(task, sample) if task.choose_l2 else sample
    return sample, find_maxima(task, sample, space)


def with_prior(task: Task, sample: Likelihood, target: Likelihood) -> Likelihood:
    """Return a sample with the prior of all rows, which does not depend on their number.

    A penalty that was given stays the same per row, so that maxima are where those of all rows are.
    """
    if not task.choose_l2:
        return sample
    return replace(sample, l2=target.l2, concentration=target.concentration)


def _wide_start(task: Task, target: Likelihood) -> Found:
    """Find the best maximum of a sample of wide rows, often of all of them, and the penalty."""
    sample = largest_sample(task, target) if not target.rows.in_memory else target
    sample = with_prior(task, wide_sample(task, sample), target)
    single = None
    if task.k > 1 and task.choose_l2 and task.before is None:
        single = fit_single(task, sample)
        sample = sample.with_l2(single[0].l2 / task.k)  # profiles grow when classes part
    maxima, fewer = find_wide_maxima(task, sample), {}
    if task.choose_l2:
        sample, maxima = adapt_wide_penalty(task, sample, maxima)
    if task.compare_fewer:
        fewer = evidence_of_fewer(task, sample, maxima[0].ascent, single)
    l2 = sample.l2 if task.choose_l2 else target.l2
    on_all_rows = sample.rows.n_present == target.rows.n_present
    return Found(maxima, WarmStart(maxima[0].ascent.parameters), l2, fewer, on_all_rows)


def refine(task: Task, target: Likelihood, warm: WarmStart) -> Top:
    """Climb over all rows until a climb ends at a proper maximum.

    A climb that has converged on a long ridge or at a saddle is continued with a smaller tolerance
    and without the preconditioner; with a spread, with that of the information, if it is proper.
    """
    state = _climb(task, target, warm, task.tol, 0)
    for _ in range(MOST_CLIMBS - 1):
        if state.finished:
            break
        found = state.top.information if target.spread is not None else None
        inverse = None if found is None else found.inverse
        again = WarmStart(state.top.ascent.parameters, inverse)
        state = _climb(task, target, again, state.tol / 10, state.n_passes)
    return state.top


def _climb(
    task: Task, target: Likelihood, warm: WarmStart, tol: float, n_passes: int
) -> Refinement:
    """Climb, drop dead components, polish by Newton steps, and sort by weight."""
    most = task.max_passes
    climbed = task.climber(
        target,
        warm.parameters,
        tol=tol,
        inverse=warm.inverse,
        max_passes=None if most is None else max(most - n_passes, 1),
    )
    climbed = _drop_dead(task, target, climbed)
    top = _sorted(task, target, _polish(task, target, climbed))
    n_passes += top.ascent.n_passes
    exhausted = not climbed.converged or n_passes >= (most or np.inf)
    return Refinement(top, tol, n_passes, top.ascent.converged or exhausted)


def _drop_dead(task: Task, likelihood: Likelihood, ascent: Ascent) -> Ascent:
    """Drop components that are left without rows, and climb again without them.

    Nodes of each person's own belong to the components: these stay as they are.
    """
    alive = alive_components(likelihood, ascent.parameters)
    if len(alive) == len(ascent.parameters) or likelihood.has_person_nodes:
        return ascent
    survivors = ascent.parameters[alive]
    again = task.climber(likelihood, survivors, tol=task.tol, max_passes=task.max_passes)
    return _drop_dead(task, likelihood, again)


def alive_components(likelihood: Likelihood, parameters: Parameters) -> NDArray[np.intp]:
    """Return which components have rows; all of them if they have numbers of their own."""
    rows = likelihood.mean_weights(parameters)[0] * likelihood.rows.row_weight
    alive = np.flatnonzero(rows >= LEAST_EXPECTED_ROWS)
    return np.arange(len(parameters)) if not len(alive) or likelihood.has_known else alive


def _polish(task: Task, likelihood: Likelihood, ascent: Ascent) -> Top:
    """Polish by Newton steps, and once more whenever these leave a component without rows."""
    top = polish(likelihood, _heaviest_first(likelihood, ascent), task.seed)
    alive = _drop_dead(task, likelihood, top.ascent)
    return top if alive is top.ascent else _polish(task, likelihood, alive)


def _sorted(task: Task, likelihood: Likelihood, top: Top) -> Top:
    """Sort by weight again: Newton steps may exchange two components of nearly equal weight."""
    ascent = _heaviest_first(likelihood, top.ascent)
    if ascent is top.ascent:
        return top
    if top.information is None:
        return Top(ascent, None)
    return Top(ascent, information(likelihood, ascent.parameters, task.seed))


def _heaviest_first(likelihood: Likelihood, ascent: Ascent) -> Ascent:
    order = by_weight(likelihood, ascent.parameters)
    if likelihood.has_person_nodes or (np.diff(order) > 0).all():
        return ascent
    return replace(ascent, parameters=ascent.parameters[order])


def by_weight(likelihood: Likelihood, parameters: Parameters) -> NDArray[np.intp]:
    """Return components, heaviest first; those that have numbers of their own keep them."""
    weights = likelihood.mean_weights(parameters)[0]
    if likelihood.has_known or not (np.diff(weights) > 0).any():
        return np.arange(len(weights))
    return np.argsort(-weights, kind="stable")

"""What every mixture of hidden classes does when its rows have been accepted."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from spectralmirror.mixture.class_options import ClassOptions
from spectralmirror.mixture.constraints import ZERO
from spectralmirror.mixture.diagnostics import find_problems, status
from spectralmirror.mixture.doubt import agreeing_kinds, doubt
from spectralmirror.mixture.em import em
from spectralmirror.mixture.evidence import CONCENTRATION, initial_l2
from spectralmirror.mixture.fitting import fit
from spectralmirror.mixture.inference import standard_errors
from spectralmirror.mixture.label_contrasts import LabelContrasts
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.membership import Membership
from spectralmirror.mixture.preprocessing import Preprocessing, given_start
from spectralmirror.mixture.selection import Candidate, evidence_path, fewer_components, select
from spectralmirror.mixture.spread_score import spread_score
from spectralmirror.mixture.spread_selection import kinds_to_try, select_spread
from spectralmirror.mixture.spread_units import SpreadUnits
from spectralmirror.mixture.task import Task
from spectralmirror.mixture.wide import in_order, is_wide
from spectralmirror.responses import get_response
from spectralmirror.rows.accept import count_scans
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.messages import named_columns
from spectralmirror.rows.progress import print_progress
from spectralmirror.rows.reduce import one_blas_thread
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["SOLVERS", "MixtureFit", "MixtureWarning", "held_at_zero"]

SOLVERS = {"lbfgs": climb, "em": em}


def contrasts(classes: NDArray[Any]) -> LabelContrasts | None:
    """Return the contrasts of labels of more than two kinds."""
    return LabelContrasts(len(classes)) if len(classes) > 2 else None


class MixtureWarning(UserWarning):
    """A fit is not what was requested, or parts of it cannot be trusted."""


class MixtureFit:
    """The fit of a mixture to rows that have been accepted, and the attributes that it sets."""

    n_components: int | str
    response: str
    fit_intercept: bool
    l2: float | str
    subspace: Any
    refine: bool
    init: Any
    n_init: int
    solver: str
    tol: float
    max_iter: int
    criterion: str
    random_state: Any
    verbose: bool | int
    membership_names_in_: NDArray[Any]

    def _fit_grouped(self, grouped: GroupedRows, classes: NDArray[Any]) -> Self:
        """Fit the mixture, set all attributes, and warn about problems."""
        self._report_problems(self._chosen(grouped, classes))
        return self

    def _chosen(self, grouped: GroupedRows, classes: NDArray[Any]) -> Candidate:
        """Fit the mixture, set its attributes, and return the fit."""
        self._check_number(grouped)
        vars(self).pop("resamples_", None)  # they were of an earlier fit
        kinds = kinds_to_try(self, grouped)
        auto = self.n_components == "auto"
        names = getattr(self, "feature_names_in_", None)
        several = auto or kinds != (None,)
        d = int(grouped.rows.n_features)
        options = ClassOptions.of(self, grouped, d, names, kinds)
        subspace = self.subspace if options.has_subspace else None
        wide = is_wide(self, grouped, options, kinds, len(classes))
        prepared = Preprocessing(
            in_order(grouped) if wide else grouped, subspace, names, self._rng,
            self.fit_intercept, several, contrasts(classes), wide,
        )  # fmt: skip
        # with several BLAS threads, the last bits would depend on their number
        with named_columns(self), one_blas_thread(), print_progress(self.verbose):
            fit_k = partial(self._fit_k, prepared, options)
            self.spread_evidence_: dict[str, float] = {}
            if kinds != (None,):
                chosen, tried = self._select_spread(prepared, options, kinds)
            elif auto:
                first = max(options.n_known, 1)
                chosen, tried = select(fit_k, prepared.n_visible, self.criterion, first)
            else:
                chosen = fit_k(int(self.n_components), None, None)
                tried = {int(self.n_components): chosen}
            self.bic_path_ = {k: one.bic for k, one in tried.items()}
            self.evidence_path_ = evidence_path(tried)
            self.evidence_path_ |= fewer_components(chosen, fit_k)
            self._set_estimates(chosen)
            self._set_membership(chosen, grouped)
            self._set_errors(chosen)
        self.classes_ = classes
        self.n_rows_, self.n_groups_ = int(grouped.n_present), int(grouped.n_groups)
        self.grouped_ = bool(grouped.is_repeated)
        count_scans(self, grouped)
        return chosen

    def _check_number(self, grouped: GroupedRows) -> None:
        if self.n_components == "auto":
            if self.criterion == "evidence" and self.l2 == 0:
                raise ValueError(
                    "criterion='evidence' needs a penalty: use l2='auto' or a number above 0, or "
                    "criterion='bic'."
                )
            if not isinstance(self.init, str):
                raise ValueError(
                    "n_components='auto' needs init='spectral' or 'random', not profiles."
                )
        elif int(self.n_components) > grouped.n_present:
            raise ValueError(
                f"`n_components={self.n_components}` exceeds the number of rows, "
                f"{grouped.n_present}: every classifier needs many rows of its own."
            )

    def _select_spread(
        self, prepared: Preprocessing, options: ClassOptions, kinds: tuple[str | None, ...]
    ) -> tuple[Candidate, dict[int, Candidate]]:
        """Fit a spread, or choose one; return the fit, and the best of each number compared."""
        auto = self.n_components == "auto"
        fit_k = partial(self._fit_k, prepared, options)
        choice = select_spread(
            fit_k,
            lambda k: replace(self._task(prepared, options, k, None, None), solver=climb),
            None if auto else int(self.n_components),
            kinds,
            self.criterion,
            lead_up=isinstance(self.init, str),
        )
        k, kind = len(choice.best.fit.ascent.parameters), choice.best.fit.kind
        compared = choice.tried.get((k, kind))
        n = prepared.grouped.n_present
        if compared is not None and compared.fit.likelihood.rows.n_present == n:
            choice.tried[k, kind] = choice.best  # with more nodes than it was compared with
        self.spread_evidence_ = {
            kind or "none": one.log_evidence
            for (number, kind), one in choice.tried.items()
            if number == k
        }
        return choice.best, choice.best_of_each(kinds)

    def _rng(self) -> np.random.RandomState:
        """Return a stream of its own: data drawn from the same seed must not return as starts."""
        return np.random.RandomState(check_random_state(self.random_state).randint(2**31, size=4))

    def _fit_k(
        self,
        prepared: Preprocessing,
        options: ClassOptions,
        k: int,
        before: Candidate | None,
        n_init: int | None,
    ) -> Candidate:
        task = self._task(prepared, options, k, before, n_init)
        return Candidate(fit(task), prepared.features(k))

    def _task(
        self,
        prepared: Preprocessing,
        options: ClassOptions,
        k: int,
        before: Candidate | None,
        n_init: int | None,
    ) -> Task:
        likelihood = self._likelihood(prepared, options, k)
        coordinates, auto = likelihood.coordinates, isinstance(self.l2, str)
        if auto and prepared.is_wide and before is not None:
            fewer = len(before.fit.ascent.parameters)
            likelihood = likelihood.with_l2(before.fit.likelihood.l2 * min(fewer / k, 1.0))
        return Task(
            k,
            likelihood,
            prepared.features(k).space,
            self.refine,
            self.init
            if isinstance(self.init, str)
            else given_start(self.init, k, coordinates, prepared.labels),
            self.n_init if n_init is None else min(n_init, self.n_init),
            self.max_iter,
            self.tol,
            SOLVERS[self.solver],
            self._rng(),
            choose_l2=auto,
            compare_fewer=auto and k > 1 and not prepared.several and not options.n_known,
            before=before.fit.ascent.parameters if before is not None and self.refine else None,
            found=before.fit.maxima if before is not None and before.n_components == k else (),
        )

    def _likelihood(self, prepared: Preprocessing, options: ClassOptions, k: int) -> Likelihood:
        """Return the likelihood of k classes, with the first penalty if it is to be chosen."""
        grouped, coordinates = prepared.grouped, prepared.coordinates(k)
        response = get_response(self.response).fitted
        likelihood = Likelihood(grouped, response, coordinates, 0.0, labels=prepared.labels)
        likelihood = options.applied(likelihood, k)
        auto = isinstance(self.l2, str)
        l2 = initial_l2(likelihood) if auto else float(self.l2)
        return replace(likelihood, l2=l2, concentration=CONCENTRATION if auto else 0.0)

    def _opened(self, grouped: GroupedRows, k: int) -> Likelihood:
        """Return the likelihood of k classes without spread, as :meth:`fit` makes it."""
        names, d = getattr(self, "feature_names_in_", None), int(grouped.rows.n_features)
        options = ClassOptions.of(self, grouped, d, names, (None,))
        wide = is_wide(self, grouped, options, (None,), len(self.classes_))
        prepared = Preprocessing(
            grouped, None, names, self._rng, self.fit_intercept,
            labels=contrasts(self.classes_), is_wide=wide,
        )  # fmt: skip
        return self._likelihood(prepared, options, k)

    def _set_estimates(self, chosen: Candidate) -> None:
        ascent, starts = chosen.fit.ascent, chosen.fit.starts
        coef, intercept = chosen.fit.likelihood.in_units(ascent.parameters.profiles)
        coef[held_at_zero(chosen.fit.likelihood, coef, chosen.features.whitening.scale)] = 0.0
        self.sharpness_ = np.ones(len(coef))
        if not get_response(self.response).norm_identified:
            self.sharpness_ = np.maximum(np.linalg.norm(coef, axis=1), 1e-300)
        self.coef_ = coef / self.sharpness_.reshape(-1, *[1] * (coef.ndim - 1))
        self.intercept_ = intercept / self.sharpness_.reshape(-1, *[1] * (coef.ndim - 2))
        self.weights_ = chosen.fit.likelihood.mean_weights(ascent.parameters)[0]
        self.n_components_ = len(coef)
        self.l2_ = chosen.fit.likelihood.l2
        self.objective_, self.converged_ = ascent.value, bool(ascent.converged)
        self.n_iter_, self.n_passes_ = max(ascent.n_iter, 1), ascent.n_passes
        self.starts_, self.n_agreed_ = starts, agreeing_kinds(starts)
        self.doubt_ = doubt(starts, len(coef))
        quality, criteria = chosen.quality, chosen.quality.criteria
        self.log_likelihood_, self.n_parameters_ = criteria.log_likelihood, criteria.n_parameters
        self.aic_, self.bic_, self.icl_ = criteria.aic, criteria.bic, criteria.icl
        self.assignment_entropy_, self.expected_accuracy_ = quality.entropy, quality.accuracy
        found = chosen.fit.laplace
        self.log_evidence_ = float("nan") if found is None else found.log_evidence
        features = chosen.features
        self.feature_mean_, self.feature_scale_ = features.whitening.mean, features.whitening.scale
        self._feature_root = features.root
        self._parameter_root = self._root_in_units(chosen)
        likelihood, b = chosen.fit.likelihood, ascent.parameters.spread
        B = SpreadUnits.of(likelihood, b, self.feature_mean_, self.feature_scale_)
        self.spread_kind_, self._n_spread = chosen.fit.kind, len(b)
        penalty = np.empty(0) if likelihood.spread is None else likelihood.spread.penalty
        self._spread_entries = np.array([b, penalty])
        self.spread_, self.intercept_spread_ = B.coef, B.intercept
        self.spread_deviation_ = B.coef_deviation
        self.intercept_deviation_ = B.intercept_deviation
        self.spread_score_ = spread_score(chosen.fit)

    def _root_in_units(self, chosen: Candidate) -> Matrix | None:
        """Return a root of the covariance of theta, for scores of [x - mean, 1]."""
        fitted = chosen.fit
        theta, coordinates = fitted.parameter_posterior, fitted.likelihood.coordinates
        if theta is None:
            return None
        to_mean = coordinates.matrix.copy()
        o = 0.0 if coordinates.origin is None else coordinates.origin.astype(np.float64)
        to_mean[:, -1] += to_mean[:, :-1] @ (self.feature_mean_ - o)
        to_mean = fitted.likelihood.of_labels(to_mean)
        return theta.mapped(to_mean, SpreadUnits.of_entries(fitted, chosen.features.whitening)).root

    def _set_membership(self, chosen: Candidate, grouped: GroupedRows) -> None:
        """Set what the weights of the classes depend on."""
        membership = chosen.fit.likelihood.membership or Membership.none()
        found = membership.in_units(chosen.fit.ascent.parameters.of_weights)
        self.membership_coef_, self.membership_intercept_ = found
        self._membership_mean, self._membership_scale = membership.mean, membership.scale
        if hasattr(self, "membership_names_in_"):
            del self.membership_names_in_
        if membership.n_covariates:
            self.membership_names_in_ = np.array(grouped.trait_columns.names, dtype=object)

    def _set_errors(self, chosen: Candidate) -> None:
        regular = chosen.features.proper and get_response(self.response).norm_identified
        errors = standard_errors(chosen.fit, chosen.features.whitening, regular=regular)
        zero = held_at_zero(chosen.fit.likelihood, self.coef_, self.feature_scale_)
        self.coef_standard_error_ = np.where(zero, 0.0, errors.coef)
        self.intercept_standard_error_ = errors.intercept
        self.weights_standard_error_ = errors.weights
        self.covariance_, self.degrees_of_freedom_ = errors.covariance, errors.degrees_of_freedom
        self.membership_coef_standard_error_ = errors.membership_coef
        self.membership_intercept_standard_error_ = errors.membership_intercept
        self.spread_standard_error_ = errors.coef_deviation
        self.intercept_deviation_standard_error_ = errors.intercept_deviation

    def _report_problems(self, chosen: Candidate) -> None:
        """Set the status, and warn about each problem when all attributes are set."""
        names = getattr(self, "feature_names_in_", None)
        problems = find_problems(
            chosen.fit,
            chosen.quality,
            collinear=chosen.features.why_singular(names),
            max_iter=self.max_iter,
            evidence=self.evidence_path_,
            labels=self.classes_.tolist(),
        )
        self._problems = [problem.sentence for problem in problems]
        self.status_ = status(
            problems,
            self.starts_,
            self.n_components_,
            converged=self.converged_,
            wide=chosen.features.is_wide,
        )
        for problem in problems:
            warnings.warn(problem.sentence, MixtureWarning, stacklevel=6)


def held_at_zero(likelihood: Likelihood, coef: AnyArray, scale: Vector) -> NDArray[np.bool_]:
    """Return which coefficients are 0, up to rounding, because a sign holds them there."""
    constraints = likelihood.constraints
    if constraints is None or not constraints.has_signs:
        return np.zeros(coef.shape, dtype=bool)
    return np.asarray(np.abs(coef) * scale <= ZERO)

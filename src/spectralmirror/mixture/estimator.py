"""The estimator of the hidden classifiers."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.diagnostics import find_problems, status
from spectralmirror.mixture.doubt import agreeing_kinds, doubt
from spectralmirror.mixture.em import em
from spectralmirror.mixture.evidence import CONCENTRATION, initial_l2
from spectralmirror.mixture.fitting import fit
from spectralmirror.mixture.inference import standard_errors
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.prediction import MixturePrediction
from spectralmirror.mixture.preprocessing import Preprocessing, given_start
from spectralmirror.mixture.selection import (
    CRITERIA,
    Candidate,
    fewer_components,
    select,
)
from spectralmirror.mixture.spread import KINDS as SPREADS
from spectralmirror.mixture.spread_score import spread_score
from spectralmirror.mixture.spread_selection import kinds_to_try, select_spread
from spectralmirror.mixture.spread_units import SpreadUnits
from spectralmirror.mixture.task import Task
from spectralmirror.responses import RESPONSES, get_response
from spectralmirror.rows.accept import accept_rows, checks_parameters, count_scans
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.messages import named_columns
from spectralmirror.rows.reduce import one_blas_thread
from spectralmirror.rows.types import Matrix
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["LinearClassifierMixture", "MixtureWarning"]

SOLVERS = {"lbfgs": climb, "em": em}


class MixtureWarning(UserWarning):
    """A fit is not what was requested, or parts of it cannot be trusted."""


class LinearClassifierMixture(MixturePrediction, ClassifierMixin, BaseEstimator):
    """Mixture of linear classifiers, fitted by penalised maximum likelihood.

    Binary labels come from k hidden linear classifiers, and which of them made a label is not
    observed:

        P(y = +1 | x) = sum_l p_l f(<u_l, x> + b_l).

    The fit maximises

        sum log P(y | x)  -  l2/2 sum_l |u_l|^2,   with features per standard deviation,

    over the profiles u_l, the intercepts b_l and the weights p_l; by default, l2 is chosen from the
    data. Rows of the same group, such as
    the ratings of one person, share their classifier; this makes the classifiers much easier to
    find and to assign.

    The likelihood has many local maxima. The fit first estimates the subspace that the profiles
    span (:class:`SpectralMirror`). It then climbs from starts of different kinds, on a sample of
    the rows if there are many, until several agree, and crosses what they found. Finally it refines
    the best maximum over all rows and features. `doubt_` says how likely a better one is. Time
    grows as n d^2 for the subspace and as n d k for each pass of the refinement.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number k of classifiers. "auto" fits 1, 2, ... classifiers and keeps the best by
        `criterion`.
    response : {"logistic", "probit", "hard"}, default="logistic"
        The function f. With "hard", y = sign(<u_l, x> + b_l): labels do not determine the norm of a
        profile, so logistic profiles are fitted and reported with unit norm.
    fit_intercept : bool, default=True
        Whether classifiers have intercepts b_l.
    l2 : "auto" or float, default="auto"
        Strength of the penalty on the squared norms of the profiles. Intercepts are not penalised.
        "auto" chooses the penalty with the largest evidence (empirical Bayes), and adds a weak
        prior that keeps weights away from 0: 5 sum_l log(k p_l). A number is taken as it is,
        without that prior; a small one keeps profiles just finite if the labels are separable.
    subspace : "auto", SpectralMirror, array-like of shape (K, n_features) or None, default="auto"
        Where to look for starts. "auto" uses the default SpectralMirror with k dimensions. Pass
        another SpectralMirror, fitted or not, or vectors that span a subspace, to use that one;
        None looks in the whole space.
    refine : bool, default=True
        Whether to refine the profiles over all features in the end. False keeps them inside the
        subspace, as in the paper, and so keeps the error of the subspace.
    init : {"spectral", "random"}, array-like, tuple or fitted mixture, default="spectral"
        How to start. "spectral" grows components one by one, splitting each time where the label
        residuals show the most structure (the leading eigenvector of their second moment), and
        continues with starts of other kinds: fits of parts of the groups, random profiles, and
        climbs under decreasing penalties. When several agree, components of the maxima are
        exchanged until that no longer helps. "random" climbs from `n_init` plain random starts.
        An array of shape (k, n_features) holds the profiles of the only start, which has equal
        weights and no intercepts; a tuple holds profiles, intercepts and weights; a fitted mixture
        is taken as the start.
    n_init : int, default=200
        Maximum number of starts, including those that exchange components.
    solver : {"lbfgs", "em"}, default="lbfgs"
        Both maximise the same likelihood. "em" is expectation-maximisation with exact M steps: the
        objective never decreases, but convergence is slow.
    tol : float, default=0.001
        A climb ends when a step gains less log-likelihood than this; Newton steps follow.
    max_iter : int, default=500
        Maximum number of steps of a climb.
    criterion : {"evidence", "bic", "icl"}, default="evidence"
        What "auto" optimises: the largest evidence, or the smallest BIC or ICL. The evidence needs
        a penalty above 0.
    spread : {"intercept", "diagonal", "factor", "full", "auto"} or None, default=None
        How persons of one class differ from each other, for groups of several labels. Person g of
        class l has the profile u_l + B z_g with z_g ~ N(0, I). None means that they do not differ;
        "intercept" that they differ in their intercepts only; "diagonal" in each coefficient by
        itself; "factor" adds one factor that all coefficients share; "full" is any covariance.
        "auto" chooses one of these, or None, by `criterion`; without groups it is None. Fits with a
        spread always use "lbfgs".
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts and of the samples of rows. Pass an int for reproducible fits.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components_, n_features)
        Profiles u_l in the units of X, heaviest component first.
    intercept_ : ndarray of shape (n_components_,)
        Intercepts b_l.
    weights_ : ndarray of shape (n_components_,)
        Weights p_l: shares of the groups, or of the rows if there are no groups.
    sharpness_ : ndarray of shape (n_components_,)
        Factor of profiles and intercepts inside f: 1, except with "hard" labels, for which it is
        the norm of the fitted logistic profile.
    n_components_ : int
        Number of components; lower than requested if some were left without rows.
    n_rows_ : int
        Number of rows with a positive weight.
    n_groups_ : int
        Number of groups of these rows; equal to `n_rows_` if there are no groups.
    log_likelihood_ : float
        Log-likelihood of the rows, without the penalty.
    l2_ : float
        The penalty that was used.
    objective_ : float
        Log-likelihood less the penalty, plus the prior of the weights if l2="auto": what the fit
        maximises.
    log_evidence_ : float
        Log of the probability of the labels, averaged over the prior that the penalty stands for
        (Laplace's approximation); NaN without a penalty, or with more than 3,000 parameters.
    evidence_path_ : dict
        Log evidence for each number of components that was compared.
    bic_, aic_, icl_ : float
        Information criteria; lower is better. BIC counts groups if there are groups, otherwise
        rows. ICL adds twice the entropy of the assignments to BIC.
    expected_accuracy_ : float
        Share of rows that :meth:`predict_component` should assign correctly if the fitted model
        holds, averaged over what is not known about the parameters. A single label says little
        about the classifier behind it, ten labels of the same person say much.
    assignment_entropy_ : float
        Mean entropy of the assignments, from 0 (certain) to 1 (unknown), averaged likewise.
    converged_ : bool
        Whether the last climb ended at a maximum.
    status_ : str
        What happened during the fit, and what to do about it.
    n_iter_, n_passes_ : int
        Numbers of steps and of passes over the rows in the last climb. If the rows are not in
        memory, there are at most 500 passes, and a few more for Newton steps.
    n_scans_ : int
        How often the rows were read in total; only set if the rows are not in memory.
    starts_ : list of Start
        All starts (kind, objective, n_iter), best first. Objectives refer to the rows and the
        penalty with which starts were compared.
    n_agreed_ : int
        Number of kinds of starts that reached the best maximum, to within 0.5: starts of one kind
        tend to fail together.
    doubt_ : float
        Probability that a better maximum exists, judged by how many starts agreed; NaN if the start
        was given, and with a spread.
    coef_standard_error_, intercept_standard_error_, weights_standard_error_ : ndarray
        Standard errors from the observed information; cluster-robust with groups or non-integer
        weights; with ``refine=False``, as if the subspace were known. NaN with "hard" labels, whose
        errors are not normal, with more than 3,000 parameters, with a single group, if the
        likelihood has no sharp maximum, and if features are collinear.
    degrees_of_freedom_ : float
        Confidence intervals use the t distribution with this many degrees of freedom: the number
        of groups minus 1 if standard errors are cluster-robust, otherwise infinity (normal).
    covariance_ : ndarray or None
        Covariance of (u_1, b_1, ..., u_k, b_k); None if there are no standard errors.
    n_parameters_ : int
        Number of free parameters, as counted by the criteria.
    grouped_ : bool
        Whether some rows shared a group.
    spread_kind_ : str or None
        The kind of spread.
    spread_ : ndarray of shape (n_features, q)
        B in the units of X: the coefficients of persons of one class have the covariance B B'.
        Without spread, q = 0.
    intercept_spread_ : ndarray of shape (q,)
        The same for intercepts b_l.
    spread_deviation_, spread_standard_error_ : ndarray of shape (n_features,)
        Standard deviations of persons' coefficients within a class, and their standard errors.
    intercept_deviation_, intercept_deviation_standard_error_ : float
        The same for the intercept at the mean of the features.
    spread_score_ : float
        Whether persons differ inside the classes of a fit without spread: z of a score test,
        clearly so above 3. NaN with a spread, and without groups.
    spread_evidence_ : dict
        Log evidence of each kind of spread that was compared for this number of components, "none"
        for no spread.
    bic_path_ : dict
        BIC for each number of components that was tried.
    feature_mean_, feature_scale_ : ndarray of shape (n_features,)
        Mean and standard deviation of the features.
    classes_ : ndarray of shape (2,)
        The labels that are coded as -1 and +1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only set if X has string column names.

    See Also
    --------
    SpectralMirror : Estimates only the span of the profiles, which is faster.

    Examples
    --------
    >>> from spectralmirror import LinearClassifierMixture
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> from spectralmirror.metrics import profile_error
    >>> X, y, truth = make_linear_classifier_mixture(10_000, 5, weights=[0.6, 0.4], random_state=0)
    >>> mixture = LinearClassifierMixture(n_components=2, random_state=0).fit(X, y)
    >>> mixture.weights_.round(2)
    array([0.61, 0.39])
    >>> round(profile_error(truth.profiles, mixture.coef_), 1)
    0.1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "response": [StrOptions(RESPONSES.keys())],  # a view: it follows what is added later
        "fit_intercept": ["boolean"],
        "l2": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "subspace": [StrOptions({"auto"}), SpectralMirror, "array-like", None],
        "refine": ["boolean"],
        "init": [StrOptions({"spectral", "random"}), "array-like", HasMethods("component_proba")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "criterion": [StrOptions(set(CRITERIA))],
        "spread": [StrOptions({*SPREADS, "auto"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        response: str = "logistic",
        fit_intercept: bool = True,
        l2: float | str = "auto",
        subspace: Any = "auto",
        refine: bool = True,
        init: Any = "spectral",
        n_init: int = 200,
        solver: str = "lbfgs",
        tol: float = 1e-3,
        max_iter: int = 500,
        criterion: str = "evidence",
        spread: str | None = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.response = response
        self.fit_intercept = fit_intercept
        self.l2 = l2
        self.subspace = subspace
        self.refine = refine
        self.init = init
        self.n_init = n_init
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.criterion = criterion
        self.spread = spread
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: Any, y: Any = None, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Find the classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a source
            The features: an array, a DataFrame or a dask collection; or a source that brings its
            own labels, groups and weights (:func:`spectralmirror.scan`,
            `spectralmirror.spark.scan`).
        y : array-like of shape (n_samples,)
            Labels of two classes, of any type; None with a source.
        groups : array-like of shape (n_samples,), default=None
            Rows with the same value are known to share their hidden classifier.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. Integers are frequencies. Other weights are scaled so that they sum
            to Kish's effective sample size. Rows of weight 0 are left out. The weight of a group is
            the mean of those of its rows.

        Returns
        -------
        self : LinearClassifierMixture
            The fitted mixture.
        """
        grouped, classes = accept_rows(self, X, y, groups, sample_weight)
        self._check_number(grouped)
        kinds = kinds_to_try(self, grouped)
        auto = self.n_components == "auto"
        names = getattr(self, "feature_names_in_", None)
        several = auto or kinds != (None,)
        prepared = Preprocessing(grouped, self.subspace, names, self._rng, several=several)
        # with several BLAS threads, the last bits would depend on their number
        with named_columns(self), one_blas_thread():
            fit_k = partial(self._fit_k, prepared)
            self.spread_evidence_: dict[str, float] = {}
            if kinds != (None,):
                chosen, tried = self._select_spread(prepared, kinds)
            elif auto:
                chosen, tried = select(fit_k, prepared.n_visible, self.criterion)
            else:
                chosen = fit_k(int(self.n_components), None, None)
                tried = {int(self.n_components): chosen}
            self.bic_path_ = {k: one.bic for k, one in tried.items()}
            self.evidence_path_ = {k: one.log_evidence for k, one in tried.items()}
            self.evidence_path_ |= fewer_components(chosen, fit_k)
            self._set_estimates(chosen)
            self._set_errors(chosen)
        self.classes_ = classes
        self.n_rows_, self.n_groups_ = int(grouped.n_present), int(grouped.n_groups)
        self.grouped_ = bool(grouped.is_grouped)
        count_scans(self, grouped)
        self._report_problems(chosen)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a mixture; older ones chose the number of components by BIC."""
        super().__setstate__({"criterion": "bic", "spread": None, **state})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

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
        self, prepared: Preprocessing, kinds: tuple[str | None, ...]
    ) -> tuple[Candidate, dict[int, Candidate]]:
        """Fit a spread, or choose one; return the fit, and the best of each number compared."""
        auto = self.n_components == "auto"
        fit_k = partial(self._fit_k, prepared)
        choice = select_spread(
            fit_k,
            lambda k: replace(self._task(prepared, k, None, None), solver=climb),
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
        self, prepared: Preprocessing, k: int, before: Candidate | None, n_init: int | None
    ) -> Candidate:
        return Candidate(fit(self._task(prepared, k, before, n_init)), prepared.features(k))

    def _task(
        self, prepared: Preprocessing, k: int, before: Candidate | None, n_init: int | None
    ) -> Task:
        features = prepared.features(k)
        grouped, whitening = prepared.grouped, features.whitening
        origin = whitening.origin(grouped.rows.dtype)
        coordinates = Coordinates.whitened(whitening, origin, intercept=self.fit_intercept)
        response = get_response(self.response).fitted
        likelihood = Likelihood(grouped, response, coordinates, 0.0)
        auto = isinstance(self.l2, str)
        l2 = initial_l2(likelihood) if auto else float(self.l2)
        likelihood = replace(likelihood, l2=l2, concentration=CONCENTRATION if auto else 0.0)
        return Task(
            k,
            likelihood,
            features.space,
            self.refine,
            self.init if isinstance(self.init, str) else given_start(self.init, k, coordinates),
            self.n_init if n_init is None else min(n_init, self.n_init),
            self.max_iter,
            self.tol,
            SOLVERS[self.solver],
            self._rng(),
            choose_l2=auto,
            compare_fewer=auto and k > 1 and not prepared.several,
            before=before.fit.ascent.parameters if before is not None and self.refine else None,
        )

    def _set_estimates(self, chosen: Candidate) -> None:
        ascent, starts = chosen.fit.ascent, chosen.fit.starts
        coef, intercept = chosen.fit.likelihood.coordinates.in_units(ascent.parameters.profiles)
        self.sharpness_ = np.ones(len(coef))
        if not get_response(self.response).norm_identified:
            self.sharpness_ = np.maximum(np.linalg.norm(coef, axis=1), 1e-300)
        self.coef_ = coef / self.sharpness_[:, None]
        self.intercept_ = intercept / self.sharpness_
        self.weights_ = ascent.parameters.weights
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
        B = SpreadUnits.of(chosen.fit, features.whitening)
        self.spread_kind_, self._n_spread = chosen.fit.kind, len(ascent.parameters.spread)
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
        return theta.mapped(to_mean, SpreadUnits.of_entries(fitted, chosen.features.whitening)).root

    def _set_errors(self, chosen: Candidate) -> None:
        regular = chosen.features.proper and get_response(self.response).norm_identified
        errors = standard_errors(chosen.fit, chosen.features.whitening, regular=regular)
        self.coef_standard_error_ = errors.coef
        self.intercept_standard_error_ = errors.intercept
        self.weights_standard_error_ = errors.weights
        self.covariance_, self.degrees_of_freedom_ = errors.covariance, errors.degrees_of_freedom
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
        )
        self._problems = [problem.sentence for problem in problems]
        self.status_ = status(problems, self.starts_, self.n_components_, converged=self.converged_)
        for problem in problems:
            warnings.warn(problem.sentence, MixtureWarning, stacklevel=4)

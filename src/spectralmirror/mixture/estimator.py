"""The hidden classifiers themselves."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.criteria import Report
from spectralmirror.mixture.em import em
from spectralmirror.mixture.fitting import Fit, Task, fit
from spectralmirror.mixture.inference import covariance, in_units, n_different_rows
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood, Parameters
from spectralmirror.mixture.links import LINKS
from spectralmirror.mixture.prediction import MixturePrediction
from spectralmirror.mixture.preprocessing import (
    Features,
    given_subspace,
    spectral_subspace,
    whiten,
)
from spectralmirror.mixture.starts import ALIKE
from spectralmirror.rows.accept import accept_rows, checks_parameters, count_scans
from spectralmirror.rows.checks import check_table, named_columns
from spectralmirror.rows.kernels import far_origin
from spectralmirror.rows.reduce import one_blas_thread
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["LinearClassifierMixture", "MixtureWarning"]

#: "auto" tries at most so many components.
MOST_COMPONENTS = 12
#: By how much BIC must fall for another component.
MARGIN = 1e-3
#: From so many starts on, that only one of them reached the best maximum is worth a word.
MANY_STARTS = 8
#: Labels that are explained to this log-likelihood a row are separated.
SEPARATED = 1e-4
#: Given profiles start with entries no longer than this, in units of standard deviations.
LONGEST_START = 50.0


class MixtureWarning(UserWarning):
    """The fit is not what was asked for, or not to be trusted in part."""


class LinearClassifierMixture(MixturePrediction, ClassifierMixin, BaseEstimator):
    """A mixture of linear classifiers, by maximum likelihood.

    Labels come from P(y = +1 | x) = sum_l p_l f(<u_l, x> + b_l), and which of the k classifiers
    made a label is unknown. The fit maximises

        sum log P(y | x)  -  l2/2 sum_l |u_l|^2,   features in units of their standard deviation,

    over profiles u_l, intercepts b_l and weights p_l. It looks for the subspace of the profiles
    first (:class:`SpectralMirror`), for maxima from several starts next, inside the subspace where
    that stands out clearly and otherwise in the whole space, and refines the best one over the
    whole space. Time grows as n d^2 for the subspace and n d k for each pass of the refinement.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number k of classifiers. "auto" fits 1, 2, ... components and keeps the least BIC.
    response : {"logistic", "probit", "hard"}, default="logistic"
        The function f. "hard" labels, y = sign(<u_l, x> + b_l), do not reveal the length of a
        profile: they are fitted as logistic ones, and profiles are reported with unit length.
    fit_intercept : bool, default=True
        Whether classifiers have intercepts b_l.
    l2 : float, default=0.1
        Strength of the penalty on the squared profiles, which keeps those of separable labels
        finite. Intercepts are not penalised.
    subspace : "auto", SpectralMirror, array-like of shape (K, n_features) or None, default="auto"
        Where to look for starts: the default SpectralMirror of k dimensions, another one, fitted
        or not, vectors that span a subspace, or (None) the whole space.
    refine : bool, default=True
        Leave the subspace in the end. False keeps the profiles inside it, as the paper does, and
        with them its error.
    init : {"spectral", "random"} or array-like of shape (k, n_features), default="spectral"
        Starts. "spectral" grows components one by one, each split where the label residuals show
        most (their leading eigenvector), followed by random ones, all under a penalty that is
        relaxed step by step, until the best maximum was reached three times. Where components
        are hard to tell apart, it then replaces one at a time by a random one, for as long as
        that helps. "random" takes `n_init` plain random starts. An array holds the profiles of
        the only start, with equal weights and no intercepts.
    n_init : int, default=44
        The number of starts; with "spectral" the most of them, a quarter of which are not
        replacements.
    solver : {"lbfgs", "em"}, default="lbfgs"
        "em" is expectation and maximisation, with exact M steps: it never goes downhill, and is
        slow. Both maximise the same likelihood.
    tol : float, default=0.001
        A climb ends when a step gains less log-likelihood than this; Newton steps follow.
    max_iter : int, default=500
        Most steps of a climb.
    random_state : int, RandomState instance or None, default=None
        For random starts, and for the rows on which starts compete where there are many.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components_, n_features)
        Profiles u_l in the units of X, heaviest component first.
    intercept_ : ndarray of shape (n_components_,)
        Intercepts b_l.
    weights_ : ndarray of shape (n_components_,)
        Weights p_l, the shares of groups where there are groups, and otherwise of rows.
    sharpness_ : ndarray of shape (n_components_,)
        What profiles and intercepts are multiplied with before f: 1, but for "hard" labels the
        length of the logistic profiles that were fitted.
    n_components_ : int
        Number of components.
    log_likelihood_ : float
        Log-likelihood of the rows, without the penalty.
    objective_ : float
        The same with the penalty, which was maximised.
    bic_, aic_, icl_ : float
        Information criteria of the rows, the less the better; icl adds the entropy of the
        assignments to bic.
    expected_accuracy_ : float
        Share of rows whose classifier :meth:`predict_component` should name rightly, if the fitted
        model holds (so it is too high where rows are few): a single label says little of who gave
        it, ten of the same person say much.
    assignment_entropy_ : float
        Mean entropy of the assignments, between 0 (certain) and 1 (nothing is known).
    converged_ : bool
        Whether the climb ended at a maximum.
    status_ : str
        What happened, and what to do about it.
    n_iter_, n_passes_ : int
        Steps of the last climb, and its passes over the rows; at most 500 of these, and a few for
        Newton steps, where rows are not in memory.
    n_scans_ : int
        How often the rows were read in all, where they are not in memory.
    starts_ : list of Start
        Every start (kind, objective, n_iter), best first; objectives of the rows, and in the
        space, in which starts competed.
    n_agreed_ : int
        How many of them reached the best maximum, to within 0.5.
    coef_standard_error_, intercept_standard_error_, weights_standard_error_ : ndarray
        Standard errors, from the observed information; robust to any dependence inside groups
        where there are groups, or weights that are no counts; with ``refine=False`` as if the
        subspace were known. NaN for "hard" labels, whose errors are not normal, for more than
        3,000 parameters, for a single group, and where the likelihood has no sharp maximum or
        features are collinear.
    degrees_of_freedom_ : float
        Intervals take the quantiles of t with so many: one less than there are groups, where errors
        are robust; otherwise infinite, which is normal.
    covariance_ : ndarray or None
        Covariance of (u_1, b_1, ..., u_k, b_k); None where there are no standard errors.
    n_parameters_ : int
        Number of free parameters, which the criteria count.
    grouped_ : bool
        Whether rows were in groups that share their classifier.
    bic_path_ : dict
        The BIC of every number of components that was tried.
    feature_mean_, feature_scale_ : ndarray of shape (n_features,)
        Mean and standard deviation of the features.
    classes_ : ndarray of shape (2,)
        The labels that stand for -1 and +1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has string column names.

    See Also
    --------
    SpectralMirror : The span of the classifiers alone.

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
        "response": [StrOptions({"logistic", "probit", "hard"})],
        "fit_intercept": ["boolean"],
        "l2": [Interval(Real, 0, None, closed="left")],
        "subspace": [StrOptions({"auto"}), SpectralMirror, "array-like", None],
        "refine": ["boolean"],
        "init": [StrOptions({"spectral", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"lbfgs", "em"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        response: str = "logistic",
        fit_intercept: bool = True,
        l2: float = 0.1,
        subspace: Any = "auto",
        refine: bool = True,
        init: str | ArrayLike = "spectral",
        n_init: int = 44,
        solver: str = "lbfgs",
        tol: float = 1e-3,
        max_iter: int = 500,
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
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
        """Find the classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a source
            The features: an array, a DataFrame, a dask collection; or rows that know their own
            labels, groups and weights (:func:`spectralmirror.scan`, `spectralmirror.spark.scan`).
        y : array-like of shape (n_samples,)
            Labels of two classes, of any kind; None with a source.
        groups : array-like of shape (n_samples,), default=None
            Which rows are known to share their hidden classifier: the same value for all of them.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts: whole numbers are counts, other weights are scaled to sum
            to the number of rows that they are worth. A row of weight 0 is absent. A group counts
            as often as its rows do on average.

        Returns
        -------
        self : LinearClassifierMixture
            The fitted mixture.
        """
        grouped, classes = accept_rows(self, X, y, groups, sample_weight)
        given = _Given(grouped, X, y, groups, sample_weight)
        if self.n_components != "auto" and int(self.n_components) > grouped.n_present:
            raise ValueError(
                f"n_components={self.n_components} exceeds the number of rows, "
                f"{grouped.n_present}: every classifier needs many rows of its own."
            )
        # BLAS on several threads would not give the same last bits as on one
        with named_columns(self), one_blas_thread():
            if self.n_components == "auto":
                found, report, features, path = self._fit_auto(given)
            else:
                features = self._look_at_features(given, int(self.n_components))
                found = self._fit_k(given, int(self.n_components), features)
                report = Report.of(found)
                path = {int(self.n_components): report.criteria.bic}
            self._set_attributes(found, report, features)
            self._set_errors(found, given, proper=features.proper)
        self.classes_, self.bic_path_ = classes, path
        self.grouped_ = bool(grouped.is_grouped)
        problems = self._problems(found, features, given)
        count_scans(self, grouped)
        agreed = f"{self.n_agreed_} of {len(self.starts_)} starts reached the best maximum."
        if self.n_agreed_ == 1 and len(self.starts_) >= MANY_STARTS:
            agreed += " There may be a better one: raise n_init, or use fewer components."
        ended = ["Converged."] if self.converged_ else []
        self.status_ = " ".join([*problems, *ended, agreed])
        for problem in problems:
            warnings.warn(problem, MixtureWarning, stacklevel=3)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _fit_auto(self, given: _Given) -> tuple[Fit, Report, Features, dict[int, float]]:
        """Fit 1, 2, ... components, at least as many as the spectrum shows, and keep the best."""
        if not isinstance(self.init, str):
            raise ValueError("n_components='auto' needs init='spectral' or 'random', not profiles.")
        features = self._look_at_features(given, 1)
        found = self._fit_k(given, 1, features)
        best = found, Report.of(found), features
        path, shown = {1: best[1].criteria.bic}, 1
        if self.subspace == "auto" and features.proper:
            counting = spectral_subspace(given.grouped, None, self._rng())
            shown = 1 if counting is None or counting.space is None else len(counting.space.basis)
        for k in range(2, MOST_COMPONENTS + 1):
            features = self._look_at_features(given, k)
            found = self._fit_k(given, k, features)
            if found.n_dropped:
                break
            report = Report.of(found)
            path[k] = report.criteria.bic
            if path[k] < best[1].criteria.bic - MARGIN:
                best = found, report, features
            elif k >= shown:
                break
        return *best, path

    def _rng(self) -> np.random.RandomState:
        """Return a stream of its own: data drawn from the same seed must not return as starts."""
        return np.random.RandomState(check_random_state(self.random_state).randint(2**31, size=4))

    def _look_at_features(self, given: _Given, k: int) -> Features:
        """Return mean and covariance of the features, and the subspace where there is one."""
        rows, d = given.grouped.rows, given.grouped.rows.n_features
        if isinstance(self.subspace, str):
            known = None
            if 1 < k < d:
                known = spectral_subspace(given.grouped, k, self._rng())
            return whiten(rows) if known is None else known
        features = whiten(rows)
        if self.subspace is None:
            return features
        names = getattr(self, "feature_names_in_", None)
        space = given_subspace(self.subspace, given, d, names, self._rng())
        return replace(features, space=space)

    def _fit_k(self, given: _Given, k: int, features: Features) -> Fit:
        grouped, whitening = given.grouped, features.whitening
        origin = far_origin(whitening.mean, whitening.scale, grouped.rows.dtype)
        coordinates = Coordinates.whitened(whitening, origin, intercept=self.fit_intercept)
        link = LINKS[self.response]
        return fit(
            Task(
                k,
                Likelihood(grouped, link, coordinates, float(self.l2)),
                features.space,
                self.refine,
                self._init(k, coordinates),
                self.n_init,
                self.max_iter,
                self.tol,
                em if self.solver == "em" else climb,
                self._rng(),
            )
        )

    def _init(self, k: int, coordinates: Coordinates) -> str | Parameters:
        if isinstance(self.init, str):
            return self.init
        d = coordinates.back.shape[1]
        profiles = check_table(self.init, "init")
        if profiles.shape != (k, d):
            raise ValueError(
                f"init must hold {k} profiles of {d} numbers, one a feature, "
                f"got an array of shape {profiles.shape}."
            )
        v = coordinates.seen(profiles, np.zeros(k))
        length = np.abs(v).max(axis=1, keepdims=True)
        return Parameters.equal(v / np.maximum(length / LONGEST_START, 1))

    def _set_attributes(self, found: Fit, report: Report, features: Features) -> None:
        parameters, likelihood = found.ascent.parameters, found.likelihood
        k = len(parameters)
        coef, intercept = likelihood.coordinates.in_units(parameters.profiles)
        self.sharpness_ = np.ones(k)
        if self.response == "hard":
            self.sharpness_ = np.maximum(np.linalg.norm(coef, axis=1), 1e-300)
        self.coef_ = coef / self.sharpness_[:, None]
        self.intercept_ = intercept / self.sharpness_
        self.weights_ = parameters.weights
        self.n_components_ = k
        self.objective_ = found.ascent.value
        criteria = report.criteria
        self.log_likelihood_, self.n_parameters_ = criteria.log_likelihood, criteria.n_parameters
        self.aic_, self.bic_, self.icl_ = criteria.aic, criteria.bic, criteria.icl
        self.assignment_entropy_, self.expected_accuracy_ = report.entropy, report.accuracy
        self.converged_ = bool(found.ascent.converged)
        self.n_iter_, self.n_passes_ = max(found.ascent.n_iter, 1), found.ascent.n_passes
        self.starts_ = found.starts
        best = max(start.objective for start in found.starts)
        self.n_agreed_ = sum(start.objective > best - ALIKE for start in found.starts)
        self.feature_mean_, self.feature_scale_ = features.whitening.mean, features.whitening.scale
        self._feature_root = features.root

    def _set_errors(self, found: Fit, given: _Given, *, proper: bool) -> None:
        k, d = self.coef_.shape
        fractions = given.grouped.rows.has_fractions
        self.covariance_ = None
        errors, of_weights = np.full((k, d + 1), np.nan), np.full(k, np.nan)
        robust = given.grouped.is_grouped or fractions
        self.degrees_of_freedom_ = float(given.grouped.total_weight) - 1 if robust else np.inf
        regular = proper and self.response != "hard" and self.degrees_of_freedom_ > 0
        if found.information is not None and regular:
            parameters, likelihood = found.ascent.parameters, found.likelihood
            theta = covariance(
                likelihood,
                parameters,
                found.information,
                robust=robust,
                counts=not fractions,
            )
            self.covariance_, covariance_of_weights = in_units(likelihood, parameters, theta)
            errors = _root_of_diagonal(self.covariance_).reshape(k, d + 1)
            of_weights = _root_of_diagonal(covariance_of_weights)
        self.coef_standard_error_, self.intercept_standard_error_ = errors[:, :d], errors[:, d]
        self.weights_standard_error_ = of_weights

    def _problems(self, found: Fit, features: Features, given: _Given) -> list[str]:
        """Return what the user should know, and do about it."""
        problems, k = [], self.n_components_
        if not features.proper:
            problems.append(
                "X has too few rows for its features, or columns that can be computed from others: "
                f"only the penalty l2={self.l2} decides among many profiles that fit the labels "
                "alike. More rows or fewer features would help."
            )
        if found.n_dropped:
            problems.append(
                f"{found.n_dropped} of {found.n_dropped + k} components were left without rows and "
                "dropped: the labels do not support so many. Use fewer, or n_components='auto'."
            )
        if not self.converged_:
            problems.append(
                f"The likelihood was still rising when the climb ended (max_iter={self.max_iter}): "
                "raise max_iter, or l2."
            )
        elif found.is_blunt and k > 1:
            problems.append(
                "The likelihood has no sharp maximum: some components are alike, or are not "
                "determined by these rows, and there are no standard errors. Use fewer components, "
                "or n_components='auto'."
            )
        elif found.is_blunt or self.log_likelihood_ > -SEPARATED * given.grouped.n_present:
            problems.append(
                "The likelihood has no sharp maximum: the classes can be separated, or rows are "
                "too few, and standard errors mean nothing. Raise l2."
            )
        elif k > 1 and found.information is not None and not self.grouped_:
            n_different = n_different_rows(found.information.rows, self.n_parameters_)
            if n_different < self.n_parameters_:
                problems.append(
                    f"X has only {n_different} different rows, which cannot determine "
                    f"{self.n_parameters_} parameters: other profiles fit as well, and standard "
                    "errors mean nothing. Use fewer components, more features, or groups."
                )
        return problems


@dataclass(frozen=True, eq=False)
class _Given:
    """What was passed to fit, as rows and as it is."""

    grouped: Any
    X: Any
    y: Any
    groups: Any
    sample_weight: Any


def _root_of_diagonal(matrix: Matrix) -> Vector:
    return np.asarray(np.sqrt(np.maximum(np.diagonal(matrix), 0)))

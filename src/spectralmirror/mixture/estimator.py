"""The estimator of the hidden classifiers."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from spectralmirror.mixture.bootstrap import Bootstrap, bootstrap
from spectralmirror.mixture.card import NotebookCard
from spectralmirror.mixture.fit_base import SOLVERS, MixtureFit, MixtureWarning
from spectralmirror.mixture.frames import FramesOut
from spectralmirror.mixture.label_options import why_two_labels
from spectralmirror.mixture.prediction import MixturePrediction
from spectralmirror.mixture.routing import RoutedLabels
from spectralmirror.mixture.selection import (
    CRITERIA,
)
from spectralmirror.mixture.spread import KINDS as SPREADS
from spectralmirror.responses import RESPONSES
from spectralmirror.rows.accept import accept_rows, checks_parameters
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["LinearClassifierMixture", "MixtureWarning"]


class LinearClassifierMixture(
    NotebookCard,
    RoutedLabels,
    FramesOut,
    MixtureFit,
    MixturePrediction,
    ClassifierMixin,
    BaseEstimator,
):
    """Mixture of linear classifiers, fitted by penalised maximum likelihood.

    Binary labels come from k hidden linear classifiers, and which of them made a label is not
    observed:

        P(y = +1 | x) = sum_l p_l f(<u_l, x> + b_l).

    With labels of C > 2 kinds, each class is a multinomial logit, P(y = c | x, l) = softmax_c(
    <u_lc, x> + b_lc), whose profiles and intercepts sum to zero over labels; the penalty is then
    l2/2 times 2 sum_lc |u_lc|^2, which depends on no order of the labels. This needs the logistic
    response and the default solver, and has no signs.

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
    grows as n d^2 for the subspace and as n d k for each pass of the refinement. With more than 400
    features there is neither a subspace nor any other matrix of d x d numbers; sparse rows stay
    sparse, and what needs second derivatives is estimated from products with random vectors.

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
        With more than 400 features, columns of many zeros are measured by the standard deviation of
        what is not 0.
        "auto" chooses the penalty with the largest evidence (empirical Bayes), and adds a weak
        prior that keeps weights away from 0: 5 sum_l log(k p_l). A number is taken as it is,
        without that prior; a small one keeps profiles just finite if the labels are separable.
    subspace : "auto", SpectralMirror, array-like of shape (K, n_features) or None, default="auto"
        Where to look for starts. "auto" uses the default SpectralMirror with k dimensions. Pass
        another SpectralMirror, fitted or not, or vectors that span a subspace, to use that one;
        None looks in the whole space, and so does "auto" with more than 400 features.
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
    shared : list of str or int, or "all", default=()
        Features, by name or number, whose coefficient is the same in all classes. "all" means that
        classes differ in their intercepts only. What is searched is the whole space.
    signs : dict, default=None
        Features, by name or number, whose coefficient is not negative (+1) or not positive (-1) in
        any class, such as ``{"price": -1}``.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts and of the samples of rows. Pass an int for reproducible fits.
    verbose : bool or int, default=False
        Whether to print what a fit is at: True the stages, 2 or more each start, too.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components_, n_features)
        Profiles u_l in the units of X, heaviest component first; of shape (n_components_,
        n_labels, n_features) with more than two labels, and zero when summed over labels.
    intercept_ : ndarray of shape (n_components_,) or (n_components_, n_labels)
        Intercepts b_l.
    weights_ : ndarray of shape (n_components_,)
        Weights p_l: shares of the groups, or of the rows if there are no groups. If they depend on
        covariates, their averages over the groups.
    membership_coef_, membership_coef_standard_error_ : ndarray of shape (k, n_covariates)
        Coefficients g_l of the weights p_l(z) = softmax_l(<g_l, z> + c_l), relative to the first
        class, whose are 0, and their standard errors. Without covariates there are no columns.
    membership_intercept_, membership_intercept_standard_error_ : ndarray of shape (k,)
        The same for c_l.
    membership_names_in_ : ndarray of shape (n_covariates,)
        Names of the covariates; only set if there are any.
    sharpness_ : ndarray of shape (n_components_,)
        Factor of profiles and intercepts inside f: 1, except with "hard" labels, for which it is
        the norm of the fitted logistic profile.
    n_components_ : int
        Number of components; lower than requested if some were left without rows.
    n_rows_ : int
        Number of rows with a positive weight.
    n_groups_ : int
        Number of groups of these rows; equal to `n_rows_` if there are no groups.
    resamples_ : dict
        Estimates from resamples, if :meth:`Bootstrap.keep` was called.
    log_likelihood_ : float
        Log-likelihood of the rows, without the penalty.
    l2_ : float
        The penalty that was used.
    objective_ : float
        Log-likelihood less the penalty, plus the prior of the weights if l2="auto": what the fit
        maximises.
    log_evidence_ : float
        Log of the probability of the labels, averaged over the prior that the penalty stands for
        (Laplace's approximation); NaN without a penalty, or with more than 3,000 parameters of at
        most 400 features. With more features it has a random error of a few units. Classes that
        are known are taken as given.
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
        errors are not normal, with more than 400 features, with more than 3,000 parameters, with a
        single group, if the
        likelihood has no sharp maximum, and if features are collinear.
    degrees_of_freedom_ : float
        Confidence intervals use the t distribution with this many degrees of freedom: the number
        of groups minus 1 if standard errors are cluster-robust, otherwise infinity (normal).
    covariance_ : ndarray or None
        Covariance of (u_1, b_1, ..., u_k, b_k, p_1, ..., p_k); with C > 2 labels, u_l and b_l
        stand for (u_l1, b_l1, ..., u_lC, b_lC). With a spread, the free entries of B
        follow, per standard deviation of the features; then (g_l, c_l) for each class but the
        first. None if there are no standard errors.
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
        The same for the intercept at the mean of the features. With more than two labels, all of
        these have one more axis in front, for the labels.
    spread_score_ : float
        Whether persons differ inside the classes of a fit without spread: z of a score test,
        clearly so above 3. NaN with a spread, without groups, and with more than 400 features.
    spread_evidence_ : dict
        Log evidence of each kind of spread that was compared for this number of components, "none"
        for no spread.
    bic_path_ : dict
        BIC for each number of components that was tried.
    feature_mean_, feature_scale_ : ndarray of shape (n_features,)
        Mean and standard deviation of the features.
    classes_ : ndarray of shape (n_labels,)
        The labels, sorted; two are coded as -1 and +1.
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
        "shared": ["array-like", str, Integral],
        "signs": [dict, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
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
        shared: Any = (),
        signs: Any = None,
        random_state: Any = None,
        verbose: bool | int = False,
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
        self.shared = shared
        self.signs = signs
        self.random_state = random_state
        self.verbose = verbose

    def _why_binary(self) -> str | None:
        """Return which parameter needs two labels, and what to do; None if none does."""
        return why_two_labels(self)

    @checks_parameters
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        membership: Any = None,
        known: Any = None,
    ) -> Self:
        """Find the classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a source
            The features: an array, a DataFrame or a dask collection; or a source that brings its
            own labels, groups and weights (:func:`spectralmirror.scan`,
            `spectralmirror.spark.scan`).
        y : array-like of shape (n_samples,)
            Labels of two kinds or more, of any type; None with a source.
        groups : array-like of shape (n_samples,), default=None
            Rows with the same value are known to share their hidden classifier.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. Integers are frequencies. Other weights are scaled so that they sum
            to Kish's effective sample size. Rows of weight 0 are left out. The weight of a group is
            the mean of those of its rows.
        membership : array-like of shape (n_samples, n_covariates), default=None
            Covariates z of groups on which the weights of the classes depend,
            p_l(z) = softmax_l(<g_l, z> + c_l). They are the same in all rows of a group; or a
            DataFrame has a line for each group, and its index names them.
        known : array-like of shape (n_samples,), default=None
            The class of each row's group, counted from 0; -1, or a missing value, if it is not
            known. The fitted classes keep these numbers.

        Returns
        -------
        self : LinearClassifierMixture
            The fitted mixture.
        """
        return self._fit_grouped(*self._accepted(X, y, groups, sample_weight, membership, known))

    def _accepted(
        self, X: Any, y: Any, groups: Any, sample_weight: Any, membership: Any, known: Any = None
    ) -> tuple[GroupedRows, NDArray[Any]]:
        return accept_rows(self, X, y, groups, sample_weight, membership, known)

    def bootstrap(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        membership: Any = None,
        known: Any = None,
        n: int = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> Bootstrap:
        """Refit the mixture to resamples of its groups, for standard errors and intervals.

        Whole groups are drawn with replacement, or rows if there are no groups, as often as there
        are. Each refit climbs from the estimates, with the penalty `l2_` of the fit, so that it
        finds the same maximum and not another one; its classes are matched to those of the fit.
        These intervals make no use of the curvature of the likelihood, and need not be symmetric.
        The kind of a spread stays that of the fit.

        Of files and clusters beyond 200 MB, group G counts w_G times, w_G ~ Poisson(1), which comes
        to the same with so many groups, and 25 refits at a time share their passes over the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or source
            The rows that were fitted.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        groups, sample_weight, membership, known : array-like, default=None
            As they were passed to :meth:`fit`. A row of an integer weight w stands for w rows.
        n : int, default=200
            Number of resamples. Standard errors need 50 or more, intervals 1,000.
        random_state : int, RandomState instance or None, default=None
            Seed of the resamples. With the same int, the first resamples of a longer run are those
            of a shorter one.
        n_jobs : int, default=None
            Number of processes for rows in memory; None means 1 (unless in a joblib context), -1
            all processors. It does not change the result.

        Returns
        -------
        Bootstrap
            Estimates of all resamples, their standard errors, covariance and intervals, and a
            summary beside those of the fit.
        """
        given = {"X": X, "y": y, "groups": groups, "sample_weight": sample_weight}
        given |= {"membership": membership, "known": known}
        return bootstrap(self, given, n, random_state, n_jobs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a mixture; older ones chose the number of components by BIC."""
        added = {
            "criterion": "bic", "spread": None, "shared": (), "signs": None, "verbose": False,
        }  # fmt: skip
        super().__setstate__({**added, **state})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._why_binary() is None
        tags.input_tags.sparse = True
        return tags

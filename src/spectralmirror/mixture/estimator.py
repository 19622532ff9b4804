"""The hidden classifiers themselves."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from spectralmirror.arrays import Matrix, Vector
from spectralmirror.blocks import Rows
from spectralmirror.engines import small_matrices
from spectralmirror.kernels import far_origin
from spectralmirror.mixture.ascent import climb
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.em import em
from spectralmirror.mixture.features import given_subspace, spectral_subspace, whiten
from spectralmirror.mixture.fitting import Fit, Subspace, Task, fit
from spectralmirror.mixture.inference import covariance, in_units
from spectralmirror.mixture.likelihood import Likelihood, Parameters
from spectralmirror.mixture.links import LINKS
from spectralmirror.mixture.prediction import MixturePrediction
from spectralmirror.mixture.report import assignment, counted
from spectralmirror.mixture.rowset import Rowset
from spectralmirror.mixture.starts import ALIKE
from spectralmirror.subspace import SpectralMirror
from spectralmirror.validation import check_groups, check_rows, named_columns
from spectralmirror.whitening import Whitening

__all__ = ["LinearClassifierMixture", "MixtureWarning"]

#: "auto" tries at most so many components.
MOST_COMPONENTS = 12
#: Fits that are worse by the information criterion before "auto" gives up.
PATIENCE = 1


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
        the only start, with equal weights.
    n_init : int, default=24
        The number of starts; with "spectral" the most of them.
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
        Weights p_l.
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
        Share of rows whose classifier :meth:`predict_component` should name rightly, if the model
        holds: a single label says little of who gave it, ten of the same person say much.
    assignment_entropy_ : float
        Mean entropy of the assignments, between 0 (certain) and 1 (nothing is known).
    converged_ : bool
        Whether the climb ended at a maximum.
    status_ : str
        What happened, and what to do about it.
    n_iter_, n_passes_ : int
        Steps of the last climb, and its passes over the rows.
    starts_ : list of Start
        Every start (kind, objective, n_iter), best first; objectives of the rows, and in the
        space, in which starts competed.
    n_agreed_ : int
        How many of them reached the best maximum, to within 0.5.
    coef_standard_error_, intercept_standard_error_, weights_standard_error_ : ndarray
        Standard errors, from the observed information; robust to any dependence inside groups
        where there are groups, or weights that are no counts. NaN for "hard" labels, whose errors
        are not normal.
    covariance_ : ndarray
        Covariance of (u_1, b_1, ..., u_k, b_k).
    bic_path_ : dict
        With "auto": the BIC of every number of components that was tried.
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
    array([0.62, 0.38])
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
        n_init: int = 24,
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

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Find the classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            Labels of two classes, of any kind.
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
        rows, self.classes_ = check_rows(self, X, y, sample_weight)
        numbers = check_groups(groups, len(rows))
        with named_columns(self), small_matrices(rows.X.shape[1]):
            if self.n_components == "auto":
                found, whitening = self._fit_auto(rows, numbers, X, y, groups, sample_weight)
            else:
                whitening, space, proper = self._look_at_features(
                    rows, numbers, int(self.n_components), X, y, groups, sample_weight
                )
                found = self._fit_k(rows, numbers, int(self.n_components), whitening, space)
                self._warn_of_features(proper)
            fractions = rows.weight is not None and bool((rows.weight % 1).any())
            self._set_attributes(found, whitening, robust=numbers is not None or fractions)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _fit_auto(
        self, rows: Rows, numbers: NDArray[np.int64] | None, *given: Any
    ) -> tuple[Fit, Whitening]:
        """Fit 1, 2, ... components, at least as many as the spectrum shows, and keep the best."""
        if not isinstance(self.init, str):
            raise ValueError("n_components='auto' needs init='spectral' or 'random', not profiles.")
        self.bic_path_: dict[int, float] = {}
        best: tuple[float, Fit, Whitening] | None = None
        shown, proper = 1, True
        for k in range(1, MOST_COMPONENTS + 1):
            whitening, space, proper = self._look_at_features(rows, numbers, k, *given)
            if k == 2 and space is not None:
                counted_space = spectral_subspace(rows, numbers, None, self._rng())
                shown = 1 if counted_space is None else len(counted_space[1].basis)
            found = self._fit_k(rows, numbers, k, whitening, space)
            self.bic_path_[k] = counted(found)["bic"]
            if best is None or self.bic_path_[k] < best[0]:
                best = self.bic_path_[k], found, whitening
            elif k >= shown and k - len(best[1].ascent.parameters) >= PATIENCE:
                break
        assert best is not None
        self._warn_of_features(proper)
        return best[1:]

    def _rng(self) -> np.random.RandomState:
        rng: np.random.RandomState = check_random_state(self.random_state)
        return rng

    def _look_at_features(
        self,
        rows: Rows,
        numbers: NDArray[np.int64] | None,
        k: int,
        X: Any,
        y: Any,
        groups: Any,
        sample_weight: Any,
    ) -> tuple[Whitening, Subspace | None, bool]:
        """Return the whitening, the subspace, and whether the covariance has an inverse."""
        d = rows.X.shape[1]
        if isinstance(self.subspace, str):
            if 1 < k < d:
                known = spectral_subspace(rows, numbers, k, self._rng())
                if known is not None:
                    return *known, True
            whitening, proper = whiten(rows)
            return whitening, None, proper
        whitening, proper = whiten(rows)
        space = None
        if self.subspace is not None:
            space = given_subspace(self.subspace, X, y, groups, sample_weight, d)
        return whitening, space, proper

    def _fit_k(
        self,
        rows: Rows,
        numbers: NDArray[np.int64] | None,
        k: int,
        whitening: Whitening,
        space: Subspace | None,
    ) -> Fit:
        origin = far_origin(whitening.mean, whitening.scale, rows.X.dtype)
        coordinates = Coordinates.whitened(whitening, origin, intercept=self.fit_intercept)
        rowset, link = Rowset.of(rows, numbers), LINKS[self.response]
        likelihood = Likelihood(rowset, link, coordinates, float(self.l2))
        init: str | Parameters = "spectral"
        if isinstance(self.init, str):
            init = self.init
        else:
            profiles = check_array(self.init, dtype=np.float64, input_name="init")
            if profiles.shape != (k, rows.X.shape[1]):
                raise ValueError(
                    f"init must hold {k} profiles of {rows.X.shape[1]} numbers, one a feature, "
                    f"got an array of shape {profiles.shape}."
                )
            init = Parameters.equal(coordinates.seen(profiles, np.zeros(k)))
        climber = em if self.solver == "em" else climb
        return fit(
            Task(
                k,
                likelihood,
                space,
                self.refine,
                init,
                self.n_init,
                self.max_iter,
                self.tol,
                climber,
                self._rng(),
            )
        )

    def _warn_of_features(self, proper: bool) -> None:
        if not proper:
            warnings.warn(
                "X has fewer rows than features, or columns that can be computed from others: "
                f"only the penalty l2={self.l2} decides among many profiles that fit the labels "
                "alike, and no subspace was looked for. More rows or fewer features would help.",
                MixtureWarning,
                stacklevel=4,
            )

    def _set_attributes(self, found: Fit, whitening: Whitening, *, robust: bool) -> None:
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
        counts = counted(found)
        self.log_likelihood_ = counts["log_likelihood"]
        self.aic_, self.bic_, self.icl_ = counts["aic"], counts["bic"], counts["icl"]
        self.assignment_entropy_, self.expected_accuracy_ = assignment(found)
        self.n_iter_, self.n_passes_ = max(found.ascent.n_iter, 1), found.ascent.n_passes
        self.starts_ = found.starts
        best = max(start.objective for start in found.starts)
        self.n_agreed_ = sum(start.objective > best - ALIKE for start in found.starts)
        self.whitening_ = whitening
        self._set_errors(found, robust=robust)
        self._set_status(found)

    def _set_errors(self, found: Fit, *, robust: bool) -> None:
        k, d = self.coef_.shape
        self.covariance_ = np.full((k * (d + 1), k * (d + 1)), np.nan)
        of_weights = np.full((k, k), np.nan)
        if found.information is not None and self.response != "hard":
            parameters, likelihood = found.ascent.parameters, found.likelihood
            theta = covariance(likelihood, parameters, found.information, robust=robust)
            self.covariance_, of_weights = in_units(likelihood, parameters, theta)
        errors = _root_of_diagonal(self.covariance_).reshape(k, d + 1)
        self.coef_standard_error_, self.intercept_standard_error_ = errors[:, :d], errors[:, d]
        self.weights_standard_error_ = _root_of_diagonal(of_weights)

    def _set_status(self, found: Fit) -> None:
        """Say what happened, and warn where something is to be done about it."""
        problems = []
        if found.n_dropped:
            problems.append(
                f"{found.n_dropped} of {found.n_dropped + self.n_components_} components were left "
                "without a single row and dropped: the labels do not support so many. Use fewer, "
                "or n_components='auto'."
            )
        self.converged_ = bool(found.ascent.converged)
        if not self.converged_:
            problems.append(
                f"The likelihood was still rising after max_iter={self.max_iter} steps: raise "
                "max_iter, or l2."
            )
        elif found.information is None and self.n_components_ > 1 and found.is_small:
            problems.append(
                "The likelihood has no sharp maximum: some components are alike, or are not "
                "determined by these rows, and have no standard errors. Use fewer components, or "
                "n_components='auto'."
            )
        for problem in problems:
            warnings.warn(problem, MixtureWarning, stacklevel=5)
        agreed = f"{self.n_agreed_} of {len(self.starts_)} starts reached the best maximum."
        self.status_ = " ".join(
            [*problems, "Converged." if self.converged_ else "", agreed]
        ).strip()


def _root_of_diagonal(matrix: Matrix) -> Vector:
    return np.asarray(np.sqrt(np.maximum(np.diagonal(matrix), 0)))

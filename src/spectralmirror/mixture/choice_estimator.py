"""The estimator of hidden classes behind choices among several alternatives."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from spectralmirror.mixture.bootstrap import Bootstrap, bootstrap
from spectralmirror.mixture.card import NotebookCard
from spectralmirror.mixture.choice_analysis import ChoiceAnalysis
from spectralmirror.mixture.fit_base import MixtureFit
from spectralmirror.mixture.frames import FramesOut
from spectralmirror.mixture.routing import RoutedChoices
from spectralmirror.mixture.selection import CRITERIA
from spectralmirror.mixture.spread import KINDS as SPREADS
from spectralmirror.rows.accept import checks_parameters
from spectralmirror.rows.choices import accept_choice_rows
from spectralmirror.rows.grouped import GroupedRows

__all__ = ["ChoiceMixture"]


class ChoiceMixture(
    NotebookCard, RoutedChoices, FramesOut, MixtureFit, ChoiceAnalysis, BaseEstimator
):
    """Mixture of conditional logits: choices among alternatives, made by hidden classes of persons.

    A person of class l chooses alternative j of a set with the probability

        P(j | l) = exp <u_l, x_j> / sum_i exp <u_l, x_i>,

    the sum over the alternatives of the set. Everything else is as in
    :class:`LinearClassifierMixture`, which fits sets of two: penalty, groups (the choices of one
    person share their class), covariates of membership, shared coefficients, signs, known classes
    and a spread inside classes. Features are in units of the root mean square difference between
    two alternatives of a set; if all sets have two, of the standard deviation of the difference
    between the first and the second.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number k of classes; "auto" chooses it by `criterion`.
    l2 : "auto" or float, default="auto"
        Strength of the penalty on the squared norms of the profiles; "auto" chooses it from the
        data.
    init : {"spectral", "random"}, array-like, tuple or fitted mixture, default="spectral"
        How to start, as in :class:`LinearClassifierMixture`.
    n_init : int, default=200
        Maximum number of starts.
    tol : float, default=0.001
        A climb ends when a step gains less log-likelihood than this; Newton steps follow.
    max_iter : int, default=500
        Maximum number of steps of a climb.
    criterion : {"evidence", "bic", "icl"}, default="evidence"
        What "auto" optimises.
    spread : {"diagonal", "factor", "full", "auto"} or None, default=None
        How persons of one class differ from each other.
    shared : list of str or int, or "all", default=()
        Features whose coefficient is the same in all classes.
    signs : dict, default=None
        Features whose coefficient is not negative (+1) or not positive (-1) in any class.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts.
    verbose : bool or int, default=False
        Whether to print what a fit is at: True the stages, 2 or more each start, too.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components_, n_features)
        Profiles u_l in the units of X, heaviest class first.
    weights_ : ndarray of shape (n_components_,)
        Weights p_l: shares of the persons.
    n_choices_ : int
        Number of choice sets.

    See Also
    --------
    LinearClassifierMixture : Binary labels; its other attributes are those of this class, too.

    Examples
    --------
    >>> from spectralmirror import ChoiceMixture
    >>> from spectralmirror.datasets import make_choice_mixture
    >>> X, chosen, truth = make_choice_mixture(500, 3, 2, random_state=0)
    >>> mixture = ChoiceMixture(2, random_state=0)
    >>> mixture = mixture.fit(X, chosen, choices=truth.choices, groups=truth.groups)
    >>> mixture.coef_.shape
    (2, 3)
    """

    response = "logistic"
    fit_intercept = False
    subspace = "auto"
    refine = True
    solver = "lbfgs"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "l2": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "init": [StrOptions({"spectral", "random"}), "array-like", HasMethods("component_proba")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "criterion": [StrOptions(set(CRITERIA))],
        "spread": [StrOptions({*SPREADS, "auto"} - {"intercept"}), None],
        "shared": ["array-like", str, Integral],
        "signs": [dict, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        l2: float | str = "auto",
        init: Any = "spectral",
        n_init: int = 200,
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
        self.l2 = l2
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.criterion = criterion
        self.spread = spread
        self.shared = shared
        self.signs = signs
        self.random_state = random_state
        self.verbose = verbose

    @checks_parameters
    def fit(
        self,
        X: Any,
        chosen: Any = None,
        *,
        choices: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        membership: Any = None,
        known: Any = None,
    ) -> Self:
        """Find the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The alternatives, one in each row, in any order. Or a Dask collection of them, or
            ``scan(..., label=, choices=, groups=)``, which names the other columns itself.
        chosen : array-like of shape (n_samples,), default=None
            Whether the row was chosen from its set: True for exactly one row of each set. Required,
            unless X is a scan.
        choices : array-like of shape (n_samples,), default=None
            The choice set of each row. Sets may differ in size. Required, unless X is a scan.
        groups : array-like of shape (n_samples,), default=None
            The person of each row; None means that each set is another person's.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, the same for all rows of a set.
        membership : array-like of shape (n_samples, n_covariates), default=None
            Covariates of persons on which the weights of the classes depend.
        known : array-like of shape (n_samples,), default=None
            The class of each row's person, counted from 0, or -1 if it is not known.

        Returns
        -------
        self : ChoiceMixture
            The fitted mixture.
        """
        accepted = self._accepted(X, chosen, groups, sample_weight, membership, known, choices)
        return self._fit_grouped(*accepted)

    def _accepted(
        self,
        X: Any,
        chosen: Any,
        groups: Any,
        sample_weight: Any,
        membership: Any,
        known: Any = None,
        choices: Any = None,
    ) -> tuple[GroupedRows, NDArray[Any]]:
        accepted = accept_choice_rows(
            self, X, chosen, choices, groups, sample_weight, membership, known
        )
        grouped, self.n_choices_ = accepted
        return grouped, np.array([False, True])

    def bootstrap(
        self,
        X: Any,
        chosen: Any = None,
        *,
        choices: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        membership: Any = None,
        known: Any = None,
        n: int = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> Bootstrap:
        """Refit the mixture to resamples of its persons, for standard errors and intervals.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or source
            The alternatives that were fitted.
        chosen : array-like of shape (n_samples,), default=None
            Whether each was chosen.
        choices : array-like of shape (n_samples,), default=None
            The choice set of each row.
        groups, sample_weight, membership, known : array-like, default=None
            As they were passed to :meth:`fit`.
        n : int, default=200
            Number of resamples.
        random_state : int, RandomState instance or None, default=None
            Seed of the resamples.
        n_jobs : int, default=None
            Number of processes, as in :meth:`LinearClassifierMixture.bootstrap`.

        Returns
        -------
        Bootstrap
            As :meth:`LinearClassifierMixture.bootstrap` returns it.
        """
        given = {"X": X, "chosen": chosen, "choices": choices, "groups": groups}
        given |= {"sample_weight": sample_weight, "membership": membership, "known": known}
        return bootstrap(self, given, n, random_state, n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

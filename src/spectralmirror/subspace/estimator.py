"""The span of the hidden classifiers."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from spectralmirror.rows.accept import accept_rows, checks_parameters, count_scans
from spectralmirror.rows.checks import check_covariance, check_mean, named_columns
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.reduce import small_matrices
from spectralmirror.rows.source import Source
from spectralmirror.subspace.base import SubspaceTransformer, orthonormal_rows, require_rows
from spectralmirror.subspace.interface import KnownFeatures, Outcome
from spectralmirror.subspace.moments import FeatureMoments
from spectralmirror.subspace.stacked.method import StackedMirror
from spectralmirror.subspace.variants import Request, paper_method
from spectralmirror.subspace.whitening import Whitening

__all__ = ["SpectralMirror", "WeakSignalWarning"]

#: From this many features on, Lanczos beats forming Q where mean and covariance are known.
LANCZOS_FROM = 500


class WeakSignalWarning(UserWarning):
    """What was found is no more than noise, at least in part."""


class SpectralMirror(SubspaceTransformer):
    """The subspace spanned by the profiles of a mixture of linear classifiers.

    Labels y of -1 or +1 come from P(y = +1 | x) = sum_l p_l f(<u_l, x>), and which of the k
    classifiers made a label is unknown. SpectralMirror finds U = span(u_1, ..., u_k) for
    features that are roughly Gaussian, or elliptical, whatever the response f.

    The default method takes the direction r-hat of least squares as the first one. It looks for
    the others in the labels' residuals along r-hat: multiplied by several mirrors, functions T(s)
    of the score s = <r, x>, they weight the covariance of the features, whose leading directions
    are kept and then sharpened by one Gauss-Newton step. All rows serve everywhere, in blocks, in
    four passes: two multiply features with each other, one makes leave-one-out scores (exact
    below 500 rows a feature; beyond, where a row's own part is under 0.2 %, with the mean
    leverage), and one makes the step. "auto" takes two more. Time grows as n d^2.

    ``method="paper"`` is Algorithm 1 of Sun, Ioannidis and Montanari (2014): mean mu, covariance
    Sigma and r = mean of y Sigma^-1 (x - mu) from the first half of the rows; mirrored labels
    Z = y sgn<r, x> and Q = mean of Z W W', W = Sigma^(-1/2) (x - mu), in the second half; the k
    eigenvectors w of Q whose eigenvalues lie furthest from their median; U-hat = span of the
    Sigma^(-1/2) w. It reads the rows once (twice where mean and covariance are known).

    Parameters
    ----------
    n_components : int or "auto", default=2
        Dimension k of the subspace. "auto" takes r-hat and whatever eigenvalues stand out of the
        bulk beside it.
    method : {"stacked", "paper"}, default="stacked"
        "paper" is Algorithm 1 to the letter. It divides the rows into halves in the order in
        which they come: shuffle rows that are sorted. Its mirror stands at <r, x> = 0, with no
        intercept: centre features whose classifiers have one. "stacked" minds neither.
    mean : float or array-like of shape (n_features,), default=None
        Mean of the features, where it is known.
    covariance : array-like of shape (n_features, n_features), default=None
        Covariance of the features, where it is known. With mean and covariance both known,
        ``method="paper"`` has no halves, and from 500 features on does not form Q unless its
        eigenvalues are to be counted.
    moments : FeatureMoments, default=None
        Mean and covariance as summed once by ``FeatureMoments.from_rows(X)``, for features that
        serve many label vectors. In place of `mean` and `covariance`, and used like these.
    include_mirror_direction : bool, default=False
        For ``method="paper"``: take r-hat as one of the k directions, and look for the other
        k - 1 in its (whitened) complement. The theorem promises only these k - 1 (the remark
        after Theorem 1). The default method always does so, and so does "auto".
    false_positive_rate : float, default=0.01
        With ``n_components="auto"``: the probability that any eigenvalue of pure noise counts,
        for rows of equal weight (with unequal weights it is approximate). "stacked" learns it
        from random signs on the residuals, "paper" from Gaussian features.
    eigen_solver : {"auto", "dense", "lanczos"}, default="auto"
        For ``method="paper"``. "dense" forms Q. "lanczos", for known mean and covariance, only
        multiplies with it. It then does not know the median, and takes the mean of Z, to which
        the median tends, as the centre of the bulk: use "dense" for Algorithm 1 to the letter.
        "auto" is "lanczos" where mean and covariance are known and n_features >= 500.
    tol : float, default=0.1
        Accuracy of Lanczos: residuals of the eigenpairs, relative to their distance from the
        bulk, as a share of the relative sampling error of Q, 2 sqrt(d / n) (at most 1). Where
        eigenvalues stand out it is far more exact by then; where they do not, more would be
        spent on noise.
    elliptical : bool, default=False
        For the default method and features with heavy tails: a robust scatter (Tyler's), and all
        rows brought to one length in whitened coordinates. Little is lost on Gaussian features.
    random_state : int, RandomState instance or None, default=None
        For the noise that eigenvalues are compared with, and for the first Lanczos vector.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows that span U-hat, in the units of X.
    mirror_direction_ : ndarray of shape (n_features,)
        r-hat; with "auto" and the default method, after a step towards the single direction
        that predicts y best.
    eigenvalues_ : ndarray
        Furthest from the bulk first. Of the stacked mirrors: squared singular values beside r-hat,
        in units of their mean for noise. Of groups: of the cross moment, noise ending at 2. Of
        ``method="paper"``: of Q, all of them from the dense solver, those that were asked for
        from Lanczos; inside the complement of r-hat where that was taken first.
    bulk_ : float
        Where the bulk of the eigenvalues lies: 1 for the stacked mirrors, 0 for groups; for
        ``method="paper"`` their median, or what stands in for it.
    n_components_ : int
        Dimension of the subspace.
    n_outliers_ : int
        How many of its directions are eigenvectors: all of them, or all but r-hat.
    separation_ : float
        How clearly the weakest of these stands out: its eigenvalue in units of the largest that
        noise would give (exceeded by 5 % of noise, or by `false_positive_rate` with "auto");
        below 1 it is lost in the noise. For ``method="paper"`` the distance of the weakest
        eigenvalue kept from the bulk, over that of the strongest left. NaN where there is
        nothing to compare with.
    error_estimate_ : float
        Estimate of the error of the subspace, the root of the summed squared sines of all
        principal angles; optimistic where `separation_` is close to 1. NaN for ``method="paper"``.
    mean_ : ndarray of shape (n_features,)
        Mean of the features that was used.
    n_scans_ : int
        How often the rows were read in all, where they are not in memory.
    classes_ : ndarray of shape (2,)
        The labels that stand for -1 and +1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has string column names.

    See Also
    --------
    PrincipalHessianDirections : The method without a mirror, blind at mean 0.

    Examples
    --------
    >>> from spectralmirror import SpectralMirror
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> from spectralmirror.metrics import subspace_error
    >>> X, y, truth = make_linear_classifier_mixture(50_000, 10, weights=[0.6, 0.4], random_state=3)
    >>> mirror = SpectralMirror(n_components=2).fit(X, y)
    >>> mirror.transform(X).shape
    (50000, 2)
    >>> round(subspace_error(mirror.components_, truth.profiles), 2)
    0.04
    >>> round(mirror.error_estimate_, 2)
    0.05
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "method": [StrOptions({"stacked", "paper"})],
        "mean": ["array-like", Real, None],
        "covariance": ["array-like", None],
        "moments": [FeatureMoments, None],
        "include_mirror_direction": ["boolean"],
        "false_positive_rate": [Interval(Real, 0, 1, closed="neither")],
        "eigen_solver": [StrOptions({"auto", "dense", "lanczos"})],
        "tol": [Interval(Real, 0, 1, closed="both")],
        "elliptical": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        method: str = "stacked",
        mean: ArrayLike | None = None,
        covariance: ArrayLike | None = None,
        moments: FeatureMoments | None = None,
        include_mirror_direction: bool = False,
        false_positive_rate: float = 0.01,
        eigen_solver: str = "auto",
        tol: float = 0.1,
        elliptical: bool = False,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.method = method
        self.mean = mean
        self.covariance = covariance
        self.moments = moments
        self.include_mirror_direction = include_mirror_direction
        self.false_positive_rate = false_positive_rate
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.elliptical = elliptical
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: Any, y: Any = None, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a source
            The features: an array, a DataFrame, a dask collection; or rows that know their own
            labels, groups and weights (:func:`spectralmirror.scan`, `spectralmirror.spark.scan`).
        y : array-like of shape (n_samples,)
            Labels of two classes, of any kind; None with a source.
        groups : array-like of shape (n_samples,), default=None
            Which rows are known to share their hidden classifier: the same value for all of
            them. Groups of one row each change nothing, and groups serve where at least half of
            the rows have company.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts: whole numbers are counts, other weights are scaled to sum
            to the number of rows that they are worth. A row of weight 0 is absent. Inside a
            group a row of weight 2 is no second witness, but counts twice as much.

        Returns
        -------
        self : SpectralMirror
            The fitted transformer.
        """
        grouped, self.classes_ = accept_rows(self, X, y, groups, sample_weight)
        return self._fit_rows(grouped)

    def _fit_rows(self, grouped: GroupedRows) -> Self:
        """Find the subspace of rows that were accepted already, by this estimator or another.

        Parameters and names of features are those of this estimator, and are not checked again.
        """
        rows, d = grouped.rows, grouped.rows.n_features
        self._check_dimension(d)
        if self.method == "paper" and (grouped.is_grouped or self.elliptical):
            raise ValueError("method='paper' knows neither groups nor elliptical=True.")
        with named_columns(self), small_matrices(d):
            known = self._known_features(rows)
            outcome = self._outcome(grouped, known, check_random_state(self.random_state))
        if outcome.status:
            warnings.warn(outcome.status, WeakSignalWarning, stacklevel=4)
        self.components_ = orthonormal_rows(outcome.basis)
        self.mirror_direction_ = outcome.direction
        self.eigenvalues_, self.bulk_ = outcome.spectrum.eigenvalues, outcome.spectrum.bulk
        self.n_components_ = len(self.components_)
        self.n_outliers_ = outcome.n_outliers
        self.separation_, self.error_estimate_ = outcome.separation, outcome.error
        self.mean_ = outcome.mean
        count_scans(self, grouped)
        return self

    def _outcome(
        self, grouped: GroupedRows, known: KnownFeatures, rng: np.random.RandomState
    ) -> Outcome:
        k, rows = None if self.n_components == "auto" else int(self.n_components), grouped.rows
        if self.method == "stacked":
            stacked = StackedMirror.of(grouped, known, lambda: rng, elliptical=self.elliptical)
            return stacked.outcome(k, self.false_positive_rate)
        request = Request(
            k,
            self.include_mirror_direction,
            self.false_positive_rate,
            self._use_lanczos(known, rows.n_features, in_memory=rows.in_memory),
            self.tol,
            rng,
        )
        return paper_method(rows, known, request)

    def _known_features(self, rows: Source) -> KnownFeatures:
        d = rows.n_features
        if self.moments is not None:
            if self.mean is not None or self.covariance is not None:
                raise ValueError(
                    "moments already hold a mean and a covariance: pass either moments, or mean "
                    "and covariance."
                )
            if len(self.moments.mean) != d:
                raise ValueError(
                    f"moments are of {len(self.moments.mean)} features, but X has {d}."
                )
            whitening = self.moments.whitening
            return KnownFeatures(whitening=whitening, n_rows=self.moments.weight - 1)
        mean = None if self.mean is None else check_mean(self.mean, d)
        covariance = None
        if self.covariance is not None:
            self._check_order(self.covariance)
            covariance = check_covariance(self.covariance, d)
        if mean is not None and covariance is not None:
            return KnownFeatures(whitening=Whitening.known(mean, covariance))
        if covariance is None:
            halves = self.method == "paper"
            require_rows(
                rows,
                2 * (d + 1) if halves else d + 2,
                "the covariance is estimated" + (" from the first half of them" if halves else ""),
                "pass more rows, fewer features, or a known mean and covariance",
            )
        return KnownFeatures(mean, covariance)

    def _check_order(self, covariance: Any) -> None:
        names = getattr(self, "feature_names_in_", None)
        columns = getattr(covariance, "columns", None)
        if names is not None and columns is not None and list(columns) != list(names):
            raise ValueError("covariance must have the columns of X, in the same order.")

    def _use_lanczos(self, known: KnownFeatures, d: int, *, in_memory: bool) -> bool:
        if self.eigen_solver == "auto":
            return in_memory and known.whitening is not None and d >= LANCZOS_FROM
        if self.eigen_solver == "dense":
            return False
        if not in_memory:
            raise ValueError(
                "eigen_solver='lanczos' passes over the rows twenty times or more, and needs them "
                "in memory: use eigen_solver='dense'."
            )
        if known.whitening is None:
            raise ValueError(
                "eigen_solver='lanczos' needs mean and covariance, or moments: without them the "
                "d x d covariance is summed anyway, and eigen_solver='dense' is faster."
            )
        if self.n_components == "auto":
            raise ValueError(
                "eigen_solver='lanczos' finds as many eigenvalues as it is asked for: give "
                "n_components, or count them with eigen_solver='dense'."
            )
        return True

"""SpectralMirror, the estimator: the span of the hidden classifiers."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from spectralmirror.rows.accept import accept_rows, checks_parameters, count_scans
from spectralmirror.rows.checks import check_covariance, check_mean
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.messages import named_columns
from spectralmirror.rows.reduce import small_matrices
from spectralmirror.rows.routing import warn_of_groups_left_behind
from spectralmirror.rows.source import Source
from spectralmirror.subspace.base import SubspaceTransformer, orthonormal_rows, require_rows
from spectralmirror.subspace.interface import KnownFeatures, Outcome
from spectralmirror.subspace.moments import FeatureMoments
from spectralmirror.subspace.stacked.method import StackedMirror
from spectralmirror.subspace.variants import Request, paper_method
from spectralmirror.subspace.whitening import Whitening

__all__ = ["SpectralMirror", "WeakSignalWarning"]

#: From this many features on, Lanczos is faster than forming Q (for known mean and covariance).
LANCZOS_FROM = 500


class WeakSignalWarning(UserWarning):
    """Some of the directions that were found cannot be distinguished from noise."""


class SpectralMirror(SubspaceTransformer):
    """Subspace spanned by the profiles of a mixture of linear classifiers.

    The labels y are -1 or +1, with P(y = +1 | x) = sum_l p_l f(<u_l, x>); which of the k
    classifiers gave a label is not observed. SpectralMirror estimates U = span(u_1, ..., u_k) for
    any response f, if the features are roughly Gaussian or elliptical.

    The default method takes the least-squares direction r-hat as its first direction. It finds the
    others in the residuals of the labels along r-hat: multiplied by a mirror, a function T(s) of
    the score s = <r, x>, the residuals weight the covariance of the features, and the leading
    directions of several such matrices together are kept. One Gauss-Newton step then sharpens
    them. Every row is used throughout: with fewer than 100 rows per feature each row is scored by
    the direction that the other rows give (leave-one-out), unless many rows share the same score.
    The rows are read in blocks, three times; "auto" takes one more pass and `elliptical` five. From
    100,000 rows on products are computed in float32 where that is exact enough. The
    time is proportional to n d^2.

    ``method="paper"`` is Algorithm 1 of Sun, Ioannidis and Montanari (2014). The first half of the
    rows gives the mean mu, the covariance Sigma and r = mean of y Sigma^-1 (x - mu). The second
    half gives the mirrored labels Z = y sgn<r, x> and Q = mean of Z W W', where
    W = Sigma^(-1/2) (x - mu). The k eigenvectors w of Q whose eigenvalues are furthest from their
    median are kept, and U-hat is the span of the Sigma^(-1/2) w. Each half is read once.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Dimension k of the subspace. "auto" keeps r-hat and every direction whose eigenvalue stands
        out of the noise.
    method : {"stacked", "paper"}, default="stacked"
        "stacked" is the default method. "paper" is Algorithm 1 to the letter: it divides the rows
        into halves in their order, so shuffle rows that are sorted; and it puts the mirror at
        <r, x> = 0, so centre the features if the classifiers have intercepts. "stacked" needs
        neither.
    mean : float or array-like of shape (n_features,), default=None
        Mean of the features, if it is known.
    covariance : array-like of shape (n_features, n_features), default=None
        Covariance of the features, if it is known. If both mean and covariance are known,
        ``method="paper"`` uses every row for r and for Q.
    moments : FeatureMoments, default=None
        Mean and covariance computed by ``FeatureMoments.from_rows(X)``, in place of `mean` and
        `covariance`. Saves time if the same features are fitted to many label vectors.
    include_mirror_direction : bool, default=False
        For ``method="paper"``: take r-hat as one of the k directions, and look for the other k - 1
        in its (whitened) complement, which is all that Theorem 1 promises to find. The default
        method and "auto" always do this.
    false_positive_rate : float, default=0.01
        With ``n_components="auto"``: probability that any eigenvalue of pure noise is counted. The
        noise is simulated, by random signs on the residuals ("stacked") or by Gaussian features
        ("paper"). With unequal weights it is approximate: for ``method="paper"`` and log-normal
        weights 0.05 became 0.07 at a standard deviation of 0.3 of their logarithms, and up to 0.20
        at 1.
    eigen_solver : {"auto", "dense", "lanczos"}, default="auto"
        For ``method="paper"``. "dense" forms Q. "lanczos" only multiplies by it, which needs rows
        in memory and a known mean and covariance. It measures distances from the mean of Z, to
        which the median of the eigenvalues converges: use "dense" for Algorithm 1 to the letter.
        "auto" is "lanczos" for a known mean and covariance from 500 features on, unless components
        are counted.
    tol : float, default=0.1
        Accuracy of Lanczos: residuals of the eigenpairs, relative to their distance from the bulk,
        as a share of the relative sampling error of Q, 2 sqrt(d / n) (at most 1). Eigenvalues that
        stand out are far more accurate than this.
    elliptical : bool, default=False
        For the default method and features with heavy tails: estimate a robust scatter (Tyler's),
        and scale all rows to the same length in whitened coordinates. Little is lost on Gaussian
        features.
    random_state : int, RandomState instance or None, default=None
        For the simulated noise, and for the first Lanczos vector.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows that span U-hat, in the units of X.
    mirror_direction_ : ndarray of shape (n_features,)
        r-hat. With "auto" and the default method, r-hat after a Gauss-Newton step towards the
        single direction that predicts y best.
    eigenvalues_ : ndarray
        Eigenvalues, furthest from the bulk first. Without groups: squared singular values of the
        stacked mirrors beside r-hat, relative to their mean under noise. With groups: eigenvalues
        of the cross moment, scaled so that those of noise end at about 2. For ``method="paper"``:
        eigenvalues of Q, inside the complement of r-hat if r-hat was taken first; all of them from
        the dense solver, those asked for from Lanczos.
    bulk_ : float
        Centre of the eigenvalues of noise: 1 for the stacked mirrors, 0 for groups; for
        ``method="paper"`` the median of the eigenvalues, or the mean of Z with Lanczos.
    n_components_ : int
        Dimension of the subspace.
    n_outliers_ : int
        Number of its directions that are eigenvectors: all of them, or all except r-hat.
    separation_ : float
        How clearly the weakest of these stands out: its eigenvalue divided by the largest one that
        noise would give (exceeded by 5 % of noise, or by `false_positive_rate` with "auto"). Below
        1 it is indistinguishable from noise. For ``method="paper"``: the distance of the weakest
        eigenvalue kept from the bulk, divided by that of the strongest left out. NaN if there is
        nothing to compare with.
    error_estimate_ : float
        Estimated error of the subspace: the root of the summed squared sines of the principal
        angles. It is optimistic if `separation_` is close to 1, and NaN for ``method="paper"`` or
        if there are too few rows for the Gauss-Newton step.
    mean_ : ndarray of shape (n_features,)
        Mean of the features that was used.
    n_scans_ : int
        Number of times that the rows were read, if they are not in memory.
    classes_ : ndarray of shape (2,)
        The labels that stand for -1 and +1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has string column names.

    See Also
    --------
    PrincipalHessianDirections : The method without a mirror, blind for features of mean 0.
    LinearClassifierMixture : The profiles themselves, by maximum likelihood.

    References
    ----------
    Y. Sun, S. Ioannidis and A. Montanari (2014), "Learning mixtures of linear classifiers", ICML.

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

    #: What scikit-learn's pipelines and cross-validation pass to fit, if they route metadata.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True}

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy, as :func:`sklearn.base.clone` does."""
        if self.method != "paper":  # which knows no groups
            warn_of_groups_left_behind(UserWarning)
        return super().__sklearn_clone__()

    @checks_parameters
    def fit(self, X: Any, y: Any = None, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a source
            The features: an array, a DataFrame, a dask collection; or rows that know their own
            labels, groups and weights (:func:`spectralmirror.scan`, `spectralmirror.spark.scan`).
        y : array-like of shape (n_samples,)
            Labels of two classes: numbers, strings or booleans. None with a source.
        groups : array-like of shape (n_samples,), default=None
            Rows with the same value are known to share their hidden classifier. Groups are used
            if at least half of the rows have another row in their group.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. Integers are frequencies: weight 2 stands for the row twice, and
            weight 0 for no row. Non-integer weights are scaled so that they sum to the effective
            number of rows. Within a group a row of weight 2 counts twice as much, but it does not
            form a pair with itself.

        Returns
        -------
        self : SpectralMirror
            The fitted transformer.
        """
        grouped, self.classes_ = accept_rows(self, X, y, groups, sample_weight)
        return self._fit_rows(grouped)

    def _fit_rows(self, grouped: GroupedRows) -> Self:
        """Find the subspace for rows that were accepted before, by this estimator or by another.

        The parameters must have been validated. Errors use `feature_names_in_` if it is set.
        """
        rows, d = grouped.rows, grouped.rows.n_features
        self._check_dimension(d)
        if self.method == "paper" and (grouped.is_grouped or self.elliptical):
            raise ValueError(
                "method='paper' knows neither groups nor elliptical=True: use method='stacked'."
            )
        with named_columns(self), small_matrices(d):
            known = self._known_features(rows)
            outcome = self._outcome(grouped, known, check_random_state(self.random_state))
        if outcome.status:
            warnings.warn(outcome.status, WeakSignalWarning, stacklevel=5)
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
                    f"moments are of {len(self.moments.mean)} features, but X has {d}: sum "
                    "the same columns."
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
                "pass more rows, fewer features (first reduce them by PCA, or by TruncatedSVD if X "
                "is sparse; LinearClassifierMixture takes them as they are), or a known mean and "
                "covariance",
            )
        return KnownFeatures(mean, covariance)

    def _check_order(self, covariance: Any) -> None:
        names = getattr(self, "feature_names_in_", None)
        columns = getattr(covariance, "columns", None)
        if names is not None and columns is not None and list(columns) != list(names):
            raise ValueError("covariance must have the columns of X, in the same order.")

    def _use_lanczos(self, known: KnownFeatures, d: int, *, in_memory: bool) -> bool:
        if self.eigen_solver == "auto":
            counted = self.n_components == "auto"
            return in_memory and known.whitening is not None and d >= LANCZOS_FROM and not counted
        if self.eigen_solver == "dense":
            return False
        if not in_memory:
            raise ValueError(
                "eigen_solver='lanczos' reads the rows twenty times or more and needs them in "
                "memory: use eigen_solver='dense'."
            )
        if known.whitening is None:
            raise ValueError(
                "eigen_solver='lanczos' needs mean and covariance, or moments: use "
                "eigen_solver='dense', which is faster if the covariance has to be estimated."
            )
        if self.n_components == "auto":
            raise ValueError(
                "eigen_solver='lanczos' cannot count what stands out: give n_components, or "
                "count them with eigen_solver='dense'."
            )
        return True

"""Mixtures of linear regressions by tensor moments (Chaganty and Liang 2013)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_even_slices
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from spectralmirror.baselines.low_rank import Regression, low_rank
from spectralmirror.baselines.tensors import SymmetricIndex, power_decomposition
from spectralmirror.rows.accept import checks_parameters
from spectralmirror.rows.types import AnyArray, Matrix, Vector

__all__ = ["NoDecompositionError", "SpectralExperts"]

#: Numbers in a block of products of features.
BLOCK = 4_000_000
#: Smaller eigenvalues are rounding: y has unit size, and the features are white.
SMALLEST_EIGENVALUE = 1e-10
#: If the sum of the weights is further from 1, the moments are not those of a mixture.
WEIGHT_TOLERANCE = 0.25


class NoDecompositionError(ValueError):
    """The moments are not those of a mixture of `n_components` linear regressions."""


class SpectralExperts(RegressorMixin, BaseEstimator):
    """Mixture of linear regressions, from regressions of y, y^2 and y^3 on tensor powers of x.

    The model is y = <b_l, x> + noise, l drawn with probability p_l, noise with mean 0, variance s^2
    and third moment s_3. Then E[y^2 | x] = <M_2, x (x) x> + s^2 and E[y^3 | x] = <M_3, x (x) x
    (x) x> + 3 s^2 <M_1, x> + s_3, where M_q = sum_l p_l b_l (x) ... (x) b_l. The moments M_1, M_2,
    M_3 are regression coefficients, the last two with a nuclear-norm penalty (of M_3, that of its
    unfolding), because they have rank k. Whitened by M_2, M_3 is an orthogonal tensor, which the
    robust tensor power method decomposes.

    Limits. The model has no intercept: centre y and X first. The profiles b_1 ... b_k must be
    linearly independent, so k <= n_features. The third regression has about d^3/6 coefficients: a
    fit takes n d^6/36 operations and stores d^6/36 numbers, so 20 features are many, and M_3 needs
    many more rows than coefficients. Binary labels cannot be fitted: if y is -1 or +1, then y^2 is
    constant and y^3 is y, so M_2 is 0 and there is nothing to decompose (use
    :class:`~spectralmirror.LinearClassifierMixture`).

    Parameters
    ----------
    n_components : int, default=2
        Number of regressions k.
    alpha : float, default=0.3
        Penalty of M_q in units of s_q sqrt(d^(q-1) / n), where s_q is the standard deviation of
        y^q: the size of the noise in the gradient.
    max_iter : int, default=2000
        Maximum number of proximal steps per regression.
    tol : float, default=1e-06
        A regression has converged when a step changes the coefficients by less than this, in
        units of their norm.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts of the tensor power method.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components, n_features)
        The regressions b_l, heaviest first.
    weights_ : ndarray of shape (n_components,)
        The probabilities p_l.
    noise_variance_ : float
        s^2, the intercept of the second regression, or 0 if that is negative.
    second_moment_ : ndarray of shape (n_features, n_features)
        The estimate of M_2.
    third_moment_ : ndarray of shape (n_features, n_features, n_features)
        The estimate of M_3.
    n_iter_ : int
        Number of proximal steps, the larger of the two regressions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if all column names of X are strings.

    References
    ----------
    A. Chaganty and P. Liang (2013), "Spectral experts for estimating mixtures of linear
    regressions", ICML. A. Anandkumar, R. Ge, D. Hsu, S. Kakade and M. Telgarsky (2014), "Tensor
    decompositions for learning latent variable models", JMLR 15.

    Examples
    --------
    >>> import numpy as np
    >>> from spectralmirror.baselines import SpectralExperts
    >>> from spectralmirror.metrics import profile_error
    >>> rng = np.random.default_rng(0)
    >>> X, made_by = rng.standard_normal((20_000, 3)), rng.integers(2, size=20_000)
    >>> b = np.array([[1.0, 2.0, 0.0], [-1.0, 0.0, 2.0]])
    >>> y = (X * b[made_by]).sum(axis=1) + 0.1 * rng.standard_normal(20_000)
    >>> found = SpectralExperts(2, random_state=0).fit(X, y)
    >>> round(profile_error(b, found.coef_), 1), found.weights_.round(1).tolist()
    (0.0, [0.5, 0.5])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float = 0.3,
        max_iter: int = 2000,
        tol: float = 1e-6,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: Any, y: Any) -> Self:
        """Find the regressions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The responses.

        Returns
        -------
        self : SpectralExperts
            The fitted mixture.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y, d, k = np.asarray(y, dtype=np.float64), X.shape[1], int(self.n_components)
        if k > d:
            raise ValueError(f"n_components={k} must be at most the number of features, {d}.")
        scale, sizes = _size(y[:, None]), _size(X)
        if not scale.all():
            raise ValueError("y is 0 in every row, so there is nothing to regress.")
        if (np.ptp(X, axis=0) <= 1e-12 * sizes).any():
            raise ValueError(
                "A feature is the same in every row, and its square cannot be told from the "
                "noise: drop it."
            )
        # scaled, not centred: the model has no intercept
        X, y = X / sizes, y / scale
        root = _root_of_second_moment(X)
        second, noise, third = self._moments(X, y, root)
        values, vectors = _decompose(second, third, k, check_random_state(self.random_state))
        weights = 1 / np.square(values)
        inverse = solve_triangular(root, np.diag(1 / sizes), lower=True)
        if abs(weights.sum() - 1) > WEIGHT_TOLERANCE:
            warnings.warn(
                f"The weights of the components sum to {weights.sum():.2f} before they are "
                "normalised, not to 1: the moments are far from those of a mixture of "
                f"{k} linear regressions. Pass more rows, or ask for fewer components.",
                UserWarning,
                stacklevel=4,
            )
        order = np.argsort(-weights, kind="stable")
        self.coef_ = (scale * vectors @ inverse)[order]
        self.weights_ = (weights / weights.sum())[order]
        with np.errstate(over="ignore", under="ignore"):  # the unit of y may be huge, or tiny
            self.noise_variance_ = float((scale**2 * noise)[0])
            self.second_moment_ = scale**2 * (inverse.T @ second @ inverse)
            self.third_moment_ = scale**3 * _contract(third, inverse)
        return self

    def predict(self, X: Any) -> Vector:
        """Return E[y | x] = sum_l p_l <b_l, x>.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_samples,)
            The expected responses.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ (self.weights_ @ self.coef_))

    def _moments(self, X: Matrix, y: Vector, root: Matrix) -> tuple[Matrix, float, AnyArray]:
        """Return M_2, s^2 and M_3 of whitened features, by regressions on their products."""
        n, d = X.shape

        def blocks(index: SymmetricIndex) -> Iterator[tuple[Matrix, Matrix, Vector]]:
            for part in gen_even_slices(n, max(1, -(-n * len(index) // BLOCK))):
                W = solve_triangular(root, X[part].T, lower=True).T
                yield W, index.features(W), y[part]

        options: dict[str, Any] = {
            "alpha": float(self.alpha),
            "max_iter": int(self.max_iter),
            "tol": float(self.tol),
        }
        order2, order3 = SymmetricIndex(d, 2), SymmetricIndex(d, 3)
        squares = Regression.of((phi, target**2) for _, phi, target in blocks(order2))
        second, n_second = low_rank(squares, order2, **options)
        noise = max(squares.intercept(order2.vector(second)), 0.0)
        first = solve_triangular(root, X.T @ y / n, lower=True)  # M_1: features are white
        # E[y^3 | x] - 3 s^2 <M_1, x> is what M_3 explains
        by_noise = 3 * noise * first
        cubes = Regression.of((phi, y3**3 - W @ by_noise) for W, phi, y3 in blocks(order3))
        third, n_third = low_rank(cubes, order3, **options)
        self.n_iter_ = max(n_second, n_third)
        if self.n_iter_ == self.max_iter:
            warnings.warn(
                f"A regression did not converge in max_iter={self.max_iter} steps: increase it.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return second, noise, third


def _decompose(
    second: Matrix, third: AnyArray, k: int, rng: np.random.RandomState
) -> tuple[Vector, Matrix]:
    """Return lambda_l = p_l^(-1/2) and the regressions b_l.

    With M_2 = V diag(s) V' and the whitening W = V diag(s)^(-1/2), the tensor M_3(W, W, W) is
    sum_l lambda_l v_l (x) v_l (x) v_l for orthonormal v_l, and b_l = lambda_l V diag(s)^(1/2) v_l.
    """
    eigenvalues, V = np.linalg.eigh(second)
    eigenvalues, V = eigenvalues[::-1][:k], V[:, ::-1][:, :k]
    rank = int((eigenvalues > SMALLEST_EIGENVALUE).sum())
    if rank < k:
        raise NoDecompositionError(
            f"The second moment of the coefficients has rank {rank}, not n_components={k}: y^2 "
            f"does not depend on X as in a mixture of {k} linear regressions. For binary labels "
            "use LinearClassifierMixture; otherwise try a smaller alpha, or more rows."
        )
    values, vectors = power_decomposition(_contract(third, V / np.sqrt(eigenvalues)), k, rng)
    if not (values > SMALLEST_EIGENVALUE).all():
        raise NoDecompositionError(
            "The third moment does not agree with the second: no decomposition into "
            f"{k} regressions of positive weight was found. Pass more rows."
        )
    return values, values[:, None] * vectors @ (V * np.sqrt(eigenvalues)).T


def _contract(T: AnyArray, A: Matrix) -> AnyArray:
    """Return T(A, A, A)."""
    return np.asarray(np.einsum("abc,ai,bj,ck->ijk", T, A, A, A, optimize=True))


def _size(X: Matrix) -> Vector:
    """Return the root mean square of each column, without overflow or underflow."""
    largest = np.abs(X).max(axis=0)
    return np.asarray(
        largest * np.sqrt(np.mean(np.square(X / np.where(largest, largest, 1)), axis=0))
    )


def _root_of_second_moment(X: Matrix) -> Matrix:
    """Return the Cholesky factor of mean(x x'), or raise if features of size 1 are collinear."""
    try:
        root = cholesky(X.T @ X / len(X), lower=True)
    except np.linalg.LinAlgError:
        root = np.zeros((1, 1))
    if np.diagonal(root).min() <= 1e-7:
        raise ValueError(
            "The features are collinear (some are combinations of others, or there are fewer rows "
            "than features), so their tensor powers have no unique coefficients: drop some of "
            "them, or pass more rows."
        )
    return np.asarray(root)

"""Parameters of estimators that are refused when they are fitted: one table for each estimator."""

import numpy as np
import pandas as pd
import pytest

from spectralmirror import FeatureMoments, LinearClassifierMixture, SpectralMirror
from tests.helpers.refusals import assert_refused

N, D = 60, 4
NAMES = ["age", "income", "height", "weight"]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(N) > 0, 1, -1)
EYE = np.eye(D)

MIRROR = {
    "k too large": ({"n_components": 5}, "n_components=5 must not exceed.*n_features=4"),
    "k of 0": ({"n_components": 0}, "'n_components' parameter of SpectralMirror must be an int in"),
    "k of 1.5": ({"n_components": 1.5}, "'n_components' parameter"),
    "misspelt k": ({"n_components": "atuo"}, "'n_components' parameter.*{'auto'}"),
    "misspelt method": ({"method": "papr"}, "'method' parameter.*'paper'"),
    "rate": ({"false_positive_rate": 1.0}, "'false_positive_rate' parameter"),
    "mean of the wrong length": (
        {"mean": np.zeros(3)},
        "mean must be a finite number or hold one for each of 4 features",
    ),
    "mean with NaN": ({"mean": [0, 0, np.nan, 0]}, "mean must be a finite number"),
    "text mean": ({"mean": ["a"] * D}, "mean must hold numbers only"),
    "covariance of the wrong shape": (
        {"covariance": np.eye(3)},
        r"covariance must have shape \(4, 4\), got \(3, 3\)",
    ),
    "ragged covariance": ({"covariance": [[1.0], [1.0, 2.0]]}, "covariance must hold numbers"),
    "covariance in another order": (
        {"covariance": pd.DataFrame(EYE, columns=NAMES[::-1])},
        "covariance must have the columns of X, in the same order",
    ),
    "covariance not symmetric": (
        {"covariance": EYE + np.eye(D, k=1)},
        "covariance must be symmetric: pass",
    ),
    "covariance not positive": (
        {"mean": 0, "covariance": np.ones((D, D)) - 0.5 * EYE},
        "covariance must be positive definite|covariance must be finite",
    ),
    "singular covariance alone": (
        {"covariance": np.ones((D, D))},
        "covariance must be positive definite",
    ),
    "covariance with zero variance": (
        {"mean": 0, "covariance": np.diag([1, 1, 0, 1])},
        "covariance must be finite, with positive variances on its diagonal",
    ),
    "covariance with NaN": ({"mean": 0, "covariance": EYE * np.nan}, "covariance must be finite"),
    "moments and mean": (
        {"moments": FeatureMoments.from_rows(X), "mean": 0},
        "moments already hold a mean and a covariance",
    ),
    "moments of other features": (
        {"moments": FeatureMoments.from_rows(X[:, :2])},
        "moments are of 2 features, but X has 4",
    ),
    "singular moments": (
        {"moments": FeatureMoments.from_rows(X * [1, 1, 0, 1])},
        "X is constant in column '?(2|height)'?",
    ),
    "lanczos without covariance": (
        {"eigen_solver": "lanczos", "method": "paper"},
        "needs mean and covariance",
    ),
    "lanczos cannot count": (
        {
            "eigen_solver": "lanczos",
            "mean": 0,
            "covariance": EYE,
            "n_components": "auto",
            "method": "paper",
        },
        "give n_components, or count them with eigen_solver='dense'",
    ),
}


@pytest.mark.parametrize(("options", "sentence"), MIRROR.values(), ids=MIRROR)
def test_parameters_of_the_mirror(options, sentence):
    rows = pd.DataFrame(X, columns=NAMES)
    assert_refused(lambda: SpectralMirror(**options).fit(rows, Y), sentence)


MIXTURE = {
    "k of 0": ({"n_components": 0}, "'n_components' parameter of LinearClassifierMixture must be"),
    "k of a million": ({"n_components": 10**6}, "n_components=1000000` exceeds the number of r"),
    "misspelt response": ({"response": "logit"}, "'response' parameter.*'logistic'"),
    "negative penalty": ({"l2": -1.0}, "'l2' parameter"),
    "NaN penalty": ({"l2": float("nan")}, "'l2' parameter.*Got nan instead"),
    "tolerance of 0": ({"tol": 0}, "'tol' parameter"),
    "seed": ({"random_state": "a"}, "'random_state' parameter"),
    "misspelt init": ({"init": "kmeans"}, "'init' parameter.*'spectral'"),
    "init of one dimension": ({"init": [1.0, 2, 3]}, r"init must be a table.*use \[init\]"),
    "init of another shape": (
        {"init": np.ones((3, D))},
        r"init must hold 2 profiles of 4 numbers, one per feature, got an array of shape \(3, 4\)",
    ),
    "init with NaN": ({"init": np.full((2, D), np.nan)}, "init contains NaN"),
    "init for auto": (
        {"init": np.ones((2, D)), "n_components": "auto"},
        "n_components='auto' needs init='spectral' or 'random'",
    ),
    "misspelt subspace": ({"subspace": "atuo"}, "'subspace' parameter"),
    "subspace of other features": (
        {"subspace": np.eye(2, 3)},
        "subspace has 2 vectors of 3 numbers, but X has 4 features",
    ),
    "dependent subspace": ({"subspace": np.ones((2, D))}, "vectors that depend on each other"),
    "zero subspace": ({"subspace": np.zeros((1, D))}, "vectors that depend on each other"),
    "misspelt solver": ({"solver": "newton"}, "'solver' parameter.*'lbfgs'"),
    "no starts": ({"n_init": 0}, "'n_init' parameter"),
}


@pytest.mark.parametrize(("options", "sentence"), MIXTURE.values(), ids=MIXTURE)
def test_parameters_of_the_mixture(options, sentence):
    assert_refused(lambda: LinearClassifierMixture(**options).fit(X, Y), sentence)


@pytest.mark.parametrize("estimator", [SpectralMirror, LinearClassifierMixture])
def test_a_misspelt_parameter_is_an_error(estimator):
    with pytest.raises(TypeError, match="n_component"):
        estimator(n_component=2)

"""Bad input: one clear sentence that says what is wrong, where, and what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    MixtureWarning,
    PrincipalHessianDirections,
    SpectralMirror,
    WeakSignalWarning,
)

D = 4
RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, D))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(60) > 0, 1, -1)
EYE = np.eye(D)
NAMES = ["age", "income", "height", "weight"]


def with_value(value, row, column):
    bad = X.copy()
    bad[row, column] = value
    return bad


def with_column(values, column=2):
    bad = X.copy()
    bad[:, column] = values
    return bad


CASES = {
    "one class": (
        {"y": np.ones(60)},
        "y has only one class, 1.0: pass labels of two classes",
    ),
    "three classes": (
        {"y": np.arange(60) % 3},
        r"Only binary classification.* y has 3 different values \(0, 1, 2\): keep or merge",
    ),
    "continuous labels": ({"y": X[:, 0]}, "y is continuous.*compare it with a threshold"),
    "no labels": ({"y": None}, r"requires y to be passed.*call fit\(X, y\)"),
    "labels with NaN": ({"y": np.where(Y > 0, 1, np.nan)}, "Input y contains NaN"),
    "labels that cannot be compared": (
        {"y": np.array(["a", 1] * 30, dtype=object)},
        "y mixes values that cannot be compared",
    ),
    "two columns of labels": ({"y": np.column_stack([Y, Y])}, "y should be a 1d array"),
    "lengths": ({"y": Y[:-1]}, "X has 60 rows but y has 59 labels: pass exactly one label"),
    "NaN in the first half": (
        {"X": with_value(np.nan, 3, 2)},
        "Input X contains NaN in column 2: remove or impute",
    ),
    "NaN in the second half": ({"X": with_value(np.nan, 50, 1)}, "contains NaN in column 1:"),
    "infinity": ({"X": with_value(np.inf, 3, 3)}, "contains infinity in column 3:"),
    "minus infinity": ({"X": with_value(-np.inf, 55, 0)}, "contains infinity in column 0:"),
    "NaN in a named column": (
        {"X": pd.DataFrame(with_value(np.nan, 3, 2), columns=NAMES)},
        "contains NaN in column 'height':",
    ),
    "NaN in sparse rows": (
        {"X": sparse.csr_array(with_value(np.nan, 3, 2))},
        "contains NaN in column 2:",
    ),
    "NaN in float32": (
        {"X": with_value(np.nan, 40, 1).astype(np.float32)},
        "contains NaN in column 1:",
    ),
    "too large": ({"X": X * 1e200}, "values too large for sums in float64: rescale the columns"),
    "too small": ({"X": X * 1e-152}, "so small in columns 0, 1, 2, 3.*underflow: rescale"),
    "missing label": (
        {"y": pd.Series(Y).astype("Int64").where(Y > 0)},
        r"Input y contains NaN \(a missing label\) in row \d+: drop",
    ),
    "dates": (
        {"X": pd.DataFrame(X, columns=NAMES).assign(age=pd.Timestamp("2020-01-01"))},
        "X must hold numbers, but column 'age' holds Timestamp",
    ),
    "text mean": ({"mean": ["a"] * D}, "mean must hold numbers only"),
    "ragged covariance": ({"covariance": [[1.0], [1.0, 2.0]]}, "covariance must hold numbers"),
    "covariance in another order": (
        {
            "X": pd.DataFrame(X, columns=NAMES),
            "covariance": pd.DataFrame(EYE, columns=NAMES[::-1]),
        },
        "covariance must have the columns of X, in the same order",
    ),
    "complex": ({"X": X + 1j}, "Complex data not supported"),
    "text": (
        {"X": pd.DataFrame(X, columns=NAMES).assign(height=["tall", "small"] * 30)},
        "X must hold numbers, but column 'height' holds 'tall': encode it first",
    ),
    "text in an array": (
        {"X": np.where(X > 9, "no", X.astype(str)).astype(object) + "cm"},
        "X must hold numbers, but column 0 holds '.*cm': encode",
    ),
    "array of strings": ({"X": np.full((60, D), "a")}, "X must hold numbers, but column 0 holds"),
    "one dimension": ({"X": X[:, 0]}, r"Expected 2D array.*use X.reshape\(-1, 1\)"),
    "three dimensions": ({"X": X[None]}, "X has 1 rows but y has 60|dim 3"),
    "constant": (
        {"X": with_column(0.1)},
        "X is constant in column 2: remove what does not vary",
    ),
    "constant by name": (
        {"X": pd.DataFrame(with_column(1e9), columns=NAMES)},
        "X is constant in column 'height'",
    ),
    "two constants": (
        {"X": X * [1, 0, 1, 0]},
        "X is constant in columns 1, 3:",
    ),
    "collinear": (
        {"X": with_column(X[:, 0] - 3 * X[:, 1])},
        r"X is collinear.*column \d can be computed from the others. Remove",
    ),
    "duplicated": ({"X": with_column(X[:, 0] * 1e6)}, "X is collinear.*column [02] can"),
    "too few rows": (
        {"X": X[:5], "y": Y[:5]},
        "At least 6 rows are needed for 4 features.*got n_samples = 5: pass more rows",
    ),
    "too few rows for two halves": (
        {"X": X[:9], "y": Y[:9], "method": "paper"},
        "At least 10 rows are needed for 4 features.*the first half.*n_samples = 9: pass more rows",
    ),
    "too few weighted rows": (
        {"sample_weight": np.arange(60) < 5},
        "At least 6 rows are needed.*got n_samples = 5",
    ),
    "constant in the first half": (
        {"X": with_column(np.r_[np.zeros(30), X[30:, 2]]), "method": "paper"},
        "X is constant in column 2 in the first half of the rows:",
    ),
    "groups of the wrong length": (
        {"groups": np.arange(59)},
        r"groups must hold one value for each of 60 rows, got shape \(59,\)",
    ),
    "groups with NaN": ({"groups": np.r_[np.nan, np.zeros(59)]}, "groups has missing values"),
    "groups with None": (
        {"groups": np.array([None] + ["a"] * 59, dtype=object)},
        "groups has missing values: give such rows a group of their own",
    ),
    "mixed groups": (
        {"groups": np.array([1] + ["a"] * 59, dtype=object)},
        "groups mixes values that cannot be compared",
    ),
    "groups for the paper": (
        {"groups": np.zeros(60), "method": "paper"},
        "method='paper' knows neither groups nor elliptical=True",
    ),
    "no rows": ({"X": X[:0], "y": Y[:0]}, "Found array with 0 sample"),
    "no columns": ({"X": X[:, :0]}, "0 feature"),
    "negative weights": (
        {"sample_weight": np.r_[np.ones(59), -1]},
        "sample_weight must be finite and not negative, but is -1.0 in row 59: use 0",
    ),
    "NaN weights": ({"sample_weight": np.r_[np.nan, np.ones(59)]}, "but is nan in row 0"),
    "weights of the wrong length": (
        {"sample_weight": np.ones(3)},
        r"one number for each of 60 rows, got shape \(3,\)",
    ),
    "text weights": ({"sample_weight": ["a"] * 60}, "sample_weight must hold numbers"),
    "zero weights": ({"sample_weight": np.zeros(60)}, "sample_weight is zero in every row"),
    "one class is left": ({"sample_weight": (Y > 0) * 1.0}, "y has only one class, 1:"),
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
    "covariance of the wrong shape": (
        {"covariance": np.eye(3)},
        r"covariance must have shape \(4, 4\), got \(3, 3\)",
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
        {"moments": FeatureMoments.from_rows(with_column(0.1))},
        "X is constant in column 2",
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


@pytest.mark.parametrize(("change", "message"), CASES.values(), ids=CASES)
def test_one_clear_sentence(change, message):
    arguments = {"X": X, "y": Y, "sample_weight": None, "groups": None, **change}
    fit = {key: arguments.pop(key) for key in ("X", "y", "sample_weight", "groups")}
    with pytest.raises(ValueError, match=message) as error:
        SpectralMirror(**arguments).fit(**fit)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    "case", ["one class", "NaN in the second half", "collinear", "constant by name", "lengths"]
)
def test_principal_hessian_directions_too(case):
    change, message = CASES[case]
    with pytest.raises(ValueError, match=message):
        PrincipalHessianDirections().fit(**{"X": X, "y": Y, **change})


def test_known_features_need_few_rows():
    """With mean and covariance known nothing is estimated that could be singular."""
    mirror = SpectralMirror(2, method="paper", mean=0, covariance=EYE).fit(X[:3], [1, -1, 1])
    assert np.isfinite(mirror.components_).all()
    with pytest.warns(WeakSignalWarning):
        mirror = SpectralMirror(2, mean=0, covariance=EYE, random_state=0).fit(X[:3], [1, -1, 1])
    assert np.isfinite(mirror.components_).all()


def test_a_misspelt_argument_is_an_error():
    with pytest.raises(TypeError, match="n_component"):
        SpectralMirror(n_component=2)


def test_feature_moments_of_bad_rows():
    with pytest.raises(ValueError, match="Input X contains NaN"):
        FeatureMoments.from_rows(with_value(np.nan, 0, 0))
    with pytest.raises(ValueError, match="not negative"):
        FeatureMoments.from_rows(X, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="X is collinear"):
        FeatureMoments.from_rows(with_column(X[:, 0])).whitening  # noqa: B018


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("share", "message"), [(0.3, "do not vary in the first"), (0.7, "very dif")]
)
def test_sorted_rows_have_no_mirror(seed, share, message):
    X = np.random.default_rng(seed).standard_normal((500, 5))
    y = np.arange(500) > 500 * (1 - share)
    with pytest.warns(UserWarning, match=f"{message}.*shuffle"):
        mirror = SpectralMirror(1, method="paper", include_mirror_direction=True).fit(X, y)
    assert np.isfinite(mirror.components_).all()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("mean", [0.0, 2.0, 25.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_column_that_is_any_mix_of_the_others(seed, mean, dtype):
    """Wherever it stands and whatever the weights: a plain Cholesky would let some pass."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 40))
    X = rng.standard_normal((10 * d, d)) + mean
    X = np.insert(X, rng.integers(d + 1), X @ rng.standard_normal(d), axis=1)
    y = rng.random(len(X)) < 0.5
    with pytest.raises(ValueError, match=r"X is (collinear|constant)"):
        PrincipalHessianDirections(1).fit(X.astype(dtype), y)
    if dtype == np.float64:
        with pytest.raises(ValueError, match="covariance must be positive definite"):
            SpectralMirror(1, mean=X.mean(axis=0), covariance=np.cov(X.T)).fit(X, y)


#: What the mixture fits all the same, with a warning.
FITTED = {"collinear", "duplicated", "too few rows", "too few weighted rows"}
SHARED = {
    name: case
    for name, case in CASES.items()
    if set(case[0]) <= {"X", "y", "sample_weight", "groups"} and name not in FITTED
}


@pytest.mark.parametrize(("change", "message"), SHARED.values(), ids=SHARED)
def test_the_mixture_says_the_same(change, message):
    mixture = LinearClassifierMixture(2)
    with pytest.raises(ValueError, match=message):
        mixture.fit(**{"X": X, "y": Y, **change})
    assert not hasattr(mixture, "coef_")


@pytest.mark.parametrize("name", sorted(FITTED))
def test_the_mixture_fits_through_the_penalty(name):
    with pytest.warns(MixtureWarning):
        mixture = LinearClassifierMixture(2, random_state=0).fit(
            **{"X": X, "y": Y, **CASES[name][0]}
        )
    assert np.isfinite(mixture.coef_).all()


MIXTURE = {
    "k of 0": ({"n_components": 0}, "'n_components' parameter of LinearClassifierMixture must be"),
    "misspelt response": ({"response": "logit"}, "'response' parameter.*'logistic'"),
    "negative penalty": ({"l2": -1.0}, "'l2' parameter"),
    "misspelt init": ({"init": "kmeans"}, "'init' parameter.*'spectral'"),
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


@pytest.mark.parametrize(("options", "message"), MIXTURE.values(), ids=MIXTURE)
def test_parameters_of_the_mixture(options, message):
    with pytest.raises(ValueError, match=message) as error:
        LinearClassifierMixture(**options).fit(X, Y)
    assert len(str(error.value)) < 400


PREDICTIONS = {
    "other features": (lambda m: m.predict(X[:, :2]), "X has 2 features, but.*expecting 4"),
    "NaN": (lambda m: m.predict_proba(with_value(np.nan, 0, 0)), "contains NaN"),
    "an unknown label": (
        lambda m: m.component_proba(X, np.where(Y > 0, 1, 7)),
        r"y holds 7 in row \d+, but the labels that were fitted are \[-1, 1\]",
    ),
    "too few labels": (lambda m: m.score_samples(X, Y[:5]), "X has 60 rows but y has 5 labels"),
    "groups of another length": (
        lambda m: m.predict_component(X, Y, groups=[1, 2]),
        "groups must hold one value for each of 60 rows",
    ),
    "weights of another shape": (
        lambda m: m.predict_proba(X, component_weights=[1, 0, 0]),
        r"component_weights must have shape \(2,\) or \(60, 2\)",
    ),
    "weights that do not sum to 1": (
        lambda m: m.predict(X, component_weights=[1.0, 1.0]),
        "component_weights must be 0 or more and sum to 1",
    ),
    "text weights": (
        lambda m: m.predict(X, component_weights=["a", "b"]),
        "component_weights must hold numbers",
    ),
}


@pytest.mark.parametrize(("call", "message"), PREDICTIONS.values(), ids=PREDICTIONS)
@pytest.mark.filterwarnings("ignore::spectralmirror.MixtureWarning")
def test_predictions_of_the_mixture(call, message):
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        call(mixture)


def test_the_mixture_must_be_fitted():
    for call in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(LinearClassifierMixture(), call)(X)
    with pytest.raises(NotFittedError):
        LinearClassifierMixture().summary()
    with pytest.raises(NotFittedError):
        LinearClassifierMixture().component_proba(X, Y)
